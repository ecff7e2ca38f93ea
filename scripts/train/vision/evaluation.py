"""Measures how well a model reads drawings of molecules that it was not trained on."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image
from rdkit import Chem

from scripts.served_reader import molecule_builder, placeholders
from scripts.served_reader.drawing_reader import DrawingReader
from scripts.served_reader.labels import CLASSES, UNKNOWN_CLASS, UNKNOWN_LABEL
from scripts.served_reader.sparse_cells import SparseCells
from scripts.served_reader.views import UNFITTED
from scripts.train.batches import send
from scripts.train.latent.corpus import read_file
from scripts.train.vision import abbreviations
from scripts.train.vision.batches import cell_tensors
from scripts.train.vision.drawing import Alter, Drawing, has_defined_double_bonds, picture
from scripts.train.vision.model import Model
from scripts.train.vision.placeholders import add_placeholders

VALID = ["zinc250k_valid.smi.gz", "chembl_subsets_valid.smi.gz"]
"""Files of held-out molecules."""
TUNING_SHARE = 1 / 6
"""Share of each file, its end, for tuning and calibration. The others are for measuring, here and in scripts.eval."""


def held_out(data: Path, files: list[str]) -> tuple[list[str], list[str]]:
    """Returns the held-out molecules for measuring, and those for tuning and calibration.

    Exits if a file cannot be read, or if no molecule of one kind has three atoms and defined double bonds.
    """
    measuring: list[str] = []
    tuning: list[str] = []
    for name in files:
        molecules = read_file(data, name)
        start = int(len(molecules) * (1 - TUNING_SHARE))
        measuring += molecules[:start]
        tuning += molecules[start:]
    if not any(map(has_defined_double_bonds, measuring)) or not any(map(has_defined_double_bonds, tuning)):
        raise SystemExit(f"training: --valid {' '.join(files)}: too few molecules to measure and to calibrate on")
    return measuring, tuning


class TorchNetworks:
    """The networks of a model in PyTorch, for the served reader."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.device = next(model.parameters()).device

    @torch.no_grad()
    def detect_atoms(self, cells: SparseCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with torch.autocast(self.device.type, torch.bfloat16):
            outputs = self.model.atom_detector(send(cell_tensors(cells), self.device))
        features, atoms, molecule = (out.float().cpu().numpy() for out in outputs)
        return features, atoms, molecule

    @torch.no_grad()
    def classify_bonds(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        rows = send(tuple(torch.from_numpy(np.ascontiguousarray(x)) for x in (features, line, shape)), self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            return self.model.bond_classifier(*rows).float().cpu().numpy()


def pictures(
    molecules: list[str], count: int, default: bool, seed: int, alter: Alter | None = None
) -> list[tuple[str, bytes]]:
    """Returns canonical SMILES and PNG files of the first `count` molecules of a seeded shuffle, or of fewer.

    alter: a function of abbreviations.py. With add_unknown every picture has an unknown label, else none has.
    """
    out: list[tuple[str, bytes]] = []
    for number, smiles in enumerate(Random(seed).sample(molecules, len(molecules))):
        if len(out) == count:
            break
        if not has_defined_double_bonds(smiles):
            continue
        png, labels = picture(smiles, Random(f"{seed}/{number}"), default, alter)
        if (alter is abbreviations.add_unknown) == (UNKNOWN_LABEL in labels.atoms):
            out.append((Chem.CanonSmiles(smiles), png))
    return out


def with_placeholders(molecules: list[str], count: int, seed: int) -> list[tuple[str, bytes]]:
    """Returns canonical CXSMILES and PNG files of the first `count` molecules of a seeded shuffle that can be drawn,
    with placeholders, in RDKit's random styles."""
    out: list[tuple[str, bytes]] = []
    for number, smiles in enumerate(Random(seed).sample(molecules, len(molecules))):
        if len(out) == count:
            break
        try:
            png, labels = picture(smiles, Random(f"{seed}/{number}"), False, add_placeholders)
            molecule = molecule_of(labels)
        except (ValueError, RuntimeError):  # A placeholder in an aromatic ring that has no Kekulé structure.
            continue
        if max(CLASSES[label] for label in labels.atoms) > UNKNOWN_CLASS:
            out.append((molecule, png))
    return out


def molecule_of(drawing: Drawing) -> str:
    """Returns the canonical SMILES or CXSMILES of a drawing's labels. ValueError: it shows no molecule."""
    classes = np.array([CLASSES[label] for label in drawing.atoms])
    molecule, _ = molecule_builder.assemble(drawing.points, classes, drawing.bonds[:, :2], drawing.bonds[:, 2], set())
    Chem.SanitizeMol(molecule)
    placeholders.set_isotopes(molecule)
    return placeholders.smiles_of(molecule_builder.perceive_stereo(molecule))


def without_stereo(smiles: str) -> str:
    """Returns canonical SMILES without stereochemistry."""
    molecule = Chem.MolFromSmiles(smiles)
    Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def accuracy(reader: DrawingReader, drawings: list[tuple[str, bytes]]) -> dict[str, float]:
    """Returns the shares of drawings with exact SMILES, exact without stereochemistry, and any SMILES."""
    exact = exact_flat = valid = 0
    for smiles, png in drawings:
        read = reader.read(Image.open(io.BytesIO(png))).smiles
        exact += read == smiles
        valid += read is not None
        exact_flat += read is not None and (read == smiles or without_stereo(read) == without_stereo(smiles))
    count = max(1, len(drawings))
    return {"exact": exact / count, "flat": exact_flat / count, "valid": valid / count}


def quick(model: Model, molecules: list[str], count: int) -> dict[str, float]:
    """Returns the accuracy of a model in training on `count` drawings of each style."""
    reader = DrawingReader(Path(), 1, TorchNetworks(model), UNFITTED)
    return {
        f"{style}_{key}": value
        for style in ("default", "varied")
        for key, value in accuracy(reader, pictures(molecules, count, style == "default", 7)).items()
    }
