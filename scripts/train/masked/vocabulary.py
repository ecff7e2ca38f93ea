"""Tokens of the masked model: SMILES tokens, and merges of frequent sequences of them inside pieces.

A piece such as `.c1ccccc1` or `.C(=O)*`, or a large part of one, is a single token. Strings are short, and few ring
digits and branches must match across tokens. Only the first character of a token may be a dot. Merges come from
byte-pair encoding (Sennrich et al. 2016, arXiv 1508.07909) of the pieces of the training data. A text is split into
the fewest tokens; among equal splits, the longest token first. tokenizers/molecules/safe.go does the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from scripts.train.masked import safe

PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]")
QUALITY = len(SPECIALS)
"""Id of [QUALITY], which some vocabularies have: it starts the row of a molecule with quality, see broad.py."""
LENGTHS = (*range(1, 13), *range(14, 41, 2), *range(44, 81, 4), *range(88, 201, 8))
"""Each n of the tokens [LENGTH n], which follow [QUALITY].

A row that ends with one instead of [EOS] has at least n published tokens, and fewer than the next n.
"""
CONDITIONS = ("[QUALITY]", *(f"[LENGTH {n}]" for n in LENGTHS))
ALWAYS = (".", "*", "(", ")", "=", "#", "-", *"123456789", *"BCNOSPFIbcnosp", "Br", "Cl")
"""SMILES tokens of every vocabulary."""


class Vocabulary:
    """Tokens and ids; vocab.txt has one token a line, and the id is the line number from 0."""

    def __init__(self, tokens: list[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"vocabulary: the first lines must be {' '.join(SPECIALS)}")
        self.tokens, self.ids = tokens, {token: number for number, token in enumerate(tokens)}
        self.reserved = next(
            (i for i, token in enumerate(tokens) if token not in SPECIALS and token not in CONDITIONS), len(tokens)
        )
        """Number of leading ids that stand for no text."""
        self.longest = max(len(safe.split(token)) for token in tokens[self.reserved :])

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        return cls(path.read_text().splitlines())

    def encode(self, text: str) -> np.ndarray:
        """Returns ids without [BOS] and [EOS]; unknown tokens are [UNK]."""
        dots = [i for i, c in enumerate(text) if c == "."]
        starts = [0, *(i for i in dots if i), len(text)]
        return np.array([i for a, b in zip(starts, starts[1:]) for i in self.encode_piece(text[a:b])], np.int64)

    def encode_piece(self, text: str) -> list[int]:
        """Returns the ids of one piece: the fewest tokens, longest first."""
        tokens = safe.split(text)
        count = len(tokens)
        # From each position: number of tokens to the end, end of the first token, its id.
        best: list[tuple[int, int, int]] = [(0, 0, 0)] * (count + 1)
        for at in range(count - 1, -1, -1):
            merged, shortest = "", (count + 1, 0, UNK)
            for end in range(at + 1, min(count, at + self.longest) + 1):
                merged += tokens[end - 1]
                id = self.ids.get(merged, UNK if end == at + 1 else None)
                if id is not None and best[end][0] + 1 <= shortest[0]:
                    shortest = (best[end][0] + 1, end, id)
            best[at] = shortest
        ids, at = [], 0
        while at < count:
            _, at, id = best[at]
            ids.append(id)
        return ids

    def published_lengths(self) -> np.ndarray:
        """Returns the number of SAFE tokens, the published tokenisation, that each id represents.

        These are its SMILES tokens and one more for a dot: SAFE writes a cut with two ring numbers, these strings with
        one open end.
        """
        return np.array(
            [
                0 if id < self.reserved else len(safe.split(token)) + token.count(".")
                for id, token in enumerate(self.tokens)
            ]
        )

    def length(self, published: int) -> int:
        """Returns the id of [LENGTH n] for a row of that many published tokens."""
        return QUALITY + int(np.searchsorted(LENGTHS, max(published, 1), "right"))

    def extended(self, pieces: Counter[str], merges: int) -> Vocabulary:
        """Returns this vocabulary with CONDITIONS, missing SMILES tokens of the pieces and up to `merges` new
        merges."""
        fresh = build(pieces, merges, True)
        return Vocabulary(
            [
                *SPECIALS,
                *CONDITIONS,
                *self.tokens[self.reserved :],
                *(t for t in fresh.tokens[fresh.reserved :] if t not in self.ids),
            ]
        )

    def decode(self, ids: list[int]) -> str:
        """Returns the text up to [EOS], without special tokens."""
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return "".join(self.tokens[i] for i in ids if i >= self.reserved)


def build(pieces: Counter[str], merges: int, conditions: bool = False) -> Vocabulary:
    """Builds the vocabulary of counted pieces: their SMILES tokens, `merges` merges and, if wanted, CONDITIONS."""
    first = [*SPECIALS, *CONDITIONS] if conditions else list(SPECIALS)
    single: Counter[str] = Counter(dict.fromkeys(ALWAYS, 0))
    for text, count in pieces.items():
        for token in safe.split(text):
            single[token] += count
    base = sorted(single, key=lambda t: (-single[t], t))
    merged = _merge(dict(pieces.most_common(12_000)), 2 * merges)
    candidates = Vocabulary([*first, *base, *merged])
    used: Counter[str] = Counter()
    for text, count in pieces.most_common(30_000):
        for id in candidates.encode_piece(text):
            used[candidates.tokens[id]] += count
    # A merge of n tokens saves n - 1 tokens a use.
    best = sorted(merged, key=lambda t: (-used[t] * (len(safe.split(t)) - 1), t))[:merges]
    return Vocabulary([*first, *base, *best])


def _merge(pieces: dict[str, int], count: int) -> list[str]:
    """Returns the first `count` byte-pair merges, most frequent first."""
    words = [safe.split(text) for text in pieces]
    weights = list(pieces.values())
    pairs: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += weights[number]
            where[pair].add(number)
    out: list[str] = []
    while len(out) < count and pairs:
        best = max(pairs, key=lambda p: (pairs[p], p))
        out.append("".join(best))
        for number in where.pop(best):
            word, weight = words[number], weights[number]
            for pair in zip(word, word[1:]):
                pairs[pair] -= weight
            fresh, at = [], 0
            while at < len(word):
                joined = at + 1 < len(word) and (word[at], word[at + 1]) == best
                fresh.append("".join(best) if joined else word[at])
                at += 1 + joined
            words[number] = fresh
            for pair in zip(fresh, fresh[1:]):
                pairs[pair] += weight
                where[pair].add(number)
        del pairs[best]
    return list(dict.fromkeys(out))
