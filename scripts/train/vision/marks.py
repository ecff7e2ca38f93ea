"""Atoms of a molecule that are drawn as other labels than their element."""

from __future__ import annotations

from rdkit import Chem

LABEL = "_short"
"""Property of an atom that is drawn as a label of labels.ATOM_LABELS other than its element: the label."""


def put_label(molecule: Chem.RWMol, at: int, name: str, right: str, left: str) -> None:
    """Replaces an atom by one that is drawn as a label, spelled to the right and to the left of its bond."""
    atom = Chem.Atom(0)
    atom.SetNoImplicit(True)
    atom.SetProp(LABEL, name)
    atom.SetProp("_displayLabel", right)
    atom.SetProp("_displayLabelW", left)
    atom.SetProp("atomLabel", name)  # Without one, RDKit draws a dummy as a wavy end.
    molecule.ReplaceAtom(at, atom, preserveProps=False)


def is_end(atom: Chem.Atom) -> bool:
    """Reports whether an atom has one bond, a single one."""
    return atom.GetDegree() == 1 and atom.GetBonds()[0].GetBondType() == Chem.BondType.SINGLE
