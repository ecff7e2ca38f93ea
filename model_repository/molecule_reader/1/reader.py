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
from ink import MARGIN, box_of, fit, ink_of, opaque, scaled
from look import Networks, look

LARGEST = 1600
"""Larger pictures are halved until no side is longer, in pixels."""
FULL = 0.35
"""A picture whose box is inked more than this is a photograph, not a drawing."""
LOOKS = (1.0, 0.84, 1.19, 0.72, 1.4)
"""Sizes at which a drawing is looked at, as factors of the usual one: the next only while the reading is not sure."""
SURE = 0.9
BOND = 24.0
"""Length of a bond in pixels that the networks know best."""


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


@dataclass
class View:
    """What one look gave."""

    built: Built | None
    features: np.ndarray
    """What the confidence is computed from, float [6]."""
    bond: float
    """Typical distance of neighbouring atoms in pixels of the look, 0 where there are none."""


@dataclass
class Calibration:
    """Two logistic regressions on View.features: is the SMILES exact, is it a drawing of a molecule."""

    exact: list[float]
    drawing: list[float]

    def confidence(self, view: View) -> float:
        return logistic(self.exact, view.features) if view.built else 0.0

    def molecule(self, view: View) -> float:
        return logistic(self.drawing, view.features)


UNFITTED = Calibration([3.0, -1.0, -1.0, 0, 0, 0, 0], [-1.0, 0, -0.5, 0, 0, 1.0, 0])


def lines_box(ink: np.ndarray) -> tuple[int, int, int, int] | None:
    """The box around the ink, None where there is none, a speck of it, or so much that it is no drawing of lines."""
    box = box_of(ink)
    if box is None or max(box[2] - box[0], box[3] - box[1]) < 4:
        return None
    inside = ink[box[1] : box[3], box[0] : box[2]]
    return None if inside.size > 2500 and (inside > 48).mean() > FULL else box


def logistic(weights: list[float], features: np.ndarray) -> float:
    return 1 / (1 + math.exp(-float(np.clip(weights[0] + np.dot(weights[1:], features), -30, 30))))


class Reader:
    """Loaded networks; read may be called from several threads at once."""

    def __init__(self, folder: Path, threads: int = 1, networks: Networks | None = None, calibration: Calibration | None = None) -> None:
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
        ink = ink_of(image)
        box = lines_box(ink)
        if box is None:
            return Reading(None, None, 0.0, 0.0, size)
        views = self.views(ink, box)
        factor, best = self.choose(views)
        drawing = max(self.calibration.molecule(v) for _, v in views[:1])
        if best.built is None:
            return Reading(None, None, 0.0, min(drawing, 0.5), size)
        confidence = self.agreed(views, best)
        molecule = placed(best.built.molecule, factor, box, shrink)
        return Reading(best.built.smiles, molecule, confidence, max(drawing, confidence), size)

    def views(self, ink: np.ndarray, box: tuple[int, int, int, int], looks: int = len(LOOKS)) -> list[tuple[tuple[float, float], View]]:
        """Looks at the drawing until one is sure, each with the factors of its size."""
        usual, out = fit(box[2] - box[0], box[3] - box[1]), []
        for other in LOOKS[:looks]:
            factor, view = self.view(ink, box, usual * other)
            if not out and view.bond and not 14 < view.bond < 36:  # A small or crowded drawing: its own size is the usual one.
                usual *= BOND / view.bond
                out.append((factor, view))
                factor, view = self.view(ink, box, usual)
            out.append((factor, view))
            if self.calibration.confidence(view) > SURE:
                break
        return out

    def view(self, ink: np.ndarray, box: tuple[int, int, int, int], factor: float) -> tuple[tuple[float, float], View]:
        small = scaled(ink, box, factor, factor)
        seen, flag = look(self.networks, small)
        built = build(seen)
        exact = ((small.shape[1] - 2 * MARGIN) / (box[2] - box[0]), (small.shape[0] - 2 * MARGIN) / (box[3] - box[1]))
        weakest = min([float(p) for rows in (seen.atoms, seen.kinds) if len(rows) for p in rows.max(1)] + [1.0])
        features = np.array([min(built.cost, 40.0) if built else 40.0, math.log1p(built.cost) if built else 4.0, built.faults if built else 4,
                             built.changes if built else 4, flag, math.log(max(weakest, 1e-3))], float)
        distance = np.linalg.norm(seen.points[:, None] - seen.points[None], axis=2) + 1e9 * np.eye(len(seen.points))
        return exact, View(built, features, float(np.median(distance.min(1))) if len(seen.points) > 1 else 0.0)

    def choose(self, views: list[tuple[tuple[float, float], View]]) -> tuple[tuple[float, float], View]:
        """The view whose SMILES has the most confidence over all views."""
        return max(views, key=lambda v: (self.agreed(views, v[1]), self.calibration.confidence(v[1])))

    def agreed(self, views: list[tuple[tuple[float, float], View]], view: View) -> float:
        """The confidence in a view's SMILES after all of them: their confidences, summed where they agree, as a share."""
        if view.built is None:
            return 0.0
        mine = [self.calibration.confidence(v) for _, v in views if v.built and v.built.smiles == view.built.smiles]
        other = [self.calibration.confidence(v) for _, v in views if v.built and v.built.smiles != view.built.smiles]
        sure = 1 - math.prod(1 - c for c in mine) ** (1 / len(mine) ** 0.5)
        return sure * sum(mine) / max(sum(mine) + sum(other), 1e-9)


def placed(molecule: Chem.Mol, factor: tuple[float, float], box: tuple[int, int, int, int], shrink: float) -> Chem.Mol:
    """The molecule with its conformer in pixels of the picture."""
    conformer = molecule.GetConformer()
    for atom, (x, y, _) in enumerate(conformer.GetPositions()):
        across, down = (x - MARGIN) / factor[0] + box[0], (-y - MARGIN) / factor[1] + box[1]
        conformer.SetAtomPosition(atom, Point3D(float(across / shrink), float(-down / shrink), 0.0))
    return molecule
