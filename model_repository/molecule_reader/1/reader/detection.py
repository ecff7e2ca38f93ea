"""Detects the atoms and bonds of a drawing at one scale: from ink to labels and kinds, each with its probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .labels import ATOM_LABELS, CLASSES, DETECTED_LABELS, NONE, REVERSED_KIND
from .networks import Networks
from .sparse_cells import sparse_cells

MAX_ATOMS = 150
"""A drawing with more atoms is not read: the bond classifier is not run, and no molecule is built."""
LINE_POINTS = 7
"""Points from one atom to another at which the bond classifier samples features."""
BOND_REACH = 2.4
"""The longest distance of two atoms that may be bonded, in median distances to the nearest atom."""
MIN_VOTE = 0.15
"""The least probability of an atom at which a cell votes for its position."""
MIN_ATOM = 0.4
"""The least probability of an atom: that of its surest vote."""
MERGE_DISTANCE = 5.5
"""The longest distance of two votes for the same atom, in pixels."""
BOND_MIDDLE = (0.3, 0.7)
"""The part of the line between two atoms on which every bond has ink, from 0 (the first atom) to 1."""
BOND_WIDTH = 0.2
"""How far beside that line the ink may lie, as a share of the bond's length."""
FAINT_INK = 30
"""Ink up to this value (0 to 255) counts as blank between two atoms."""
CARBON = CLASSES["C"]
"""The class that is drawn without letters, so that its bonds reach the atom."""


@dataclass
class Detections:
    """The networks' output for one drawing."""

    points: np.ndarray
    """float [atoms, 2]: x, y in pixels of the scaled ink, y down."""
    scores: np.ndarray
    """float [atoms]: probability that there is an atom."""
    label_probabilities: np.ndarray
    """float [atoms, labels]: probability of each of ATOM_LABELS, if there is an atom."""
    pairs: np.ndarray
    """int [pairs, 2]: two atoms that may be bonded, first < second."""
    kind_probabilities: np.ndarray
    """float [pairs, kinds]: probability of each kind of bond from the first atom to the second."""

    def bond_length(self) -> float:
        """Returns the median distance of an atom to its nearest neighbour in pixels, 0 with fewer than two atoms."""
        if len(self.points) < 2:
            return 0.0
        distance = np.linalg.norm(self.points[:, None] - self.points[None], axis=2)
        np.fill_diagonal(distance, np.inf)
        return float(np.median(distance.min(1)))


def line_between(points: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns points on the lines from first to second atoms, float [pairs, LINE_POINTS, 2], and their shapes.

    A shape, float32 [pairs, 4], is the direction (x, y), the length in units of 20 pixels, and the length squared.
    """
    begin, end = points[pairs[:, 0]], points[pairs[:, 1]]
    steps = np.linspace(0, 1, LINE_POINTS)[None, :, None]
    length = np.linalg.norm(end - begin, axis=1, keepdims=True)
    shape = np.concatenate([(end - begin) / np.maximum(length, 1e-6), length / 20, (length / 20) ** 2], 1)
    return begin[:, None] * (1 - steps) + end[:, None] * steps, shape.astype(np.float32)


def softmax(logits: np.ndarray) -> np.ndarray:
    out = np.exp(logits - logits.max(-1, keepdims=True))
    return out / out.sum(-1, keepdims=True)


def detect(networks: Networks, ink: np.ndarray) -> tuple[Detections, float]:
    """Returns the atoms and bonds in scaled ink, and the logit that it shows a molecule."""
    cells = sparse_cells([ink])
    features, logits, molecule = networks.detect_atoms(cells)
    points, scores, labels = _merge_votes(cells.levels[1].centres(), logits)
    pairs = _pairs_in_reach(points)
    kinds = np.zeros((len(pairs), len(REVERSED_KIND)))
    if len(pairs):
        line, shape = line_between(points, np.concatenate([pairs, pairs[:, ::-1]]))
        bond_logits = networks.classify_bonds(features, cells.levels[1].at(line), shape).astype(np.float64)
        forward, backward = np.split(softmax(bond_logits), 2)
        kinds = (forward + backward[:, REVERSED_KIND]) / 2
        kinds[_blank_bonds(ink, points, pairs, labels, kinds)] = np.eye(len(REVERSED_KIND))[NONE]
    return Detections(points, scores, labels, pairs, kinds), float(molecule[0])


def _merge_votes(centres: np.ndarray, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns points, scores and label probabilities of the atoms; 0 for labels other than DETECTED_LABELS.

    Each cell votes for the position of its atom. From the surest vote on, votes close together are merged to one atom.
    """
    probabilities = softmax(logits[:, :-2].astype(np.float64))
    present = 1 - probabilities[:, 0]
    voters = np.flatnonzero(present > MIN_VOTE)
    voters = voters[np.argsort(-present[voters], kind="stable")]
    votes = centres[voters] + 4 * logits[voters, -2:]
    weights = present[voters]
    near = ((votes[:, None] - votes[None]) ** 2).sum(2) < MERGE_DISTANCE**2
    free = np.ones(len(voters), bool)
    groups = []
    for voter in range(len(voters)):
        if free[voter]:
            groups.append(near[voter] & free)
            free &= ~near[voter]
    groups = [group for group in groups if weights[group].max() > MIN_ATOM]
    if not groups:
        return np.zeros((0, 2)), np.zeros(0), np.zeros((0, len(ATOM_LABELS)))
    share = np.stack(groups) * weights
    share = share / share.sum(1, keepdims=True)
    labels = np.zeros((len(groups), len(ATOM_LABELS)))
    labels[:, : len(DETECTED_LABELS)] = share @ (probabilities[voters, 1:] / present[voters, None])
    return share @ votes, np.array([weights[group].max() for group in groups]), labels


def _pairs_in_reach(points: np.ndarray) -> np.ndarray:
    """Returns the pairs of atoms that may be bonded, int [pairs, 2], first < second."""
    if not 2 <= len(points) <= MAX_ATOMS:
        return np.zeros((0, 2), int)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    nearest = np.where(np.eye(len(points), dtype=bool), np.inf, distance).min(1)
    return np.argwhere(np.triu(distance < BOND_REACH * np.median(nearest), 1))


def _blank_bonds(
    ink: np.ndarray, points: np.ndarray, pairs: np.ndarray, labels: np.ndarray, kinds: np.ndarray
) -> np.ndarray:
    """Returns the indices of pairs that are classified as bonded but have no ink between them.

    Such a bond would close a ring between two methyl groups side by side. Only pairs with a CARBON are tested: two
    labels may leave no space for the line of their bond. labels and kinds are probabilities.
    """
    bonded = np.flatnonzero((kinds.argmax(1) != NONE) & (labels.argmax(1)[pairs] == CARBON).any(1))
    if not len(bonded):
        return bonded
    begin, end = points[pairs[bonded, 0], None, None], points[pairs[bonded, 1], None, None]
    vector = end - begin
    steps = int(np.linalg.norm(vector, axis=-1).max()) + 2
    ahead = np.linspace(*BOND_MIDDLE, steps)[:, None, None]
    aside = np.linspace(-BOND_WIDTH, BOND_WIDTH, steps)[:, None]
    pixels = np.rint(begin + ahead * vector + aside * vector[..., ::-1] * [-1, 1]).astype(int)
    columns, rows = (pixels[..., axis].clip(0, ink.shape[1 - axis] - 1) for axis in (0, 1))
    return bonded[(ink[rows, columns] <= FAINT_INK).all((1, 2))]
