"""The templates of questions, read from the text files of templates/: what the lines of those files are is said at their head.

[a|b|] is a choice, {X} the part X of PARTS (or E, Es, G, Gs: an element, elements, a group, groups), <label:words> labels words.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("templates")


def lines(name: str) -> list[str]:
    """The lines of a file that are neither empty nor a comment."""
    every = (FOLDER / name).read_text().splitlines()
    return [line for line in every if line.strip() and not line.startswith("#")]


def definitions(name: str) -> dict[str, str]:
    """NAME = TEMPLATE of a file; an indented line goes on with the line before it."""
    found: dict[str, str] = {}
    last = ""
    for line in lines(name):
        if line.startswith(" "):
            found[last] += line.strip()
        else:
            last, _, template = line.partition(" = ")
            found[last] = template
    return found


def families() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """By family: the templates that the network learns from, and those that are held out."""
    learnt: dict[str, list[str]] = {}
    held: dict[str, list[str]] = {}
    for line in lines("questions.txt"):
        if line.startswith("== "):
            family = line[3:]
            learnt[family], held[family] = [], []
            into = learnt[family]
        elif line == "--":
            into = held[family]
        else:
            into.append(line)
    return learnt, held


PARTS = definitions("parts.txt")
NOUNS = definitions("nouns.txt")
TRAIN, HELD = families()
