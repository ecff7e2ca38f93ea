"""Batches of drawings: made on the fly by RDKit, and of other programs, out of files.

A drawing is used `uses` times, each time at another size and with other damage, `REUSE_INTERVAL` steps between: drawing costs
as much as learning from it. The batch of a step is a pure function of (seed, step) and the files.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image, ImageFilter
from rdkit import Chem

from scripts.served_reader.detection import line_between
from scripts.served_reader.ink import MARGIN, box_of, scale_of, scaled
from scripts.served_reader.labels import ATOM_LABELS
from scripts.served_reader.sparse_cells import SparseCells, sparse_cells
from scripts.train.vision import abbreviated, negatives, targets
from scripts.train.vision.corpus import SMALLEST_PART, Corpus, smallest
from scripts.train.vision.drawing import Drawing, draw, seen

REUSE_INTERVAL = 40
NEGATIVES = 0.06
"""Part of the pictures that are no molecules."""
CUT_OFF = 0.06
"""Of the samples."""
SMALLEST_SCALES = 0.2, 0.55
"""Least and largest size at which a molecule of one heavy atom or two is shown, as a part of the usual one (views.SMALL_MOLECULE_SCALES)."""
FOREIGN = 0.5
"""Part of the drawings that other programs made, where there are any."""
INDEX = {name: number for number, name in enumerate(ATOM_LABELS)}


class Foreign:
    """Drawings by other programs, out of the files of scripts.train.vision.foreign, each as often as another. Lines are found by their
    place in the file."""

    def __init__(self, folder: Path) -> None:
        self.places: list[tuple[Path, int]] = []
        for path in sorted(folder.glob("*.jsonl")):
            with path.open("rb") as file:
                ends = np.cumsum([len(line) for line in file]).tolist()
            self.places += [(path, start) for start in [0, *ends[:-1]]]

    def __bool__(self) -> bool:
        return bool(self.places)

    def draw(self, random: Random) -> Drawing:
        """A random drawing, as it is seen."""
        path, start = random.choice(self.places)
        with path.open("rb") as file:
            file.seek(start)
            record = json.loads(file.readline())
        image = Image.open(io.BytesIO(base64.b64decode(record["png"]))).convert("RGB")
        bonds = np.array(record["bonds"], np.int64).reshape(-1, 3)
        labels = Drawing(np.zeros((0, 0), np.uint8), np.array(record["points"], np.float32), record["atoms"], bonds)
        return seen(image, labels, random, plain=random.random() < 0.5)


@dataclass
class Sample:
    """One scaled drawing and its labels."""

    ink: np.ndarray
    points: np.ndarray
    classes: np.ndarray
    bonds: np.ndarray
    molecule: bool


def damaged(ink: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Blur, JPEG, noise, pale or heavy ink: one or none of each."""
    if random.random() < 0.6:
        return ink
    picture = Image.fromarray(ink)
    kind = random.integers(5)
    if kind == 0:
        return np.asarray(picture.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 0.9))))
    if kind == 1:
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=int(random.integers(40, 90)))
        return np.asarray(Image.open(file))
    if kind == 2:
        noise = random.normal(0, random.uniform(3, 12), ink.shape)
        return np.clip(ink + noise, 0, 255).astype(np.uint8)
    if kind == 3:
        return np.clip(ink.astype(np.float32) * random.uniform(0.6, 1.6), 0, 255).astype(np.uint8)
    return np.where(ink > random.integers(60, 160), 255, 0).astype(np.uint8)


def cut_off(box: tuple[int, int, int, int], drawing: Drawing, random: np.random.Generator) -> tuple[int, int, int, int]:
    """The box with one side moved inwards, through the letters of the outermost atom there: pictures are cut out too tightly."""
    side = int(random.integers(4))
    along = drawing.points[:, side % 2]
    atom = int(along.argmin() if side < 2 else along.argmax())
    moved = list(box)
    inwards = int((along[atom] - box[side]) * random.uniform(0, 0.8))
    if drawing.atoms[atom] != "C" and inwards * (1 if side < 2 else -1) > 0:
        moved[side] += inwards
    return tuple(moved)


def sample(drawing: Drawing, random: np.random.Generator) -> Sample:
    """The drawing cut out and scaled as the reader does, but with a random error of the scale."""
    ink = damaged(drawing.ink, random)
    box = box_of(ink) or (0, 0, ink.shape[1], ink.shape[0])
    jitter = random.integers(-2, 3, 4) * (min(box[2] - box[0], box[3] - box[1]) > 8)
    box = (
        max(0, box[0] + jitter[0]),
        max(0, box[1] + jitter[1]),
        min(ink.shape[1], box[2] + jitter[2]),
        min(ink.shape[0], box[3] + jitter[3]),
    )
    if len(drawing.points) > 2 and random.random() < CUT_OFF:
        box = cut_off(box, drawing, random)
    factor = scale_of(box)
    if len(drawing.points) > 2:
        bond = targets.typical(drawing.points, drawing.bonds)
        factor = np.clip(factor * np.exp(random.normal(0, 0.14)), 11 / bond, 44 / bond)
    else:  # It fills its box with large letters, or with one long line.
        factor *= np.exp(random.uniform(np.log(SMALLEST_SCALES[0]), np.log(SMALLEST_SCALES[1])))
    x, y = factor * np.exp(random.normal(0, 0.03, 2))
    small = scaled(ink, box, x, y)
    size = np.array([small.shape[1], small.shape[0]]) - 2 * MARGIN
    points = (drawing.points - np.array(box[:2])) * (size / np.array([box[2] - box[0], box[3] - box[1]])) + MARGIN
    return Sample(small, points.astype(np.float32), np.array([INDEX[a] for a in drawing.atoms]), drawing.bonds, True)


class Batches:
    """Batches of the molecules of a corpus, drawn by RDKit, and of what other programs drew."""

    def __init__(
        self, molecules: Corpus, foreign: Foreign, batch: int, seed: int, uses: int = 2, default: float = 0.3
    ) -> None:
        self.molecules, self.foreign, self.size, self.seed, self.uses, self.default = (
            molecules,
            foreign,
            batch,
            seed,
            uses,
            default,
        )
        self.kept: dict[int, list[Drawing]] = {}

    def drawings(self, group: int) -> list[Drawing]:
        """The drawings first used at the step of that number."""
        if group not in self.kept:
            random = Random(f"{self.seed}/{group}")
            wanted, out = -(-self.size // self.uses), []
            while len(out) < wanted:
                drawing = self._drawing(random)
                if drawing is not None and box_of(drawing.ink):
                    out.append(drawing)
            self.kept[group] = out
            for old in [g for g in self.kept if g < group - REUSE_INTERVAL * self.uses]:
                del self.kept[old]
        return self.kept[group]

    def _drawing(self, random: Random) -> Drawing | None:
        if self.foreign and random.random() < FOREIGN:
            return self.foreign.draw(random)
        try:
            return draw(self._molecule(random), random, random.random() < self.default)
        except (RuntimeError, ValueError):  # What RDKit cannot place or kekulise.
            return None

    def _molecule(self, random: Random) -> str:
        """A molecule, now and then only a piece of one, or one of the smallest."""
        if random.random() < SMALLEST_PART:
            return smallest(random)
        smiles = self.molecules.draw(random)
        if random.random() > 0.06:
            return smiles
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:
            raise ValueError(f"RDKit does not read {smiles}")
        piece = Chem.MolToSmiles(random.choice(abbreviated.pieces(molecule, 2, random)))
        built = Chem.MolFromSmiles(piece)
        return piece if built is not None and built.GetNumAtoms() > 1 else smiles

    def samples(self, step: int) -> list[Sample]:
        groups = [step - use * REUSE_INTERVAL for use in range(self.uses)]
        random = np.random.default_rng((self.seed, step))
        out = [sample(d, random) for g in groups for d in self.drawings(g)][: self.size]
        for number in np.flatnonzero(random.random(len(out)) < NEGATIVES):
            ink = negatives.picture(random)
            box = box_of(ink)
            if box:
                factor = scale_of(box) * np.exp(random.normal(0, 0.14))
                out[number] = Sample(
                    scaled(ink, box, factor, factor),
                    np.zeros((0, 2), np.float32),
                    np.zeros(0, np.int64),
                    np.zeros((0, 3), np.int64),
                    False,
                )
        return out

    def batch(self, step: int) -> dict[str, torch.Tensor]:
        return tensors(self.samples(step), np.random.default_rng((self.seed, step, 1)))


def indices(found: SparseCells) -> dict[str, torch.Tensor]:
    """What the network needs of the cells."""
    out = {name: torch.from_numpy(array) for name, array in found.tensors().items()}
    out["drawing"] = torch.from_numpy(found.drawing(3))
    out["drawings"] = torch.zeros(len(found.tops) - 1)
    return out


def tensors(samples: list[Sample], random: np.random.Generator) -> dict[str, torch.Tensor]:
    """Cells and labels of a batch."""
    found = sparse_cells([s.ink for s in samples])
    level = found.levels[1]
    centres, owner = level.centres(), found.drawing(1)
    atoms, offsets, lines, shapes, kinds = [], [], [], [], []
    for number, s in enumerate(samples):
        points = s.points + np.array([0, found.tops[number]], np.float32)
        target, offset = targets.at_cells(centres[owner == number], points, s.classes)
        atoms.append(target if s.molecule else np.full_like(target, -1))
        offsets.append(offset)
        if len(s.bonds):
            pair, kind = targets.pairs(points, s.bonds, random)
            line, shape = line_between(points + random.normal(0, 1.0, points.shape), pair)
            lines.append(level.at(line)), shapes.append(shape), kinds.append(kind)
    out = indices(found)
    out |= {
        "atom": torch.from_numpy(np.concatenate(atoms)),
        "offset": torch.from_numpy(np.concatenate(offsets)),
        "line": torch.from_numpy(np.concatenate(lines)),
        "shape": torch.from_numpy(np.concatenate(shapes)),
        "kind": torch.from_numpy(np.concatenate(kinds)),
        "molecule": torch.tensor([float(s.molecule) for s in samples]),
    }
    return out
