"""SMILES tokens and the vocabulary file.

A SMILES token is a bracket atom, a two-letter element, an atom, a bond, a branch, a dot or a ring number (the regular
expression of Schwaller et al. 2018, doi:10.1039/C8SC02339E). The vocabulary also has merges of several SMILES tokens
(byte-pair encoding, Sennrich et al. 2016, arXiv 1508.07909), which halve the tokens of a molecule. A text is split from
left to right into the longest tokens, at boundaries of SMILES tokens. vocab.txt has one token a line; the line number,
from 0, is the id. The Go package `tokenizers` reads the same file and splits the same way.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]")
PATTERN = re.compile(r"\[[^\]]+\]|Br|Cl|%\d\d|[BCNOSPFIbcnosp]|[().=#\-+\\/:~@?>*$]|\d")


def split(smiles: str) -> list[str]:
    """Splits a SMILES into tokens; raises ValueError at a character that starts no token."""
    tokens = PATTERN.findall(smiles)
    if sum(map(len, tokens)) == len(smiles):
        return tokens
    tokens, at = [], 0
    while at < len(smiles):
        match = PATTERN.match(smiles, at)
        if match is None:
            raise ValueError(f"tokens: no token at character {at + 1} of {smiles!r}")
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
        self.longest = max((len(split(token)) for token in self.tokens[4:]), default=1)

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def build(cls, molecules: Iterable[str], merges: int = 0, sample: int = 20_000) -> Vocabulary:
        """Builds the vocabulary: SMILES tokens of the molecules, most frequent first (ties by text), then merges.

        Merges are counted on about `sample` of the molecules.
        """
        rows = [split(smiles) for smiles in molecules]
        counts = Counter(token for row in rows for token in row)
        simple = sorted(counts, key=lambda t: (-counts[t], t))
        return cls([*SPECIALS, *simple, *merge_pairs(rows[:: max(1, len(rows) // sample)], simple, merges)])

    def extended(self, molecules: list[str], merges: int, sample: int = 25_000) -> Vocabulary:
        """Returns this vocabulary with missing SMILES tokens of the molecules and `merges` new merges appended.

        Merges are counted on about `sample` of the molecules.
        """
        counts = Counter(token for smiles in molecules for token in split(smiles) if token not in self.ids)
        simple = Vocabulary([*self.tokens, *sorted(counts, key=lambda t: (-counts[t], t))])
        rows = [
            [simple.tokens[i] for i in simple.encode(smiles)]
            for smiles in molecules[:: max(1, len(molecules) // sample)]
        ]
        return Vocabulary([*simple.tokens, *merge_pairs(rows, simple.tokens, merges)])

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        return cls(path.read_text().splitlines())

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(token + "\n" for token in self.tokens))

    def encode(self, smiles: str) -> np.ndarray:
        """Returns ids, int64 [tokens], without [BOS] and [EOS]; an unknown SMILES token is [UNK]."""
        tokens, out, at = split(smiles), [], 0
        bounds = list(itertools.accumulate(map(len, tokens), initial=0))
        while at < len(tokens):
            for end in range(min(at + self.longest, len(tokens)), at, -1):
                number = self.ids.get(smiles[bounds[at] : bounds[end]])
                if number is not None:
                    break
            out.append(UNK if number is None else number)
            at = end
        return np.array(out, np.int64)

    def decode(self, ids: Iterable[int]) -> str:
        """Returns the text up to the first [EOS], without other special tokens."""
        out = []
        for number in ids:
            if number == EOS:
                break
            if number >= len(SPECIALS):
                out.append(self.tokens[number])
        return "".join(out)


def merge_pairs(rows: list[list[str]], simple: list[str], merges: int) -> list[str]:
    """Merges the most frequent pair of adjacent tokens, at most `merges` times; returns the new tokens."""
    texts, ids = list(simple), {token: number for number, token in enumerate(simple)}
    stream = np.array([n for row in rows for n in (-1, *(ids[token] for token in row))], np.int64)
    for _ in range(merges):
        pairs = np.where((stream[:-1] >= 0) & (stream[1:] >= 0), stream[:-1] << 20 | stream[1:], -1)
        distinct, counts = np.unique(pairs[pairs >= 0], return_counts=True)
        if not len(distinct):
            break  # Each row is one token.
        pair = distinct[counts.argmax()]
        at = np.flatnonzero(pairs == pair)
        # Of overlapping pairs (the same token three times), merge the first, the third ...
        first = np.concatenate(([True], np.diff(at) > 1))
        run_start = np.maximum.accumulate(np.where(first, np.arange(len(at)), 0))
        at = at[(np.arange(len(at)) - run_start) % 2 == 0]
        stream[at] = len(texts)
        stream = np.delete(stream, at + 1)
        texts.append(texts[pair >> 20] + texts[pair & (1 << 20) - 1])
    return texts[len(simple) :]
