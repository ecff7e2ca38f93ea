"""Functional groups and rings: what each name of phrases.json stands for, as SMARTS, and how often it is in a molecule."""

from __future__ import annotations

from rdkit import Chem

PATTERNS = {
    "halogen": "[F,Cl,Br,I]",
    "hydroxyl": "[OX2H][#6;!$([CX3]=O)]",
    "alcohol": "[OX2H][CX4]",
    "phenol": "[OX2H]c",
    "carboxylic acid": "[CX3](=O)[OX2H1,OX1-]",
    "ester": "[CX3;H1,$(C[#6])](=[OX1])[OX2H0][#6]",
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
    "sulfone": "[SX4](=[OX1])(=[OX1])",
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
"""The first atom is the one counted (a group whose first atom is counted already is not counted again); bonds and rings are
counted as such. Acids and amines count with their ions. Aromatic bonds are neither double nor triple."""

RINGS = {
    "three-membered ring": 3,
    "four-membered ring": 4,
    "five-membered ring": 5,
    "six-membered ring": 6,
    "seven-membered ring": 7,
}

LISTED = [
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
"""Those named when all groups are asked for: a sulfonamide is not named as a sulfone too."""

SHOWN = {
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
"""Names that sound better in a sentence."""

NAMES = [*PATTERNS, *RINGS, "heterocycle"]

_COMPILED = {name: Chem.MolFromSmarts(smarts) for name, smarts in PATTERNS.items()}
_WHOLE = ("benzene ring", "pyridine", "double bond", "triple bond", "epoxide")


def count(molecule: Chem.Mol, name: str) -> int:
    """How many groups of a name the molecule has."""
    rings = molecule.GetRingInfo().AtomRings()
    if name in RINGS:
        return sum(len(ring) == RINGS[name] for ring in rings)
    if name == "heterocycle":
        return sum(any(molecule.GetAtomWithIdx(i).GetAtomicNum() != 6 for i in ring) for ring in rings)
    if name == "spiro atom":
        return spiro(rings)
    found = molecule.GetSubstructMatches(_COMPILED[name], maxMatches=10_000)
    return len(found) if name in _WHOLE else len({match[0] for match in found})


def shown(name: str) -> str:
    return SHOWN.get(name, name)


def spiro(rings: tuple[tuple[int, ...], ...]) -> int:
    """Atoms that are all that two rings share."""
    shared = [set(a) & set(b) for i, a in enumerate(rings) for b in rings[i + 1 :]]
    return len({atom for both in shared if len(both) == 1 for atom in both})


def listed(molecule: Chem.Mol) -> list[tuple[str, int]]:
    """The functional groups of a molecule with their numbers."""
    found = [(name, count(molecule, name)) for name in LISTED]
    names = {name for name, n in found if n}
    return [(name, n) for name, n in found if n and not (name == "sulfone" and "sulfonamide" in names)]
