"""Reads the drawing of a molecule: picture in, molecule out. Needs NumPy, Pillow, ONNX Runtime and RDKit only.

Terms:
view      one pass of the networks over the drawing at one scale, and the molecule built from it
retry     a further view at another scale
sure      said of a view with a confidence above SURE_VIEW, after which there are no retries
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from rdkit import Chem
from rdkit.Geometry import Point3D

from .cropping import drawing_box, split_at_widest_gap
from .detection import CARBON, Detections, detect
from .ink import MARGIN, Box, Page, box_of, flatten, page_of, scale_of, scaled
from .label_reader import LabelReader
from .labels import CROSSED, DETECTED_LABELS, NONE, REPEAT_COUNT_CLASSES, UNKNOWN_CLASS
from .molecule_builder import build
from .networks import Networks, OnnxNetworks
from .page_reader import find_drawings
from .reading import Reading
from .repeat_counts import find_counts
from .views import LONE_BOND, MAX_BOND, MIN_BOND, RETRY_SCALES, USUAL_BOND, Calibration, Scales, View

MAX_SIDE = 1600
"""Larger pictures are halved until no side is longer, in pixels."""
MAX_RETRIES = 5
"""The most retries, with the captions and again without them."""
MAX_CUTS = 3
"""The most captions that are cut off: numbers, names and notes stand on two or three sides of a molecule."""
CAPTION_GAP = 0.45
"""The least distance of a caption, in bond lengths. Letters at the end of a bond are nearer."""
KEEP_PIECES_CONFIDENCE = 0.5
"""Above this confidence, pieces without charges belong to one drawing. Captions read as pieces seldom reach it."""
LONE_ION_FACTOR = 0.7
"""Factor on the confidence in an ion beside unread ink, which may be the counterion."""
MAX_CARBON = 0.5
"""An atom that is a carbon with at least this probability has no letters to read."""
MIN_UNKNOWN = 0.3
"""If an atom has the unknown label with at least this probability, the letters of all atoms are read."""
SURE_LABEL = 0.97
"""Otherwise, atoms whose label has at least this probability are not read."""
MAX_LETTERED = 60
"""The most atoms and the most repeat counts of a view whose letters are read, the first ones. Each takes about three
milliseconds."""
CROP_FACTOR = 0.75
"""Factor on the bond length that scales the crops of letters. Below 1, letters are larger in the crop, and their digits
are read better; chosen on scanned patents."""
DETECTOR_DOUBT = 0.01
"""Added to the atom detector's probability of each label: it may be sure of a wrong label where the drawing has one
that it does not know."""
READER_DOUBT = 0.01
"""Added to the label reader's probability of each label that the atom detector knows; chosen on scanned patents."""
UNKNOWN_DOUBT = 0.05
"""Added to the label reader's probability of the unknown label, which it gives too seldom: an unsure spelling is
unknown."""
MIN_COUNT = 0.01
"""The least probability that letters beside a bracket are a count."""
MAX_SAME_COUNT_DISTANCE = 0.6
"""A detected atom without bonds at most this far from a count, in bond lengths, is that count, and is dropped."""
SURE_VIEW = 0.97
"""The confidence above which a view is sure."""

REPEAT_COUNT_LABELS = sorted(REPEAT_COUNT_CLASSES)
"""As an index of label probabilities."""


class DrawingReader:
    """Reads drawings with the networks and their calibration; safe for concurrent use."""

    def __init__(
        self,
        folder: Path,
        threads: int = 1,
        networks: Networks | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """Loads atom_detector.onnx, bond_classifier.onnx, label_reader.onnx and calibration.json from a folder.
        calibration replaces its file; networks replaces the atom detector and the bond classifier, and then there is no
        label reader."""
        self.networks = OnnxNetworks(folder, threads) if networks is None else networks
        self.label_reader = LabelReader(folder, threads) if networks is None else None
        if calibration is None:
            calibration = Calibration(**json.loads((folder / "calibration.json").read_text()))
        self.calibration = calibration

    def read(self, image: Image.Image) -> Reading:
        """Returns the reading of a picture with one drawing."""
        return self.read_ink(page_of(flatten(image), MAX_SIDE), image.size)

    def read_page(self, image: Image.Image) -> list[Reading]:
        """Returns the readings of all drawings in a picture, in reading order; one if it has one drawing or none."""
        image = flatten(image)
        page = page_of(image, MAX_SIDE)
        box = drawing_box(page.ink)
        first = self.take_view(page.ink, box, scale_of(box)) if box else None
        drawings = find_drawings(self, image, page, first) if first and not self._is_one_drawing(first) else None
        readings = drawings.readings() if drawings and len(drawings.structures) > 1 else []
        sure = sum(reading.is_readable() and not reading.is_unsure() for reading in readings)
        are_ions = all(reading.charge() for reading in readings)
        if sure > 1 and not are_ions:
            return readings
        whole = self.read_ink(page, image.size, first)
        if len(readings) > 1:
            is_molecule = sure < 2 and whole.is_readable() and whole.is_connected()
            is_salt = are_ions and whole.is_readable() and not whole.charge()
            return [whole] if is_molecule or is_salt else readings
        if drawings and not whole.is_drawing():  # Perhaps one drawing beside much text.
            readings = readings or drawings.readings()
            if any(reading.is_readable() and not reading.is_unsure() for reading in readings):
                return readings
        return [whole]

    def read_ink(self, page: Page, size: tuple[int, int], first: View | None = None) -> Reading:
        """Returns the reading of a page with one drawing. size: that of the picture. first: the first view, if it was
        taken."""
        ink = page.ink
        box = drawing_box(ink)
        if box is None:
            return Reading(None, None, 0.0, 0.0, size)
        corner = np.array(page.corner)
        views = self.take_views(ink, box, first=first)
        calibration = self.calibration
        best = max(views, key=lambda view: (calibration.combined_confidence(views, view), calibration.confidence(view)))
        candidate = best.candidate
        left, top, right, bottom = best.box_around(candidate, box) if candidate else box
        ends = ((np.array([[left, top], [right, bottom]]) + corner) / page.scale).round().astype(int).ravel().tolist()
        out = Reading(None, None, 0.0, calibration.drawing_probability(best), size, box=tuple(ends))
        if candidate is None:
            return out
        if candidate.unknown_labels:
            return replace(out, has_unknown_label=True)
        confidence = calibration.combined_confidence(views, best)
        if Chem.GetFormalCharge(candidate.molecule) and best.has_unread_ink(candidate, ink):
            confidence *= LONE_ION_FACTOR
        molecule = with_positions(candidate.molecule, (best.points(candidate) + corner) / page.scale)
        return replace(out, smiles=candidate.smiles, molecule=molecule, confidence=confidence)

    def take_views(
        self, ink: np.ndarray, box: Box, retries: int = MAX_RETRIES, first: View | None = None
    ) -> list[View]:
        """Returns views of the drawing, the last of which is sure if any is."""
        scale = scale_of(box)
        first = first or self.take_view(ink, box, scale)
        views = [first]
        if first.candidate and first.candidate.dropped_pieces and 0 < first.bond_length < MIN_BOND:
            # At this scale the reading may lack atoms, whose letters would then be blanked as captions.
            scale *= USUAL_BOND / first.bond_length
            first = self.take_view(ink, box, scale)
            views.append(first)
        if first.candidate and first.candidate.dropped_pieces:  # Perhaps captions: blank what is far from the molecule.
            ink = first.ink_near(first.candidate, ink)
            box = box_of(ink) or box
            scale = scale_of(box)
            factors: Scales = (1.0, *RETRY_SCALES)
        else:
            factors = first.retry_scales()
            if 0 < first.bond_length <= MAX_BOND and self._is_sure(first):
                return views
        for factor in factors[:retries]:
            views.append(self.take_view(ink, box, scale * factor))
            if self._is_sure(views[-1]):
                break
        unknown = np.mean([view.features[-1] for view in views])
        for view in views:  # A label that is unknown at one scale may be known at another.
            view.features[-1] = unknown
        if retries and not self._is_sure(views[-1]) and not self._belong_together(views):
            views += self._views_without_captions(ink, box, retries)
        return views

    def _is_sure(self, view: View) -> bool:
        return self.calibration.confidence(view) > SURE_VIEW

    def _is_one_drawing(self, view: View) -> bool:
        """Reports whether a view surely shows one molecule or one salt, without anything beside it."""
        candidate = view.candidate
        if candidate is None or not self._is_sure(view) or candidate.dropped_pieces:
            return False
        return candidate.pieces == 1 or candidate.faults == 0 and has_ions(candidate.molecule)

    def _belong_together(self, views: list[View]) -> bool:
        """Reports whether the surest view has several pieces that must not be cut apart: a salt, or a molecule and its
        solvent."""
        surest = max(views, key=self.calibration.confidence)
        candidate = surest.candidate
        if candidate is None or candidate.pieces == 1 or candidate.faults or candidate.dropped_pieces:
            return False
        return has_ions(candidate.molecule) or self.calibration.confidence(surest) > KEEP_PIECES_CONFIDENCE

    def _views_without_captions(self, ink: np.ndarray, box: Box, retries: int) -> list[View]:
        """Cuts captions off at blank bands and returns views of the larger part, at most `retries`."""
        views: list[View] = []
        for _ in range(MAX_CUTS):
            gap, box = split_at_widest_gap(ink, box)
            if not gap:
                break
            view = self.take_view(ink, box, scale_of(box))
            if gap * view.scale.mean() < CAPTION_GAP * view.bond_length:
                break
            scale = float(view.scale.mean())
            for factor in (None, *view.retry_scales()):
                views.append(self.take_view(ink, box, scale * factor) if factor else view)
                if len(views) == retries or self._is_sure(views[-1]):
                    return views
        return views

    def take_view(self, ink: np.ndarray, box: Box, scale: float) -> View:
        """Returns the view of a box at a scale, in scaled pixels per pixel."""
        small = scaled(ink, box, scale, scale)
        detections, molecule_logit = detect(self.networks, small)
        exact_scale = (np.array(small.shape[::-1]) - 2 * MARGIN) / np.array([box[2] - box[0], box[3] - box[1]])
        bond_length = detections.bond_length()
        if self.label_reader and 0 < bond_length < LONE_BOND:
            self._read_labels(self.label_reader, detections, ink, np.array(box[:2]), exact_scale)
            read_counts(self.label_reader, detections, ink, np.array(box[:2]), exact_scale)
        candidate = build(detections)
        choices = [rows for rows in (detections.label_probabilities, detections.kind_probabilities) if len(rows)]
        weakest = min([float(p) for rows in choices for p in rows.max(1)] + [1.0])
        unknown = float(detections.label_probabilities[:, UNKNOWN_CLASS].max(initial=0))
        features = np.array(
            [
                min(candidate.cost, 40.0) if candidate else 40.0,
                candidate.faults if candidate else 4,
                candidate.replacements if candidate else 4,
                molecule_logit,
                math.log(max(weakest, 1e-3)),
                math.log(max(unknown, 1e-4)),
            ],
            float,
        )
        return View(candidate, features, bond_length, np.array(box[:2]), exact_scale)

    def _read_labels(
        self, reader: LabelReader, detections: Detections, ink: np.ndarray, corner: np.ndarray, scale: np.ndarray
    ) -> None:
        """Updates detections.label_probabilities from the letters: of the atoms of which the atom detector is unsure,
        or of all atoms with letters if one that has a bond may have an unknown label: counts and captions have none.

        corner, scale: as in View.
        """
        detected = detections.label_probabilities
        lettered = detected[:, CARBON] < MAX_CARBON
        bonded = np.zeros(len(detected), bool)
        if len(detections.pairs):
            bonded[detections.pairs[detections.kind_probabilities.argmax(1) != NONE]] = True
        if (detected[lettered & bonded, UNKNOWN_CLASS] < MIN_UNKNOWN).all():
            lettered &= detected.max(1) < SURE_LABEL
        rows = np.flatnonzero(lettered)[:MAX_LETTERED]
        if not len(rows):
            return
        points = (detections.points[rows] - MARGIN) / scale + corner
        seen = reader.read(ink, points, CROP_FACTOR * detections.bond_length() / float(scale.mean()))
        detections.label_probabilities[rows] = combined(detected[rows], seen)


def read_counts(
    reader: LabelReader, detections: Detections, ink: np.ndarray, corner: np.ndarray, scale: np.ndarray
) -> None:
    """Adds the repeat counts beside brackets to the atoms.

    corner, scale: as in View.
    """
    if not len(detections.pairs):
        return
    kinds = detections.kind_probabilities.argmax(1)
    if not (kinds == CROSSED).any():
        return
    points = (detections.points - MARGIN) / scale + corner
    length = detections.bond_length() / float(scale.mean())
    pairs = detections.pairs
    found = find_counts(ink, points[pairs[kinds == CROSSED]], points[pairs[kinds != NONE]], length)
    if not len(found):
        return
    found = found[:MAX_LETTERED]
    seen = reader.read(ink, found, CROP_FACTOR * length)
    labels = np.zeros_like(seen)
    labels[:, REPEAT_COUNT_LABELS] = seen[:, REPEAT_COUNT_LABELS]
    likely = labels.sum(1) > MIN_COUNT
    found, labels = found[likely], labels[likely] / labels[likely].sum(1, keepdims=True)
    alone = np.setdiff1d(np.arange(len(points)), pairs[kinds != NONE])
    near = np.linalg.norm(points[alone][:, None] - found[None], axis=2) < MAX_SAME_COUNT_DISTANCE * length
    detections.label_probabilities[alone[near.any(1)]] = np.eye(labels.shape[1])[CARBON]  # A speck.
    detections.points = np.concatenate([detections.points, (found - corner) * scale + MARGIN])
    detections.scores = np.concatenate([detections.scores, np.ones(len(found))])
    detections.label_probabilities = np.concatenate([detections.label_probabilities, labels])


def combined(detected: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Returns label probabilities from those of the atom detector and of the label reader, float [atoms, labels] each.

    They are multiplied, as those of independent observers. To the atom detector, each label that it does not know is as
    likely as the unknown label.
    """
    prior = detected.copy()
    prior[:, len(DETECTED_LABELS) :] = detected[:, UNKNOWN_CLASS, None]
    likelihood = seen.copy()
    likelihood[:, : len(DETECTED_LABELS)] += READER_DOUBT
    likelihood[:, UNKNOWN_CLASS] += UNKNOWN_DOUBT
    out = (prior + DETECTOR_DOUBT) * likelihood
    return out / out.sum(1, keepdims=True)


def has_ions(molecule: Chem.Mol) -> bool:
    """Reports whether a piece of a molecule is charged."""
    return any(Chem.GetFormalCharge(piece) for piece in Chem.GetMolFrags(molecule, asMols=True))


def with_positions(molecule: Chem.Mol, points: np.ndarray) -> Chem.Mol:
    """Moves the atoms of a molecule to points (y down) and returns the molecule."""
    conformer = molecule.GetConformer()
    for atom, (x, y) in enumerate(points):
        conformer.SetAtomPosition(atom, Point3D(float(x), float(-y), 0.0))
    return molecule
