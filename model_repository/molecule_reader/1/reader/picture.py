"""Draws a molecule that was read, so that a person can compare it with the picture."""

from __future__ import annotations

import base64
import io

from PIL import Image
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

SIZE = (300, 220)
"""Width and height in pixels."""
GREY_LEVELS = 4
"""Few levels keep the file near 1 kB: an answer has at most 4,096 tokens."""


def picture_of(molecule: Chem.Mol) -> str:
    """Returns a PNG file of a molecule, black on white, as a data URL."""
    drawer = rdMolDraw2D.MolDraw2DCairo(*SIZE)
    drawer.drawOptions().includeMetadata = False
    drawer.drawOptions().useBWAtomPalette()
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
    drawer.FinishDrawing()
    file = io.BytesIO()
    drawn = Image.open(io.BytesIO(drawer.GetDrawingText())).convert("L")
    drawn.quantize(GREY_LEVELS).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
