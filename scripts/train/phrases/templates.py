"""The templates of questions, from the text files of templates/, whose heads explain their lines. Syntax:
grammar.py."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("templates")


def lines(name: str) -> list[str]:
    """Returns the lines of a file that are neither empty nor comments."""
    text = (FOLDER / name).read_text().splitlines()
    return [line for line in text if line.strip() and not line.startswith("#")]


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


def families() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Returns by family the templates for training, and the held-out ones."""
    training: dict[str, list[str]] = {}
    held_out: dict[str, list[str]] = {}
    for line in lines("questions.txt"):
        if line.startswith("== "):
            family = line[3:]
            training[family], held_out[family] = [], []
            into = training[family]
        elif line == "--":
            into = held_out[family]
        else:
            into.append(line)
    return training, held_out


PARTS = definitions("parts.txt")
NOUNS = definitions("nouns.txt")
TRAIN, HELD_OUT = families()
