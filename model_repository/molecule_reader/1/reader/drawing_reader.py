"""Reads the drawing of a molecule: from a picture to a molecule. Needs NumPy, Pillow, ONNX Runtime and RDKit only.

Terms:
view      one pass of the networks over the drawing at one scale, and the molecule built from it
sure      a confidence above SURE, which needs no further view
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from PIL import Image
from rdkit import Chem
from rdkit.Geometry import Point3D

from .cropping import drawing_box, split_at_widest_gap
from .detection import detect
from .ink import MARGIN, Box, box_of, flatten, ink_of, remove_frame, scale_of, scaled
from .labels import UNKNOWN_CLASS
from .molecule_builder import build
from .networks import Networks, OnnxNetworks
from .reading import Reading
from .views import MAX_BOND, RETRY_SCALES, Calibration, Scales, View

MAX_SIDE = 1600
"""Larger pictures are halved until no side is longer, in pixels."""
MAX_RETRIES = 5
"""The most further views of a drawing, and of each part of a page."""
MAX_CUTS = 3
"""The most times that a caption is cut off: numbers, names and notes stand on two or three sides of a molecule."""
CAPTION_GAP = 0.45
"""The least distance of a caption, in bond lengths. Letters at the end of a bond are nearer."""
KEEP_PIECES_CONFIDENCE = 0.5
"""Above this confidence, several pieces without charges belong together. Captions read as pieces seldom reach it."""
LONE_ION_FACTOR = 0.7
"""Lowers the confidence in an ion beside ink that was not read, which may be the counterion."""
SURE = 0.97


class Reader:
    """Loaded networks; read may be called from several threads at once."""

    def __init__(
        self,
        folder: Path,
        threads: int = 1,
        networks: Networks | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """Loads atom_detector.onnx, bond_classifier.onnx and calibration.json of a folder, unless given as
        arguments."""
        self.networks = OnnxNetworks(folder, threads) if networks is None else networks
        if calibration is None:
            calibration = Calibration(**json.loads((folder / "calibration.json").read_text()))
        self.calibration = calibration

    def read(self, image: Image.Image) -> Reading:
        """Returns the molecule of the picture's only drawing."""
        size = image.size
        image = flatten(image)
        while max(image.size) > MAX_SIDE:
            image = image.reduce(2)
        shrink = image.size[0] / size[0]
        ink = remove_frame(ink_of(image))
        box = drawing_box(ink)
        if box is None:
            return Reading(None, None, 0.0, 0.0, size)
        views = self.views(ink, box)
        best = max(views, key=lambda v: (self.calibration.agreement(views, v), self.calibration.confidence(v)))
        drawing = self.calibration.is_molecule(best)
        built = best.built
        if built is None:
            return Reading(None, None, 0.0, drawing, size)
        if built.unknown:
            return Reading(None, None, 0.0, drawing, size, unknown=True)
        confidence = self.calibration.agreement(views, best)
        if Chem.GetFormalCharge(built.molecule) and best.has_unread_ink(built, ink):
            confidence *= LONE_ION_FACTOR
        molecule = with_positions(built.molecule, best.points(built) / shrink)
        return Reading(built.smiles, molecule, confidence, drawing, size)

    def views(self, ink: np.ndarray, box: Box, retries: int = MAX_RETRIES) -> list[View]:
        """Returns views of the drawing, the last of which is sure if any is."""
        scale = scale_of(box)
        first = self.view(ink, box, scale)
        views = [first]
        if first.built and first.built.dropped_pieces:  # Perhaps a caption: blank what is far from the molecule.
            ink = first.ink_near(first.built, ink)
            box = box_of(ink) or box
            scale = scale_of(box)
            factors: Scales = (1.0, *RETRY_SCALES)
        else:
            factors = first.retry_scales()
            if 0 < first.bond <= MAX_BOND and self._is_sure(first):
                return views
        for factor in factors[:retries]:
            views.append(self.view(ink, box, scale * factor))
            if self._is_sure(views[-1]):
                break
        unknown = np.mean([v.features[-1] for v in views])
        for view in views:  # A label that is unknown at one scale may be known at another.
            view.features[-1] = unknown
        if retries and not self._is_sure(views[-1]) and not self._belong_together(views):
            views += self._views_without_captions(ink, box, retries)
        return views

    def _is_sure(self, view: View) -> bool:
        return self.calibration.confidence(view) > SURE

    def _belong_together(self, views: list[View]) -> bool:
        """Reports whether the surest view has several pieces that must not be cut apart: a salt, or a molecule and its
        solvent."""
        surest = max(views, key=self.calibration.confidence)
        built = surest.built
        if built is None or built.pieces == 1 or built.faults or built.dropped_pieces:
            return False
        has_ions = any(Chem.GetFormalCharge(piece) for piece in Chem.GetMolFrags(built.molecule, asMols=True))
        return has_ions or self.calibration.confidence(surest) > KEEP_PIECES_CONFIDENCE

    def _views_without_captions(self, ink: np.ndarray, box: Box, retries: int) -> list[View]:
        """Cuts the page at blank bands, keeps the larger part, and returns at most `retries` views of what is left."""
        views: list[View] = []
        for _ in range(MAX_CUTS):
            gap, box = split_at_widest_gap(ink, box)
            if not gap:
                break
            view = self.view(ink, box, scale_of(box))
            if gap * view.factor.mean() < CAPTION_GAP * view.bond:
                break
            scale = float(view.factor.mean())
            for factor in (None, *view.retry_scales()):
                views.append(self.view(ink, box, scale * factor) if factor else view)
                if len(views) == retries or self._is_sure(views[-1]):
                    return views
        return views

    def view(self, ink: np.ndarray, box: Box, factor: float) -> View:
        """Returns one view of the box, scaled by a factor."""
        small = scaled(ink, box, factor, factor)
        detections, molecule_logit = detect(self.networks, small)
        built = build(detections)
        choices = [rows for rows in (detections.atoms, detections.kinds) if len(rows)]
        weakest = min([float(p) for rows in choices for p in rows.max(1)] + [1.0])
        unknown = float(detections.atoms[:, UNKNOWN_CLASS].max(initial=0))
        features = np.array(
            [
                min(built.cost, 40.0) if built else 40.0,
                built.faults if built else 4,
                built.replacements if built else 4,
                molecule_logit,
                math.log(max(weakest, 1e-3)),
                math.log(max(unknown, 1e-4)),
            ],
            float,
        )
        points = detections.points
        distance = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(len(points))
        bond = float(np.median(distance.min(1))) if len(points) > 1 else 0.0
        exact_factor = (np.array(small.shape[::-1]) - 2 * MARGIN) / np.array([box[2] - box[0], box[3] - box[1]])
        return View(built, features, bond, np.array(box[:2]), exact_factor)


def with_positions(molecule: Chem.Mol, points: np.ndarray) -> Chem.Mol:
    """Moves the molecule's atoms to points (y down) and returns it."""
    conformer = molecule.GetConformer()
    for atom, (x, y) in enumerate(points):
        conformer.SetAtomPosition(atom, Point3D(float(x), float(-y), 0.0))
    return molecule
