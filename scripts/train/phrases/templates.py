"""The templates of questions, from the text files of templates/, whose heads explain their lines. Syntax:
grammar.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).with_name("templates")


def lines(name: str) -> list[str]:
    """Returns the lines of a file of the folder that are neither empty nor comments."""
    return without_comments((FOLDER / name).read_text())


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def definitions(name: str) -> dict[str, str]:
    """Returns templates by name of a file with lines NAME = TEMPLATE. An indented line continues the one before."""
    found: dict[str, str] = {}
    last = ""
    for line in lines(name):
        if line.startswith(" "):
            found[last] += line.strip()
        else:
            last, _, template = line.partition(" = ")
            found[last] = template
    return found


@dataclass(frozen=True)
class Questions:
    """By family the templates for training, and the held-out questions."""

    train: dict[str, list[str]]
    held_out: dict[str, list[str]]


def families(text: list[str]) -> Questions:
    """Returns the questions of the lines of a file. ValueError: a line before the first family."""
    found = Questions({}, {})
    into = None
    for line in text:
        if line.startswith("== "):
            family = line[3:].strip()
            into = found.train.setdefault(family, [])
            found.held_out.setdefault(family, [])
        elif into is None:
            raise ValueError(f"the first line must name a family, == NAME, got {line!r:.60}")
        else:
            into = found.held_out[family] if line == "--" else into
            if line != "--":
                into.append(line)
    return found


PARTS = definitions("parts.txt")
NOUNS = definitions("nouns.txt")
SHIPPED = families(lines("questions.txt"))
TRAIN, HELD_OUT = SHIPPED.train, SHIPPED.held_out
