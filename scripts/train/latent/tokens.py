"""SMILES tokens and the vocabulary file.

A simple token is a bracket atom, a two-letter element, an atom, a bond, a branch, a dot or a ring number (the usual
regular expression of Schwaller et al. 2018, doi:10.1039/C8SC02339E). The vocabulary also holds runs of several simple
tokens that are frequent (found by byte-pair merges, Sennrich et al. 2016, arXiv 1508.07909), which halve the number of
tokens a molecule. A text is cut from left to right into the longest tokens of the vocabulary; cuts fall between simple
tokens only. vocab.txt holds one token a line; the line number, from 0, is the id. The Go package `tokenizers` reads
the same file and cuts in the same way.
"""

from __future__ import annotations

import gzip
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
    """The tokens of a SMILES; ValueError names the first character that starts no token."""
    tokens = PATTERN.findall(smiles)
    if sum(map(len, tokens)) == len(smiles):
        return tokens
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
        self.longest = max((len(split(token)) for token in self.tokens[4:]), default=1)

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def build(cls, molecules: Iterable[str], merges: int = 0, sample: int = 20_000) -> Vocabulary:
        """All simple tokens of the molecules, most frequent first (ties by text), then `merges` runs of them, found on
        about `sample` of the molecules."""
        rows = [split(smiles) for smiles in molecules]
        counts = Counter(token for row in rows for token in row)
        simple = sorted(counts, key=lambda t: (-counts[t], t))
        return cls([*SPECIALS, *simple, *runs(rows[:: max(1, len(rows) // sample)], simple, merges)])

    def grown(self, molecules: list[str], merges: int, sample: int = 25_000) -> Vocabulary:
        """This vocabulary, then the simple tokens of the molecules that it lacks, then `merges` runs of what it has, found on
        about `sample` of the molecules."""
        counts = Counter(token for smiles in molecules for token in split(smiles) if token not in self.ids)
        simple = Vocabulary([*self.tokens, *sorted(counts, key=lambda t: (-counts[t], t))])
        rows = [
            [simple.tokens[i] for i in simple.encode(smiles)]
            for smiles in molecules[:: max(1, len(molecules) // sample)]
        ]
        return Vocabulary([*simple.tokens, *runs(rows, simple.tokens, merges)])

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        return cls(path.read_text().splitlines())

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(token + "\n" for token in self.tokens))

    def encode(self, smiles: str) -> np.ndarray:
        """Ids, int64 [tokens], without [BOS] and [EOS]; a simple token outside the vocabulary is [UNK]."""
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
        """The text up to the first [EOS]; other special tokens are skipped."""
        out = []
        for number in ids:
            if number == EOS:
                break
            if number >= len(SPECIALS):
                out.append(self.tokens[number])
        return "".join(out)


def runs(rows: list[list[str]], simple: list[str], merges: int) -> list[str]:
    """The most frequent neighbours of the rows joined to one token, again and again, `merges` times."""
    texts, ids = list(simple), {token: number for number, token in enumerate(simple)}
    stream = np.array([n for row in rows for n in (-1, *(ids[token] for token in row))], np.int64)
    for _ in range(merges):
        pairs = np.where((stream[:-1] >= 0) & (stream[1:] >= 0), stream[:-1] << 20 | stream[1:], -1)
        found, counts = np.unique(pairs[pairs >= 0], return_counts=True)
        pair = found[counts.argmax()]
        at = np.flatnonzero(pairs == pair)
        # Of neighbours that overlap (three times the same token) the first, the third ... are joined.
        first = np.concatenate(([True], np.diff(at) > 1))
        begun = np.maximum.accumulate(np.where(first, np.arange(len(at)), 0))
        at = at[(np.arange(len(at)) - begun) % 2 == 0]
        stream[at] = len(texts)
        stream = np.delete(stream, at + 1)
        texts.append(texts[pair >> 20] + texts[pair & (1 << 20) - 1])
    return texts[len(simple) :]


def read_molecules(path: Path) -> list[str]:
    """The lines of a .smi or .smi.gz file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        return [line.strip() for line in file if line.strip()]
