"""How sure the reader may be: two logistic regressions on what one look gives (views.View.features), fitted on drawings of
molecules that were neither trained on nor are measured, and on pictures that are none."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from scripts.served_reader.cropping import drawing_box
from scripts.served_reader.drawing_reader import Reader
from scripts.served_reader.ink import ink_of
from scripts.served_reader.views import Calibration
from scripts.train.vision import abbreviated, evaluation, negatives


def fit(features: np.ndarray, right: np.ndarray, weight: float = 1e-3, rounds: int = 50) -> list[float]:
    """Intercept and weights of a logistic regression by Newton's method, with an L2 penalty on standardised features."""
    mean, deviation = features.mean(0), features.std(0) + 1e-6
    x = np.concatenate([np.ones((len(features), 1)), (features - mean) / deviation], 1)
    w = np.zeros(x.shape[1])
    penalty = weight * len(x) * np.eye(len(w))
    penalty[0, 0] = 1e-6
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        w -= np.linalg.solve((x * (p * (1 - p) + 1e-9)[:, None]).T @ x + penalty, x.T @ (p - right) + penalty @ w)
    scaled = w[1:] / deviation
    return [float(w[0] - (scaled * mean).sum()), *map(float, scaled)]


def calibrated(reader: Reader, molecules: list[str], count: int, seed: int = 11) -> Calibration:
    """From `count` drawings in the default style, as many in varied ones, half as many in the default style with abbreviations and in either
    with a label that the reader does not know, and `count` pictures that are no molecules. A drawing that is said to have such a label has no
    confidence to be fitted."""
    views, exact = [], []
    for alter, default in (
        (None, True),
        (None, False),
        (abbreviated.grouped, True),
        (abbreviated.estranged, True),
        (abbreviated.estranged, False),
    ):
        strange = alter is abbreviated.estranged
        for smiles, png in evaluation.pictures(molecules, count // 2 if alter else count, default, seed, alter):
            ink = ink_of(Image.open(io.BytesIO(png)))
            view = reader.views(ink, drawing_box(ink), retries=0)[0]
            views.append(view)
            exact.append(view.built is not None and view.built.smiles == smiles and not strange)
    random, other = np.random.default_rng(seed), []
    while len(other) < count:
        ink = negatives.picture(random)
        box = drawing_box(ink)
        if box:
            other.append(reader.views(ink, box, retries=0)[0])
    built = [i for i, v in enumerate(views) if v.built and not v.built.unknown]
    found = np.array([v.features for v in views])
    return Calibration(
        fit(found[built], np.array(exact, float)[built]),
        fit(
            np.concatenate([found, np.array([v.features for v in other])]),
            np.array([1.0] * len(found) + [0.0] * len(other)),
        ),
    )
