"""scripts.eval.ranking_zero, which measures the ranker's threshold of 0: its figures, and the passages of a query."""

from __future__ import annotations

import argparse
import random
from types import SimpleNamespace

import numpy as np

from scripts.eval import ranking_zero
from scripts.train.embedding.corpora import Collection, GradedList, Query


def test_figures_are_those_of_a_worked_example():
    logits = np.array([[5.0, 1.0, -9.0], [4.0, 2.0, -8.0], [-1.0, -3.0, 1.0], [3.0, 2.5, -7.0]])
    queries, right, near, other, best, there = ranking_zero.figures(logits)
    assert (queries, right, near, other) == (4, 75, 25, 75)
    assert (best, there) == (2.5, 87.5)  # three of four right ones are above it, and no near one
    assert "| made | 4 | 75 % | 25 % | 75 % | +2.5 | 88 % |" in ranking_zero.table(
        {"made": ranking_zero.figures(logits)}
    )


def test_near_passages_are_the_best_wrong_ones_without_the_answer():
    passages = {
        "right": "It was built in 1890.",
        "also": "Built: 1890.",
        "near": "It was built of stone.",
        "far": "Tea is hot.",
    }
    nearness = {
        "It was built in 1890.": 1.0,
        "Built: 1890.": 0.9,
        "It was built of stone.": 0.8,
        "Tea is hot.": 0.1,
        "When?": 1.0,
    }
    embedding = SimpleNamespace(vectors=lambda texts, mode: np.array([[nearness[t]] for t in texts]))
    made = Collection("made", passages, [Query("q", "When?", frozenset(["right"]), "1890")])
    args = argparse.Namespace(queries=40, distractors=-1, seed=1)
    found = ranking_zero.whole(made, embedding, random.Random(1), args)
    assert found == [("When?", (passages["right"], passages["near"], passages["far"]))]


def test_sentences_come_from_the_right_passage_and_another_one():
    right = "The tower was finished in the year 1890. Its walls are made of grey stone."
    passages = {"right": right, "far": "Tea is drunk hot in most countries of the world."}
    made = Collection(
        "made",
        passages,
        [Query("q", "When?", frozenset(["right"]), "1890"), Query("r", "Why?", frozenset(["far"]), "")],
    )
    for seed in range(8):
        [(query, (holds, near, other))] = ranking_zero.sentences(made, 40, random.Random(seed))
        assert (
            query == "When?" and "1890" in holds and near == "Its walls are made of grey stone." and "1890" not in other
        )


def test_a_list_gives_its_nearest_right_and_nearest_wrong_passage():
    lists = [GradedList("q", ["a", "bb", "ccc", "dddd"], [0, 2, 2, 0]), GradedList("r", ["eeeee", "a"], [2, 0])]
    embedding = SimpleNamespace(vectors=lambda texts, mode: np.array([[float(len(t))] for t in texts]))
    found = dict(ranking_zero.listed(lists, embedding, random.Random(1), 2))
    assert found["q"][:2] == ("ccc", "dddd") and found["q"][2] in lists[1].texts
    assert found["r"][:2] == ("eeeee", "a") and found["r"][2] in lists[0].texts
    assert len(ranking_zero.listed(lists, embedding, random.Random(1), 1)) == 1


def test_every_short_pair_has_three_passages():
    found = ranking_zero.short_pairs()
    assert len(found) == 24 and len({query for query, _ in found}) == 24
    assert all(query.endswith("?") and len(set(passages)) == 3 and all(passages) for query, passages in found)
