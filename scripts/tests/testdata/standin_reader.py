"""Replaces reader/drawing_reader.py of molecule_reader in tests of conversations: the PNG file contains the reading.

Its text chunks are `smiles`, `confidence`, `drawing` (a probability) and `unknown`; a picture without them is no
drawing. In the SMILES, [1*] is R1. Several SMILES with | between them are a page of drawings beside each other, `-` an
unreadable one; `more` says that the page has more. `slow` is a pause in ms. The SMILES of each reading is a line of
readings.log beside this file.
"""

import time
from dataclasses import replace
from pathlib import Path

from rdkit import Chem
from rdkit.Chem import rdDepictor

from .properties import canonical_smiles
from .reading import Reading


class DrawingReader:
    def __init__(self, folder, threads):
        pass

    def read_page(self, image):
        chunks = image.info
        time.sleep(float(chunks.get("slow", 0)) / 1000)
        texts = chunks.get("smiles", "").split("|")
        readings = [self.reading(image, text if text != "-" else "", len(texts) > 1) for text in texts]
        width = image.width // len(readings)
        return [
            replace(
                reading,
                box=(n * width, 0, (n + 1) * width, image.height),
                drawings=len(readings),
                more_drawings="more" in chunks,
            )
            for n, reading in enumerate(readings)
        ]

    def reading(self, image, text, is_drawing):
        chunks = image.info
        molecule = Chem.MolFromSmiles(text) if text else None
        for atom in molecule.GetAtoms() if molecule else ():
            if not atom.GetAtomicNum():
                atom.SetProp("atomLabel", f"_R{atom.GetIsotope()}")
                atom.SetIsotope(0)
        smiles = canonical_smiles(molecule) if molecule else None
        if molecule:
            rdDepictor.Compute2DCoords(molecule)
        with Path(__file__).with_name("readings.log").open("a") as log:
            log.write(f"{smiles}\n")
        return Reading(
            smiles,
            molecule,
            float(chunks.get("confidence", 0.97)) if molecule else 0.0,
            float(chunks.get("drawing", 0.99 if molecule or is_drawing else 0.01)),
            image.size,
            "unknown" in chunks,
        )
