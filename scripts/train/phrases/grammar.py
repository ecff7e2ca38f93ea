"""Makes questions from templates (templates.py): words with their labels.

A template is text with choices [a|b|], parts {NAME} and labels <label:words>. The parts E and G are an element and a
group, Es and Gs their plurals.
"""

from __future__ import annotations

import functools
import random
import re
from dataclasses import dataclass

from scripts.train.phrases.templates import PARTS
from scripts.train.phrases.vocabulary import COMMON, ELEMENTS, GROUPS

DRAWINGS = ["none", "first", "second", "third", "last", "other", "both"]
MODES = [
    "none",
    "more",
    "fewer",
    "equal",
    "absent",
    "brief",
    "more_than",
    "less_than",
    "at_least",
    "at_most",
    "exactly",
]
LABELS = {"element": ["none", *ELEMENTS], "group": ["none", *GROUPS], "mode": MODES, "drawing": DRAWINGS}
HEADS = ("element", "group", "mode", "drawing")

Node = tuple
"""("text", str), ("choice", [nodes, ...]), ("part", name) or ("label", name, nodes)."""


@dataclass(frozen=True)
class Piece:
    """A stretch of text and the labels of its words, by head."""

    text: str
    labels: tuple[tuple[str, str], ...] = ()


@functools.lru_cache(None)
def parse(template: str) -> tuple[Node, ...]:
    """Parses a template. ValueError if its brackets do not match."""
    nodes, end = _parse(template, 0, "")
    if end != len(template):
        raise ValueError(f"template {template!r} ends at {end}")
    return nodes


def _parse(text: str, at: int, until: str) -> tuple[tuple[Node, ...], int]:
    """Parses from a position up to one of the characters `until`; returns the nodes and the position there."""
    nodes: list[Node] = []
    while at < len(text) and text[at] not in until:
        if text[at] == "[":
            options, at = [], at + 1
            while True:
                option, at = _parse(text, at, "|]")
                options.append(option)
                at += 1
                if text[at - 1] == "]":
                    break
            nodes.append(("choice", options))
        elif text[at] == "{":
            end = text.index("}", at)
            nodes.append(("part", text[at + 1 : end]))
            at = end + 1
        elif text[at] == "<":
            colon = text.index(":", at)
            inside, end = _parse(text, colon + 1, ">")
            nodes.append(("label", text[at + 1 : colon], inside))
            at = end + 1
        else:
            end = at
            while end < len(text) and text[end] not in "[{<" + until:
                end += 1
            nodes.append(("text", text[at:end]))
            at = end
    return tuple(nodes), at


def check(template: str) -> None:
    """ValueError, which has the template: its brackets do not match, or it has an unknown part or label."""
    try:
        _check(parse(template))
    except (ValueError, KeyError, IndexError, RecursionError) as error:
        raise ValueError(f"{template!r:.200}: {error}") from error


def _check(nodes: tuple[Node, ...]) -> None:
    for node in nodes:
        if node[0] == "choice":
            for option in node[1]:
                _check(option)
        elif node[0] == "label":
            head_of(node[1])
            _check(node[2])
        elif node[0] == "part" and node[1] not in ("E", "Es", "G", "Gs", *PARTS):
            raise ValueError(f"no such part: {node[1]}")


def head_of(label: str) -> tuple[str, str]:
    """Returns the head and the value of a template's label."""
    if "=" in label:
        head, value = label.split("=", 1)
    else:
        head, value = ("drawing" if label in DRAWINGS else "mode"), label
    if value not in LABELS[head]:
        raise ValueError(f"no such label: {label}")
    return head, value


def sample(nodes: tuple[Node, ...], draw: random.Random, labels: tuple[tuple[str, str], ...] = ()) -> list[Piece]:
    """Returns a random text of the nodes, in pieces."""
    out: list[Piece] = []
    for node in nodes:
        if node[0] == "text":
            out.append(Piece(node[1], labels))
        elif node[0] == "choice":
            out += sample(draw.choice(node[1]), draw, labels)
        elif node[0] == "label":
            out += sample(node[2], draw, (*labels, head_of(node[1])))
        elif node[1] in ("E", "Es"):
            out.append(element(draw, node[1] == "Es", labels))
        elif node[1] in ("G", "Gs"):
            out.append(group(draw, node[1] == "Gs", labels))
        else:
            out += sample(parse(PARTS[node[1]]), draw, labels)
    return out


def element(draw: random.Random, many: bool, labels: tuple[tuple[str, str], ...]) -> Piece:
    symbol = draw.choice(COMMON) if draw.random() < 0.75 else draw.choice(list(ELEMENTS))
    name = draw.choice(ELEMENTS[symbol].split("|"))
    use_symbol = draw.random() < 0.3
    text = symbol if use_symbol else name
    if many:
        text = draw.choice(
            [
                f"{text} atoms",
                f"{text} atoms",
                f"{text}s" if not use_symbol else f"{text} atoms",
                f"atoms of {text}",
                text,
            ]
        )
    return Piece(text, (*labels, ("element", symbol)))


def group(draw: random.Random, many: bool, labels: tuple[tuple[str, str], ...]) -> Piece:
    name = draw.choice(list(GROUPS))
    words = GROUPS[name].split("|")
    text = words[0] if draw.random() < 0.4 else draw.choice(words)
    if many:
        text = plural(text)
    elif draw.random() < 0.1 and " " not in text:
        text += draw.choice([" group", " moiety", " unit", " function", " functionality"])
    return Piece(text, (*labels, ("group", name)))


def plural(text: str) -> str:
    if text[-1].isdigit() or re.search(r"[A-Z=#]", text[-2:]) or " or " in text:
        return text if " " in text else text + " groups"
    if text.endswith("y") and text[-2:] != "ey" and " " not in text:
        return text[:-1] + "ies"
    return text + ("es" if text.endswith(("s", "x")) else "s")
