"""The training targets of a drawing: the atom at each inked cell, and the kind of bond between pairs of atoms."""

from __future__ import annotations

import numpy as np

from scripts.served_reader.detection import BOND_REACH
from scripts.served_reader.labels import NONE, REVERSED_KIND

VOTE_REACH = 4.6
"""The largest distance in pixels from the centre of a 4-pixel cell to an atom that it votes for."""
MAX_VOTE_REACH = 14.0
"""The same for the nearest inked cell of an atom without votes, such as one inside a large O."""
NEGATIVE_SHARE = 0.67
"""Share of the unbonded pairs within reach that are trained on."""
DEFAULT_BOND = 20.0
"""Typical bond length in pixels of a molecule without bonds."""


def atoms_at_cells(centres: np.ndarray, points: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns for each cell (centres float [n, 2]) 1 + class of its atom, 0 for none, and the offset to the atom in
    pixels."""
    target = np.zeros(len(centres), np.int64)
    offset = np.zeros((len(centres), 2), np.float32)
    if not len(points) or not len(centres):
        return target, offset
    vectors = points[None] - centres[:, None]
    distance = np.sqrt((vectors**2).sum(2))
    nearest = distance.argmin(1)
    votes = distance[np.arange(len(centres)), nearest] < VOTE_REACH
    target[votes] = classes[nearest[votes]] + 1
    offset[votes] = vectors[votes, nearest[votes]]
    for atom in np.setdiff1d(np.arange(len(points)), nearest[votes]):
        cell = distance[:, atom].argmin()
        if distance[cell, atom] < MAX_VOTE_REACH and not target[cell]:
            target[cell], offset[cell] = classes[atom] + 1, vectors[cell, atom]
    return target, offset


def typical_bond(points: np.ndarray, bonds: np.ndarray) -> float:
    """Returns the median bond length in pixels."""
    if not len(bonds):
        return DEFAULT_BOND
    return float(np.median(np.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1)))


def bond_pairs(points: np.ndarray, bonds: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns pairs of atoms int64 [p, 2], each in random order, and the kind of bond from the first to the second.

    The pairs are all bonds, and NEGATIVE_SHARE of the other pairs within reach.
    """
    n = len(points)
    kinds = np.zeros((n, n), np.int64)
    kinds[bonds[:, 0], bonds[:, 1]] = bonds[:, 2]
    kinds[bonds[:, 1], bonds[:, 0]] = REVERSED_KIND[bonds[:, 2]]
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    in_reach = distance < BOND_REACH * typical_bond(points, bonds)
    chosen = (kinds != NONE) | (in_reach & (random.random((n, n)) < NEGATIVE_SHARE))
    first, second = np.nonzero(np.triu(chosen, 1))
    swap = random.random(len(first)) < 0.5
    first, second = np.where(swap, second, first), np.where(swap, first, second)
    return np.stack([first, second], 1), kinds[first, second]
