"""One look at a drawing: from ink to the atoms and lines that the networks see."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from cells import Cells, cells
from graph import ATOMS, BACK, LARGEST, NONE, Seen

STEPS = 7
"""Points along the way between two atoms at which features are read."""
REACH = 2.4
"""Pairs of atoms up to this many typical bond lengths apart may be bonded."""
MERGE = 5.5
"""Cells that place their atoms closer than this speak of the same one, in pixels."""
MIDDLE, BESIDE, FAINT = (0.3, 0.7), 0.2, 30
"""A line leaves ink (0 to 255, more than FAINT) on this part of the way between its atoms, at most so many of its lengths beside it."""
PLAIN = ATOMS.index("C")
"""No letters: the line goes as far as the atom."""


class Networks(Protocol):
    """The two trained networks."""

    def see(self, found: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features [cells of 4 pixels, features], atom logits [cells, 1 + classes + 2 of the offset], molecule logits [drawings]."""

    def lines(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        """Logits [pairs, 8] of the kinds of line, from cell numbers [pairs, STEPS] and shapes [pairs, 4]."""


def along(points: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """STEPS points from one atom to the other, float [p, STEPS, 2], and the shape of the line, float32 [p, 4]: its
    direction, its length in units of 20 pixels, and that squared."""
    begin, end = points[pair[:, 0]], points[pair[:, 1]]
    steps = np.linspace(0, 1, STEPS)[None, :, None]
    length = np.linalg.norm(end - begin, axis=1, keepdims=True)
    shape = np.concatenate([(end - begin) / np.maximum(length, 1e-6), length / 20, (length / 20) ** 2], 1)
    return begin[:, None] * (1 - steps) + end[:, None] * steps, shape.astype(np.float32)


def softmax(logits: np.ndarray) -> np.ndarray:
    out = np.exp(logits - logits.max(-1, keepdims=True))
    return out / out.sum(-1, keepdims=True)


def look(networks: Networks, ink: np.ndarray) -> tuple[Seen, float]:
    """What is seen in scaled ink (ink.scaled), in its pixels, and the logit that it is a molecule."""
    found = cells([ink])
    features, atoms, molecule = networks.see(found)
    points, scores, classes = _atoms(found.levels[1].centres(), atoms)
    pairs = _pairs(points)
    kinds = np.zeros((len(pairs), len(BACK)))
    if len(pairs):
        both = np.concatenate([pairs, pairs[:, ::-1]])
        line, shape = along(points, both)
        there, back = np.split(softmax(networks.lines(features, found.levels[1].at(line), shape).astype(np.float64)), 2)
        kinds = (there + back[:, BACK]) / 2
        kinds[_blank(ink, points, pairs, classes, kinds)] = np.eye(len(BACK))[NONE]
    return Seen(points, scores, classes, pairs, kinds), float(molecule[0])


def _atoms(centres: np.ndarray, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, scores and class probabilities of the atoms: cells vote for where an atom is, votes close together are one."""
    chances = softmax(logits[:, :-2].astype(np.float64))
    there = 1 - chances[:, 0]
    voters = np.flatnonzero(there > 0.15)
    voters = voters[np.argsort(-there[voters], kind="stable")]
    votes, weights = centres[voters] + 4 * logits[voters, -2:], there[voters]
    near = ((votes[:, None] - votes[None]) ** 2).sum(2) < MERGE**2
    free, groups = np.ones(len(voters), bool), []
    for voter in range(len(voters)):
        if free[voter]:
            groups.append(near[voter] & free)
            free &= ~near[voter]
    groups = [g for g in groups if weights[g].max() > 0.4]
    if not groups:
        return np.zeros((0, 2)), np.zeros(0), np.zeros((0, len(ATOMS)))
    share = np.stack(groups) * weights
    share = share / share.sum(1, keepdims=True)
    classes = share @ (chances[voters, 1:] / there[voters, None])
    return share @ votes, np.array([weights[g].max() for g in groups]), classes


def _pairs(points: np.ndarray) -> np.ndarray:
    """int [p, 2]: first < second, within reach of each other."""
    if not 2 <= len(points) <= LARGEST:
        return np.zeros((0, 2), int)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    nearest = np.where(np.eye(len(points), dtype=bool), np.inf, distance).min(1)
    return np.argwhere(np.triu(distance < REACH * np.median(nearest), 1))


def _blank(
    ink: np.ndarray, points: np.ndarray, pairs: np.ndarray, classes: np.ndarray, kinds: np.ndarray
) -> np.ndarray:
    """The numbers of the pairs that seem to be joined while all between them is blank: two methyl groups side by side look like a
    ring. Only pairs with an atom that has no letters: two words may stand so close that no line is left between them."""
    chosen = np.flatnonzero((kinds.argmax(1) != NONE) & (classes.argmax(1)[pairs] == PLAIN).any(1))
    if not len(chosen):
        return chosen
    begin, end = points[pairs[chosen, 0], None, None], points[pairs[chosen, 1], None, None]
    way = end - begin
    steps = int(np.linalg.norm(way, axis=-1).max()) + 2
    ahead, aside = np.linspace(*MIDDLE, steps)[:, None, None], np.linspace(-BESIDE, BESIDE, steps)[:, None]
    places = np.rint(begin + ahead * way + aside * way[..., ::-1] * [-1, 1]).astype(int)
    columns, rows = (places[..., axis].clip(0, ink.shape[1 - axis] - 1) for axis in (0, 1))
    return chosen[(ink[rows, columns] <= FAINT).all((1, 2))]
