"""Finds repeat counts beside brackets: small ink apart from the molecule, which the atom detector often misses.

Distances are in bond lengths.
"""

from __future__ import annotations

import numpy as np

from .ink import INKED
from .markush import MAX_COUNT_DISTANCE
from .structures import connected

MAX_HEIGHT, MAX_WIDTH = 0.9, 1.6
"""The largest count. A bracket is higher."""
MIN_HEIGHT = 0.1
MAX_CHARACTERS = 200
"""The most pieces of small ink near brackets; more are noise, in which no counts are looked for."""
MAX_GAP = 0.3
"""The widest gap between the characters of a count."""
MIN_BOND_DISTANCE = 0.25
"""The least distance of a count from a bond. It excludes a bond between two letters and those letters, which are
connected to no other ink either."""


def find_counts(ink: np.ndarray, crossed: np.ndarray, bonds: np.ndarray, bond_length: float) -> np.ndarray:
    """Returns the middles of what may be counts, float [counts, 2]: x and y in pixels.

    ink: uint8 [height, width]; crossed: the crossing bonds, as the points of their atoms, float [crossing, 2, 2];
    bonds: all bonds, float [bonds, 2, 2]; bond_length: in pixels.
    """
    reach = MAX_COUNT_DISTANCE * bond_length
    crossed = crossed.mean(1)
    left, top = np.maximum(crossed.min(0) - reach, 0).astype(int)
    right, bottom = (crossed.max(0) + reach).astype(int) + 1
    window = ink[top:bottom, left:right] > INKED
    if not window.any():
        return np.zeros((0, 2))
    runs = connected(window)
    boxes = runs.boxes(runs.parts, runs.count).astype(float) + [left, top, left, top]
    size = (boxes[:, 2:] - boxes[:, :2]) / bond_length
    is_near = _distances(_middles(boxes), crossed) < reach + MAX_WIDTH * bond_length
    boxes = boxes[(size[:, 1] < MAX_HEIGHT) & (size[:, 0] < MAX_WIDTH) & is_near]
    if len(boxes) > MAX_CHARACTERS:
        return np.zeros((0, 2))
    boxes = _joined(boxes, MAX_GAP * bond_length)
    size = (boxes[:, 2:] - boxes[:, :2]) / bond_length
    middles = _middles(boxes)
    to_crossing = _distances(middles, crossed)
    to_bond = np.array([_distance(middle, bonds).min() for middle in middles]).reshape(-1)
    is_count = (size[:, 1] > MIN_HEIGHT) & (size[:, 1] < MAX_HEIGHT) & (size[:, 0] < MAX_WIDTH)
    return middles[is_count & (to_crossing < reach) & (to_bond > MIN_BOND_DISTANCE * bond_length)]


def _middles(boxes: np.ndarray) -> np.ndarray:
    return (boxes[:, :2] + boxes[:, 2:]) / 2


def _distances(points: np.ndarray, crossed: np.ndarray) -> np.ndarray:
    """Returns the distances of points from the nearest of the middles of crossing bonds, float [points]."""
    return np.linalg.norm(points[:, None] - crossed[None], axis=2).min(1, initial=np.inf)


def _distance(point: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    """Returns the distances of a point from bonds, float [bonds]."""
    begin, along = bonds[:, 0], bonds[:, 1] - bonds[:, 0]
    share = ((point - begin) * along).sum(1) / np.maximum((along**2).sum(1), 1e-6)
    return np.linalg.norm(begin + share.clip(0, 1)[:, None] * along - point, axis=1)


def _joined(boxes: np.ndarray, gap: float) -> np.ndarray:
    """Returns the boxes with those joined that stand side by side, at most a gap in pixels apart."""
    out: list[np.ndarray] = []
    for box in boxes[np.argsort(boxes[:, 0], kind="stable")]:
        for number, other in enumerate(out):
            overlap = min(box[3], other[3]) - max(box[1], other[1])
            if box[0] - other[2] < gap and overlap > 0.1 * min(box[3] - box[1], other[3] - other[1]):
                out[number] = np.concatenate([np.minimum(box[:2], other[:2]), np.maximum(box[2:], other[2:])])
                break
        else:
            out.append(box)
    return np.array(out).reshape(-1, 4)
