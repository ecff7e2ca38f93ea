"""Calibrates the reader's confidence: two logistic regressions on views.View.features.

They are fitted on drawings of molecules that are neither trained on nor measured, and on pictures without a molecule.
"""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from scripts.served_reader.cropping import drawing_box
from scripts.served_reader.drawing_reader import DrawingReader
from scripts.served_reader.ink import ink_of
from scripts.served_reader.views import Calibration, View
from scripts.train.vision import abbreviations, evaluation, negatives

COUNT = 1200
"""Drawings of a style. With 600, the faults of a molecule got no weight."""
REPEATS = 4
"""The most drawings of a molecule in a style."""
UNREADABLE = -9.0
"""Log odds that a reading is exact, of a reader that reads none of the drawings."""


def fit(features: np.ndarray, target: np.ndarray, penalty: float = 1e-3, rounds: int = 50) -> list[float]:
    """Returns intercept and weights of a logistic regression, by Newton's method with an L2 penalty on standardised
    features."""
    mean, deviation = features.mean(0), features.std(0) + 1e-6
    x = np.concatenate([np.ones((len(features), 1)), (features - mean) / deviation], 1)
    w = np.zeros(x.shape[1])
    ridge = penalty * len(x) * np.eye(len(w))
    ridge[0, 0] = 1e-6
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        hessian = (x * (p * (1 - p) + 1e-9)[:, None]).T @ x + ridge
        w -= np.linalg.solve(hessian, x.T @ (p - target) + ridge @ w)
    weights = w[1:] / deviation
    return [float(w[0] - (weights * mean).sum()), *map(float, weights)]


def calibrate(reader: DrawingReader, molecules: list[str], count: int, seed: int = 11) -> Calibration:
    """Returns the calibration of a reader.

    The drawings: `count` in the default style and as many in varied styles; half as many with placeholders, with
    abbreviations, and with an unknown label in either style; `count` pictures without a molecule. Fewer, if a molecule
    would be drawn more than REPEATS times. The confidence is not fitted on drawings in which the reader found an
    unknown label: it gives no SMILES for them.
    """
    count = min(count, REPEATS * len(molecules))
    molecules = molecules * -(-count // len(molecules))
    drawings = [(smiles, png, False) for smiles, png in evaluation.with_placeholders(molecules, count // 2, seed)]
    for alter, default in (
        (None, True),
        (None, False),
        (abbreviations.abbreviate, True),
        (abbreviations.add_unknown, True),
        (abbreviations.add_unknown, False),
    ):
        unknown = alter is abbreviations.add_unknown
        chosen = evaluation.pictures(molecules, count // 2 if alter else count, default, seed, alter)
        drawings += [(smiles, png, unknown) for smiles, png in chosen]
    views: list[View] = []
    exact: list[bool] = []
    for smiles, png, unknown in drawings:
        view = first_view(reader, ink_of(Image.open(io.BytesIO(png))))
        if view is None:
            raise ValueError(f"the drawing of {smiles} is blank")
        views.append(view)
        exact.append(view.candidate is not None and view.candidate.smiles == smiles and not unknown)
    random = np.random.default_rng(seed)
    others: list[View] = []
    while len(others) < count:
        view = first_view(reader, negatives.picture(random))
        if view is not None:
            others.append(view)
    readable = [i for i, view in enumerate(views) if view.candidate and not view.candidate.unknown_labels]
    features = np.array([view.features for view in views])
    return Calibration(
        fit(features[readable], np.array(exact, float)[readable])
        if readable
        else [UNREADABLE, *[0.0] * features.shape[1]],
        fit(
            np.concatenate([features, np.array([view.features for view in others])]),
            np.array([1.0] * len(features) + [0.0] * len(others)),
        ),
    )


def first_view(reader: DrawingReader, ink: np.ndarray) -> View | None:
    """Returns the reader's view at the usual scale, None if the ink is no line drawing."""
    box = drawing_box(ink)
    return reader.take_views(ink, box, retries=0)[0] if box else None
