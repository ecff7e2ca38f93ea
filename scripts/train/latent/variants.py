"""Derives molecules that the data files lack: with isotopes, and with other counter-ions."""

from __future__ import annotations

import numpy as np
from rdkit import Chem, RDLogger

RDLogger.DisableLog("rdApp.*")

LABELS = {
    "C": (11, 13, 13, 13, 14),
    "N": (15,),
    "O": (17, 18, 18),
    "F": (18,),
    "P": (32,),
    "S": (35,),
    "I": (123, 124, 125, 125, 131),
}
"""Isotopes by element; repeated ones are drawn more often. Hydrogen becomes 2, one in ten times 3."""
IONS = {
    "[Na+]": ("[Li+]", "[K+]", "[K+]", "[Cs+]", "[Rb+]", "[Ag+]", "[NH4+]", "[Tl+]"),
    "[K+]": ("[Na+]", "[Li+]", "[Cs+]", "[Rb+]"),
    "[Ca+2]": (
        "[Mg+2]",
        "[Zn+2]",
        "[Ba+2]",
        "[Sr+2]",
        "[Fe+2]",
        "[Cu+2]",
        "[Mn+2]",
        "[Co+2]",
        "[Ni+2]",
        "[Pb+2]",
        "[Hg+2]",
        "[Cd+2]",
    ),
    "[Mg+2]": (
        "[Ca+2]",
        "[Zn+2]",
        "[Ba+2]",
        "[Sr+2]",
        "[Fe+2]",
        "[Cu+2]",
        "[Mn+2]",
        "[Al+3]",
        "[Fe+3]",
        "[Bi+3]",
        "[Gd+3]",
    ),
    "[Zn+2]": ("[Mg+2]", "[Ca+2]", "[Cu+2]", "[Ni+2]", "[Al+3]", "[Fe+3]", "[La+3]"),
    "[Br-]": ("[I-]", "[Cl-]", "[F-]"),
    "[Cl-]": ("[F-]", "[Br-]", "[OH-]"),
}
"""Replacements of each counter-ion."""


def with_isotopes(molecules: list[str], random: np.random.Generator, count: int = 12_000) -> list[str]:
    """Labels about `count` of the molecules, half with deuterium or tritium, half on one or two heavy atoms."""
    out = []
    for index in random.permutation(len(molecules))[:count]:
        molecule = Chem.MolFromSmiles(molecules[index])
        labelled = molecule and (_deuterate(molecule, random) if random.random() < 0.5 else _label(molecule, random))
        if labelled:
            out.append(labelled)
    return out


def _deuterate(molecule: Chem.Mol, random: np.random.Generator) -> str | None:
    """Replaces the hydrogens of one to three carbons by deuterium, one in ten times by tritium."""
    carbons = [atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetSymbol() == "C" and atom.GetTotalNumHs()]
    if not carbons:
        return None
    chosen = random.choice(carbons, min(len(carbons), int(random.integers(1, 4))), replace=False)
    mass = 3 if random.random() < 0.1 else 2
    full = Chem.AddHs(molecule, onlyOnAtoms=[int(c) for c in chosen])
    for atom in full.GetAtoms():
        if atom.GetSymbol() == "H" and not atom.GetIsotope():
            atom.SetIsotope(mass)
    return Chem.MolToSmiles(full)


def _label(molecule: Chem.Mol, random: np.random.Generator) -> str | None:
    """Replaces one or two heavy atoms by an isotope."""
    candidates = [atom for atom in molecule.GetAtoms() if atom.GetSymbol() in LABELS]
    if not candidates:
        return None
    for index in random.permutation(len(candidates))[: int(random.integers(1, 3))]:
        atom = candidates[index]
        atom.SetIsotope(int(random.choice(LABELS[atom.GetSymbol()])))
    return Chem.MolToSmiles(molecule)


def with_other_ions(molecules: list[str], random: np.random.Generator) -> list[str]:
    """Replaces a counter-ion in each molecule that has one of IONS; returns canonical SMILES."""
    out = []
    for smiles in molecules:
        present = [ion for ion in IONS if ion in smiles.split(".")]
        if present:
            ion = present[int(random.integers(len(present)))]
            other = IONS[ion][int(random.integers(len(IONS[ion])))]
            swapped = Chem.MolFromSmiles(".".join(other if part == ion else part for part in smiles.split(".")))
            out += [Chem.MolToSmiles(swapped)] if swapped else []
    return out
