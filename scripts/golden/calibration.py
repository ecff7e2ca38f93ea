#!/usr/bin/env python3
"""Writes golden values for package calibration, from scikit-learn (1.9.1) and NumPy.

    .venv-export/bin/python scripts/golden/calibration.py orchestrator/calibration/testdata/golden.json

Each case has logits and judgements, the slope and the offset of Platt's method as scikit-learn fits it (a logistic
regression without penalty, on soft targets), the expected calibration errors of the logistic function of the logits
over 15 bins of equal mass and of equal width, and percentiles of the logits.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

BINS = 15
PERCENTILES = (50, 90, 99, 99.9)


def platt(logits: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    """Returns slope and offset: each pair counts as relevant with its target, and as not relevant with the rest."""
    positive, negative = relevant.sum(), (1 - relevant).sum()
    target = np.where(relevant == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)
    x = np.concatenate([logits, logits])[:, None]
    y = np.repeat([1, 0], len(logits))
    model.fit(x, y, sample_weight=np.concatenate([target, 1 - target]))
    return float(model.coef_[0, 0]), float(model.intercept_[0])


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
    slope, offset = platt(logits, relevant)
    return {
        "name": name,
        "logits": logits.tolist(),
        "relevant": relevant.tolist(),
        "slope": round(slope, 6),
        "offset": round(offset, 6),
        "equal_mass": round(equal_mass(scores, relevant), 6),
        "equal_width": round(equal_width(scores, relevant), 6),
        "percentiles": np.percentile(logits, PERCENTILES, method="inverted_cdf").tolist(),
    }


def main() -> None:
    chance = np.random.default_rng(1)
    cases = []
    for name, slope, offset, center, spread in (
        ("too sure", 0.3, 0.5, 0.0, 6.0),
        ("far from zero", 1.0, 9.0, -9.0, 2.0),
        ("rare", 0.8, -4.0, 0.0, 2.0),
    ):
        logits = chance.normal(center, spread, 150)
        relevant = (chance.random(150) < 1 / (1 + np.exp(-(slope * logits + offset)))).astype(int)
        cases.append(case(name, logits, relevant))
    logits = np.concatenate([np.linspace(-30, -10, 10), np.linspace(12, 40, 5)])
    cases.append(case("separable", logits, (logits > 0).astype(int)))
    lines = ",\n".join(json.dumps(c) for c in cases)
    Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
