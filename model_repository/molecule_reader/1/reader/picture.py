"""Draws a molecule that was read, so that a person can compare it with the picture."""

from __future__ import annotations

import base64
import io

from PIL import Image
from rdkit import Chem
from rdkit.Chem import rdDepictor

from . import markush, molfile
from .labels import ATTACHMENT_POINT, STAR
from .placeholders import LABEL, label_of, placeholders
from .reading import Reading

SIZE = (300, 220)
"""Width and height in pixels."""
GREY_LEVELS = 4
"""Few levels keep the file near 1 kB: an answer has at most 4,096 tokens."""


def picture_of(reading: Reading) -> str | None:
    """Returns a PNG file of a molecule that was read, black on white, as a data URL, or None if this machine cannot
    draw."""
    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError:  # It links to libXrender and libXext, which the wheel does not bring.
        return None
    molecule = Chem.Mol(reading.molecule)
    if any(markush.attachments(molecule)):  # RDKit would not lay out their bonds across the ring.
        molecule = Chem.Mol(reading.drawn or reading.molecule)
        molfile.scale(molecule)
        molfile.lay_out_groups(molecule)
    inner_ends = [number for number, _ in markush.attachments(molecule)]  # Their labels tell them from placeholders.
    for number, text in placeholders(molecule).items():
        atom = molecule.GetAtomWithIdx(number)
        if text == label_of(ATTACHMENT_POINT):
            atom.ClearProp(LABEL)  # Drawn as a wavy end.
        else:
            atom.SetProp("_displayLabel", text.removeprefix("_") or STAR)
            atom.SetProp(LABEL, text or STAR)
    for number in inner_ends:
        atom = molecule.GetAtomWithIdx(number)
        atom.SetAtomicNum(6)  # Drawn as the end of a bond.
        atom.SetProp("_displayLabel", "")
    if any(markush.repeat_units(molecule)):
        if not molecule.GetNumConformers():
            rdDepictor.Compute2DCoords(molecule)
        markush.add_brackets(molecule)
    drawer = rdMolDraw2D.MolDraw2DCairo(*SIZE)
    drawer.drawOptions().dummiesAreAttachments = True
    drawer.drawOptions().includeMetadata = False
    drawer.drawOptions().useBWAtomPalette()
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
    drawer.FinishDrawing()
    file = io.BytesIO()
    drawn = Image.open(io.BytesIO(drawer.GetDrawingText())).convert("L")
    drawn.quantize(GREY_LEVELS).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
