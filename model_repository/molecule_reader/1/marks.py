"""What can stand at the end of a line in a drawing: an atom, a group by its abbreviation, or what the reader does not know."""

from __future__ import annotations

import re

from rdkit import Chem

COMMON = ("C", "O", "N", "NH", "S", "F", "Cl", "NH+", "OH", "O-", "NH2", "NH2+", "N+", "Br", "NH3+", "N-", "I", "S-", "SH", "P", "H")
RARE = ("B", "B-", "BH", "BH2", "BH3", "BH3-", "Si", "SiH", "SiH2", "SiH3", "Se", "SeH", "As", "Te", "Ge", "S+", "O+", "OH+", "P+", "P-", "PH", "PH2",
        "C-", "C+", "CH-", "CH2-", "NH-", "I+", "D")
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
}
"""Abbreviations and what they stand for, joined to the rest by the first atom, by one single bond."""
SHOWN = {"COOH": ("CO2H", "HO2C", "COOH", "HOOC"), "COO-": ("CO2-", "-O2C", "COO-", "-OOC"), "OMe": ("OMe", "MeO"), "OEt": ("OEt", "EtO"),
         "OiBu": ("OiBu", "iBuO"),
         "OtBu": ("OtBu", "tBuO"), "OPh": ("OPh", "PhO"), "OBn": ("OBn", "BnO"), "SMe": ("SMe", "MeS"),
         "NMe": ("NHMe", "MeHN", "NMe", "MeN"), "NMe2": ("NMe2", "Me2N"),
         "CF3": ("CF3", "F3C"), "CCl3": ("CCl3", "Cl3C"), "OCF3": ("OCF3", "F3CO"), "CN": ("CN", "NC"), "NC": ("NC", "CN"), "NO": ("NO", "ON"),
         "NO2": ("NO2", "O2N"),
         "N3": ("N3", "N3"), "CHO": ("CHO", "OHC"), "CO2Me": ("CO2Me", "MeO2C"), "CO2Et": ("CO2Et", "EtO2C"), "CO2tBu": ("CO2tBu", "tBuO2C"),
         "CONH2": ("CONH2", "H2NOC"), "OAc": ("OAc", "AcO"), "NHAc": ("NHAc", "AcHN", "NHAc", "AcNH"), "NHBoc": ("NHBoc", "BocHN"), "SO3H": ("SO3H", "HO3S"),
         "SO2Me": ("SO2Me", "MeO2S", "Ms", "Ms"), "OTs": ("OTs", "TsO"), "CH2OH": ("CH2OH", "HOH2C"), "OCH2Ph": ("OCH2Ph", "PhH2CO"),
         "iPr": ("iPr", "iPr", "i-Pr", "i-Pr"), "nBu": ("nBu", "nBu", "n-Bu", "n-Bu"), "tBu": ("tBu", "tBu", "t-Bu", "t-Bu"),
         "NCF3": ("NHCF3", "F3CHN", "NCF3", "F3CN"), "N(OH)Me": ("N(OH)Me", "Me(HO)N", "N(OH)CH3", "CH3(OH)N"), "CHF2": ("CHF2", "F2HC"),
         "SO2NH2": ("SO2NH2", "H2NO2S"), "SO3-": ("SO3-", "-O3S"), "B(OH)2": ("B(OH)2", "(HO)2B"), "NEt2": ("NEt2", "Et2N"), "OMs": ("OMs", "MsO"),
         "OTf": ("OTf", "TfO"), "OTBS": ("OTBS", "TBSO")}
"""How a group is written when it is not as its name is: to the right of its line, to the left of it, and other such pairs (NMe, AcNH, NCF3
and N(OH)CH3 are RDKit's)."""
UNKNOWN = "?"
"""Letters that stand for nothing the reader knows: R, X, a metal, a name."""
MARKS = (*COMMON, *RARE, *LONE, *GROUPS, UNKNOWN)
"""In the order of the networks' classes."""


def _parts(name: str) -> tuple[int, int, int | None, int]:
    """Atomic number, charge, hydrogens (None where they are not written) and isotope of an atom's name; of a group or what is
    unknown, those of a plain carbon."""
    if name in GROUPS or name == UNKNOWN:
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
FRAGMENTS = {MARKS.index(name): Chem.MolFromSmiles(text) for name, text in GROUPS.items()}
"""The groups by their class."""
STRANGE = MARKS.index(UNKNOWN)
APART = frozenset(MARKS.index(name) for name in (*LONE, "O", "OH", "NH2", "SH"))
"""What is read where no line leads to it; a lone carbon is a speck."""
