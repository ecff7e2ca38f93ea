"""Texts as tokens: words and signs in prompts and answers, atoms and bonds in SMILES."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = r"<\|(?:system|user|assistant|end|image)\|>"
"""What chat_template.jinja writes between texts; the gateway breaks up such strings where a user types them."""

WORD = re.compile(MARK + r"| ?[^\W\d_]{1,8}| ?\d{1,3}| ?[^\w\s]|_|\s")
SYMBOL = re.compile(r"\[[^\]]*\]|Br|Cl|%\d\d|.", re.DOTALL)


class Smiles(str):
    """A part of an answer that is SMILES."""


def tokens(parts: Iterable[str]) -> list[str]:
    """The tokens of a text given in parts; joined they are the text."""
    out: list[str] = []
    for part in parts:
        out += (SYMBOL if isinstance(part, Smiles) else WORD).findall(part)
    return out
