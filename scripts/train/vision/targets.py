"""What the networks should say about a drawing: the atom at each inked cell and the line between each pair of atoms."""

from __future__ import annotations

import numpy as np

from scripts.served_reader.detection import REACH
from scripts.served_reader.labels import NONE, REVERSED_KIND

NEAR = 4.6
"""A cell of 4 pixels speaks for an atom whose centre is no farther than this from its own, in pixels."""
FAR = 14.0
"""An atom without such a cell (in the hollow of a large O) is given the nearest inked cell up to here."""


def at_cells(centres: np.ndarray, points: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each cell (float [n, 2]) the class of its atom, 0 where none, else 1 + number; and the way to the atom in pixels."""
    target, offset = np.zeros(len(centres), np.int64), np.zeros((len(centres), 2), np.float32)
    if not len(points) or not len(centres):
        return target, offset
    way = points[None] - centres[:, None]
    distance = np.sqrt((way**2).sum(2))
    nearest = distance.argmin(1)
    mine = distance[np.arange(len(centres)), nearest] < NEAR
    target[mine] = classes[nearest[mine]] + 1
    offset[mine] = way[mine, nearest[mine]]
    for atom in np.setdiff1d(np.arange(len(points)), nearest[mine]):
        cell = distance[:, atom].argmin()
        if distance[cell, atom] < FAR and not target[cell]:
            target[cell], offset[cell] = classes[atom] + 1, way[cell, atom]
    return target, offset


def typical(points: np.ndarray, bonds: np.ndarray) -> float:
    """Median length of the bonds in pixels."""
    return float(np.median(np.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1))) if len(bonds) else 20.0


def pairs(points: np.ndarray, bonds: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of atoms int64 [p, 2], in random order of the two, and the kind of line from the first to the second.

    All bonds, and two thirds of the other pairs within reach."""
    n = len(points)
    kinds = np.zeros((n, n), np.int64)
    kinds[bonds[:, 0], bonds[:, 1]] = bonds[:, 2]
    kinds[bonds[:, 1], bonds[:, 0]] = REVERSED_KIND[bonds[:, 2]]
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    wanted = (kinds != NONE) | ((distance < REACH * typical(points, bonds)) & (random.random((n, n)) < 0.67))
    first, second = np.nonzero(np.triu(wanted, 1))
    turn = random.random(len(first)) < 0.5
    first, second = np.where(turn, second, first), np.where(turn, first, second)
    return np.stack([first, second], 1), kinds[first, second]
