#!/usr/bin/env python3
"""Writes golden values for package calibration, from scikit-learn (1.9.1) and NumPy.

    .venv-export/bin/python scripts/golden/calibration.py orchestrator/calibration/testdata/golden.json

Each case has logits and judgements; the three numbers of beta calibration as scikit-learn fits it (a logistic
regression without penalty on soft targets; features whose weight is negative are left out, and get the least slope);
the expected calibration errors of the logistic function of the logits over 15 bins of equal mass and of equal width;
percentiles of the logits.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

BINS = 15
LEAST = 0.001  # slope
PERCENTILES = (50, 90, 99, 99.9)


def beta(logits: np.ndarray, relevant: np.ndarray) -> list[float]:
    """Returns the three numbers: each pair counts as relevant with its target, and as not relevant with the rest."""
    positive, negative = relevant.sum(), (1 - relevant).sum()
    target = np.where(relevant == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    x = np.stack([-np.logaddexp(0, -logits), np.logaddexp(0, logits)], axis=1)
    used = [0, 1]
    while True:
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
        y = np.repeat([1, 0], len(logits))
        model.fit(np.concatenate([x, x])[:, used], y, sample_weight=np.concatenate([target, 1 - target]))
        weights = dict(zip(used, model.coef_[0]))
        negative_ones = [i for i in used if weights[i] < 0]
        if not negative_ones:
            return [*(max(float(weights.get(i, 0)), LEAST) for i in (0, 1)), float(model.intercept_[0])]
        used.remove(negative_ones[0])


def equal_mass(scores: np.ndarray, relevant: np.ndarray) -> float:
    """len(scores) must be a multiple of BINS."""
    order = np.argsort(scores, kind="stable")
    gaps = [abs(scores[part].mean() - relevant[part].mean()) for part in np.array_split(order, BINS)]
    return float(np.mean(gaps))


def equal_width(scores: np.ndarray, relevant: np.ndarray) -> float:
    share, mean = calibration_curve(relevant, scores, n_bins=BINS, strategy="uniform")
    counts = np.histogram(scores, np.linspace(0, 1, BINS + 1))[0]
    return float(np.sum(np.abs(share - mean) * counts[counts > 0]) / len(scores))


def case(name: str, logits: np.ndarray, relevant: np.ndarray) -> dict:
    logits = np.round(logits, 2)
    scores = 1 / (1 + np.exp(-logits))
    return {
        "name": name,
        "logits": logits.tolist(),
        "relevant": relevant.tolist(),
        "beta": [round(x, 6) for x in beta(logits, relevant)],
        "equal_mass": round(equal_mass(scores, relevant), 6),
        "equal_width": round(equal_width(scores, relevant), 6),
        "percentiles": np.percentile(logits, PERCENTILES, method="inverted_cdf").tolist(),
    }


def main() -> None:
    chance = np.random.default_rng(1)
    cases = []
    for name, low, slope, offset, center, spread in (
        ("too sure", 0.3, 0.3, 0.5, 0.0, 6.0),
        ("far from zero", 1.0, 1.0, 9.0, -9.0, 2.0),
        ("rare", 0.8, 0.8, -3.0, 0.0, 2.0),
        ("flat below zero", -0.1, 0.8, -1.5, 0.0, 6.0),
    ):
        logits = chance.normal(center, spread, 150)
        odds = np.where(logits < 0, low, slope) * logits + offset
        relevant = (chance.random(150) < 1 / (1 + np.exp(-odds))).astype(int)
        cases.append(case(name, logits, relevant))
    logits = np.concatenate([np.linspace(-30, -10, 10), np.linspace(12, 40, 5)])
    cases.append(case("separable", logits, (logits > 0).astype(int)))
    lines = ",\n".join(json.dumps(c) for c in cases)
    Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
