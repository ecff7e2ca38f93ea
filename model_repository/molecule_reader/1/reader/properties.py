"""Properties of a molecule: counts and measures by the family of the question, formula, elements, identity,
similarity.

The families in NEED_DEFINITE have no value for a molecule that is not definite, those in NEED_DEFINITE_RINGS for one
whose rings are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from rdkit import Chem, DataStructs
from rdkit.Chem import Crippen, Descriptors, rdFingerprintGenerator, rdMolDescriptors

from . import placeholders

ELEMENTS = {
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
"""Names by symbol."""


class Count(NamedTuple):
    """A number of things in a molecule, and the words for one and for several."""

    compute: Callable[[Chem.Mol], int]
    one: str
    many: str


class Measure(NamedTuple):
    """A value of a molecule, its name, and its format."""

    compute: Callable[[Chem.Mol], float]
    name: str
    format: str


COUNTS = {
    "count_heavy": Count(Chem.Mol.GetNumHeavyAtoms, "heavy atom", "heavy atoms"),
    "count_atoms": Count(
        lambda m: Chem.AddHs(m).GetNumAtoms(),
        "atom in all, hydrogens included",
        "atoms in all, hydrogens included",
    ),
    "count_bonds": Count(lambda m: m.GetNumBonds(), "bond between heavy atoms", "bonds between heavy atoms"),
    "count_rings": Count(rdMolDescriptors.CalcNumRings, "ring", "rings"),
    "count_aromatic": Count(rdMolDescriptors.CalcNumAromaticRings, "aromatic ring", "aromatic rings"),
    "count_stereo": Count(rdMolDescriptors.CalcNumAtomStereoCenters, "stereocentre", "stereocentres"),
    "count_donors": Count(rdMolDescriptors.CalcNumHBD, "hydrogen bond donor", "hydrogen bond donors"),
    "count_acceptors": Count(rdMolDescriptors.CalcNumHBA, "hydrogen bond acceptor", "hydrogen bond acceptors"),
    "count_rotatable": Count(rdMolDescriptors.CalcNumRotatableBonds, "rotatable bond", "rotatable bonds"),
}
"""By family. Rings are the smallest set of smallest rings; donors, acceptors and rotatable bonds are RDKit's;
stereocentres count with and without a wedge."""

MEASURES = {
    "mass": Measure(Descriptors.MolWt, "molecular weight", "{:.2f} g/mol"),
    "exact_mass": Measure(rdMolDescriptors.CalcExactMolWt, "exact mass", "{:.4f}"),
    "logp": Measure(Crippen.MolLogP, "logP, estimated by Crippen's method,", "{:.2f}"),
    "tpsa": Measure(rdMolDescriptors.CalcTPSA, "polar surface area, estimated from the groups,", "{:.1f} Å²"),
    "charge": Measure(Chem.GetFormalCharge, "net charge", "{:+d}"),
}
"""By family."""


NEED_DEFINITE = frozenset(
    {"name", "inchi", "formula", "elements", "count_element", "has_element", "groups", "count_group", "has_group"}
    | {"is_charged", "count_heavy", "count_atoms", "count_bonds", "count_stereo", "is_chiral", "count_donors"}
    | {"count_acceptors", "count_rotatable", *MEASURES}
)
"""Families of questions that need a definite molecule (placeholders.is_definite)."""
NEED_DEFINITE_RINGS = frozenset({"count_rings", "count_aromatic", "has_ring", "is_aromatic"})
"""Families of questions that need definite rings (placeholders.has_definite_rings)."""


def is_determined(family: str, molecule: Chem.Mol) -> bool:
    """Reports whether a molecule has a value for a family of questions."""
    if family in NEED_DEFINITE:
        return placeholders.is_definite(molecule)
    return family not in NEED_DEFINITE_RINGS or placeholders.has_definite_rings(molecule)


def format_measure(family: str, value: float) -> str:
    """Returns a value of MEASURES as text, 0 without a sign."""
    if family == "charge" and not value:
        return "0"
    return MEASURES[family].format.format(0.0 if abs(value) < 0.005 else value)


def element_counts(molecule: Chem.Mol) -> Counter[str]:
    """Returns the atoms by symbol, hydrogens included; carbon and hydrogen come first."""
    found = Counter(atom.GetSymbol() for atom in Chem.AddHs(molecule).GetAtoms())
    return Counter({symbol: found[symbol] for symbol in sorted(found, key=lambda s: (s not in "CH", s))})


formula = rdMolDescriptors.CalcMolFormula
morgan = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def similarity(a: Chem.Mol, b: Chem.Mol) -> float:
    """Returns the Tanimoto similarity of Morgan fingerprints (radius 2, 2048 bits)."""
    return DataStructs.TanimotoSimilarity(morgan.GetFingerprint(a), morgan.GetFingerprint(b))


def canonical_smiles(molecule: Chem.Mol, stereo: bool = True) -> str:
    """Returns SMILES, or CXSMILES; see placeholders.smiles_of."""
    if placeholders.is_definite(molecule):
        return Chem.MolToSmiles(molecule, isomericSmiles=stereo)
    marked = Chem.Mol(molecule)
    placeholders.set_isotopes(marked)
    if not stereo:
        Chem.RemoveStereochemistry(marked)
    return placeholders.smiles_of(marked)


def inchi(molecule: Chem.Mol) -> tuple[str, str]:
    """Returns InChI and InChIKey."""
    text = Chem.MolToInchi(molecule)
    return text, Chem.InchiToInchiKey(text)
