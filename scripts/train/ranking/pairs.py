"""Query and passage as the one row of tokens that the ranker reads, and lists of them to learn from."""

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
    """Q lists of `candidates` passages, the first `right` of each being right: rows of Q*candidates pairs."""

    rows: tuple[Tensor, Tensor, Tensor]
    candidates: int
    right: int

    def to(self, device: torch.device) -> Lists:
        return Lists(tuple(r.to(device) for r in self.rows), self.candidates, self.right)


EASY = 0.12  # how much nearer the right passage is than any wrong one, by MiniLM's cosine, where a list teaches little

SUBJECTS = ("medquad",)  # sets that ask several kinds of question of a subject


@dataclass
class Asked:
    """The queries of a set that lists are made of, as texts; the passages that are right for each, and those that look
    right and are not."""

    mined: Mined
    queries: list[str]
    query_vectors: np.ndarray
    right: list[list[int]]
    wrong: list[list[int]]
    several: bool = False  # whether passages answer each other in large groups


def asked(mined: Mined, near: int = 40) -> Asked:
    """The queries of a set, of the easy ones every fourth. Where its passages answer each other in large groups (texts
    of one intent), each passage asks as well, all others of its group are right, and the nearest of other groups are
    wrong."""
    members: dict[str, list[int]] = {}
    for row, group in enumerate(mined.groups):
        members.setdefault(group, []).append(row)
    if len(mined.groups) < 8 * len(members):
        wrong = [list(dict.fromkeys([*n, *kin])) for n, kin in zip(mined.negatives, related(mined))]
        kept = [
            q
            for q in range(len(mined.queries))
            if mined.negatives[q] and (q % 4 == 0 or lead(mined, q, wrong[q]) < EASY)
        ]
        return Asked(
            mined,
            [mined.queries[q] for q in kept],
            mined.query_vectors[kept],
            [[mined.positives[q]] for q in kept],
            [wrong[q] for q in kept],
        )
    of = [mined.groups[p] for p in mined.positives] + mined.groups
    itself = [-1] * len(mined.queries) + list(range(len(mined.passages)))
    right = [[m for m in members[g] if m != i] for g, i in zip(of, itself)]
    number = {g: n for n, g in enumerate(members)}
    groups = np.array([number[g] for g in mined.groups])
    wrong, vectors = [], np.concatenate([mined.query_vectors, mined.passage_vectors])
    for vector, group in zip(vectors, of):
        score = np.where(groups == number[group], -2.0, mined.passage_vectors @ vector)
        wrong.append([int(r) for r in np.argpartition(-score, near)[:near]])
    return Asked(mined, mined.queries + mined.passages, vectors, right, wrong, several=True)


def related(mined: Mined, most: int = 8) -> list[list[int]]:
    """For each query what its set says of the same subject in answer to another kind of question: however near it is,
    it is wrong, and words tell it least. Only where passages have a subject and a kind, as the topics of corpora.py."""
    if mined.name not in SUBJECTS:
        return [[] for _ in mined.queries]
    subjects: dict[str, list[int]] = {}
    for row, group in enumerate(mined.groups):
        subjects.setdefault(group.rpartition("|")[0], []).append(row)

    def of(p):
        return [r for r in subjects[mined.groups[p].rpartition("|")[0]] if mined.groups[r] != mined.groups[p]][:most]

    return [of(p) for p in mined.positives]


def lead(mined: Mined, query: int, wrong: list[int]) -> float:
    """How much nearer the right passage is to a query than the nearest of its wrong ones."""
    near = mined.passage_vectors[[mined.positives[query], *wrong]] @ mined.query_vectors[query]
    return float(near[0] - near[1:].max())


class Sampler:
    """The lists of a step: a pure function of (seed, step). A step takes lists of one set, so that its pairs are of
    like length; each set has its share of the steps."""

    PASS = 100  # steps after which every set has had its share

    def __init__(
        self,
        sets: list[Asked],
        shares: dict[str, float],
        cut: Callable,
        batch: int,
        candidates: int,
        passage_tokens: int,
        query_tokens: int,
        seed: int,
    ):
        self.sets, self.batch, self.candidates, self.seed = sets, batch, candidates, seed
        self.longest = passage_tokens + query_tokens  # so that no cut of a passage depends on the query
        self.queries = [cut(s.queries, query_tokens) for s in sets]
        self.passages = [cut(s.mined.passages, passage_tokens) for s in sets]
        total = sum(shares.get(s.mined.name, 0.0) for s in sets)
        self.steps = [max(1, round(self.PASS * shares.get(s.mined.name, 0.0) / total)) for s in sets]
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
        """Lists of some queries. Short texts that have many right answers make lists twice as long, three of them right."""
        right, candidates = (3, 2 * self.candidates) if self.sets[which].several else (1, self.candidates)
        rows = []
        for query in chosen:
            for passage in self.candidates_of(which, int(query), right, candidates, random):
                rows.append(paired(self.queries[which][query], self.passages[which][passage], self.longest))
        return Lists(stacked(rows), candidates, right)

    def candidates_of(
        self, which: int, query: int, right: int, candidates: int, random: np.random.Generator
    ) -> list[int]:
        """Right passages, wrong ones that look right (all but one place), and any others of the set."""
        made = self.sets[which]
        found = [int(p) for p in random.permutation(made.right[query])[:right]]
        found += [int(p) for p in random.permutation(made.wrong[query])][: candidates - right - 1]
        while len(found) < candidates:
            other = int(random.integers(len(made.mined.passages)))
            if made.mined.groups[other] != made.mined.groups[found[0]]:
                found.append(other)
        return found
