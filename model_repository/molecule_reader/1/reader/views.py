"""A view of a drawing: the molecule read at one scale, and the calibrated confidence in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .cropping import keep_near
from .ink import INKED, MARGIN, Box
from .molecule_builder import Candidate

Scales = tuple[float, ...]

RETRY_SCALES: Scales = (0.84, 1.19, 0.72, 1.4)
"""Scales of the retries, as factors of the first view's."""
SMALL_MOLECULE_ATOMS = 12
"""Up to this number of atoms the first scale may be wrong: a small molecule fills its box with large letters."""
SMALL_MOLECULE_SCALES: Scales = (0.5, 0.35, 0.7, 0.25)
"""RETRY_SCALES for small molecules."""
USUAL_BOND = 24.0
"""The bond length in pixels at the usual scale."""
MIN_BOND, MAX_BOND = 14.0, 36.0
"""Bounds of the bond lengths, in pixels, that the networks were trained on."""
LONE_BOND = 150.0
"""A bond longer than this, in pixels, is the molecule's only one; its letters are small beside it."""
LABEL_REACH = 0.8
"""How far the letters of an atom reach from it, in bond lengths."""
LONG_LABEL_REACH = 1.25
"""How far the letters of a long abbreviation reach, in bond lengths."""
LETTER_INK = 0.02
"""The least inked area of a letter, in squared bond lengths."""


@dataclass
class View:
    """What the networks found at one scale."""

    candidate: Candidate | None
    features: np.ndarray
    """Input of the calibration, float [6]: cost, faults, replacements, logit that it is a molecule, log probability of
    the least likely choice, log of the largest probability that a label is unknown."""
    bond_length: float
    """Median distance of an atom to its nearest neighbour in scaled pixels, 0 with fewer than two atoms."""
    corner: np.ndarray
    """Left and top of the box, in pixels of the picture."""
    scale: np.ndarray
    """Scaled pixels per pixel of the picture, across and down."""

    def retry_scales(self) -> Scales:
        """Returns the scales of further views, as factors of this one's."""
        if MAX_BOND < self.bond_length < LONE_BOND:
            return tuple(length / self.bond_length for length in (38, 28, 48, 22))
        atoms = self.candidate.molecule.GetNumAtoms() if self.candidate else 0
        if self.bond_length >= LONE_BOND or atoms <= SMALL_MOLECULE_ATOMS:
            return SMALL_MOLECULE_SCALES
        if self.bond_length < MIN_BOND:
            return tuple(USUAL_BOND / self.bond_length * factor for factor in (1.0, *RETRY_SCALES))
        return RETRY_SCALES

    def points(self, candidate: Candidate) -> np.ndarray:
        """Returns the atoms of the molecule in pixels of the picture, float [atoms, 2], y down."""
        positions = candidate.molecule.GetConformer().GetPositions()[:, :2]
        return (positions * [1, -1] - MARGIN) / self.scale + self.corner

    def box_around(self, candidate: Candidate, box: Box) -> Box:
        """Returns the box around the molecule and its labels, within a box; in pixels of the picture."""
        points, reach = self.points(candidate), 0.5 * self.picture_bond_length()
        left, top = np.maximum(points.min(0) - reach, box[:2]).astype(int).tolist()
        right, bottom = np.minimum(points.max(0) + reach + 1, box[2:]).astype(int).tolist()
        return left, top, right, bottom

    def ink_near(self, candidate: Candidate, ink: np.ndarray, reach: float = LABEL_REACH) -> np.ndarray:
        """Returns the picture's ink within `reach` bond lengths of the molecule; blank elsewhere."""
        bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in candidate.molecule.GetBonds()]
        return keep_near(ink, self.points(candidate), bonds, reach * self.picture_bond_length())

    def has_unread_ink(self, candidate: Candidate, ink: np.ndarray) -> bool:
        """Reports whether there is ink for a letter far from the molecule."""
        far = (ink > INKED) & (self.ink_near(candidate, ink, LONG_LABEL_REACH) == 0)
        return np.count_nonzero(far) > LETTER_INK * self.picture_bond_length() ** 2

    def picture_bond_length(self) -> float:
        """Returns the typical bond length in pixels of the picture."""
        return self.bond_length / float(self.scale.mean())


@dataclass
class Calibration:
    """Two logistic regressions on View.features, each an intercept and weights: calibration.json."""

    exact: list[float]
    """That the SMILES is exact."""
    drawing: list[float]
    """That the picture is a drawing of a molecule."""

    def confidence(self, view: View) -> float:
        """Returns the probability that the view's SMILES is exact."""
        return logistic(self.exact, view.features) if view.candidate else 0.0

    def drawing_probability(self, view: View) -> float:
        """Returns the probability that the picture is a drawing of a molecule."""
        return logistic(self.drawing, view.features)

    def combined_confidence(self, views: list[View], view: View) -> float:
        """Returns the confidence in a view's SMILES, given all views.

        Views with the same SMILES raise it, views with others lower it. A view that is unlikely to show a drawing has
        less weight: at a wrong scale two letters are a line.
        """
        if view.candidate is None:
            return 0.0
        weights = [(v.candidate.smiles, self.confidence(v) * self.drawing_probability(v)) for v in views if v.candidate]
        same = [weight for smiles, weight in weights if smiles == view.candidate.smiles]
        other = [weight for smiles, weight in weights if smiles != view.candidate.smiles]
        combined = 1 - math.prod(1 - weight for weight in same) ** (1 / len(same) ** 0.5)
        return combined * sum(same) / max(sum(same) + sum(other), 1e-9)


UNFITTED = Calibration([3.0, -1.0, -1.0, 0, 0, 0, 0], [-1.0, 0, -0.5, 0, 1.0, 0, 0])
"""Used until a calibration is fitted."""


def logistic(weights: list[float], features: np.ndarray) -> float:
    return 1 / (1 + math.exp(-float(np.clip(weights[0] + np.dot(weights[1:], features), -30, 30))))
