"""Draws molecules by RDKit and says where every atom and bond is: pictures with free labels."""

from __future__ import annotations

import io
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image
from rdkit import Chem, RDLogger
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.train.vision import reader_path  # noqa: F401  (first: it finds ink)

from graph import DASH, DOUBLE, SINGLE, TRIPLE, WEDGE  # isort: skip
from ink import box_of, ink_of  # isort: skip
from scripts.train.vision import styles

RDLogger.DisableLog("rdApp.*")

BLANK = 4
"""Blank pixels kept around a drawing."""


@dataclass
class Drawing:
    """A drawn molecule."""

    ink: np.ndarray
    """uint8 [height, width]: 0 is the background."""
    points: np.ndarray
    """float32 [atoms, 2]: x, y in pixels from the top left corner of the picture."""
    atoms: list[str]
    """What stands at each atom: element, charge and hydrogens, as `atom_class` names it."""
    bonds: np.ndarray
    """int64 [bonds, 3]: two atoms and the kind."""


def atom_class(atom: Chem.Atom) -> str:
    """C for every neutral carbon; else element, hydrogens and charge, as NH+ or O."""
    charge, hydrogens = atom.GetFormalCharge(), atom.GetTotalNumHs()
    if atom.GetSymbol() in ("C", "H") and not charge:
        return atom.GetSymbol()
    sign = ("+" if charge > 0 else "-") * abs(charge)
    return atom.GetSymbol() + ("H" + (str(hydrogens) if hydrogens > 1 else "") if hydrogens else "") + sign


def kind(bond: Chem.Bond) -> int:
    if bond.GetBondDir() == Chem.BondDir.BEGINWEDGE:
        return WEDGE
    if bond.GetBondDir() == Chem.BondDir.BEGINDASH:
        return DASH
    return {Chem.BondType.DOUBLE: DOUBLE, Chem.BondType.TRIPLE: TRIPLE}.get(bond.GetBondType(), SINGLE)


def picture(smiles: str, random: Random, default: bool) -> tuple[bytes, Drawing]:
    """A PNG file of the molecule, and its labels with an empty ink."""
    molecule = Chem.MolFromSmiles(smiles)
    if not default:
        styles.place(molecule, random)
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule)
    drawer = styles.default(random) if default else styles.varied(random)
    drawer.DrawMolecule(molecule)
    points = [drawer.GetDrawCoords(atom) for atom in range(molecule.GetNumAtoms())]
    drawer.FinishDrawing()
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), kind(b)) for b in molecule.GetBonds()]
    labels = Drawing(np.zeros((0, 0), np.uint8), np.array([(p.x, p.y) for p in points], np.float32),
                     [atom_class(a) for a in molecule.GetAtoms()], np.array(bonds, np.int64).reshape(-1, 3))
    return drawer.GetDrawingText(), labels


def draw(smiles: str, random: Random, default: bool) -> Drawing:
    """The molecule in RDKit's default style or a random one, cut out with a few blank pixels around it."""
    png, drawing = picture(smiles, random, default)
    ink = ink_of(Image.open(io.BytesIO(png)))
    left, top, right, bottom = box_of(ink) or (0, 0, ink.shape[1], ink.shape[0])
    left, top = max(0, left - BLANK), max(0, top - BLANK)
    drawing.ink = ink[top : bottom + BLANK, left : right + BLANK].copy()
    drawing.points = drawing.points - np.array([left, top], np.float32)
    return drawing
