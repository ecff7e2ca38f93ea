"""How well a model reads drawings of molecules that it was not trained on."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image
from rdkit import Chem

from scripts.served_reader.drawing_reader import Reader
from scripts.served_reader.labels import UNKNOWN_LABEL
from scripts.served_reader.sparse_cells import SparseCells
from scripts.served_reader.views import UNFITTED
from scripts.train.batches import send
from scripts.train.latent.tokens import read_molecules
from scripts.train.vision import abbreviated, corpus, data
from scripts.train.vision.drawing import Alter, picture, settled
from scripts.train.vision.model import Model

TUNING = 20_000
"""The molecules of zinc250k_valid.smi.gz from here on serve to choose and calibrate, those before to measure."""


def tuning(data: Path) -> list[str]:
    """The molecules that serve to choose and calibrate: of ZINC250k's validation part those from TUNING on, of the broad one its second half."""
    broad = corpus.read(data / "broad_valid.smi.gz")
    return read_molecules(data / "zinc250k_valid.smi.gz")[TUNING:] + broad[len(broad) // 2 :]


class Trained:
    """The networks in PyTorch, as the reader wants them."""

    def __init__(self, model: Model) -> None:
        self.model, self.device = model, next(model.parameters()).device

    @torch.no_grad()
    def detect_atoms(self, found: SparseCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with torch.autocast(self.device.type, torch.bfloat16):
            return tuple(
                out.float().cpu().numpy() for out in self.model.atom_detector(send(data.indices(found), self.device))
            )

    @torch.no_grad()
    def classify_bonds(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        rows = send(tuple(torch.from_numpy(np.ascontiguousarray(x)) for x in (features, line, shape)), self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            return self.model.bond_classifier(*rows).float().cpu().numpy()


def pictures(
    molecules: list[str], count: int, default: bool, seed: int, alter: Alter | None = None
) -> list[tuple[str, bytes]]:
    """Canonical SMILES and PNG files of the first `count` molecules of a shuffle, altered as a function of scripts.train.vision.abbreviated
    does; each with a label or an isotope that the reader does not know where that is estranged, else none with one; the same for the same seed."""
    out = []
    for number, smiles in enumerate(Random(seed).sample(molecules, len(molecules))):
        if len(out) == count:
            break
        if not settled(smiles):
            continue
        png, drawing = picture(smiles, Random(f"{seed}/{number}"), default, alter)
        if (alter is abbreviated.estranged) == (UNKNOWN_LABEL in drawing.atoms):
            out.append((Chem.CanonSmiles(smiles), png))
    return out


def flat(smiles: str) -> str:
    """Canonical SMILES without stereochemistry."""
    molecule = Chem.MolFromSmiles(smiles)
    Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def accuracy(reader: Reader, drawings: list[tuple[str, bytes]]) -> dict[str, float]:
    """Parts of the drawings whose SMILES is exact, exact without stereochemistry, and given at all."""
    exact = bare = given = 0
    for smiles, png in drawings:
        read = reader.read(Image.open(io.BytesIO(png))).smiles
        exact += read == smiles
        given += read is not None
        bare += read is not None and (read == smiles or flat(read) == flat(smiles))
    return {"exact": exact / len(drawings), "flat": bare / len(drawings), "valid": given / len(drawings)}


def brief(model: Model, molecules: list[str], count: int) -> dict[str, float]:
    """Accuracy of a model in training on `count` drawings of each style."""
    reader = Reader(Path(), 1, Trained(model), UNFITTED)
    return {
        f"{style}_{k}": v
        for style in ("default", "varied")
        for k, v in accuracy(reader, pictures(molecules, count, style == "default", 7)).items()
    }
