"""Reads the drawing of a molecule: picture in, molecular graph out. NumPy, Pillow, ONNX Runtime and RDKit only."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from rdkit import Chem
from rdkit.Geometry import Point3D

from graph import Built, build
from ink import MARGIN, box_of, fit, ink_of, opaque, scaled, unframed
from look import Networks, look
from marks import STRANGE

LARGEST = 1600
"""Larger pictures are halved until no side is longer, in pixels."""
FULL = 0.35
"""A picture whose box is inked more than this is a photograph, not a drawing."""
LOOKS = (0.84, 1.19, 0.72, 1.4)
"""Further sizes at which a drawing is looked at, as factors of the usual one: the next only while the reading is not sure."""
FEW, SMALLER = 12, (0.5, 0.35, 0.7, 0.25)
"""With so few atoms it is the usual size that may be wrong: a small molecule fills its box with large letters."""
LONG, SHORT = 36.0, 14.0
"""Lengths of a bond in pixels between which the networks know their way."""
LONGEST = 150.0
"""A longer bond is the only one of a molecule, whose letters are small beside it."""
CUTS = 3
"""How often what stands apart from a molecule is cut off: numbers, names and captions on two sides of it or three."""
GAP = 0.45
"""It stands at least so far from it, in bond lengths. Letters at the end of a line are nearer."""
WHOLE = 0.5
"""From this confidence on several pieces without charges belong together. Captions that were read as pieces seldom have it."""
ION_LOST = 0.7
"""The confidence in an ion alone is multiplied by it where something else is drawn, which may be the other ion."""
SURE = 0.97
NEAR, FAR = 0.8, 1.25
"""Letters of an atom reach so far from it, in bond lengths, those of a long abbreviation so far."""
LETTER = 0.02
"""Least ink of a letter, in squared bond lengths."""


@dataclass
class Reading:
    """What a picture shows."""

    smiles: str | None
    """Canonical isomeric SMILES, None where no molecule could be built."""
    molecule: Chem.Mol | None
    """The molecule with the conformer of the drawing (x to the right, y up, unit: pixels of the picture)."""
    confidence: float
    """Probability that smiles is exact, 0 to 1."""
    drawing: float
    """Probability that the picture is a drawing of a molecule at all, 0 to 1."""
    size: tuple[int, int]
    """Width and height of the picture in pixels."""
    unknown: bool = False
    """Whether letters stand in the drawing that the reader does not know; smiles is None then."""


@dataclass
class View:
    """What one look gave."""

    built: Built | None
    features: np.ndarray
    """What the confidence is computed from, float [6]: cost, faults, changes, the flag's logit, log of the least likely choice, log of the
    largest probability that an atom's letters are unknown."""
    bond: float
    """Typical distance of neighbouring atoms in pixels of the look, 0 where there are none."""
    corner: np.ndarray
    """Left and top of the box looked at, in pixels of the picture."""
    factor: np.ndarray
    """Pixels of the look a pixel of the picture, across and down."""

    def others(self) -> tuple[float, ...]:
        """Sizes for further looks, as factors of this one's."""
        if LONG < self.bond < LONGEST:
            return tuple(length / self.bond for length in (38, 28, 48, 22))
        if self.bond >= LONGEST or self.built is None or self.built.molecule.GetNumAtoms() <= FEW:
            return SMALLER
        return tuple(24 / self.bond * f for f in (1.0, *LOOKS)) if self.bond < SHORT else LOOKS

    def points(self) -> np.ndarray:
        """float [atoms, 2]: the atoms of the molecule in pixels of the picture, y down."""
        return (self.built.molecule.GetConformer().GetPositions()[:, :2] * [1, -1] - MARGIN) / self.factor + self.corner


@dataclass
class Calibration:
    """Two logistic regressions on View.features: is the SMILES exact, is it a drawing of a molecule."""

    exact: list[float]
    drawing: list[float]

    def confidence(self, view: View) -> float:
        return logistic(self.exact, view.features) if view.built else 0.0

    def molecule(self, view: View) -> float:
        return logistic(self.drawing, view.features)


UNFITTED = Calibration([3.0, -1.0, -1.0, 0, 0, 0, 0], [-1.0, 0, -0.5, 0, 1.0, 0, 0])


def lines_box(ink: np.ndarray) -> tuple[int, int, int, int] | None:
    """The box around the ink, None where there is none, a speck of it, or so much that it is no drawing of lines."""
    box = box_of(ink)
    if box is None or max(box[2] - box[0], box[3] - box[1]) < 4:
        return None
    inside = ink[box[1] : box[3], box[0] : box[2]]
    return None if inside.size > 2500 and (inside > 48).mean() > FULL else box


def larger_part(ink: np.ndarray, box: tuple[int, int, int, int]) -> tuple[int, tuple[int, int, int, int]]:
    """The widest band of blank rows or columns that divides the ink of a box (its width in pixels, 0 where there is none), and the box
    around the side that has more unbroken ink."""
    left, top, right, bottom = box
    inside = ink[top:bottom, left:right] > 48
    bands = []
    for axis in (0, 1):
        places = np.flatnonzero(inside.any(axis))
        gaps = np.diff(places) - 1
        if gaps.max(initial=0) > 0:
            bands.append((int(gaps.max()), axis, int(places[gaps.argmax()])))
    if not bands:
        return 0, box
    gap, axis, last = max(bands)
    before, after = (
        (inside[:, : last + 1], inside[:, last + 1 :]) if axis == 0 else (inside[: last + 1], inside[last + 1 :])
    )
    start = 0 if unbroken(before) >= unbroken(after) else last + 1
    kept = box_of((before if start == 0 else after) * np.uint8(255))
    x, y = (left + start, top) if axis == 0 else (left, top + start)
    return gap, (kept[0] + x, kept[1] + y, kept[2] + x, kept[3] + y)


def unbroken(inked: np.ndarray) -> int:
    """The longest runs of rows and of columns with ink, multiplied: large for a molecule, small for a line of letters."""
    edges = (np.flatnonzero(np.diff(np.pad(inked.any(axis), 1).astype(np.int8))) for axis in (0, 1))
    lengths = [int((found[1::2] - found[::2]).max(initial=0)) for found in edges]
    return lengths[0] * lengths[1]


def logistic(weights: list[float], features: np.ndarray) -> float:
    return 1 / (1 + math.exp(-float(np.clip(weights[0] + np.dot(weights[1:], features), -30, 30))))


class Reader:
    """Loaded networks; read may be called from several threads at once."""

    def __init__(
        self, folder: Path, threads: int = 1, networks: Networks | None = None, calibration: Calibration | None = None
    ) -> None:
        """The folder holds seer.onnx, liner.onnx and calibration.json; networks and a calibration given replace them."""
        if networks is None:
            from networks import Onnx

            networks = Onnx(Path(folder), threads)
        if calibration is None:
            calibration = Calibration(**json.loads((Path(folder) / "calibration.json").read_text()))
        self.networks, self.calibration = networks, calibration

    def read(self, image: Image.Image) -> Reading:
        """The molecule of the picture's only drawing."""
        size, image = image.size, opaque(image)
        while max(image.size) > LARGEST:
            image = image.reduce(2)
        shrink = image.size[0] / size[0]
        ink = unframed(ink_of(image))
        box = lines_box(ink)
        if box is None:
            return Reading(None, None, 0.0, 0.0, size)
        views = self.views(ink, box)
        best = max(views, key=lambda v: (self.agreed(views, v), self.calibration.confidence(v)))
        drawing = self.calibration.molecule(best)
        if best.built is None:
            return Reading(None, None, 0.0, drawing, size)
        if best.built.unknown:
            return Reading(None, None, 0.0, drawing, size, unknown=True)
        confidence = self.agreed(views, best)
        if Chem.GetFormalCharge(best.built.molecule) and unread(ink, best):
            confidence *= ION_LOST
        return Reading(
            best.built.smiles, placed(best.built.molecule, best.points() / shrink), confidence, drawing, size
        )

    def views(self, ink: np.ndarray, box: tuple[int, int, int, int], looks: int = 5) -> list[View]:
        """Looks at the drawing until one is sure."""
        usual = fit(box[2] - box[0], box[3] - box[1])
        out = [self.view(ink, box, usual)]
        if out[0].built and out[0].built.strange:  # Perhaps a caption: what is far from the molecule is wiped away.
            ink = wiped(ink, out[0])
            box = box_of(ink) or box
            usual = fit(box[2] - box[0], box[3] - box[1])
            sizes = (1.0, *LOOKS)
        else:
            sizes = out[0].others()
            if 0 < out[0].bond <= LONG and self.calibration.confidence(out[0]) > SURE:
                return out
        for other in sizes[:looks]:
            out.append(self.view(ink, box, usual * other))
            if self.calibration.confidence(out[-1]) > SURE:
                break
        strange = np.mean([v.features[-1] for v in out])
        for (
            view
        ) in out:  # What one look takes for letters that it does not know, another may take for some that it knows.
            view.features[-1] = strange
        if looks and self.calibration.confidence(out[-1]) <= SURE and not self.together(out):
            out += self.parts(ink, box, looks)
        return out

    def together(self, views: list[View]) -> bool:
        """Whether the surest view has several pieces that belong together, so that none may be cut off: a salt, a molecule and its solvent."""
        surest = max(views, key=self.calibration.confidence)
        if surest.built is None or surest.built.pieces == 1 or surest.built.faults or surest.built.strange:
            return False
        ions = any(Chem.GetFormalCharge(piece) for piece in Chem.GetMolFrags(surest.built.molecule, asMols=True))
        return ions or self.calibration.confidence(surest) > WHOLE

    def parts(self, ink: np.ndarray, box: tuple[int, int, int, int], looks: int) -> list[View]:
        """At most so many looks at what is left where a blank band divides the ink and the smaller part is cut off, until one is sure."""
        out: list[View] = []
        for _ in range(CUTS):
            gap, box = larger_part(ink, box)
            if not gap:
                break
            view = self.view(ink, box, fit(box[2] - box[0], box[3] - box[1]))
            if gap * view.factor.mean() < GAP * view.bond:
                break
            usual = float(view.factor.mean())
            for factor in (None, *view.others()):
                out.append(self.view(ink, box, usual * factor) if factor else view)
                if len(out) == looks or self.calibration.confidence(out[-1]) > SURE:
                    return out
        return out

    def view(self, ink: np.ndarray, box: tuple[int, int, int, int], factor: float) -> View:
        """One look at the box."""
        small = scaled(ink, box, factor, factor)
        seen, flag = look(self.networks, small)
        built = build(seen)
        weakest = min([float(p) for rows in (seen.atoms, seen.kinds) if len(rows) for p in rows.max(1)] + [1.0])
        strange = float(seen.atoms[:, STRANGE].max(initial=0))
        features = np.array(
            [
                min(built.cost, 40.0) if built else 40.0,
                built.faults if built else 4,
                built.changes if built else 4,
                flag,
                math.log(max(weakest, 1e-3)),
                math.log(max(strange, 1e-4)),
            ],
            float,
        )
        distance = np.linalg.norm(seen.points[:, None] - seen.points[None], axis=2) + 1e9 * np.eye(len(seen.points))
        exact = (np.array(small.shape[::-1]) - 2 * MARGIN) / np.array([box[2] - box[0], box[3] - box[1]])
        return View(
            built,
            features,
            float(np.median(distance.min(1))) if len(seen.points) > 1 else 0.0,
            np.array(box[:2]),
            exact,
        )

    def agreed(self, views: list[View], view: View) -> float:
        """The confidence in a view's SMILES after all of them: their confidences, summed where they agree, as a share. A view that looks
        like no molecule counts for less: at the wrong size two letters are a line."""
        if view.built is None:
            return 0.0
        weighed = [
            (v.built.smiles, self.calibration.confidence(v) * self.calibration.molecule(v)) for v in views if v.built
        ]
        mine = [c for smiles, c in weighed if smiles == view.built.smiles]
        other = [c for smiles, c in weighed if smiles != view.built.smiles]
        sure = 1 - math.prod(1 - c for c in mine) ** (1 / len(mine) ** 0.5)
        return sure * sum(mine) / max(sum(mine) + sum(other), 1e-9)


def placed(molecule: Chem.Mol, points: np.ndarray) -> Chem.Mol:
    """The molecule with its atoms at the points (y down)."""
    conformer = molecule.GetConformer()
    for atom, (x, y) in enumerate(points):
        conformer.SetAtomPosition(atom, Point3D(float(x), float(-y), 0.0))
    return molecule


def wiped(ink: np.ndarray, view: View, reach: float = NEAR) -> np.ndarray:
    """The ink near the molecule of a view alone: within so many typical bonds of an atom or a bond of it, in blocks of 4 pixels."""
    points, bonds = view.points(), [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in view.built.molecule.GetBonds()]
    length = view.bond / float(view.factor.mean())
    middles = [points[a] * (1 - t) + points[b] * t for a, b in bonds for t in (0.25, 0.5, 0.75)]
    marks = np.concatenate([points, np.array(middles).reshape(-1, 2)])
    rows, columns = (np.arange(0, n, 4) + 2 for n in ink.shape)
    nearest = np.full((len(rows), len(columns)), np.inf)
    for x, y in marks:
        np.minimum(nearest, (rows[:, None] - y) ** 2 + (columns[None] - x) ** 2, out=nearest)
    near = np.repeat(np.repeat(nearest < (reach * length) ** 2, 4, 0), 4, 1)[: ink.shape[0], : ink.shape[1]]
    return np.where(near, ink, 0).astype(np.uint8)


def unread(ink: np.ndarray, view: View) -> bool:
    """Whether there is ink for a letter far from the molecule of a view."""
    length = view.bond / float(view.factor.mean())
    return np.count_nonzero((ink > 48) & (wiped(ink, view, FAR) == 0)) > LETTER * length**2
