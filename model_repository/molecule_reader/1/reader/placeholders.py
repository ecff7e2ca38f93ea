"""Molecules with placeholders (labels.PLACEHOLDERS): dummy atoms with the property `atomLabel`, and their CXSMILES.

https://docs.chemaxon.com/latest/formats_chemaxon-extended-smiles-and-smarts-cxsmiles-and-cxsmarts.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from rdkit import Chem

from .labels import ATTACHMENT_POINT, R_GROUPS, STAR

LABEL = "atomLabel"
"""RDKit's property of an atom that has a label in CXSMILES."""
ATTACHMENT_POINT_NAME = "open bond"
"""The name of an attachment point in answers."""


def label_of(name: str) -> str:
    """Returns the label of a placeholder in CXSMILES: _R1, _AP1, X; "" for a star."""
    if name == STAR:
        return ""
    if name == ATTACHMENT_POINT:
        return "_AP1"
    return f"_{name}" if name in R_GROUPS else name


def placeholders(molecule: Chem.Mol) -> dict[int, str]:
    """Returns the labels of the dummy atoms by atom, "" for a star."""
    return {
        atom.GetIdx(): atom.GetProp(LABEL) if atom.HasProp(LABEL) else ""
        for atom in molecule.GetAtoms()
        if not atom.GetAtomicNum()
    }


def names(molecule: Chem.Mol) -> list[str]:
    """Returns the names of a molecule's placeholders as in a drawing, once each, in order."""
    found = {text.removeprefix("_") or STAR for text in placeholders(molecule).values()}
    return in_order(ATTACHMENT_POINT_NAME if name == "AP1" else name for name in found)


def in_order(found: Iterable[str]) -> list[str]:
    """Sorts names, R2 before R10."""
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def heavy_atoms(molecule: Chem.Mol) -> int:
    """Returns the number of atoms other than hydrogen, placeholders included."""
    return sum(atom.GetAtomicNum() != 1 for atom in molecule.GetAtoms())


def set_isotopes(molecule: Chem.Mol) -> None:
    """Gives dummies with different labels different isotopes, so that RDKit tells them apart; stars get 0."""
    labels = placeholders(molecule)
    ranks = {text: rank for rank, text in enumerate(sorted({"", *labels.values()}))}
    for number, text in labels.items():
        molecule.GetAtomWithIdx(number).SetIsotope(ranks[text])


def clear_isotopes(molecule: Chem.Mol) -> None:
    """Undoes set_isotopes."""
    for number in placeholders(molecule):
        molecule.GetAtomWithIdx(number).SetIsotope(0)


def smiles_of(molecule: Chem.Mol) -> str:
    """Returns canonical SMILES of a molecule after set_isotopes; CXSMILES if a placeholder has a label."""
    smiles = Chem.MolToSmiles(molecule)
    labels = placeholders(molecule)
    if not labels:
        return smiles
    smiles = re.sub(r"\[\d+\*\]", "*", smiles)
    if not any(labels.values()):
        return smiles
    order = json.loads(molecule.GetProp("_smilesAtomOutputOrder").replace(",]", "]"))
    return f"{smiles} |${';'.join(labels.get(number, '') for number in order)}$|"
