"""scripts.eval.ranking_calibration: its fit is that of the golden values, its errors those of worked examples."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from servers import ROOT

from scripts.eval import ranking_calibration as calibration
from scripts.train.embedding.corpora import Collection, Query

GOLDEN = json.loads((ROOT / "orchestrator/calibration/testdata/golden.json").read_text())


@pytest.mark.parametrize("case", GOLDEN, ids=[case["name"] for case in GOLDEN])
def test_the_fit_and_the_errors_are_those_of_scikit_learn(case: dict) -> None:
    logits, relevant = np.array(case["logits"]), np.array(case["relevant"])
    assert calibration.beta(logits, relevant) == pytest.approx(case["beta"], rel=1e-4, abs=1e-4)
    scores = calibration.score(logits, calibration.IDENTITY)
    assert calibration.error(scores, relevant) == pytest.approx(case["equal_mass"], abs=1e-5)
    assert calibration.error(scores, relevant, equal_width=True) == pytest.approx(case["equal_width"], abs=1e-5)


def test_pairs_are_the_judged_and_short_ones_of_the_best_passages(tmp_path: Path) -> None:
    passages = {
        "right": "It was built in 1890.",
        "also": "Built: 1890.",  # has the answer, but was not judged
        "near": "It was built of stone.",
        "long": "It was built. " * 200,
        "far": "Tea is hot.",
    }
    nearness = {text: 1 - i / 10 for i, text in enumerate(passages.values())} | {"When?": 1.0}
    embedding = SimpleNamespace(vectors=lambda texts, mode: np.array([[nearness[t]] for t in texts]))
    made = Collection("made", passages, [Query("q", "When?", frozenset(["right"]), "1890")])
    args = argparse.Namespace(queries=0, distractors=-1, seed=1, top=4)
    [found] = map(calibration.without_long, calibration.retrieved(made, embedding, args))
    assert found == ("When?", [passages["right"], passages["near"]], [True, False])

    calibration.keep(tmp_path, "made", [found], [np.array([2.5, -1.0])])
    pairs = [json.loads(line) for line in (tmp_path / "made.pairs.jsonl").read_text().splitlines()]
    assert pairs[0] == {"query": "When?", "passage": passages["right"], "relevant": 1, "collection": "made"}
    assert json.loads((tmp_path / "made.logits.json").read_text()) == [[0, 2.5, 1], [0, -1.0, 0]]


def test_the_fit_after_has_not_seen_the_collection() -> None:
    chance = np.random.default_rng(1)

    def drawn(offset: float) -> np.ndarray:
        logits = chance.normal(0, 5, 2000)
        relevant = chance.random(2000) < 1 / (1 + np.exp(-(0.4 * logits + offset)))
        return np.stack([np.arange(2000) // 10, logits, relevant], axis=1)

    rows = calibration.figures({"a": drawn(0), "b": drawn(0), "shifted": drawn(-4)})
    assert rows["all"][0] == 6000
    after, by_own = rows["shifted"][3], rows["shifted"][5]
    assert by_own < 0.03 < 0.2 < after  # the others are no guide to it
    rows = calibration.figures({"a": drawn(0), "b": drawn(0)})
    assert rows["a"][3] < 0.04 < 0.1 < rows["a"][2]
