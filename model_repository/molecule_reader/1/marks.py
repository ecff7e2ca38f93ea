"""What can stand at the end of a line in a drawing: an atom, a group by its abbreviation, or what the reader does not know."""

from __future__ import annotations

import re

from rdkit import Chem

COMMON = ("C", "O", "N", "NH", "S", "F", "Cl", "NH+", "OH", "O-", "NH2", "NH2+", "N+", "Br", "NH3+", "N-", "I", "S-", "SH", "P", "H")
RARE = ("B", "B-", "BH", "BH2", "BH3", "BH3-", "Si", "SiH", "SiH2", "SiH3", "Se", "SeH", "As", "Te", "Ge", "S+", "O+", "OH+", "P+", "P-", "PH", "PH2",
        "C-", "C+", "CH-", "CH2-", "NH-", "I+", "D", "Sn")
LONE = ("ClH", "BrH", "IH", "FH", "OH2", "NH3", "NH4+", "OH3+", "OH-", "H+", "F-", "Cl-", "Br-", "I-", "Li+", "Na+", "K+", "Mg++", "Ca++",
        "Zn++", "Al+++", "Ag+")
"""Written beside a molecule: acids of salts, ions, solvents."""
GROUPS = {
    "Me": "C", "Et": "CC", "nPr": "CCC", "iPr": "C(C)C", "nBu": "CCCC", "iBu": "CC(C)C", "tBu": "C(C)(C)C", "Ph": "c1ccccc1", "Bn": "Cc1ccccc1",
    "OMe": "OC", "OEt": "OCC", "OiBu": "OCC(C)C", "OtBu": "OC(C)(C)C", "OPh": "Oc1ccccc1", "OBn": "OCc1ccccc1", "SMe": "SC", "NMe": "NC", "NMe2": "N(C)C",
    "CF3": "C(F)(F)F", "CCl3": "C(Cl)(Cl)Cl", "OCF3": "OC(F)(F)F", "CN": "C#N", "NC": "[N+]#[C-]", "NO": "N=O", "NO2": "[N+](=O)[O-]", "N3": "N=[N+]=[N-]",
    "CHO": "C=O", "COOH": "C(=O)O", "COO-": "C(=O)[O-]", "CO2Me": "C(=O)OC", "CO2Et": "C(=O)OCC", "CO2tBu": "C(=O)OC(C)(C)C",
    "CONH2": "C(=O)N",
    "Ac": "C(=O)C", "OAc": "OC(=O)C", "NHAc": "NC(=O)C", "Bz": "C(=O)c1ccccc1", "Boc": "C(=O)OC(C)(C)C", "NHBoc": "NC(=O)OC(C)(C)C",
    "Cbz": "C(=O)OCc1ccccc1",
    "SO3H": "S(=O)(=O)O", "SO2Me": "S(=O)(=O)C", "Ts": "S(=O)(=O)c1ccc(C)cc1", "OTs": "OS(=O)(=O)c1ccc(C)cc1", "TMS": "[Si](C)(C)C",
    "TBS": "[Si](C)(C)C(C)(C)C",
    "CH2OH": "CO", "OCH2Ph": "OCc1ccccc1",
    "nPent": "CCCCC", "nHex": "CCCCCC", "nHept": "CCCCCCC", "nOct": "CCCCCCCC", "nNon": "CCCCCCCCC", "nDec": "CCCCCCCCCC", "NCF3": "NC(F)(F)F",
    "N(OH)Me": "N(C)O", "CHF2": "C(F)F", "SO2NH2": "S(=O)(=O)N", "SO3-": "S(=O)(=O)[O-]", "B(OH)2": "B(O)O", "NEt2": "N(CC)CC", "OMs": "OS(=O)(=O)C",
    "OTf": "OS(=O)(=O)C(F)(F)F", "Cy": "C1CCCCC1", "Piv": "C(=O)C(C)(C)C", "PMB": "Cc1ccc(OC)cc1", "TIPS": "[Si](C(C)C)(C(C)C)C(C)C",
    "TBDPS": "[Si](c1ccccc1)(c1ccccc1)C(C)(C)C", "OTBS": "O[Si](C)(C)C(C)(C)C",
    "COCl": "C(=O)Cl", "NHOH": "NO", "SCF3": "SC(F)(F)F", "SF5": "S(F)(F)(F)(F)F", "Bpin": "B1OC(C)(C)C(C)(C)O1", "SnMe3": "[Sn](C)(C)C",
    "SnBu3": "[Sn](CCCC)(CCCC)CCCC",
}
"""Abbreviations and what they stand for, joined to the rest by the first atom, by one single bond."""
LINKS = {
    "SO2": "S(=O)=O", "CO": "C=O", "CF2": "C(F)F", "CMe2": "C(C)C", "NBoc": "NC(=O)OC(C)(C)C", "NCbz": "NC(=O)OCc1ccccc1", "NAc": "NC(=O)C", "NEt": "NCC",
    "NBn": "NCc1ccccc1", "NPh": "Nc1ccccc1", "NTs": "NS(=O)(=O)c1ccc(C)cc1",
}
"""Those that join two lines, both single bonds to the first atom."""
SHOWN = {"COOH": ("CO2H", "HO2C", "COOH", "HOOC"), "COO-": ("CO2-", "-O2C", "COO-", "-OOC"),
         "Et": ("Et", "Et", "C2H5", "C2H5", "CH2CH3", "H3CH2C", "CH2CH3", "CH3CH2"),
         "nPr": ("nPr", "nPr", "n-Pr", "n-Pr", "Pr", "Pr", "C3H7", "C3H7"), "iPr": ("iPr", "iPr", "i-Pr", "i-Pr", "CH(CH3)2", "(H3C)2HC"),
         "nBu": ("nBu", "nBu", "n-Bu", "n-Bu", "Bu", "Bu", "C4H9", "C4H9"), "tBu": ("tBu", "tBu", "t-Bu", "t-Bu", "C(CH3)3", "(H3C)3C"),
         "nPent": ("nPent", "nPent", "C5H11", "C5H11"), "nHex": ("nHex", "nHex", "C6H13", "C6H13"), "nHept": ("nHept", "nHept", "C7H15", "C7H15"),
         "nOct": ("nOct", "nOct", "C8H17", "C8H17"), "nNon": ("nNon", "nNon", "C9H19", "C9H19"), "nDec": ("nDec", "nDec", "C10H21", "C10H21"),
         "Ph": ("Ph", "Ph", "C6H5", "C6H5"),
         "OMe": ("OMe", "MeO", "OCH3", "H3CO", "OCH3", "CH3O"), "OEt": ("OEt", "EtO", "OC2H5", "C2H5O", "OCH2CH3", "H3CH2CO"),
         "OiBu": ("OiBu", "iBuO"),
         "OtBu": ("OtBu", "tBuO"), "OPh": ("OPh", "PhO"), "OBn": ("OBn", "BnO"), "SMe": ("SMe", "MeS", "SCH3", "H3CS"),
         "NMe": ("NHMe", "MeHN", "NMe", "MeN", "NHCH3", "H3CHN"), "NMe2": ("NMe2", "Me2N", "N(CH3)2", "(H3C)2N", "N(CH3)2", "(CH3)2N"),
         "NEt2": ("NEt2", "Et2N", "N(C2H5)2", "(C2H5)2N"),
         "CF3": ("CF3", "F3C"), "CCl3": ("CCl3", "Cl3C"), "OCF3": ("OCF3", "F3CO"), "CN": ("CN", "NC"), "NC": ("NC", "CN"), "NO": ("NO", "ON"),
         "NO2": ("NO2", "O2N"),
         "N3": ("N3", "N3"), "CHO": ("CHO", "OHC"), "CO2Me": ("CO2Me", "MeO2C", "COOMe", "MeOOC", "COOCH3", "H3COOC", "CO2CH3", "H3CO2C"),
         "CO2Et": ("CO2Et", "EtO2C", "COOEt", "EtOOC", "COOC2H5", "C2H5OOC", "CO2C2H5", "C2H5O2C"), "CO2tBu": ("CO2tBu", "tBuO2C", "COOtBu", "tBuOOC"),
         "CONH2": ("CONH2", "H2NOC"), "Ac": ("Ac", "Ac", "COCH3", "H3COC"), "OAc": ("OAc", "AcO", "OCOCH3", "H3COCO"),
         "NHAc": ("NHAc", "AcHN", "NHAc", "AcNH", "NHCOCH3", "H3COCHN"), "NHBoc": ("NHBoc", "BocHN"), "SO3H": ("SO3H", "HO3S"),
         "SO2Me": ("SO2Me", "MeO2S", "Ms", "Ms", "SO2CH3", "H3CO2S"), "OTs": ("OTs", "TsO"), "CH2OH": ("CH2OH", "HOH2C", "CH2OH", "HOCH2"),
         "OCH2Ph": ("OCH2Ph", "PhH2CO"), "TMS": ("TMS", "TMS", "SiMe3", "Me3Si", "Si(CH3)3", "(H3C)3Si"),
         "NCF3": ("NHCF3", "F3CHN", "NCF3", "F3CN"), "N(OH)Me": ("N(OH)Me", "Me(HO)N", "N(OH)CH3", "CH3(OH)N"), "CHF2": ("CHF2", "F2HC"),
         "SO2NH2": ("SO2NH2", "H2NO2S"), "SO3-": ("SO3-", "-O3S"), "B(OH)2": ("B(OH)2", "(HO)2B"), "OMs": ("OMs", "MsO"),
         "OTf": ("OTf", "TfO"), "OTBS": ("OTBS", "TBSO"), "COCl": ("COCl", "ClOC"), "NHOH": ("NHOH", "HOHN", "NHOH", "HONH"), "SCF3": ("SCF3", "F3CS"),
         "SF5": ("SF5", "F5S"), "Bpin": ("Bpin", "pinB"), "SnMe3": ("SnMe3", "Me3Sn"), "SnBu3": ("SnBu3", "Bu3Sn"),
         "SO2": ("SO2", "O2S"), "CO": ("CO", "OC"), "CF2": ("CF2", "F2C"), "CMe2": ("CMe2", "Me2C", "C(CH3)2", "(H3C)2C"), "NBoc": ("NBoc", "BocN"),
         "NCbz": ("NCbz", "CbzN"), "NAc": ("NAc", "AcN"), "NEt": ("NEt", "EtN", "NC2H5", "C2H5N"), "NBn": ("NBn", "BnN"), "NPh": ("NPh", "PhN"),
         "NTs": ("NTs", "TsN")}
"""How a group is written when it is not as its name is: to the right of its line, to the left of it, and other such pairs (NMe, AcNH, NCF3
and N(OH)CH3 are RDKit's)."""
UNKNOWN = "?"
"""Letters that stand for nothing the reader knows: R, X, a metal, a name."""
MARKS = (*COMMON, *RARE, *LONE, *GROUPS, *LINKS, UNKNOWN)
"""In the order of the networks' classes."""


def _parts(name: str) -> tuple[int, int, int | None, int]:
    """Atomic number, charge, hydrogens (None where they are not written) and isotope of an atom's name; of a group or what is
    unknown, those of a plain carbon."""
    if name in GROUPS or name in LINKS or name == UNKNOWN:
        return 6, 0, None, 0
    if name == "D":
        return 1, 0, None, 2
    found = re.fullmatch(r"([A-Z][a-z]?)(H(\d?))?([+-]*)", name)
    if name in ("H", "H+"):
        return 1, len(found[4]), None, 0
    number = Chem.GetPeriodicTable().GetAtomicNumber(found[1])
    charge = len(found[4]) * (-1 if "-" in found[4] else 1)
    return number, charge, None if name == "C" else (int(found[3] or 1) if found[2] else 0), 0


PARTS = [_parts(name) for name in MARKS]
FRAGMENTS = {MARKS.index(name): Chem.MolFromSmiles(text) for name, text in (GROUPS | LINKS).items()}
"""The groups by their class."""
LINES = {MARKS.index(name): (1, 2) if name == "NMe" else (2,) if name in LINKS else (1,) for name in GROUPS | LINKS}
"""How many lines may lead to a group: NMe is written for an end and for a link."""
STRANGE = MARKS.index(UNKNOWN)
APART = frozenset(MARKS.index(name) for name in (*LONE, "O", "OH", "NH2", "SH"))
"""What is read where no line leads to it; a lone carbon is a speck."""
