"""Batches of training data: drawings by RDKit, made on the fly, and drawings by other programs, from files of the data
folder.

Drawing costs as much as learning from it, so a drawing is used `uses` times, REUSE_INTERVAL steps apart, each time at
another scale and with other noise. The batch of a step is a pure function of (seed, step) and the files.
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
from scripts.served_reader.ink import MARGIN, Box, box_of, scale_of, scaled
from scripts.served_reader.labels import CLASSES, REPEAT_COUNTS, UNKNOWN_CLASS
from scripts.served_reader.sparse_cells import SparseCells, sparse_cells
from scripts.train.vision import abbreviations, negatives, targets
from scripts.train.vision.corpus import SMALLEST_SHARE, Corpus, smallest_molecule
from scripts.train.vision.drawing import Drawing, crop, draw

REUSE_INTERVAL = 48
"""Steps between two uses of a drawing. Worker processes take steps in turn and keep the drawings that they made, so the
number of workers must divide this; otherwise each use is drawn again."""
NEGATIVE_SHARE = 0.06
"""Share of the pictures without a molecule."""
TIGHT_CROP_SHARE = 0.06
"""Share of the samples that are cropped through a letter."""
FRAGMENT_SHARE = 0.06
"""Share of the molecules that are cut to a fragment."""
SMALLEST_SCALES = 0.2, 0.55
"""Range of scales of a molecule of one or two heavy atoms, relative to the usual one (views.SMALL_MOLECULE_SCALES)."""
MIN_BOND, MAX_BOND = 11, 44
"""Range of bond lengths in pixels."""
RDKIT = "rdkit"


def drawings_file(program: str) -> str:
    """Returns the file of the data folder with the drawings by another program than RDKit (other_programs.py)."""
    return f"drawings/{program}.jsonl"


class Programs:
    """The programs that draw, with their shares of the drawings.

    Exits if there are no drawings by a program.
    """

    def __init__(self, shares: dict[str, float], data: Path) -> None:
        self.names, self.shares = list(shares), list(shares.values())
        self.places: dict[str, tuple[Path, np.ndarray]] = {}
        """By program other than RDKit: the file, and the offset of each drawing."""
        for name in self.names:
            if name != RDKIT:
                self.places[name] = data / drawings_file(name), self._offsets(data, name)

    @staticmethod
    def _offsets(data: Path, name: str) -> np.ndarray:
        try:
            with (data / drawings_file(name)).open("rb") as file:
                ends = np.cumsum([len(line) for line in file], dtype=np.int64)
        except OSError as error:
            hint = "python -m scripts.train.vision.other_programs makes it"
            raise SystemExit(f"training: --programs {name}: {error}; {hint}") from error
        if not len(ends):
            raise SystemExit(f"training: --programs {name}: {drawings_file(name)} has no drawings")
        return np.concatenate([[0], ends[:-1]])

    def draw(self, random: Random) -> Drawing | None:
        """Returns a random drawing by another program, or None if it is RDKit's turn.

        The drawing is cropped; one in two is augmented. ValueError, which names the file: it is damaged.
        """
        if not self.places:
            return None
        name = random.choices(self.names, self.shares)[0]
        if name == RDKIT:
            return None
        path, offsets = self.places[name]
        start = int(offsets[random.randrange(len(offsets))])
        with path.open("rb") as file:
            file.seek(start)
            line = file.readline()
        try:
            record = json.loads(line)
            image = Image.open(io.BytesIO(base64.b64decode(record["png"]))).convert("RGB")
            bonds = np.array(record["bonds"], np.int64).reshape(-1, 3)
            points = np.array(record["points"], np.float32).reshape(-1, 2)
            labels = Drawing(np.zeros((0, 0), np.uint8), points, record["atoms"], bonds)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(f"{path}: the drawing at byte {start}: {error!r}") from error
        return crop(image, labels, random, augment=random.random() >= 0.5)


@dataclass
class Sample:
    """A scaled drawing and its labels."""

    ink: np.ndarray
    points: np.ndarray
    classes: np.ndarray
    bonds: np.ndarray
    molecule: bool


def add_noise(ink: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns the ink unchanged, or blurred, compressed as JPEG, noisy, paler or heavier, or in black and white."""
    if random.random() < 0.6:
        return ink
    image = Image.fromarray(ink)
    kind = random.integers(5)
    if kind == 0:
        return np.asarray(image.filter(ImageFilter.GaussianBlur(random.uniform(0.3, 0.9))))
    if kind == 1:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=int(random.integers(40, 90)))
        return np.asarray(Image.open(file))
    if kind == 2:
        noise = random.normal(0, random.uniform(3, 12), ink.shape)
        return np.clip(ink + noise, 0, 255).astype(np.uint8)
    if kind == 3:
        return np.clip(ink.astype(np.float32) * random.uniform(0.6, 1.6), 0, 255).astype(np.uint8)
    return np.where(ink > random.integers(60, 160), 255, 0).astype(np.uint8)


def tighten(box: Box, drawing: Drawing, random: np.random.Generator) -> Box:
    """Moves one side of the box inwards, through the letters of the outermost atom there: many pictures are cropped too
    tightly."""
    side = int(random.integers(4))
    coordinates = drawing.points[:, side % 2]
    atom = int(coordinates.argmin() if side < 2 else coordinates.argmax())
    inwards = int((coordinates[atom] - box[side]) * random.uniform(0, 0.8))
    if drawing.atoms[atom] == "C" or inwards * (1 if side < 2 else -1) <= 0:
        return box
    left, top, right, bottom = (edge + inwards * (number == side) for number, edge in enumerate(box))
    return left, top, right, bottom


def without_counts(drawing: Drawing) -> Drawing:
    """Returns a drawing whose repeat counts, which have no bonds, are not atoms: the reader finds them in the ink."""
    is_atom = [label not in REPEAT_COUNTS for label in drawing.atoms]
    if all(is_atom):
        return drawing
    number = np.cumsum(is_atom) - 1
    bonds = np.concatenate([number[drawing.bonds[:, :2]], drawing.bonds[:, 2:]], axis=1)
    atoms = [label for label, keep in zip(drawing.atoms, is_atom, strict=True) if keep]
    return Drawing(drawing.ink, drawing.points[is_atom], atoms, bonds)


def sample(drawing: Drawing, random: np.random.Generator) -> Sample:
    """Crops and scales a drawing as the reader does, with random errors."""
    drawing = without_counts(drawing)
    ink = add_noise(drawing.ink, random)
    box = box_of(ink) or (0, 0, ink.shape[1], ink.shape[0])
    jitter = random.integers(-2, 3, 4) * (min(box[2] - box[0], box[3] - box[1]) > 8)
    box = (
        max(0, box[0] + jitter[0]),
        max(0, box[1] + jitter[1]),
        min(ink.shape[1], box[2] + jitter[2]),
        min(ink.shape[0], box[3] + jitter[3]),
    )
    if len(drawing.points) > 2 and random.random() < TIGHT_CROP_SHARE:
        box = tighten(box, drawing, random)
    factor = scale_of(box)
    if len(drawing.points) > 2:
        bond = targets.typical_bond(drawing.points, drawing.bonds)
        factor = np.clip(factor * np.exp(random.normal(0, 0.14)), MIN_BOND / bond, MAX_BOND / bond)
    else:  # One or two atoms fill their box with large letters or one long bond.
        factor *= np.exp(random.uniform(np.log(SMALLEST_SCALES[0]), np.log(SMALLEST_SCALES[1])))
    x, y = factor * np.exp(random.normal(0, 0.03, 2))
    small = scaled(ink, box, x, y)
    size = np.array([small.shape[1], small.shape[0]]) - 2 * MARGIN
    points = (drawing.points - np.array(box[:2])) * (size / np.array([box[2] - box[0], box[3] - box[1]])) + MARGIN
    # Labels after the unknown one are unknown to the atom detector.
    classes = np.array([min(CLASSES[label], UNKNOWN_CLASS) for label in drawing.atoms])
    return Sample(small, points.astype(np.float32), classes, drawing.bonds, True)


def negative_sample(random: np.random.Generator) -> Sample | None:
    """Returns a picture without a molecule, None if it came out blank."""
    ink = negatives.picture(random)
    box = box_of(ink)
    if not box:
        return None
    factor = scale_of(box) * np.exp(random.normal(0, 0.14))
    points, classes, bonds = np.zeros((0, 2), np.float32), np.zeros(0, np.int64), np.zeros((0, 3), np.int64)
    return Sample(scaled(ink, box, factor, factor), points, classes, bonds, False)


class Batches:
    """Batches of a corpus, drawn by RDKit, and of drawings by other programs."""

    def __init__(
        self,
        molecules: Corpus,
        programs: Programs,
        batch: int,
        seed: int,
        uses: int = 2,
        default: float = 0.3,
        placeholders: float = 0.0,
        patents: float = 0.0,
        scans: float = 0.0,
    ) -> None:
        """batch: samples a batch; default: share of RDKit's drawings in its default style; placeholders, patents and
        scans: see drawing.draw."""
        self.molecules = molecules
        self.programs = programs
        self.size = batch
        self.seed = seed
        self.uses = uses
        self.default = default
        self.placeholders = placeholders
        self.patents = patents
        self.scans = scans
        self.groups: dict[int, list[Drawing]] = {}
        """Drawings by the step of their first use."""

    def drawings(self, group: int) -> list[Drawing]:
        """Returns the drawings that are first used at a step."""
        if group not in self.groups:
            random = Random(f"{self.seed}/{group}")
            count = -(-self.size // self.uses)
            drawings: list[Drawing] = []
            while len(drawings) < count:
                drawing = self._drawing(random)
                if drawing is not None and box_of(drawing.ink):
                    drawings.append(drawing)
            self.groups[group] = drawings
            for old in [g for g in self.groups if g < group - REUSE_INTERVAL * self.uses]:
                del self.groups[old]
        return self.groups[group]

    def _drawing(self, random: Random) -> Drawing | None:
        by_another = self.programs.draw(random)
        if by_another:
            return by_another
        try:
            smiles = self._molecule(random)
            default = random.random() < self.default
            return draw(smiles, random, default, self.placeholders, self.patents, self.scans)
        except (RuntimeError, ValueError):  # RDKit cannot lay it out or kekulise it.
            return None

    def _molecule(self, random: Random) -> str:
        """Returns a molecule, sometimes a fragment of one, or one of the smallest."""
        if random.random() < SMALLEST_SHARE:
            return smallest_molecule(random)
        smiles = self.molecules.draw(random)
        if random.random() > FRAGMENT_SHARE:
            return smiles
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:
            raise ValueError(f"RDKit does not read {smiles}")
        fragment = Chem.MolToSmiles(random.choice(abbreviations.fragments(molecule, 2, random)))
        parsed = Chem.MolFromSmiles(fragment)
        return fragment if parsed is not None and parsed.GetNumAtoms() > 1 else smiles

    def samples(self, step: int) -> list[Sample]:
        groups = [step - use * REUSE_INTERVAL for use in range(self.uses)]
        random = np.random.default_rng((self.seed, step))
        samples = [sample(drawing, random) for group in groups for drawing in self.drawings(group)][: self.size]
        for number in np.flatnonzero(random.random(len(samples)) < NEGATIVE_SHARE):
            samples[number] = negative_sample(random) or samples[number]
        return samples

    def batch(self, step: int) -> dict[str, torch.Tensor]:
        return tensors(self.samples(step), np.random.default_rng((self.seed, step, 1)))


def cell_tensors(cells: SparseCells) -> dict[str, torch.Tensor]:
    """Returns the atom detector's inputs."""
    out = {name: torch.from_numpy(array) for name, array in cells.tensors().items()}
    out["drawing"] = torch.from_numpy(cells.drawing_of_cells(3))
    out["drawings"] = torch.zeros(len(cells.tops) - 1)
    return out


def tensors(samples: list[Sample], random: np.random.Generator) -> dict[str, torch.Tensor]:
    """Returns the inputs and targets of a batch."""
    cells = sparse_cells([s.ink for s in samples])
    level = cells.levels[1]
    centres, owner = level.centres(), cells.drawing_of_cells(1)
    atoms, offsets, lines, shapes, kinds = [], [], [], [], []
    for number, s in enumerate(samples):
        points = s.points + np.array([0, cells.tops[number]], np.float32)
        atom, offset = targets.atoms_at_cells(centres[owner == number], points, s.classes)
        atoms.append(atom if s.molecule else np.full_like(atom, -1))
        offsets.append(offset)
        if len(s.bonds):
            pairs, kind = targets.bond_pairs(points, s.bonds, random)
            line, shape = line_between(points + random.normal(0, 1.0, points.shape), pairs)
            lines.append(level.at(line))
            shapes.append(shape)
            kinds.append(kind)
    return cell_tensors(cells) | {
        "atom": torch.from_numpy(np.concatenate(atoms)),
        "offset": torch.from_numpy(np.concatenate(offsets)),
        "line": torch.from_numpy(np.concatenate(lines)),
        "shape": torch.from_numpy(np.concatenate(shapes)),
        "kind": torch.from_numpy(np.concatenate(kinds)),
        "molecule": torch.tensor([float(s.molecule) for s in samples]),
    }
