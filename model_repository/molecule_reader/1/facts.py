"""What is computed from a molecule: numbers by the family of the question, and comparisons of two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from rdkit import Chem, DataStructs
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors

NAMES = {
    "H": "hydrogen",
    "C": "carbon",
    "N": "nitrogen",
    "O": "oxygen",
    "F": "fluorine",
    "P": "phosphorus",
    "S": "sulfur",
    "Cl": "chlorine",
    "Br": "bromine",
    "I": "iodine",
    "B": "boron",
    "Si": "silicon",
    "Se": "selenium",
    "Na": "sodium",
    "K": "potassium",
    "Li": "lithium",
    "Mg": "magnesium",
    "Ca": "calcium",
    "Fe": "iron",
    "Zn": "zinc",
    "Cu": "copper",
    "Au": "gold",
    "Ag": "silver",
    "As": "arsenic",
    "Sn": "tin",
    "Pt": "platinum",
    "Hg": "mercury",
    "Al": "aluminium",
}

COUNTS: dict[str, tuple[Callable[[Chem.Mol], int], str, str]] = {
    "count_heavy": (Chem.Mol.GetNumHeavyAtoms, "heavy atom", "heavy atoms"),
    "count_atoms": (
        lambda m: Chem.AddHs(m).GetNumAtoms(),
        "atom in all, hydrogens included",
        "atoms in all, hydrogens included",
    ),
    "count_bonds": (lambda m: m.GetNumBonds(), "bond between heavy atoms", "bonds between heavy atoms"),
    "count_rings": (rdMolDescriptors.CalcNumRings, "ring", "rings"),
    "count_aromatic": (rdMolDescriptors.CalcNumAromaticRings, "aromatic ring", "aromatic rings"),
    "count_stereo": (rdMolDescriptors.CalcNumAtomStereoCenters, "stereocentre", "stereocentres"),
    "count_donors": (rdMolDescriptors.CalcNumHBD, "hydrogen bond donor", "hydrogen bond donors"),
    "count_acceptors": (rdMolDescriptors.CalcNumHBA, "hydrogen bond acceptor", "hydrogen bond acceptors"),
    "count_rotatable": (rdMolDescriptors.CalcNumRotatableBonds, "rotatable bond", "rotatable bonds"),
}
"""Family to its number, and the words for one and for many. Rings are those of the smallest set; donors, acceptors and
rotatable bonds as RDKit defines them; stereocentres whether drawn with wedges or not."""

MEASURES: dict[str, tuple[Callable[[Chem.Mol], float], str, str]] = {
    "mass": (Descriptors.MolWt, "molecular weight", "{:.2f} g/mol"),
    "exact_mass": (rdMolDescriptors.CalcExactMolWt, "exact mass", "{:.4f}"),
    "logp": (Crippen.MolLogP, "logP, estimated by Crippen's method,", "{:.2f}"),
    "tpsa": (rdMolDescriptors.CalcTPSA, "polar surface area, estimated from the groups,", "{:.1f} Å²"),
    "charge": (Chem.GetFormalCharge, "net charge", "{}"),
}
"""Family to its number, what it is called, and how it is written."""


def written(family: str, value: float) -> str:
    """A value of MEASURES as text: no sign before 0."""
    if family == "charge":
        return f"{value:+d}" if value else "0"
    return MEASURES[family][2].format(0.0 if abs(value) < 0.005 else value)


def elements(molecule: Chem.Mol) -> Counter[str]:
    """Atoms by symbol, hydrogens included, carbon and hydrogen first."""
    found = Counter(atom.GetSymbol() for atom in Chem.AddHs(molecule).GetAtoms())
    return Counter({s: found[s] for s in sorted(found, key=lambda s: (s not in "CH", s))})


formula = rdMolDescriptors.CalcMolFormula
_morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def similarity(a: Chem.Mol, b: Chem.Mol) -> float:
    """Tanimoto similarity of Morgan fingerprints, radius 2, 2048 bits."""
    return DataStructs.TanimotoSimilarity(_morgan.GetFingerprint(a), _morgan.GetFingerprint(b))


def canonical(molecule: Chem.Mol, stereo: bool = True) -> str:
    return Chem.MolToSmiles(molecule, isomericSmiles=stereo)


def inchi(molecule: Chem.Mol) -> tuple[str, str]:
    """InChI and InChIKey; the molecule's own conformer plays no part."""
    text = Chem.MolToInchi(molecule)
    return text, Chem.InchiToInchiKey(text)
