"""Training strings: pieces cut once and kept in a cache file, put in a fresh random order at every pass."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from scripts.train import batches, training
from scripts.train.masked import safe

PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]")
BONDS = 20
"""Attachment numbers in the vocabulary, <1> to <20>; molecules with more cut bonds are left out."""
_OPEN = 200
"""In the cache, entry _OPEN + i stands for the open end of cut bond i."""


class Vocabulary:
    """Tokens and ids; vocab.txt holds one token a line, the line number from 0 is the id."""

    def __init__(self, tokens: list[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"vocabulary: the first lines must be {' '.join(SPECIALS)}")
        self.tokens, self.ids = tokens, {token: number for number, token in enumerate(tokens)}
        self.dot, self.first = self.ids["."], self.ids["<1>"]

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def build(cls, counts: Counter[str]) -> "Vocabulary":
        plain = [t for t in counts if t != "." and not t.startswith("<")]
        return cls([*SPECIALS, ".", *(f"<{i + 1}>" for i in range(BONDS)), *sorted(plain, key=lambda t: (-counts[t], t))])

    @classmethod
    def read(cls, path: Path) -> "Vocabulary":
        return cls(path.read_text().splitlines())

    def encode(self, text: str) -> np.ndarray:
        """Ids without [BOS] and [EOS]; unknown tokens are [UNK]."""
        return np.array([self.ids.get(token, UNK) for token in safe.split(text)], np.int64)

    def decode(self, ids: list[int]) -> str:
        """The text up to [EOS], without special tokens."""
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return "".join(self.tokens[i] for i in ids if i >= len(SPECIALS))


class Pieces:
    """All pieces of all molecules as one flat array of ids: piece p is ids[starts[p]:starts[p + 1]], and molecule m has the
    pieces first[m] to first[m + 1] - 1."""

    def __init__(self, ids: np.ndarray, starts: np.ndarray, first: np.ndarray, vocabulary: Vocabulary) -> None:
        self.ids, self.starts, self.first, self.vocabulary = ids, starts, first, vocabulary

    def __len__(self) -> int:
        return len(self.first) - 1

    def lengths(self) -> np.ndarray:
        """Tokens of every molecule's string, dots counted, [BOS] and [EOS] not."""
        return self.starts[self.first[1:]] - self.starts[self.first[:-1]] + np.diff(self.first) - 1

    def string(self, molecule: int, random: np.random.Generator) -> np.ndarray:
        """[BOS] the pieces in random order [EOS], int64."""
        order = self.first[molecule] + random.permutation(self.first[molecule + 1] - self.first[molecule])
        out: list[int] = [BOS]
        for piece in order.tolist():
            out += self.ids[self.starts[piece] : self.starts[piece + 1]].tolist()
            out.append(self.vocabulary.dot)
        out[-1] = EOS
        seen: dict[int, int] = {}
        first = self.vocabulary.first
        return np.array([i if i < _OPEN else first + seen.setdefault(i, len(seen)) for i in out], np.int64)


def prepare(molecules: list[str], path: Path) -> Pieces:
    """Reads the cache file, or cuts all molecules (about 1 ms each) and writes it."""
    if not path.exists():
        _cut(molecules, path)
    with np.load(path) as held:
        return Pieces(held["ids"], held["starts"], held["first"], Vocabulary(held["tokens"].tolist()))


def _cut(molecules: list[str], path: Path) -> None:
    from tqdm import tqdm

    cut = [safe.fragments(smiles) for smiles in tqdm(molecules, disable=None, desc="cutting")]
    split = [[safe.split(piece) for piece in pieces] for pieces in cut]
    split = [pieces for pieces in split if sum(t[0] == "<" for piece in pieces for t in piece) <= 2 * BONDS]
    vocabulary = Vocabulary.build(Counter(t for pieces in split for piece in pieces for t in piece))
    ids = [[_OPEN + int(t[1:-1]) if t[0] == "<" else vocabulary.ids[t] for t in piece] for pieces in split for piece in pieces]
    if len(vocabulary) > _OPEN:
        raise ValueError(f"masked: {len(vocabulary)} tokens do not fit below {_OPEN}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial.npz")
    np.savez_compressed(
        partial, ids=np.array([i for piece in ids for i in piece], np.uint8), tokens=np.array(vocabulary.tokens),
        starts=np.cumsum([0, *map(len, ids)]), first=np.cumsum([0, *map(len, split)]))
    os.replace(partial, path)


class Batches:
    """batch(step) is (ids [B, L], t [B]): whole strings, and the share of tokens to mask in each row."""

    lowest = 1e-3

    def __init__(self, pieces: Pieces, options: training.Options) -> None:
        self.pieces, self.seed = pieces, options.seed
        self.buckets = batches.Buckets(pieces.lengths(), options.batch, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """t is antithetic: one uniform number, shifted by 1/B from row to row, so that every batch covers all levels."""
        random = np.random.default_rng((self.seed, step, 1))
        rows = [self.pieces.string(m, random) for m in self.buckets.rows(step)]
        level = (random.random() + np.arange(len(rows)) / len(rows)) % 1.0
        t = self.lowest + (1 - self.lowest) * random.permutation(level)
        return torch.from_numpy(batches.pad(rows, PAD, 4)), torch.from_numpy(t.astype(np.float32))
