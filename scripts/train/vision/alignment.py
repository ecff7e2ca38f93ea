"""Aligns a molecule's coordinates with a picture that another program drew of it, to find its atoms in the picture.

A program may scale, mirror and move a drawing, but keeps its shape. The scale and the shift are those that put the
middles of the bonds on the most ink.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

MIN_ON_INK = 0.93
"""The least share of bond middles on ink; with less, the drawing has another shape."""
BOND_MIDDLES = np.linspace(0.36, 0.64, 7)
"""Points on a bond that must lie on ink, as shares of its length."""
MIN_EXTENT = 0.7
"""The atoms extend over at least this share of the ink, both ways, without LETTERS."""
LETTERS = 30
"""Pixels that letters may take beyond the atoms."""
PASSES = ((6.0, 0.5, 500), (3.0, 0.2, 250), (1.2, 0.05, 250))
"""Blur of the ink in pixels, size of the random steps, and their number, from coarse to fine."""


def align(ink: np.ndarray, coordinates: np.ndarray, bonds: np.ndarray) -> np.ndarray | None:
    """Returns the atoms' points in the picture, float32 [atoms, 2] in pixels, None if no alignment fits.

    ink: uint8 [height, width]; coordinates: float [atoms, 2], y up; bonds: int [bonds, 2 or more].
    """
    shape = coordinates * np.array([1.0, -1.0])
    corner, extent = shape.min(0), np.ptp(shape, axis=0)
    rows, columns = np.flatnonzero((ink > 64).any(1)), np.flatnonzero((ink > 64).any(0))
    if not len(bonds) or not len(rows) or extent.max() < 1e-3:
        return None
    box = np.array([columns[0], rows[0], columns[-1], rows[-1]], float)
    size = box[2:] - box[:2]
    first, second = shape[bonds[:, 0]], shape[bonds[:, 1]]
    steps = BOND_MIDDLES[None, :, None]
    middles = (first[:, None] * (1 - steps) + second[:, None] * steps).reshape(-1, 2)
    scale = float((size[extent > 0.3] / extent[extent > 0.3]).min())
    guess = np.array([scale * 0.93, *((box[:2] + box[2:]) / 2 - scale * (corner + extent / 2))])
    for blur, step, count in PASSES:
        field = np.asarray(Image.fromarray(ink).filter(ImageFilter.GaussianBlur(blur))).astype(np.float32)
        if (field > 0).any():
            field = np.minimum(field / max(float(np.percentile(field[field > 0], 90)), 1.0), 1.0)
        guess = _climb(field, middles, guess, step, count)
    points = shape * guess[0] + guess[1:]
    reach = np.ptp(points, axis=0)
    if (reach < MIN_EXTENT * (size - LETTERS)).any() or (reach > 1.04 * size + 4).any():
        return None
    inked = (ink > 48).astype(np.float32)
    # A double bond has its ink beside the straight line, on one side or on both.
    on_ink = [
        _at(inked, middles * guess[0] + guess[1:] + shift).reshape(-1, len(BOND_MIDDLES)).mean(1)
        for shift in ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))
    ]
    return points.astype(np.float32) if np.maximum.reduce(on_ink).mean() >= MIN_ON_INK else None


def _climb(field: np.ndarray, middles: np.ndarray, start: np.ndarray, step: float, count: int) -> np.ndarray:
    """Returns scale, x and y with the most ink near a start, by random steps of decreasing size."""
    generator = np.random.default_rng(0)
    best = start
    unit = float(np.ptp(middles, axis=0).max()) * best[0]
    centre = middles.mean(0)
    best_value = _at(field, middles * best[0] + best[1:]).mean()
    for number in range(count):
        change = generator.normal(0, step * (1 - number / count) ** 2 + 0.002, 3)
        scale = best[0] * np.exp(0.5 * change[0])
        shift = best[1:] + centre * (best[0] - scale) + change[1:] * 0.3 * unit
        value = _at(field, middles * scale + shift).mean()
        if value > best_value:
            best_value = value
            best = np.array([scale, *shift])
    return best


def _at(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Returns the field at points (x, y), 0 outside."""
    x, y = np.round(points).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < field.shape[1]) & (y < field.shape[0])
    return np.where(inside, field[np.clip(y, 0, field.shape[0] - 1), np.clip(x, 0, field.shape[1] - 1)], 0)
