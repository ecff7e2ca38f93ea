"""Query and passage as the one row of tokens that the ranker reads, and lists of them to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from scripts.train.embedding.examples import Mined
from scripts.train.embedding.vectors import batches_by_length

Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""ids, mask, segment_ids [B,L] int64 to logits [B,1]."""


def paired(query: Sequence[int], passage: Sequence[int], longest: int) -> tuple[list[int], int]:
    """[CLS] q [SEP] and [CLS] p [SEP] to [CLS] q [SEP] p [SEP] of at most `longest` tokens, and the length of the
    first segment. The passage is what truncation shortens."""
    room = longest - len(query)
    tail = list(passage[1:])
    if len(tail) > room:
        tail = tail[: room - 1] + tail[-1:]
    return list(query) + tail, len(query)


def stacked(rows: Sequence[tuple[list[int], int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs to (ids, mask, segment_ids), each [rows, longest] int64."""
    ids = torch.zeros(len(rows), max(len(r) for r, _ in rows), dtype=torch.int64)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, (row, first) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
        segments[i, first : len(row)] = 1
    return ids, mask, segments


def logits_of(model: Logits, rows: Sequence[tuple[list[int], int]], tokens: int) -> np.ndarray:
    """One logit a pair, in the order given; pairs of like length go together."""
    found = np.empty(len(rows), np.float32)
    for batch in batches_by_length([len(r) for r, _ in rows], tokens):
        found[batch] = np.asarray(model(*stacked([rows[i] for i in batch])), np.float32)[:, 0]
    return found


@dataclass
class Lists:
    """Q lists of C candidates, the first of each right: rows of Q*C pairs."""

    rows: tuple[Tensor, Tensor, Tensor]
    candidates: int

    def to(self, device: torch.device) -> "Lists":
        return Lists(tuple(r.to(device) for r in self.rows), self.candidates)


class Sampler:
    """The lists of a step: a pure function of (seed, step). A step mixes the sets in proportion to their queries."""

    def __init__(self, sets: list[Mined], cut: Callable, batch: int, candidates: int, pair_tokens: int, query_tokens: int, seed: int):
        self.sets, self.batch, self.candidates, self.longest, self.seed = sets, batch, candidates, pair_tokens, seed
        self.queries = [cut(s.queries, query_tokens) for s in sets]
        self.passages = [cut(s.passages, pair_tokens) for s in sets]
        self.plan = [(s, q) for s, mined in enumerate(sets) for q in range(len(mined.queries)) if mined.negatives[q]]

    def __call__(self, step: int) -> Lists:
        per_pass = len(self.plan) // self.batch
        number, position = divmod(step, per_pass)
        order = np.random.default_rng((self.seed, number)).permutation(len(self.plan))
        chosen = order[position * self.batch : (position + 1) * self.batch]
        random = np.random.default_rng((self.seed, step, 1))
        return self.assemble([self.plan[i] for i in chosen], random)

    def assemble(self, chosen: list[tuple[int, int]], random: np.random.Generator) -> Lists:
        rows = []
        for which, query in chosen:
            for passage in self.candidates_of(which, query, random):
                rows.append(paired(self.queries[which][query], self.passages[which][passage], self.longest))
        return Lists(stacked(rows), self.candidates)

    def candidates_of(self, which: int, query: int, random: np.random.Generator) -> list[int]:
        """The right passage, mined ones (all but one place), and any other of the set."""
        mined = self.sets[which]
        right = mined.positives[query]
        pool = [int(p) for p in random.permutation(mined.negatives[query])][: self.candidates - 2]
        found = [right] + pool
        while len(found) < self.candidates:
            other = int(random.integers(len(mined.passages)))
            if mined.groups[other] != mined.groups[right]:
                found.append(other)
        return found
