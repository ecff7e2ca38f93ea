"""Draws molecules by RDKit and says where every atom and bond is: pictures with free labels."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image
from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.served_reader.ink import box_of, ink_of, remove_frame
from scripts.served_reader.labels import AROMATIC, ATOM_LABELS, DASH, DOUBLE, SINGLE, TRIPLE, UNKNOWN_LABEL, WAVY, WEDGE
from scripts.train.vision import abbreviated, damage, styles
from scripts.train.vision.sketched import SHARE, sketched

RDLogger.DisableLog("rdApp.*")

BLANK = 4
"""Blank pixels kept around a drawing."""
KNOWN = frozenset(ATOM_LABELS)


@dataclass
class Drawing:
    """A drawn molecule."""

    ink: np.ndarray
    """uint8 [height, width]: 0 is the background."""
    points: np.ndarray
    """float32 [atoms, 2]: x, y in pixels from the top left corner of the picture."""
    atoms: list[str]
    """What stands at each atom, as `atom_class` names it."""
    bonds: np.ndarray
    """int64 [bonds, 3]: two atoms and the kind."""


def atom_class(atom: Chem.Atom) -> str:
    """C for every neutral carbon; else element, hydrogens and charge, as NH+ or O; a group's name; or what stands for all that
    the reader does not know."""
    if atom.HasProp(abbreviated.SHORT):
        return atom.GetProp(abbreviated.SHORT)
    charge, hydrogens = atom.GetFormalCharge(), atom.GetTotalNumHs()
    if atom.GetIsotope():
        return "D" if (atom.GetSymbol(), atom.GetIsotope(), charge) == ("H", 2, 0) else UNKNOWN_LABEL
    if atom.GetSymbol() in ("C", "H") and not charge:
        return atom.GetSymbol()
    sign = ("+" if charge > 0 else "-") * abs(charge)
    name = atom.GetSymbol() + ("H" + (str(hydrogens) if hydrogens > 1 else "") if hydrogens else "") + sign
    return name if name in KNOWN else UNKNOWN_LABEL


def kind(bond: Chem.Bond) -> int:
    if bond.GetBondDir() == Chem.BondDir.BEGINWEDGE:
        return WEDGE
    if bond.GetBondDir() == Chem.BondDir.BEGINDASH:
        return DASH
    if bond.GetBondDir() == Chem.BondDir.UNKNOWN:
        return WAVY
    return {Chem.BondType.DOUBLE: DOUBLE, Chem.BondType.TRIPLE: TRIPLE, Chem.BondType.AROMATIC: AROMATIC}.get(
        bond.GetBondType(), SINGLE
    )


def settled(smiles: str) -> bool:
    """Whether no double bond's arrangement is left open, since a drawing shows one."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() < 3:
        return False
    Chem.FindPotentialStereoBonds(molecule)
    return not any(b.GetStereo() == Chem.BondStereo.STEREOANY for b in molecule.GetBonds())


def lines(molecule: Chem.Mol) -> np.ndarray:
    """int64 [bonds, 3]: two atoms and the kind of line, narrow end of wedges first."""
    return np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), kind(b)) for b in molecule.GetBonds()], np.int64).reshape(
        -1, 3
    )


Alter = Callable[[Chem.Mol, Random], Chem.Mol]
"""What is drawn in place of a molecule: a function of scripts.train.vision.abbreviated."""


def picture(
    smiles: str, random: Random, default: bool, alter: Alter | None = None, uneven: float = 0.0
) -> tuple[bytes, Drawing]:
    """A PNG file of the molecule in RDKit's default style or a random one, and its labels with an empty ink. Where it is not said how to
    alter it, a molecule in a random style has abbreviations now and then. uneven: the share of random styles with coordinates as people
    draw them."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"RDKit does not read {smiles}")
    if alter or not default:
        molecule = (alter or abbreviated.condensed)(molecule, random)
    if not default:
        styles.place(molecule, random)
        if random.random() < uneven:
            sketched(molecule, random)
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule)
    drawer, legend = (styles.default(random), "") if default else styles.varied(molecule, random)
    rdBase.SeedRandomNumberGenerator(random.randrange(1 << 30))  # RDKit's comic mode draws wavering lines.
    drawer.DrawMolecule(molecule, legend=legend)
    points = [drawer.GetDrawCoords(atom) for atom in range(molecule.GetNumAtoms())]
    drawer.FinishDrawing()
    labels = Drawing(
        np.zeros((0, 0), np.uint8),
        np.array([(p.x, p.y) for p in points], np.float32),
        [atom_class(a) for a in molecule.GetAtoms()],
        lines(molecule),
    )
    return drawer.GetDrawingText(), labels


def draw(smiles: str, random: Random, default: bool) -> Drawing:
    """The molecule in RDKit's default style or a random one, for training, as `seen` sees it."""
    png, drawing = picture(smiles, random, default, abbreviated.shortened, SHARE)
    return seen(Image.open(io.BytesIO(png)).convert("RGB"), drawing, random, plain=default)


def seen(image: Image.Image, drawing: Drawing, random: Random, plain: bool) -> Drawing:
    """The drawing on a picture, unless plain framed, in grey, turned or photographed; cut out with a few blank pixels around it."""
    points = drawing.points
    if not plain:
        image, points = damage.handled(image, points, random)
    ink = remove_frame(ink_of(image))
    left, top, right, bottom = box_of(ink) or (0, 0, ink.shape[1], ink.shape[0])
    left, top = max(0, left - BLANK), max(0, top - BLANK)
    cut = ink[top : bottom + BLANK, left : right + BLANK].copy()
    return Drawing(cut, points - np.array([left, top], np.float32), drawing.atoms, drawing.bonds)
