"""Reads the mol files of published sets of drawings, whose placeholders and groups are labels."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from rdkit import Chem

from scripts.served_reader import placeholders
from scripts.served_reader.labels import (
    ATOM_LABELS,
    ATOMS,
    CLASSES,
    FRAGMENTS,
    GENERIC_GROUPS,
    GROUPS,
    LINKS,
    UNKNOWN_LABEL,
)
from scripts.train.vision import abbreviations
from scripts.train.vision import placeholders as drawn_placeholders

ELEMENTS = {Chem.GetPeriodicTable().GetElementSymbol(number) for number in range(1, 119)} - {"V", "W", "Y", "U"} | {"D"}
"""Symbols of atoms in mol files. In patents, V, W, Y and U are placeholders."""
FRAGMENTS_BY_NAME = {ATOM_LABELS[number]: fragment for number, fragment in FRAGMENTS.items()}


def read_mol_file(path: Path) -> str | None:
    """Returns the canonical SMILES or CXSMILES of a V2000 file, None if RDKit does not read it.

    An atom with an alias, or whose symbol is no element, has a label: that of a placeholder, or of a group or an atom,
    such as NHR7, MeO or OH.
    """
    lines = path.read_text(errors="replace").splitlines()
    try:
        end = 4 + int(lines[3][:3])
        texts = {number: line[31:34].strip() for number, line in enumerate(lines[4:end])}
        texts = {number: text for number, text in texts.items() if text not in ELEMENTS}
        texts |= {int(line[3:6]) - 1: text.strip() for line, text in zip(lines, lines[1:]) if line.startswith("A  ")}
        for number in texts:
            lines[4 + number] = f"{lines[4 + number][:31]}*  {lines[4 + number][34:]}"
        drawn = Chem.MolFromMolBlock("\n".join(lines), sanitize=False, removeHs=False)
        return None if drawn is None else _with_texts(Chem.RWMol(drawn), texts)
    except (IndexError, ValueError):  # No mol file, or impossible valences.
        return None


def _with_texts(molecule: Chem.RWMol, texts: dict[int, str]) -> str:
    """Returns the canonical SMILES or CXSMILES of a molecule with labels in place of dummies; texts: by atom.
    ValueError: it has impossible valences."""
    for number, text in texts.items():
        name = _names_by_spelling().get(text, text)
        if name in FRAGMENTS_BY_NAME:
            _expand(molecule, number, FRAGMENTS_BY_NAME[name])
        elif name in CLASSES and name != UNKNOWN_LABEL and ATOMS[CLASSES[name]].number:
            atom = Chem.Atom(ATOMS[CLASSES[name]].number)
            atom.SetFormalCharge(ATOMS[CLASSES[name]].charge)
            atom.SetIsotope(ATOMS[CLASSES[name]].isotope)
            molecule.ReplaceAtom(number, atom)
        elif label := placeholders.label_of(name):
            molecule.GetAtomWithIdx(number).SetProp(placeholders.LABEL, label)
    placeholders.set_isotopes(molecule)
    Chem.SanitizeMol(molecule)
    Chem.DetectBondStereochemistry(molecule)
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    return placeholders.smiles_of(Chem.RemoveHs(molecule))


def _expand(molecule: Chem.RWMol, number: int, group: Chem.Mol) -> None:
    """Replaces an atom by a group, whose first atom has the bond."""
    places = [number] + [molecule.AddAtom(other) for other in list(group.GetAtoms())[1:]]
    molecule.ReplaceAtom(number, group.GetAtomWithIdx(0))
    for bond in group.GetBonds():
        molecule.AddBond(places[bond.GetBeginAtomIdx()], places[bond.GetEndAtomIdx()], bond.GetBondType())


@functools.cache
def _names_by_spelling() -> dict[str, str]:
    """Returns the labels by their letters, to either side of the bond: OR1 for R1O."""
    spellings = [(name, pair) for name in GROUPS | LINKS for pair in abbreviations.spellings(name)]
    spellings += [(name, pair) for name in GENERIC_GROUPS for pair in drawn_placeholders.spellings(name, "")]
    out = {name: name for name in ATOM_LABELS} | {"HO": "OH", "H2N": "NH2", "HN": "NH", "HS": "SH"}
    for name, pair in spellings:
        for markup in pair:
            out.setdefault(re.sub("<.*?>", "", markup), name)
    return out
