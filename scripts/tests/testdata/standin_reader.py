"""Replaces reader/drawing_reader.py of molecule_reader in tests of conversations: the PNG file contains the reading.

Its text chunks are `smiles`, `confidence`, `drawing` (a probability) and `unknown`; a picture without them is no
drawing. `slow` is a pause in ms. The SMILES of each reading is a line of readings.log beside this file.
"""

import time
from pathlib import Path

from rdkit import Chem

from .reading import Reading


class DrawingReader:
    def __init__(self, folder, threads):
        pass

    def read(self, image):
        chunks = image.info
        time.sleep(float(chunks.get("slow", 0)) / 1000)
        molecule = Chem.MolFromSmiles(chunks["smiles"]) if "smiles" in chunks else None
        smiles = Chem.MolToSmiles(molecule) if molecule else None
        with Path(__file__).with_name("readings.log").open("a") as log:
            log.write(f"{smiles}\n")
        return Reading(
            smiles,
            molecule,
            float(chunks.get("confidence", 0.97 if molecule else 0)),
            float(chunks.get("drawing", 0.99 if molecule else 0.01)),
            image.size,
            "unknown" in chunks,
        )
