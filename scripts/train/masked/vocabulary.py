"""Tokens of the masked model: SMILES tokens, and frequent runs of them inside pieces.

A piece such as `.c1ccccc1` or `.C(=O)*`, or a large part of one, is a single token, so that strings are short and few ring
digits and branches must match across tokens. A token holds a dot at its start only. Runs are found by byte-pair merging
(Sennrich et al. 2016, arXiv 1508.07909) over the pieces of the training data; a text is cut into the fewest tokens
possible, at each step the longest token of the possible ones. tokenizers/molecules/safe.go does the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from scripts.train.masked import safe

PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]")
QUALITY = len(SPECIALS)
"""Id of [QUALITY], which some vocabularies have after the others: the row it begins is a molecule of quality, see broad.py."""
LENGTHS = (*range(1, 13), *range(14, 41, 2), *range(44, 81, 4), *range(88, 201, 8))
"""The n of the tokens [LENGTH n], which follow [QUALITY]: a row that ends with one in place of [EOS] is a molecule of n tokens of the
published tokenisation, or more, but fewer than the next n."""
CONDITIONS = ("[QUALITY]", *(f"[LENGTH {n}]" for n in LENGTHS))
ALWAYS = (".", "*", "(", ")", "=", "#", "-", *"123456789", *"BCNOSPFIbcnosp", "Br", "Cl")
"""SMILES tokens that are in every vocabulary."""


class Vocabulary:
    """Tokens and ids; vocab.txt holds one token a line, the line number from 0 is the id."""

    def __init__(self, tokens: list[str]) -> None:
        if tuple(tokens[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"vocabulary: the first lines must be {' '.join(SPECIALS)}")
        self.tokens, self.ids = tokens, {token: number for number, token in enumerate(tokens)}
        self.reserved = next(
            (i for i, token in enumerate(tokens) if token not in SPECIALS and token not in CONDITIONS), len(tokens)
        )
        """How many ids, the first ones, stand for no text."""
        self.longest = max(len(safe.split(token)) for token in tokens[self.reserved :])

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def read(cls, path: Path) -> Vocabulary:
        return cls(path.read_text().splitlines())

    def encode(self, text: str) -> np.ndarray:
        """Ids without [BOS] and [EOS]; unknown tokens are [UNK]."""
        dots = [i for i, c in enumerate(text) if c == "."]
        starts = [0, *(i for i in dots if i), len(text)]
        return np.array([i for a, b in zip(starts, starts[1:]) for i in self.piece(text[a:b])], np.int64)

    def piece(self, text: str) -> list[int]:
        """Ids of one piece: the fewest tokens, the longest first."""
        tokens = safe.split(text)
        count = len(tokens)
        best: list[tuple[int, int, int]] = [(0, 0, 0)] * (
            count + 1
        )  # From each place: tokens needed, end of the first, its id.
        for at in range(count - 1, -1, -1):
            run, found = "", (count + 1, 0, UNK)
            for end in range(at + 1, min(count, at + self.longest) + 1):
                run += tokens[end - 1]
                known = self.ids.get(run, UNK if end == at + 1 else None)
                if known is not None and best[end][0] + 1 <= found[0]:
                    found = (best[end][0] + 1, end, known)
            best[at] = found
        ids, at = [], 0
        while at < count:
            _, at, known = best[at]
            ids.append(known)
        return ids

    def published(self) -> np.ndarray:
        """For every id how many tokens of SAFE, the published tokenisation, it stands for: its simple tokens, and one more for a
        dot, whose cut has two ring numbers where these strings have one open end."""
        return np.array(
            [
                0 if id < self.reserved else len(safe.split(token)) + token.count(".")
                for id, token in enumerate(self.tokens)
            ]
        )

    def length(self, published: int) -> int:
        """The id of the token [LENGTH n] for a row of so many published tokens."""
        return QUALITY + int(np.searchsorted(LENGTHS, max(published, 1), "right"))

    def grown(self, pieces: Counter[str], runs: int) -> Vocabulary:
        """This vocabulary with CONDITIONS, the simple tokens that the pieces need and it lacks, and up to `runs` runs of theirs that
        it lacks."""
        fresh = build(pieces, runs, True)
        return Vocabulary(
            [
                *SPECIALS,
                *CONDITIONS,
                *self.tokens[self.reserved :],
                *(t for t in fresh.tokens[fresh.reserved :] if t not in self.ids),
            ]
        )

    def decode(self, ids: list[int]) -> str:
        """The text up to [EOS], without special tokens."""
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return "".join(self.tokens[i] for i in ids if i >= self.reserved)


def build(pieces: Counter[str], runs: int, quality: bool = False) -> Vocabulary:
    """The vocabulary of pieces with their counts: all their SMILES tokens and `runs` runs of them; quality: CONDITIONS too."""
    first = [*SPECIALS, *CONDITIONS] if quality else list(SPECIALS)
    single: Counter[str] = Counter(dict.fromkeys(ALWAYS, 0))
    for text, count in pieces.items():
        for token in safe.split(text):
            single[token] += count
    base = sorted(single, key=lambda t: (-single[t], t))
    merged = _merge(dict(pieces.most_common(12_000)), 2 * runs)
    wide = Vocabulary([*first, *base, *merged])
    used: Counter[str] = Counter()
    for text, count in pieces.most_common(30_000):
        for known in wide.piece(text):
            used[wide.tokens[known]] += count
    # What a run saves is its uses times the tokens it replaces but one.
    kept = sorted(merged, key=lambda t: (-used[t] * (len(safe.split(t)) - 1), t))[:runs]
    return Vocabulary([*first, *base, *kept])


def _merge(pieces: dict[str, int], count: int) -> list[str]:
    """The first `count` merges, most frequent first."""
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
