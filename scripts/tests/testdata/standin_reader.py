"""Stands in for the reader of molecule_reader in tests of the conversation: the drawing's file says what it shows.

A PNG's text chunks hold `smiles`, `confidence`, `drawing` and `unknown`; a picture without them is no drawing. `slow` is a pause in ms.
The SMILES of each reading is a line of readings.log beside this file.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from rdkit import Chem


@dataclass
class Reading:
    smiles: str | None
    molecule: Chem.Mol | None
    confidence: float
    drawing: float
    size: tuple[int, int]
    unknown: bool = False


class Reader:
    def __init__(self, folder, threads):
        pass

    def read(self, image):
        says = image.info
        time.sleep(float(says.get("slow", 0)) / 1000)
        molecule = Chem.MolFromSmiles(says["smiles"]) if "smiles" in says else None
        smiles = Chem.MolToSmiles(molecule) if molecule else None
        with Path(__file__).with_name("readings.log").open("a") as log:
            log.write(f"{smiles}\n")
        return Reading(
            smiles,
            molecule,
            float(says.get("confidence", 0.97 if molecule else 0)),
            float(says.get("drawing", 0.99 if molecule else 0.01)),
            image.size,
            "unknown" in says,
        )
