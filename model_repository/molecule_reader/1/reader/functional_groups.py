"""Counts functional groups and rings in a molecule, by their names in phrases.json."""

from __future__ import annotations

from rdkit import Chem

PATTERNS = {
    "halogen": "[F,Cl,Br,I]",
    "hydroxyl": "[OX2H][#6;!$([CX3]=O)]",
    "alcohol": "[OX2H][CX4]",
    "phenol": "[OX2H]c",
    "carboxylic acid": "[CX3](=O)[OX2H1,OX1-]",
    "ester": "[CX3;H1,$(C[#6])](=[OX1])[OX2H0][#6;!$([CX3]=[OX1])]",
    "ether": "[OX2H0;!$(O[C,S,P]=[O,S,N])]([#6])[#6]",
    "amide": "[CX3;H1,$(C[#6])](=[OX1])[NX3]",
    "amine": "[$([NX3;H2,H1,H0]),$([NX4+]);!$(N*=[O,N,S]);!$(N[!#6;!#1]);!$(NC#N)][#6]",
    "primary amine": "[$([NX3H2]),$([NX4H3+]);!$(N*=[O,N,S]);!$(N[!#6;!#1])][#6]",
    "nitro": "[$([NX3](=O)=O),$([NX3+](=O)[O-])]",
    "nitrile": "[CX2]#[NX1]",
    "ketone": "[#6][CX3](=[OX1])[#6]",
    "aldehyde": "[CX3H1](=[OX1])[#6]",
    "carbonyl": "[#6X3]=[OX1]",
    "sulfonamide": "[SX4](=[OX1])(=[OX1])[NX3,NX2-]",
    "sulfone": "[SX4](=[OX1])(=[OX1])([#6])[#6]",
    "thioether": "[SX2H0]([#6])[#6]",
    "thiol": "[SX2H][#6]",
    "urea": "[CX3](=[OX1])([NX3])[NX3]",
    "carbamate": "[CX3](=[OX1])([NX3])[OX2H0]",
    "methyl": "[CX4H3]",
    "methoxy": "[OX2][CX4H3]",
    "trifluoromethyl": "[CX4](F)(F)F",
    "benzene ring": "c1ccccc1",
    "pyridine": "c1ccncc1",
    "alkene": "[CX3]=[CX3]",
    "alkyne": "[CX2]#[CX2]",
    "double bond": "*=*",
    "triple bond": "*#*",
    "epoxide": "[OX2r3]1[#6r3][#6r3]1",
    "spiro atom": "[x4;R2]",
}
"""SMARTS by name. Matches with the same first atom count as one group, except for COUNTED_BY_MATCH. Acids and amines
include their ions. Aromatic bonds are neither double nor triple."""

RING_SIZES = {
    "three-membered ring": 3,
    "four-membered ring": 4,
    "five-membered ring": 5,
    "six-membered ring": 6,
    "seven-membered ring": 7,
}

SUMMARY = [
    "carboxylic acid",
    "ester",
    "amide",
    "urea",
    "carbamate",
    "sulfonamide",
    "sulfone",
    "ketone",
    "aldehyde",
    "alcohol",
    "phenol",
    "ether",
    "amine",
    "nitro",
    "nitrile",
    "thiol",
    "thioether",
    "halogen",
    "alkene",
    "alkyne",
    "epoxide",
    "benzene ring",
    "heterocycle",
]
"""The groups in a summary of a molecule."""

DISPLAY_NAMES = {
    "hydroxyl": "hydroxyl group",
    "nitro": "nitro group",
    "carbonyl": "carbonyl group",
    "methyl": "methyl group",
    "methoxy": "methoxy group",
    "trifluoromethyl": "trifluoromethyl group",
    "pyridine": "pyridine ring",
    "alkene": "C=C double bond",
    "alkyne": "C≡C triple bond",
}
"""Names in sentences, where they are not those of PATTERNS."""

NAMES = [*PATTERNS, *RING_SIZES, "heterocycle"]
COUNTED_BY_MATCH = ("benzene ring", "pyridine", "double bond", "triple bond", "epoxide")
_COMPILED = {name: Chem.MolFromSmarts(smarts) for name, smarts in PATTERNS.items()}


def count(molecule: Chem.Mol, name: str) -> int:
    """Returns the number of groups with a name of NAMES."""
    rings = molecule.GetRingInfo().AtomRings()
    if name in RING_SIZES:
        return sum(len(ring) == RING_SIZES[name] for ring in rings)
    if name == "heterocycle":
        return sum(any(molecule.GetAtomWithIdx(i).GetAtomicNum() != 6 for i in ring) for ring in rings)
    if name == "spiro atom":
        return _count_spiro_atoms(rings)
    matches = molecule.GetSubstructMatches(_COMPILED[name], maxMatches=10_000)
    return len(matches) if name in COUNTED_BY_MATCH else len({match[0] for match in matches})


def _count_spiro_atoms(rings: tuple[tuple[int, ...], ...]) -> int:
    """Counts the atoms that are the only common atom of two rings."""
    shared = [set(a) & set(b) for i, a in enumerate(rings) for b in rings[i + 1 :]]
    return len({atom for atoms in shared if len(atoms) == 1 for atom in atoms})


def display_name(name: str) -> str:
    return DISPLAY_NAMES.get(name, name)


def summary(molecule: Chem.Mol) -> list[tuple[str, int]]:
    """Returns the functional groups of a molecule with their numbers."""
    return [(name, n) for name in SUMMARY if (n := count(molecule, name))]
