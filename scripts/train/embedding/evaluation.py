"""Measures embedding models and rankers on the held-out queries of collections."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scripts.train.embedding import corpora, measures, twomode, vectors

Figures = dict[str, float]
"""ndcg10 and recall10, means over queries."""
QUERIES, DISTRACTORS = 100, 500
"""Of an evaluation during a training: the most queries of a set, and the most passages that answer none of them."""


@dataclass
class HeldOut:
    """Held-out queries of a set, the passages in which they are searched, and the rows of those that answer."""

    name: str
    queries: list[str]
    passages: list[str]
    right: list[set[int]]


def read(folder: Path, names: Sequence[str], split: str, queries: int, distractors: int) -> list[HeldOut]:
    """Returns the queries of a split, at most so many of each set; sets without queries in this split are left out."""
    found = []
    for name in names:
        collection = corpora.load(folder, name, split)
        chance = random.Random(f"held out {name}")
        chosen = chance.sample(collection.queries, min(queries, len(collection.queries)))
        if not chosen:
            continue
        relevant = set().union(*(q.positives for q in chosen))
        others = sorted(set(collection.passages) - relevant)
        kept = relevant | set(chance.sample(others, min(distractors, len(others))))
        pids = [pid for pid in collection.passages if pid in kept]
        row = {pid: number for number, pid in enumerate(pids)}
        found.append(
            HeldOut(
                name,
                [q.text for q in chosen],
                [corpora.with_title(collection, pid) for pid in pids],
                [{row[pid] for pid in q.positives} for q in chosen],
            )
        )
    return found


class Search:
    """Embeds the passages and queries of sets; each is tokenised once."""

    def __init__(self, sets: list[HeldOut], tokenizer, query_tokens: int, passage_tokens: int) -> None:
        self.sets = sets
        self.rows = [
            (
                vectors.token_ids(tokenizer, [twomode.QUERY_PREFIX + text for text in held.queries], query_tokens),
                vectors.token_ids(tokenizer, [twomode.PASSAGE_PREFIX + text for text in held.passages], passage_tokens),
            )
            for held in sets
        ]

    def orders(self, embed: vectors.Embed, count: int) -> list[np.ndarray]:
        """Returns the rows of the nearest passages of each query, best first: int [queries, count] of each set."""
        found = []
        for queries, passages in self.rows:
            scores = vectors.encode(embed, queries) @ vectors.encode(embed, passages).T
            found.append(np.argsort(-scores, axis=1, kind="stable")[:, :count])
        return found

    def measure(self, embed: vectors.Embed) -> dict[str, Figures]:
        """Returns the figures of each set."""
        return {held.name: figures(held, order) for held, order in zip(self.sets, self.orders(embed, 10))}


Logits = Callable[[str, list[str]], np.ndarray]
"""A query and passages to the logits of the pairs."""


def reranked(sets: list[HeldOut], orders: list[np.ndarray], logits: Logits) -> dict[str, Figures]:
    """Returns the figures of each set after a ranker has sorted the passages of the orders."""
    found = {}
    for held, order in zip(sets, orders):
        rows = [
            best[np.argsort(-logits(query, [held.passages[row] for row in best]), kind="stable")]
            for query, best in zip(held.queries, order)
        ]
        found[held.name] = figures(held, rows)
    return found


def figures(held: HeldOut, order: Sequence[np.ndarray]) -> Figures:
    """Returns the figures of an order of passages for each query."""
    judged = [{str(row): 1 for row in right} for right in held.right]
    ranked = [[str(row) for row in best] for best in order]
    return {
        "ndcg10": float(np.mean(measures.ndcg(judged, ranked))),
        "recall10": float(np.mean(measures.recall(judged, ranked))),
    }


def mean(sets: dict[str, Figures]) -> Figures:
    """Returns the means over the sets; nothing without sets."""
    names = next(iter(sets.values()), {})
    return {name: float(np.mean([found[name] for found in sets.values()])) for name in names}
