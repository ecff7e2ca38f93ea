"""The classes of the networks: the label at an atom, and the kind of the bond between two atoms.

An atom label is an element with its hydrogens and charge (NH2+), the abbreviation of a group (OMe), a placeholder (R1),
a group with R groups (OR1), or UNKNOWN_LABEL.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from rdkit import Chem

COMMON = "C O N NH S F Cl NH+ OH O- NH2 NH2+ N+ Br NH3+ N- I S- SH P H".split()
RARE = """
    B B- BH BH2 BH3 BH3- Si SiH SiH2 SiH3 Se SeH As Te Ge S+ O+ OH+ P+ P- PH PH2 C- C+ CH- CH2- NH- I+ D Sn
""".split()
UNBONDED = "ClH BrH IH FH OH2 NH3 NH4+ OH3+ OH- H+ F- Cl- Br- I- Li+ Na+ K+ Mg++ Ca++ Zn++ Al+++ Ag+".split()
"""Labels beside a molecule: the acids of salts, ions, solvents."""
GROUPS = {
    "Me": "C",
    "Et": "CC",
    "nPr": "CCC",
    "iPr": "C(C)C",
    "nBu": "CCCC",
    "iBu": "CC(C)C",
    "tBu": "C(C)(C)C",
    "Ph": "c1ccccc1",
    "Bn": "Cc1ccccc1",
    "OMe": "OC",
    "OEt": "OCC",
    "OiBu": "OCC(C)C",
    "OtBu": "OC(C)(C)C",
    "OPh": "Oc1ccccc1",
    "OBn": "OCc1ccccc1",
    "SMe": "SC",
    "NMe": "NC",
    "NMe2": "N(C)C",
    "CF3": "C(F)(F)F",
    "CCl3": "C(Cl)(Cl)Cl",
    "OCF3": "OC(F)(F)F",
    "CN": "C#N",
    "NC": "[N+]#[C-]",
    "NO": "N=O",
    "NO2": "[N+](=O)[O-]",
    "N3": "N=[N+]=[N-]",
    "CHO": "C=O",
    "COOH": "C(=O)O",
    "COO-": "C(=O)[O-]",
    "CO2Me": "C(=O)OC",
    "CO2Et": "C(=O)OCC",
    "CO2tBu": "C(=O)OC(C)(C)C",
    "CONH2": "C(=O)N",
    "Ac": "C(=O)C",
    "OAc": "OC(=O)C",
    "NHAc": "NC(=O)C",
    "Bz": "C(=O)c1ccccc1",
    "Boc": "C(=O)OC(C)(C)C",
    "NHBoc": "NC(=O)OC(C)(C)C",
    "Cbz": "C(=O)OCc1ccccc1",
    "SO3H": "S(=O)(=O)O",
    "SO2Me": "S(=O)(=O)C",
    "Ts": "S(=O)(=O)c1ccc(C)cc1",
    "OTs": "OS(=O)(=O)c1ccc(C)cc1",
    "TMS": "[Si](C)(C)C",
    "TBS": "[Si](C)(C)C(C)(C)C",
    "CH2OH": "CO",
    "OCH2Ph": "OCc1ccccc1",
    "nPent": "CCCCC",
    "nHex": "CCCCCC",
    "nHept": "CCCCCCC",
    "nOct": "CCCCCCCC",
    "nNon": "CCCCCCCCC",
    "nDec": "CCCCCCCCCC",
    "NCF3": "NC(F)(F)F",
    "N(OH)Me": "N(C)O",
    "CHF2": "C(F)F",
    "SO2NH2": "S(=O)(=O)N",
    "SO3-": "S(=O)(=O)[O-]",
    "B(OH)2": "B(O)O",
    "NEt2": "N(CC)CC",
    "OMs": "OS(=O)(=O)C",
    "OTf": "OS(=O)(=O)C(F)(F)F",
    "Cy": "C1CCCCC1",
    "Piv": "C(=O)C(C)(C)C",
    "PMB": "Cc1ccc(OC)cc1",
    "TIPS": "[Si](C(C)C)(C(C)C)C(C)C",
    "TBDPS": "[Si](c1ccccc1)(c1ccccc1)C(C)(C)C",
    "OTBS": "O[Si](C)(C)C(C)(C)C",
    "COCl": "C(=O)Cl",
    "NHOH": "NO",
    "SCF3": "SC(F)(F)F",
    "SF5": "S(F)(F)(F)(F)F",
    "Bpin": "B1OC(C)(C)C(C)(C)O1",
    "SnMe3": "[Sn](C)(C)C",
    "SnBu3": "[Sn](CCCC)(CCCC)CCCC",
}
"""Abbreviations of groups with one bond, and their SMILES. The first atom of the SMILES has the bond, a single one."""
LINKS = {
    "SO2": "S(=O)=O",
    "CO": "C=O",
    "CF2": "C(F)F",
    "CMe2": "C(C)C",
    "NBoc": "NC(=O)OC(C)(C)C",
    "NCbz": "NC(=O)OCc1ccccc1",
    "NAc": "NC(=O)C",
    "NEt": "NCC",
    "NBn": "NCc1ccccc1",
    "NPh": "Nc1ccccc1",
    "NTs": "NS(=O)(=O)c1ccc(C)cc1",
}
"""Abbreviations of groups with two single bonds, both at the first atom of the SMILES."""
SPELLINGS = {
    "COOH": ("CO2H", "HO2C", "COOH", "HOOC"),
    "COO-": ("CO2-", "-O2C", "COO-", "-OOC"),
    "Et": ("Et", "Et", "C2H5", "C2H5", "CH2CH3", "H3CH2C", "CH2CH3", "CH3CH2"),
    "nPr": ("nPr", "nPr", "n-Pr", "n-Pr", "Pr", "Pr", "C3H7", "C3H7"),
    "iPr": ("iPr", "iPr", "i-Pr", "i-Pr", "CH(CH3)2", "(H3C)2HC"),
    "nBu": ("nBu", "nBu", "n-Bu", "n-Bu", "Bu", "Bu", "C4H9", "C4H9"),
    "tBu": ("tBu", "tBu", "t-Bu", "t-Bu", "C(CH3)3", "(H3C)3C"),
    "nPent": ("nPent", "nPent", "C5H11", "C5H11"),
    "nHex": ("nHex", "nHex", "C6H13", "C6H13"),
    "nHept": ("nHept", "nHept", "C7H15", "C7H15"),
    "nOct": ("nOct", "nOct", "C8H17", "C8H17"),
    "nNon": ("nNon", "nNon", "C9H19", "C9H19"),
    "nDec": ("nDec", "nDec", "C10H21", "C10H21"),
    "Ph": ("Ph", "Ph", "C6H5", "C6H5"),
    "OMe": ("OMe", "MeO", "OCH3", "H3CO", "OCH3", "CH3O"),
    "OEt": ("OEt", "EtO", "OC2H5", "C2H5O", "OCH2CH3", "H3CH2CO"),
    "OiBu": ("OiBu", "iBuO"),
    "OtBu": ("OtBu", "tBuO"),
    "OPh": ("OPh", "PhO"),
    "OBn": ("OBn", "BnO"),
    "SMe": ("SMe", "MeS", "SCH3", "H3CS"),
    "NMe": ("NHMe", "MeHN", "NMe", "MeN", "NHCH3", "H3CHN"),
    "NMe2": ("NMe2", "Me2N", "N(CH3)2", "(H3C)2N", "N(CH3)2", "(CH3)2N"),
    "NEt2": ("NEt2", "Et2N", "N(C2H5)2", "(C2H5)2N"),
    "CF3": ("CF3", "F3C"),
    "CCl3": ("CCl3", "Cl3C"),
    "OCF3": ("OCF3", "F3CO"),
    "CN": ("CN", "NC"),
    "NC": ("NC", "CN"),
    "NO": ("NO", "ON"),
    "NO2": ("NO2", "O2N"),
    "N3": ("N3", "N3"),
    "CHO": ("CHO", "OHC"),
    "CO2Me": ("CO2Me", "MeO2C", "COOMe", "MeOOC", "COOCH3", "H3COOC", "CO2CH3", "H3CO2C"),
    "CO2Et": ("CO2Et", "EtO2C", "COOEt", "EtOOC", "COOC2H5", "C2H5OOC", "CO2C2H5", "C2H5O2C"),
    "CO2tBu": ("CO2tBu", "tBuO2C", "COOtBu", "tBuOOC"),
    "CONH2": ("CONH2", "H2NOC"),
    "Ac": ("Ac", "Ac", "COCH3", "H3COC"),
    "OAc": ("OAc", "AcO", "OCOCH3", "H3COCO"),
    "NHAc": ("NHAc", "AcHN", "NHAc", "AcNH", "NHCOCH3", "H3COCHN"),
    "NHBoc": ("NHBoc", "BocHN"),
    "SO3H": ("SO3H", "HO3S"),
    "SO2Me": ("SO2Me", "MeO2S", "Ms", "Ms", "SO2CH3", "H3CO2S"),
    "OTs": ("OTs", "TsO"),
    "CH2OH": ("CH2OH", "HOH2C", "CH2OH", "HOCH2"),
    "OCH2Ph": ("OCH2Ph", "PhH2CO"),
    "TMS": ("TMS", "TMS", "SiMe3", "Me3Si", "Si(CH3)3", "(H3C)3Si"),
    "NCF3": ("NHCF3", "F3CHN", "NCF3", "F3CN"),
    "N(OH)Me": ("N(OH)Me", "Me(HO)N", "N(OH)CH3", "CH3(OH)N"),
    "CHF2": ("CHF2", "F2HC"),
    "SO2NH2": ("SO2NH2", "H2NO2S"),
    "SO3-": ("SO3-", "-O3S"),
    "B(OH)2": ("B(OH)2", "(HO)2B"),
    "OMs": ("OMs", "MsO"),
    "OTf": ("OTf", "TfO"),
    "OTBS": ("OTBS", "TBSO"),
    "COCl": ("COCl", "ClOC"),
    "NHOH": ("NHOH", "HOHN", "NHOH", "HONH"),
    "SCF3": ("SCF3", "F3CS"),
    "SF5": ("SF5", "F5S"),
    "Bpin": ("Bpin", "pinB"),
    "SnMe3": ("SnMe3", "Me3Sn"),
    "SnBu3": ("SnBu3", "Bu3Sn"),
    "SO2": ("SO2", "O2S"),
    "CO": ("CO", "OC"),
    "CF2": ("CF2", "F2C"),
    "CMe2": ("CMe2", "Me2C", "C(CH3)2", "(H3C)2C"),
    "NBoc": ("NBoc", "BocN"),
    "NCbz": ("NCbz", "CbzN"),
    "NAc": ("NAc", "AcN"),
    "NEt": ("NEt", "EtN", "NC2H5", "C2H5N"),
    "NBn": ("NBn", "BnN"),
    "NPh": ("NPh", "PhN"),
    "NTs": ("NTs", "TsN"),
}
"""Spellings of a group in pairs: to the right of its bond, to the left of it. A group that is not here is spelled by
its name. NMe, AcNH, NCF3 and N(OH)CH3 are spellings of RDKit."""
UNKNOWN_LABEL = "?"
"""The label for letters that no other class has: a metal, a name."""
STAR = "*"
"""The label of a star, which stands for any atom."""
ATTACHMENT_POINT = "AP"
"""The label of an attachment point (drawn as a wavy line): the open end of a bond."""
NUMBERED_R_GROUPS = [f"R{number}" for number in range(1, 40)]
R_GROUPS = [
    *("R", *NUMBERED_R_GROUPS, "R'", "R''", "R'''"),
    *(f"R{letter}" for letter in "abcdefghxyz"),
    *(f"R{number}{index}" for number in range(1, 10) for index in "abcABC'"),
]
LETTERS = [f"{letter}{index}" for letter in "AEGJLMQTUVWXYZ" for index in ("", "'", *range(1, 10))]
"""Single letters used as placeholders, alone or with a prime or number. U, V, W and Y are read as placeholders, never
as elements."""
RINGS = ["Ar", *(f"Ar{number}" for number in range(1, 5)), "Het", "aryl"]
"""Placeholders for groups with a ring."""
# In the order of the trained classes.
WORDS = [*RINGS[:-1], "Hal", "Alk", "alkyl", "aryl"]
CHAINS = [f"(CH2){count}" for count in "nmpqrsxyz"]
REPEATED_R_GROUPS = [f"({name}){count}" for name in R_GROUPS[:10] for count in "nmpqxyz"]
PLACEHOLDERS = [STAR, ATTACHMENT_POINT, *R_GROUPS, *LETTERS, *WORDS, *CHAINS, *REPEATED_R_GROUPS]
"""What stands for any of several groups or atoms, or a chain of any length. Its atom in the molecule is a dummy."""
_ENDS = ["R", "R'", *NUMBERED_R_GROUPS, "Ra", "Rb", "Rc", "Rd"]
_PAIRS = [*zip(_ENDS, _ENDS), *zip(NUMBERED_R_GROUPS, NUMBERED_R_GROUPS[1:]), ("R", "R'"), ("Ra", "Rb")]
_WITH_ONE_R = {
    "O{}": "O* |$;_{}$|",
    "S{}": "S* |$;_{}$|",
    "NH{}": "N* |$;_{}$|",
    "CO{}": "C(*)=O |$;_{};$|",
    "CO2{}": "C(=O)O* |$;;;_{}$|",
    "SO2{}": "S(*)(=O)=O |$;_{};;$|",
    "CONH{}": "C(=O)N* |$;;;_{}$|",
    "OCO{}": "OC(*)=O |$;;_{};$|",
    "NHCO{}": "NC(*)=O |$;;_{};$|",
    "NHSO2{}": "NS(*)(=O)=O |$;;_{};;$|",
    "SO2NH{}": "S(=O)(=O)N* |$;;;;_{}$|",
}
_WITH_TWO_RS = {
    "N{}{}": "N(*)* |$;_{};_{}$|",
    "CON{}{}": "C(=O)N(*)* |$;;;_{};_{}$|",
    "SO2N{}{}": "S(=O)(=O)N(*)* |$;;;;_{};_{}$|",
}
GENERIC_GROUPS = {
    name.format(*ends): smiles.format(*ends)
    for templates, choices in ((_WITH_ONE_R, [(end,) for end in _ENDS]), (_WITH_TWO_RS, _PAIRS))
    for name, smiles in templates.items()
    for ends in choices
}
"""Groups with one or two R groups, and their CXSMILES. As in GROUPS, the first atom has the bond."""
REPEAT_COUNTS = [
    *"nmpqrsxyzabkl",
    *map(str, range(1, 31)),
    *(f"{least}-{most}" for most in range(1, 11) for least in range(min(most, 6))),
]
"""How often a unit in brackets repeats, written beside the second bracket. A count has no bonds and is not an atom."""
ATOM_LABELS = (
    *(*COMMON, *RARE, *UNBONDED, *GROUPS, *LINKS, UNKNOWN_LABEL),
    *(*PLACEHOLDERS, *GENERIC_GROUPS, *REPEAT_COUNTS),
)
"""All labels. A class is an index into it."""
CLASSES = {label: number for number, label in enumerate(ATOM_LABELS)}
"""By label: the class."""
UNKNOWN_CLASS = CLASSES[UNKNOWN_LABEL]
DETECTED_LABELS = ATOM_LABELS[: UNKNOWN_CLASS + 1]
"""The labels that the atom detector tells apart, in the order of its outputs."""


class LabelledAtom(NamedTuple):
    """The atom that a label stands for."""

    number: int
    charge: int = 0
    hydrogens: int | None = None
    """Hydrogens in the label, None if it does not say."""
    isotope: int = 0


def _labelled_atom(label: str) -> LabelledAtom:
    """Returns the atom of a label: a carbon for groups and UNKNOWN_LABEL, a dummy (0) for placeholders."""
    if label in FRAGMENT_SMILES or label == UNKNOWN_LABEL:
        return LabelledAtom(6)
    if CLASSES[label] > UNKNOWN_CLASS:
        return LabelledAtom(0)
    if label == "D":
        return LabelledAtom(1, isotope=2)
    match = re.fullmatch(r"([A-Z][a-z]?)(H(\d?))?([+-]*)", label)
    if match is None:
        raise ValueError(f"not an atom label: {label}")
    if label in ("H", "H+"):
        return LabelledAtom(1, len(match[4]))
    number = Chem.GetPeriodicTable().GetAtomicNumber(match[1])
    charge = len(match[4]) * (-1 if "-" in match[4] else 1)
    hydrogens = None if label == "C" else (int(match[3] or 1) if match[2] else 0)
    return LabelledAtom(number, charge, hydrogens)


IN_GROUP = "inGroup"
"""The property of an atom that a drawing has only as part of an abbreviation, such as the carbon of OMe."""
FRAGMENT_SMILES = GROUPS | LINKS | GENERIC_GROUPS
ATOMS = [_labelled_atom(label) for label in ATOM_LABELS]
"""By class: the atom."""
FRAGMENTS = {CLASSES[name]: Chem.MolFromSmiles(smiles) for name, smiles in FRAGMENT_SMILES.items()}
"""By class: the molecule of a group."""
BOND_COUNTS = {CLASSES[name]: (1, 2) if name == "NMe" else (2,) if name in LINKS else (1,) for name in FRAGMENT_SMILES}
"""By class: the numbers of bonds that a group may have. NMe is written at an end and in a chain."""
REPEAT_COUNT_CLASSES = frozenset(CLASSES[count] for count in REPEAT_COUNTS)
"""The classes of repeat counts."""
UNBONDED_OK = frozenset(CLASSES[name] for name in (*UNBONDED, "O", "OH", "NH2", "SH"))
"""Classes that may have no bond. A carbon without a bond is a speck."""

NONE, SINGLE, DOUBLE, TRIPLE, WEDGE, WEDGE_BACK, DASH, DASH_BACK, AROMATIC, WAVY, CROSSED = range(11)
"""Kinds of bond from a first atom to a second. The narrow end of WEDGE and DASH is at the first atom, of WEDGE_BACK and
DASH_BACK at the second. AROMATIC is a side of a ring drawn with a circle or dashes. WAVY is a wavy bond or a crossed
double bond, whose stereochemistry is undefined. CROSSED is a single bond that a bracket of a repeat unit crosses."""
REVERSED_KIND = np.array([NONE, SINGLE, DOUBLE, TRIPLE, WEDGE_BACK, WEDGE, DASH_BACK, DASH, AROMATIC, WAVY, CROSSED])
"""By kind: the kind as seen from the second atom."""
