"""SMILES tokens and the vocabulary file.

One token is a bracket atom, a two-letter element, an atom, a bond, a branch, a dot or a ring number (the usual
regular expression of Schwaller et al. 2018, doi:10.1039/C8SC02339E). vocab.txt holds one token a line; the line
number, from 0, is the id. The Go package `tokenizers` reads the same file.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]")
PATTERN = re.compile(r"\[[^\]]+\]|Br|Cl|%\d\d|[BCNOSPFIbcnosp]|[().=#\-+\\/:~@?>*$]|\d")


def split(smiles: str) -> list[str]:
    """The tokens of a SMILES; ValueError names the first character that starts no token."""
    tokens, at = [], 0
    while at < len(smiles):
        match = PATTERN.match(smiles, at)
        if match is None:
            raise ValueError(f"no token at character {at + 1} of {smiles!r}")
        tokens.append(match.group())
        at = match.end()
    return tokens


class Vocabulary:
    """Tokens and their ids."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = list(tokens)
        if tuple(self.tokens[:4]) != SPECIALS:
            raise ValueError(f"vocabulary: the first four lines must be {' '.join(SPECIALS)}")
        self.ids = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def build(cls, molecules: Iterable[str]) -> "Vocabulary":
        """All tokens of the molecules, most frequent first (ties by text)."""
        counts = Counter(token for smiles in molecules for token in split(smiles))
        return cls([*SPECIALS, *sorted(counts, key=lambda t: (-counts[t], t))])

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        return cls(path.read_text().splitlines())

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(token + "\n" for token in self.tokens))

    def encode(self, smiles: str) -> np.ndarray:
        """Ids, int64 [tokens], without [BOS] and [EOS]; a token outside the vocabulary is [UNK]."""
        return np.array([self.ids.get(token, UNK) for token in split(smiles)], np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """The text up to the first [EOS]; other special tokens are skipped."""
        out = []
        for number in ids:
            if number == EOS:
                break
            if number >= len(SPECIALS):
                out.append(self.tokens[number])
        return "".join(out)


def read_molecules(path: Path) -> list[str]:
    """The lines of a .smi or .smi.gz file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        return [line.strip() for line in file if line.strip()]
