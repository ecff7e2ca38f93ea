"""Builds sentences, and splits texts into tokens.

An answer is a list of parts: plain text; Smiles, whose tokens are atoms and bonds; or Molfile, whose tokens are words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


class Smiles(str):
    """A part of an answer that is SMILES or InChI."""


class Molfile(str):
    """A part of an answer that is a mol file in a code block of Markdown. It has lines of its own."""


Parts = list[str]

MARKER = r"<\|(?:system|user|assistant|end|image)\|>"
"""The markers of chat_template.jinja. The gateway breaks up such strings in a user's text."""
WORD = re.compile(MARKER + r"| ?[^\W\d_]{1,8}| ?\d{1,3}| ?[^\w\s]|_|\s")
SYMBOL = re.compile(r"\[[^\]]*\]|Br|Cl|%\d\d|.", re.DOTALL)
MOLFILE_WORD = re.compile(r" *[^\s]+|\s")


def tokens(parts: Iterable[str]) -> list[str]:
    """Splits the parts of a text into tokens. Joined, they are the text."""
    out: list[str] = []
    for part in parts:
        pattern = SYMBOL if isinstance(part, Smiles) else MOLFILE_WORD if isinstance(part, Molfile) else WORD
        out += pattern.findall(part)
    return out


def counted(count: int, one: str, many: str) -> str:
    """Returns "no rings", "1 ring" or "2 rings"."""
    return f"{count or 'no'} {one if count == 1 else many}"


def plural(name: str) -> str:
    return name[:-1] + "ies" if name.endswith("y") else name + "s"


def join_and(items: Sequence[str]) -> str:
    """Returns "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """Lowers the first letter of a word for use inside a sentence: "Its mass", but not "I" or a formula."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
