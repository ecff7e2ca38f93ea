"""Finds the commands in a shell script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter
import tree_sitter_bash

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@dataclass(frozen=True)
class Command:
    line: int
    """The line number; the first line is 0."""
    variables: dict[str, str]
    """Variables set for this command only."""
    words: tuple[str, ...]
    """The program and its arguments, without quotes. Expansions are as written: $HOME."""


def commands(text: str) -> Iterator[Command]:
    """Yields the commands in order. A command in a substitution comes after the one that contains it."""
    yield from inside(PARSER.parse(text.encode()).root_node)


def inside(node: tree_sitter.Node) -> Iterator[Command]:
    if node.type == "command":
        variables, words = {}, []
        for child in node.named_children:
            if child.type == "variable_assignment":
                name, _, assigned = content(child).partition("=")
                variables[name] = assigned
            elif child.type == "command_name":
                words.append(value(child.named_children[0]))
            elif not child.type.endswith("redirect") and child.type != "comment":
                words.append(value(child))
        yield Command(node.start_point[0], variables, tuple(words))
    elif node.type == "variable_assignment" and node.parent and node.parent.type != "command":
        name, _, assigned = content(node).partition("=")
        yield Command(node.start_point[0], {name: assigned}, ())
    for child in node.children:
        yield from inside(child)


def content(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


def value(node: tree_sitter.Node) -> str:
    """Returns a word without quotes and backslashes."""
    text = content(node)
    if node.type == "raw_string":
        return text[1:-1]
    if node.type == "string":
        return re.sub(r'\\(["\\$`])', r"\1", text[1:-1]).replace("\\\n", "")
    if node.type == "concatenation":
        return "".join(value(child) for child in node.children)
    if node.type == "word":
        return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
    return text
