"""Writes the mol file of a molecule that was read, in the format V3000 (BIOVIA, CTfile formats).

The atoms are placed as in the drawing, those of abbreviated groups beside them. Placeholders are written as:

R1 to R32             R#, with the number in RGROUPS
an attachment point   ATTCHPT of its neighbour; a star with the label AP1 where stereochemistry, a bracket or a
                      variable attachment needs the atom
a star                *
others                a star in a superatom S-group whose LABEL is their label, which programs show in its place

A variable attachment is a bond from a star with ENDPTS, a repeat unit an S-group of type SRU with brackets.
"""

from __future__ import annotations

import re
from statistics import median

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdDepictor, rdmolops, rdMolTransforms
from rdkit.Geometry import Point2D

from . import markush
from .labels import ATTACHMENT_POINT, IN_GROUP
from .placeholders import LABEL, label_of, placeholders

TITLE = "read from a drawing"
"""The first line. An empty one would be lost in programs that strip texts."""
BOND_LENGTH = 1.5
"""The median length of a bond in angstroms, as usual in drawings."""
DECIMALS = 3
"""Of coordinates."""
MAX_NUMBER = 32
"""The highest number of an R group in the format."""


def molfile_of(drawn: Chem.Mol) -> str:
    """Returns the mol file of a molecule with the conformer of its drawing."""
    molecule = Chem.RWMol(drawn)
    molecule.SetProp("_Name", TITLE)
    scale(molecule)
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    lay_out_groups(molecule)
    _write_attachment_points(molecule)
    for number, label in placeholders(molecule).items():
        _write_placeholder(molecule, number, label.removeprefix("_"))
    for number, _ in markush.attachments(molecule):
        _write_placeholder(molecule, number, "")
    markush.add_brackets(molecule)
    options = Chem.MolWriterParams()
    options.precision = DECIMALS
    return Chem.MolToV3KMolBlock(molecule, options)


def scale(molecule: Chem.Mol) -> None:
    """Scales a molecule to BOND_LENGTH and moves its centre to the origin. Groups are left out of the median: their
    atoms are not drawn."""
    conformer = molecule.GetConformer()
    lengths = [
        rdMolTransforms.GetBondLength(conformer, bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
        for bond in molecule.GetBonds()
        if not bond.GetBeginAtom().HasProp(IN_GROUP) and not bond.GetEndAtom().HasProp(IN_GROUP)
    ]
    scale = BOND_LENGTH / median(lengths) if lengths else 1.0
    transform = np.diag([scale, scale, 1.0, 1.0])
    transform[:3, 3] = -scale * np.array(list(rdMolTransforms.ComputeCentroid(conformer)))
    rdMolTransforms.TransformConformer(conformer, transform)
    conformer.Set3D(False)


def lay_out_groups(molecule: Chem.Mol) -> None:
    """Places the atoms of groups, which a drawing has as letters, beside the drawn atoms. With copies of a repeat unit,
    which a drawing has no room for, all atoms are placed anew."""
    if any(atom.HasProp(markush.COPY) for atom in molecule.GetAtoms()):
        rdDepictor.Compute2DCoords(molecule, canonOrient=False)
        return
    if not any(atom.HasProp(IN_GROUP) for atom in molecule.GetAtoms()):
        return
    drawn = {
        atom.GetIdx(): Point2D(molecule.GetConformer().GetAtomPosition(atom.GetIdx()))
        for atom in molecule.GetAtoms()
        if not atom.HasProp(IN_GROUP)
    }
    rdDepictor.Compute2DCoords(molecule, canonOrient=False, coordMap=drawn)


def _write_attachment_points(molecule: Chem.RWMol) -> None:
    """Replaces an attachment point by an attribute of its neighbour, unless that has stereochemistry, or the bond is a
    variable attachment or crossed by a bracket."""
    name = label_of(ATTACHMENT_POINT)
    crossing = {bond for group in Chem.GetMolSubstanceGroups(molecule) for bond in group.GetBonds()}
    for number, label in placeholders(molecule).items():
        atom = molecule.GetAtomWithIdx(number)
        is_needed = any(bond.GetIdx() in crossing or bond.HasProp(markush.ENDPOINTS) for bond in atom.GetBonds())
        if label == name and (is_needed or any(_has_stereo(neighbour) for neighbour in atom.GetNeighbors())):
            atom.SetProp(LABEL, name.removeprefix("_"))  # RDKit replaces only those with the underscore.
    rdmolops.CollapseAttachmentPoints(molecule, markedOnly=True)


def _has_stereo(atom: Chem.Atom) -> bool:
    """Reports whether an atom is a stereocentre or an end of a double bond with stereochemistry."""
    return atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED or any(
        bond.GetStereo() != Chem.BondStereo.STEREONONE for bond in atom.GetBonds()
    )


def _write_placeholder(molecule: Chem.RWMol, number: int, label: str) -> None:
    """Makes an atom R# or a star. label: without the underscore of CXSMILES."""
    match = re.fullmatch(r"R(\d+)", label)
    if match and int(match[1]) <= MAX_NUMBER:
        Chem.SetAtomRLabel(molecule.GetAtomWithIdx(number), int(match[1]))
        return
    star = Chem.AtomFromSmarts("*")  # RDKit writes other dummies as R.
    molecule.ReplaceAtom(number, star, preserveProps=True)  # It may have the attribute of an attachment point.
    if label:
        group = Chem.CreateMolSubstanceGroup(molecule, "SUP")
        group.AddAtomWithIdx(number)
        for bond in molecule.GetAtomWithIdx(number).GetBonds():
            group.AddBondWithIdx(bond.GetIdx())
        group.SetProp("LABEL", label)
