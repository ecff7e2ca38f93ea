"""Crops around the atoms of training drawings, with their labels."""

from __future__ import annotations

import numpy as np
import torch

from scripts.served_reader.label_reader import crops, encoded
from scripts.train.vision import targets
from scripts.train.vision.batches import REUSE_INTERVAL, Batches, Programs, add_noise
from scripts.train.vision.corpus import Corpus
from scripts.train.vision.drawing import Drawing

CROPS = 6
"""Crops of a batch for each of its drawings, on average."""
DEFAULT_STYLE, PLACEHOLDERS, PATENTS, SCANS = 0.1, 0.7, 0.85, 0.4
"""Shares of RDKit's drawings; see vision.batches.Batches."""
SHARES = {"C": 0.04, "O": 0.4, "N": 0.5, "NH": 0.6, "F": 0.5}
"""Shares of the atoms with common labels that are cropped. Most carbons have no letters."""
SCALE_ERROR = 0.13
"""Standard deviation of the logarithm of the scale."""
PLACE_ERROR = 0.07
"""Standard deviation of an atom's place along each axis, in bond lengths."""


def crops_of(drawing: Drawing, random: np.random.Generator) -> tuple[np.ndarray, list[str]]:
    """Returns crops of atoms, uint8 [atoms, HEIGHT, WIDTH], at slightly wrong places and a wrong scale; and their
    labels."""
    atoms = [number for number, label in enumerate(drawing.atoms) if random.random() < SHARES.get(label, 1)]
    bond = float(targets.typical_bond(drawing.points, drawing.bonds) * np.exp(random.normal(0, SCALE_ERROR)))
    points = drawing.points[atoms] + random.normal(0, PLACE_ERROR * bond, (len(atoms), 2))
    return crops(add_noise(drawing.ink, random), points, bond), [drawing.atoms[number] for number in atoms]


def drawings(molecules: Corpus, programs: Programs, count: int, seed: int, uses: int = 1) -> Batches:
    """Returns the drawings of a training, `count` a batch, each of them in `uses` batches."""
    return Batches(molecules, programs, count, seed, uses, DEFAULT_STYLE, PLACEHOLDERS, PATENTS, SCANS)


class LabelBatches:
    """Batches of crops, from drawings of which each is used several times."""

    def __init__(self, drawings: Batches, size: int) -> None:
        """size: crops of a batch."""
        self.drawings = drawings
        self.size = size

    def batch(self, step: int) -> dict[str, torch.Tensor]:
        """Returns crops, uint8 [size, HEIGHT, WIDTH], and the classes of their characters, int64 [size, SLOTS]."""
        random = np.random.default_rng((self.drawings.seed, step))
        found: list[np.ndarray] = []
        labels: list[str] = []
        for use in range(self.drawings.uses):
            for drawing in self.drawings.drawings(step - use * REUSE_INTERVAL):
                if len(drawing.bonds):
                    rows, names = crops_of(drawing, random)
                    found.append(rows)
                    labels += names
        chosen = np.resize(random.permutation(len(labels)), self.size)  # Again from the first, if they are too few.
        return {
            "crops": torch.from_numpy(np.concatenate(found)[chosen]),
            "characters": torch.tensor([encoded(labels[number]) for number in chosen]),
        }
