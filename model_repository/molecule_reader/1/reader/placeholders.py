"""Molecules with placeholders (labels.PLACEHOLDERS): dummy atoms with the property `atomLabel`, and their CXSMILES.
See markush for variable attachments and repeat units.

https://docs.chemaxon.com/latest/formats_chemaxon-extended-smiles-and-smarts-cxsmiles-and-cxsmarts.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from rdkit import Chem

from . import markush
from .labels import ATTACHMENT_POINT, R_GROUPS, RINGS, STAR

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
    """Returns the labels of the dummy atoms by atom, "" for a star; without the inner ends of variable attachments."""
    inner = {number for number, _ in markush.attachments(molecule)}
    return {
        atom.GetIdx(): atom.GetProp(LABEL) if atom.HasProp(LABEL) else ""
        for atom in molecule.GetAtoms()
        if not atom.GetAtomicNum() and atom.GetIdx() not in inner
    }


def names(molecule: Chem.Mol) -> list[str]:
    """Returns the names of a molecule's placeholders and repeat counts as in a drawing, once each, in order."""
    found = {text.removeprefix("_") or STAR for text in placeholders(molecule).values()}
    found |= {count for count, _ in markush.repeat_units(molecule)}
    return in_order(ATTACHMENT_POINT_NAME if name == "AP1" else name for name in found)


def in_order(found: Iterable[str]) -> list[str]:
    """Sorts names, R2 before R10."""
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def is_definite(molecule: Chem.Mol) -> bool:
    """Reports whether a drawing shows one molecule: it has no placeholder, variable attachment or repeat unit."""
    return not names(molecule) and not any(markush.attachments(molecule))


def has_definite_rings(molecule: Chem.Mol) -> bool:
    """Reports whether the rings of a molecule are those drawn: none is in a repeat unit or a placeholder for a group
    with a ring, such as Ar."""
    repeated = {atom for _, atoms in markush.repeat_units(molecule) for atom in atoms}
    return not any(name in RINGS for name in placeholders(molecule).values()) and not any(
        molecule.GetAtomWithIdx(atom).IsInRing() for atom in repeated
    )


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
    """Returns canonical SMILES of a molecule after set_isotopes; CXSMILES if a placeholder has a label, or if there is
    a variable attachment or a repeat unit."""
    numbers = markush.canonical_order(molecule)
    numbered = Chem.RenumberAtoms(molecule, numbers)
    smiles = re.sub(r"\[\d+\*\]", "*", Chem.MolToSmiles(numbered))
    order = [numbers[atom] for atom in json.loads(numbered.GetProp("_smilesAtomOutputOrder").replace(",]", "]"))]
    labels = placeholders(molecule)
    parts = markush.extensions(molecule, order)
    if any(labels.values()):
        parts.insert(0, f"${';'.join(labels.get(number, '') for number in order)}$")
    return f"{smiles} |{','.join(parts)}|" if parts else smiles
