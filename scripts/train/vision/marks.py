"""Marks atoms that are drawn with a label other than their element."""

from __future__ import annotations

from rdkit import Chem

DRAWN_LABEL = "_short"
"""Property of such an atom: its label, one of labels.ATOM_LABELS."""


def put_label(molecule: Chem.RWMol, at: int, name: str, right: str, left: str) -> None:
    """Replaces an atom by one that is drawn as a label, spelled to the right and to the left of its bond."""
    atom = Chem.Atom(0)
    atom.SetNoImplicit(True)
    atom.SetProp(DRAWN_LABEL, name)
    atom.SetProp("_displayLabel", right)
    atom.SetProp("_displayLabelW", left)
    atom.SetProp("atomLabel", name)  # Without one, RDKit draws a dummy as a wavy end.
    molecule.ReplaceAtom(at, atom, preserveProps=False)


def is_end(atom: Chem.Atom) -> bool:
    """Reports whether an atom has one bond, a single one."""
    return atom.GetDegree() == 1 and atom.GetBonds()[0].GetBondType() == Chem.BondType.SINGLE
