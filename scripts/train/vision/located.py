"""Finds where the atoms of a molecule are in a picture that another program drew of it, from the coordinates it was given.

A program may scale, mirror and move a drawing, but keeps its shape. The scale and the place are those at which the middles of
the bonds lie on the most ink.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

LEAST = 0.93
"""Part of the middles of bonds that must lie on ink; otherwise the drawing is not the shape that it should be."""
STEPS = np.linspace(0.36, 0.64, 7)
SMALLEST = 0.7
"""The atoms reach over at least so much of the ink, both ways; letters take the rest, by about LETTERS pixels."""
LETTERS = 30


def located(
    ink: np.ndarray, coordinates: np.ndarray, bonds: np.ndarray, scale: float | None = None
) -> np.ndarray | None:
    """float32 [atoms, 2]: x, y in pixels, of atoms at coordinates float [atoms, 2] (y up), or None where no place fits.

    ink: uint8 [height, width]; bonds: int [bonds, 2 or more]; scale: pixels a unit of the coordinates, where it is known."""
    shape = coordinates * np.array([1.0, -1.0])
    corner, extent = shape.min(0), np.ptp(shape, axis=0)
    rows, columns = np.flatnonzero((ink > 64).any(1)), np.flatnonzero((ink > 64).any(0))
    if not len(bonds) or not len(rows) or extent.max() < 1e-3:
        return None
    box = np.array([columns[0], rows[0], columns[-1], rows[-1]], float)
    first, second = shape[bonds[:, 0]], shape[bonds[:, 1]]
    middles = (first[:, None] * (1 - STEPS[None, :, None]) + second[:, None] * STEPS[None, :, None]).reshape(-1, 2)
    size = box[2:] - box[:2]
    usual = scale or float((size[extent > 0.3] / extent[extent > 0.3]).min())
    best = None
    for blur, spread, count in ((6.0, 0.5, 500), (3.0, 0.2, 250), (1.2, 0.05, 250)):
        field = np.asarray(Image.fromarray(ink).filter(ImageFilter.GaussianBlur(blur))).astype(np.float32)
        field = (
            np.minimum(field / max(float(np.percentile(field[field > 0], 90)), 1.0), 1.0)
            if (field > 0).any()
            else field
        )
        first_guess = (usual * (1.0 if scale else 0.93), *((box[:2] + box[2:]) / 2 - usual * (corner + extent / 2)))
        best = _searched(field, middles, best or first_guess, spread, count, scale is not None)
    found = shape * best[0] + np.array(best[1:])
    reach = np.ptp(found, axis=0)
    if (reach < SMALLEST * (size - LETTERS)).any() or (reach > 1.04 * size + 4).any():
        return None
    on = _at((ink > 48).astype(np.float32), middles * best[0] + np.array(best[1:])).reshape(-1, len(STEPS)).mean(1)
    beside = np.maximum.reduce(
        [
            _at((ink > 48).astype(np.float32), middles * best[0] + np.array(best[1:]) + step)
            .reshape(-1, len(STEPS))
            .mean(1)
            for step in ((2, 0), (-2, 0), (0, 2), (0, -2))
        ]
    )
    return found.astype(np.float32) if np.maximum(on, beside).mean() >= LEAST else None


def _searched(
    field: np.ndarray, middles: np.ndarray, start: tuple[float, ...], spread: float, count: int, fixed: bool
) -> tuple[float, float, float]:
    """Scale and place of the most ink near a start, by random steps that become smaller."""
    generator = np.random.default_rng(0)
    best = np.array(start, float)
    unit = float(np.ptp(middles, axis=0).max()) * best[0]
    most = _at(field, middles * best[0] + best[1:]).mean()
    for step in range(count):
        width = spread * (1 - step / count) ** 2 + 0.002
        change = generator.normal(0, width, 3)
        scale = best[0] * (1.0 if fixed else np.exp(0.5 * change[0]))
        centre = middles.mean(0)
        moved = best[1:] + centre * (best[0] - scale) + change[1:] * 0.3 * unit
        value = _at(field, middles * scale + moved).mean()
        if value > most:
            most = value
            best = np.array([scale, *moved])
    return float(best[0]), float(best[1]), float(best[2])


def _at(field: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The field at points (x, y), 0 outside."""
    x, y = np.round(points).astype(int).T
    inside = (x >= 0) & (y >= 0) & (x < field.shape[1]) & (y < field.shape[0])
    return np.where(inside, field[np.clip(y, 0, field.shape[0] - 1), np.clip(x, 0, field.shape[1] - 1)], 0)
