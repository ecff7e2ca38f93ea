"""Draws molecules with RDKit, which reports where every atom and bond is: pictures with labels for free."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image
from rdkit import Chem, RDLogger, rdBase
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.served_reader.ink import box_of, ink_of, remove_frame
from scripts.served_reader.labels import (
    AROMATIC,
    DASH,
    DETECTED_LABELS,
    DOUBLE,
    LETTERS,
    SINGLE,
    TRIPLE,
    UNKNOWN_LABEL,
    WAVY,
    WEDGE,
)
from scripts.train.vision import abbreviations, augmentation, marks, markush, styles, uneven_layout

RDLogger.DisableLog("rdApp.*")

BLANK = 4
"""Blank pixels around a cropped drawing."""
KNOWN = frozenset((*DETECTED_LABELS, *LETTERS))


@dataclass
class Drawing:
    """A drawn molecule."""

    ink: np.ndarray
    """uint8 [height, width]: 0 is the background."""
    points: np.ndarray
    """float32 [atoms, 2]: x, y in pixels from the top left corner of the picture."""
    atoms: list[str]
    """The label of each atom (atom_label)."""
    bonds: np.ndarray
    """int64 [bonds, 3]: two atoms and the kind."""


def atom_label(atom: Chem.Atom) -> str:
    """Returns the label of an atom: C for every neutral carbon, else element, hydrogens and charge, the abbreviation of
    a group, a placeholder, or UNKNOWN_LABEL. U, V, W and Y are placeholders, as in patents, even if the atom is
    uranium, vanadium, tungsten or yttrium."""
    if atom.HasProp(marks.DRAWN_LABEL):
        return atom.GetProp(marks.DRAWN_LABEL)
    charge, hydrogens = atom.GetFormalCharge(), atom.GetTotalNumHs()
    if atom.GetIsotope():
        return "D" if (atom.GetSymbol(), atom.GetIsotope(), charge) == ("H", 2, 0) else UNKNOWN_LABEL
    if atom.GetSymbol() in ("C", "H") and not charge:
        return atom.GetSymbol()
    label = atom.GetSymbol()
    if hydrogens:
        label += "H" + (str(hydrogens) if hydrogens > 1 else "")
    label += ("+" if charge > 0 else "-") * abs(charge)
    return label if label in KNOWN else UNKNOWN_LABEL


def bond_kind(bond: Chem.Bond) -> int:
    if bond.GetBondDir() == Chem.BondDir.BEGINWEDGE:
        return WEDGE
    if bond.GetBondDir() == Chem.BondDir.BEGINDASH:
        return DASH
    if bond.GetBondDir() == Chem.BondDir.UNKNOWN:
        return WAVY
    kinds = {Chem.BondType.DOUBLE: DOUBLE, Chem.BondType.TRIPLE: TRIPLE, Chem.BondType.AROMATIC: AROMATIC}
    return kinds.get(bond.GetBondType(), SINGLE)


def has_defined_double_bonds(smiles: str) -> bool:
    """Reports whether every double bond's arrangement is given. A drawing always shows one."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() < 3:
        return False
    Chem.FindPotentialStereoBonds(molecule)
    return not any(b.GetStereo() == Chem.BondStereo.STEREOANY for b in molecule.GetBonds())


def bonds_of(molecule: Chem.Mol) -> np.ndarray:
    """Returns two atoms and the kind of each bond, int64 [bonds, 3], the narrow end of wedges first."""
    rows = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), bond_kind(b)) for b in molecule.GetBonds()]
    return np.array(rows, np.int64).reshape(-1, 3)


Alter = Callable[[Chem.Mol, Random], Chem.Mol]
"""A function of abbreviations.py that changes a molecule before it is drawn."""


def picture(
    smiles: str,
    random: Random,
    default: bool,
    alter: Alter | None = None,
    uneven: float = 0.0,
    patents: float = 0.0,
    marked: bool = False,
) -> tuple[bytes, Drawing]:
    """Returns a PNG file of the molecule in RDKit's default style or a random one, and its labels with empty ink.

    Without `alter`, a molecule in a random style sometimes has abbreviations. uneven: share of the random styles with
    coordinates as people draw them. patents: share of the random styles that imitate patents. marked: whether some
    drawings have highlights or atom map numbers (styles.mark), or show another molecule: one with wavy bonds, a
    variable attachment or a repeat unit (markush).
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"RDKit does not read {smiles}")
    if alter or not default:
        molecule = (alter or abbreviations.abbreviate_sometimes)(molecule, random)
    if not default:
        styles.lay_out(molecule, random)
        if random.random() < uneven:
            uneven_layout.distort(molecule, random)
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule)
    if marked and random.random() < markush.ATTACHED_SHARE:
        molecule = markush.attach_variably(molecule, random)
    highlights = styles.mark(molecule, random) if marked else {}
    drawer, legend = (styles.default(random), "") if default else styles.varied(molecule, random, patents)
    rdBase.SeedRandomNumberGenerator(random.randrange(1 << 30))  # RDKit's comic mode draws wavering lines.
    drawer.DrawMolecule(molecule, legend=legend, **highlights)
    drawn = [drawer.GetDrawCoords(atom) for atom in range(molecule.GetNumAtoms())]
    points = np.array([(p.x, p.y) for p in drawn], np.float32)
    labels = Drawing(
        np.zeros((0, 0), np.uint8), points, [atom_label(a) for a in molecule.GetAtoms()], bonds_of(molecule)
    )
    if marked and random.random() < markush.REPEATED_SHARE:
        unit = markush.draw_repeat_unit(drawer, molecule, points, random)
        if unit:
            markush.mark_bonds(labels.bonds, unit)
            labels.points = np.concatenate([points, np.array([unit.point], np.float32)])
            labels.atoms.append(unit.count)
    drawer.FinishDrawing()
    return drawer.GetDrawingText(), labels


def draw(
    smiles: str,
    random: Random,
    default: bool,
    placeholders: float = 0.0,
    patents: float = 0.0,
    scans: float = 0.0,
) -> Drawing:
    """Draws a molecule for training, in RDKit's default style or a random one.

    placeholders: share of the drawings with placeholders. patents: share of the random styles that imitate patents.
    scans: share of the drawings in a random style that look scanned.
    """
    alter = functools.partial(abbreviations.alter_for_training, with_placeholders=placeholders)
    png, labels = picture(smiles, random, default, alter, uneven_layout.SHARE, patents, marked=True)
    return crop(Image.open(io.BytesIO(png)).convert("RGB"), labels, random, not default, scans)


def crop(image: Image.Image, labels: Drawing, random: Random, augment: bool, scans: float = 0.0) -> Drawing:
    """Returns the drawing on a picture, cropped to its ink with BLANK pixels around it, after augmentation.

    scans: share of the augmented pictures that look scanned.
    """
    points = labels.points
    if augment:
        image, points = augmentation.augment(image, points, random, scans)
    ink = remove_frame(ink_of(image))
    left, top, right, bottom = box_of(ink) or (0, 0, ink.shape[1], ink.shape[0])
    left, top = max(0, left - BLANK), max(0, top - BLANK)
    cropped = ink[top : bottom + BLANK, left : right + BLANK].copy()
    return Drawing(cropped, points - np.array([left, top], np.float32), labels.atoms, labels.bonds)
