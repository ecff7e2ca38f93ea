"""Pairs of query and passage as rows of tokens for the ranker, and training lists of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scripts.train.embedding.examples import Mined
from scripts.train.embedding.vectors import batches_by_length

Logits = Callable[[Tensor, Tensor, Tensor], Tensor]
"""ids, mask, segment_ids [B,L] int64 to logits [B,1]."""


def join(query: Sequence[int], passage: Sequence[int], longest: int) -> tuple[list[int], int]:
    """Joins [CLS] q [SEP] and [CLS] p [SEP] to [CLS] q [SEP] p [SEP]; returns the row and the length of q's segment.

    The passage is truncated to at most `longest` tokens in total.
    """
    room = longest - len(query)
    tail = list(passage[1:])
    if len(tail) > room:
        tail = tail[: room - 1] + tail[-1:]
    return list(query) + tail, len(query)


def stack(rows: Sequence[tuple[list[int], int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Pads pairs to (ids, mask, segment_ids), each [rows, longest] int64."""
    ids = torch.zeros(len(rows), max(len(r) for r, _ in rows), dtype=torch.int64)
    mask, segments = torch.zeros_like(ids), torch.zeros_like(ids)
    for i, (row, first) in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
        segments[i, first : len(row)] = 1
    return ids, mask, segments


def logits_of(model: Logits, rows: Sequence[tuple[list[int], int]], tokens: int) -> np.ndarray:
    """Returns the logit of each pair, in order; pairs of similar length are batched together."""
    logits = np.empty(len(rows), np.float32)
    for batch in batches_by_length([len(r) for r, _ in rows], tokens):
        logits[batch] = np.asarray(model(*stack([rows[i] for i in batch])), np.float32)[:, 0]
    return logits


@dataclass
class Lists:
    """Lists of `candidates` passages for Q queries, the first `right` of each relevant: rows of Q*candidates pairs."""

    rows: tuple[Tensor, Tensor, Tensor]
    candidates: int
    right: int

    def to(self, device: torch.device) -> Lists:
        return Lists(tuple(r.to(device) for r in self.rows), self.candidates, self.right)


EASY = 0.12
"""The lead of the right passage over all wrong ones, in MiniLM's cosine, from which a list teaches little."""

SUBJECTS = ("medquad",)
"""Sets with several kinds of question about a subject."""


@dataclass
class QuerySet:
    """Queries of a set with the row numbers of right passages and of plausible wrong ones."""

    mined: Mined
    queries: list[str]
    query_vectors: np.ndarray
    right: list[list[int]]
    wrong: list[list[int]]
    has_groups: bool = False  # Whether passages answer each other in large groups.


def query_set(mined: Mined, near: int = 40) -> QuerySet:
    """Returns the queries of a set, but only every fourth easy one.

    If passages answer each other in large groups (texts of one intent), each passage is also a query: the others of its
    group are right, and the nearest of other groups are wrong.
    """
    members: dict[str, list[int]] = {}
    for row, group in enumerate(mined.groups):
        members.setdefault(group, []).append(row)
    if len(mined.groups) < 8 * len(members):
        wrong = [list(dict.fromkeys([*n, *kin])) for n, kin in zip(mined.negatives, related(mined))]
        chosen = [
            q
            for q in range(len(mined.queries))
            if mined.negatives[q] and (q % 4 == 0 or lead(mined, q, wrong[q]) < EASY)
        ]
        if not chosen:
            raise SystemExit(
                f"training: no query of {mined.name} has a passage that nearly answers it: too few passages"
            )
        return QuerySet(
            mined,
            [mined.queries[q] for q in chosen],
            mined.query_vectors[chosen],
            [[mined.positives[q]] for q in chosen],
            [wrong[q] for q in chosen],
        )
    query_groups = [mined.groups[p] for p in mined.positives] + mined.groups
    itself = [-1] * len(mined.queries) + list(range(len(mined.passages)))
    right = [[m for m in members[g] if m != i] for g, i in zip(query_groups, itself)]
    number = {g: n for n, g in enumerate(members)}
    groups = np.array([number[g] for g in mined.groups])
    wrong, vectors = [], np.concatenate([mined.query_vectors, mined.passage_vectors])
    for vector, group in zip(vectors, query_groups):
        score = np.where(groups == number[group], -2.0, mined.passage_vectors @ vector)
        wrong.append([int(r) for r in np.argpartition(-score, near)[:near]])
    return QuerySet(mined, mined.queries + mined.passages, vectors, right, wrong, has_groups=True)


def related(mined: Mined, most: int = 8) -> list[list[int]]:
    """Returns for each query the passages about its subject that answer another kind of question.

    These are wrong and hardest to tell by words. Only in sets whose topics (corpora.py) have a subject and a kind.
    """
    if mined.name not in SUBJECTS:
        return [[] for _ in mined.queries]
    subjects: dict[str, list[int]] = {}
    for row, group in enumerate(mined.groups):
        subjects.setdefault(group.rpartition("|")[0], []).append(row)

    def of(p):
        return [r for r in subjects[mined.groups[p].rpartition("|")[0]] if mined.groups[r] != mined.groups[p]][:most]

    return [of(p) for p in mined.positives]


def lead(mined: Mined, query: int, wrong: list[int]) -> float:
    """Returns the cosine of a query to its right passage minus its cosine to the nearest wrong one."""
    near = mined.passage_vectors[[mined.positives[query], *wrong]] @ mined.query_vectors[query]
    return float(near[0] - near[1:].max())


class Sampler:
    """The lists of a step: a pure function of (seed, step).

    A step has lists of one set, so its pairs have similar lengths. Each set has a share of the steps.
    """

    PASS = 100  # Steps in which each set gets its share.
    OWN = 0.2  # The share of a set that is not among the shares.

    def __init__(
        self,
        sets: list[QuerySet],
        shares: dict[str, float],
        token_ids: Callable,
        batch: int,
        candidates: int,
        passage_tokens: int,
        query_tokens: int,
        seed: int,
    ):
        self.sets, self.batch, self.candidates, self.seed = sets, batch, candidates, seed
        self.longest = passage_tokens + query_tokens  # So truncation never depends on the query.
        self.queries = [token_ids(s.queries, query_tokens) for s in sets]
        self.passages = [token_ids(s.mined.passages, passage_tokens) for s in sets]
        total = sum(shares.get(s.mined.name, self.OWN) for s in sets)
        self.steps = [max(1, round(self.PASS * shares.get(s.mined.name, self.OWN) / total)) for s in sets]
        self.plan = [(s, i) for s, count in enumerate(self.steps) for i in range(count)]

    def __call__(self, step: int) -> Lists:
        number, position = divmod(step, len(self.plan))
        which, place = self.plan[np.random.default_rng((self.seed, number)).permutation(len(self.plan))[position]]
        queries = len(self.queries[which])
        epoch, start = divmod(number * self.steps[which] + place, max(queries // self.batch, 1))
        order = np.random.default_rng((self.seed, which, epoch, 2)).permutation(queries)
        return self.assemble(
            which, order[start * self.batch : (start + 1) * self.batch], np.random.default_rng((self.seed, step, 1))
        )

    def assemble(self, which: int, chosen: Sequence[int], random: np.random.Generator) -> Lists:
        """Returns the lists of queries; in sets with groups, lists are twice as long and have three right passages."""
        right, candidates = (3, 2 * self.candidates) if self.sets[which].has_groups else (1, self.candidates)
        rows = []
        for query in chosen:
            for passage in self.candidates_of(which, int(query), right, candidates, random):
                rows.append(join(self.queries[which][query], self.passages[which][passage], self.longest))
        return Lists(stack(rows), candidates, right)

    def candidates_of(
        self, which: int, query: int, right: int, candidates: int, random: np.random.Generator
    ) -> list[int]:
        """Returns right passages, plausible wrong ones (up to one place) and random others of the set."""
        queries = self.sets[which]
        chosen = [int(p) for p in random.permutation(queries.right[query])[:right]]
        chosen += [int(p) for p in random.permutation(queries.wrong[query])][: candidates - right - 1]
        while len(chosen) < candidates:
            other = int(random.integers(len(queries.mined.passages)))
            if queries.mined.groups[other] != queries.mined.groups[chosen[0]]:
                chosen.append(other)
        return chosen
