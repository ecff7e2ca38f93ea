"""One view of a drawing: the molecule built at one scale, and the calibrated confidence in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .cropping import keep_near
from .ink import INKED, MARGIN
from .molecule_builder import Built

Scales = tuple[float, ...]

RETRY_SCALES: Scales = (0.84, 1.19, 0.72, 1.4)
"""Further scales, as factors of the usual one."""
SMALL_MOLECULE = 12
"""With at most this many atoms the usual scale may be wrong: a small molecule fills its box with large letters."""
SMALL_MOLECULE_SCALES: Scales = (0.5, 0.35, 0.7, 0.25)
MIN_BOND, MAX_BOND = 14.0, 36.0
"""Bond lengths in pixels that the networks were trained on."""
LONE_BOND = 150.0
"""A longer bond is the only one of a molecule, with letters that are small beside it."""
KEEP_REACH = 0.8
"""The letters of an atom reach this far from it, in bond lengths."""
LONG_LABEL_REACH = 1.25
"""The letters of a long abbreviation reach this far."""
LETTER_INK = 0.02
"""The least ink of a letter, in squared bond lengths."""


@dataclass
class View:
    """The result of one view."""

    built: Built | None
    features: np.ndarray
    """Input of the calibration, float [6]: cost, faults, replacements, logit that it is a molecule, log of the least
    likely choice, log of the largest probability that a label is unknown."""
    bond: float
    """Typical distance of neighbouring atoms in scaled pixels, 0 without any."""
    corner: np.ndarray
    """Left and top of the box, in pixels of the picture."""
    factor: np.ndarray
    """Scaled pixels per pixel of the picture, across and down."""

    def retry_scales(self) -> Scales:
        """Returns the scales of further views, as factors of this one's."""
        if MAX_BOND < self.bond < LONE_BOND:
            return tuple(length / self.bond for length in (38, 28, 48, 22))
        if self.bond >= LONE_BOND or self.built is None or self.built.molecule.GetNumAtoms() <= SMALL_MOLECULE:
            return SMALL_MOLECULE_SCALES
        if self.bond < MIN_BOND:
            return tuple(24 / self.bond * factor for factor in (1.0, *RETRY_SCALES))
        return RETRY_SCALES

    def points(self, built: Built) -> np.ndarray:
        """Returns the atoms of the molecule in pixels of the picture, float [atoms, 2], y down."""
        positions = built.molecule.GetConformer().GetPositions()[:, :2]
        return (positions * [1, -1] - MARGIN) / self.factor + self.corner

    def ink_near(self, built: Built, ink: np.ndarray, reach: float = KEEP_REACH) -> np.ndarray:
        """Returns the picture's ink within `reach` bond lengths of the molecule; blank elsewhere."""
        bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in built.molecule.GetBonds()]
        return keep_near(ink, self.points(built), bonds, reach * self.picture_bond())

    def has_unread_ink(self, built: Built, ink: np.ndarray) -> bool:
        """Reports whether there is ink for a letter far from the molecule."""
        far = (ink > INKED) & (self.ink_near(built, ink, LONG_LABEL_REACH) == 0)
        return np.count_nonzero(far) > LETTER_INK * self.picture_bond() ** 2

    def picture_bond(self) -> float:
        """Returns the typical bond length in pixels of the picture."""
        return self.bond / float(self.factor.mean())


@dataclass
class Calibration:
    """Two logistic regressions on View.features, each an intercept and weights."""

    exact: list[float]
    drawing: list[float]

    def confidence(self, view: View) -> float:
        """Returns the probability that the view's SMILES is exact."""
        return logistic(self.exact, view.features) if view.built else 0.0

    def is_molecule(self, view: View) -> float:
        """Returns the probability that the picture is a drawing of a molecule."""
        return logistic(self.drawing, view.features)

    def agreement(self, views: list[View], view: View) -> float:
        """Returns the confidence in a view's SMILES, given all views.

        Views with the same SMILES confirm each other; the result is their share of all confidences. A view that looks
        like no molecule has less weight: at a wrong scale two letters are a line.
        """
        if view.built is None:
            return 0.0
        weights = [(v.built.smiles, self.confidence(v) * self.is_molecule(v)) for v in views if v.built]
        same = [weight for smiles, weight in weights if smiles == view.built.smiles]
        other = [weight for smiles, weight in weights if smiles != view.built.smiles]
        combined = 1 - math.prod(1 - weight for weight in same) ** (1 / len(same) ** 0.5)
        return combined * sum(same) / max(sum(same) + sum(other), 1e-9)


UNFITTED = Calibration([3.0, -1.0, -1.0, 0, 0, 0, 0], [-1.0, 0, -0.5, 0, 1.0, 0, 0])
"""Used until a calibration is fitted."""


def logistic(weights: list[float], features: np.ndarray) -> float:
    return 1 / (1 + math.exp(-float(np.clip(weights[0] + np.dot(weights[1:], features), -30, 30))))
