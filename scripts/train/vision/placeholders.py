"""Puts placeholders into molecules before they are drawn: R groups, letters such as X, attachment points."""

from __future__ import annotations

import re
from random import Random

from rdkit import Chem

from scripts.served_reader.labels import (
    ATTACHMENT_POINT,
    CHAINS,
    GENERIC_GROUPS,
    LETTERS,
    NUMBERED_R_GROUPS,
    PLACEHOLDERS,
    REPEATED_R_GROUPS,
    STAR,
)
from scripts.train.vision.marks import DRAWN_LABEL, is_end, put_label

COUNTS = (1, 1, 2, 2, 3, 4, 6)
"""Numbers of placeholders in a drawing."""
GENERIC_SHARE = 0.16
"""Share of the placeholders that are groups such as OR1."""
INSIDE_SHARE = 0.2
"""Share of the placeholders in place of an atom of a chain or ring."""
CONSECUTIVE_SHARE = 0.5
"""Share of the drawings whose R groups have consecutive numbers."""
ONE_R_SHARE = 0.75
"""Share of the groups that have one R group; the others have two."""
WEIGHTS = (
    dict.fromkeys(LETTERS, 0.3)
    | dict.fromkeys(REPEATED_R_GROUPS, 0.1)
    | {"R": 12, "R'": 3, "R''": 2, "X": 9, "Y": 5, "Z": 5, "A": 6, "Q": 5, "Ar": 4, STAR: 5, ATTACHMENT_POINT: 8}
    | dict.fromkeys(NUMBERED_R_GROUPS[:4], 8)
    | dict.fromkeys(NUMBERED_R_GROUPS[4:9], 4)
    | dict.fromkeys(NUMBERED_R_GROUPS[9:25], 2)
    | dict.fromkeys(("W", "G", "L", "E", "U", "Het", "Ra", "Rb", "Ar1", "(CH2)n", "(CH2)m"), 2)
    | dict.fromkeys("X1 X2 Y1 Y2 Z1 Z2 A1 A2 L1 L2 J M T V".split(), 1)
)
"""How often a placeholder is drawn; 1 for the others."""
LIKE_METALS = ("Re", "Rh")
"""R groups that look like metals, so their letter is always a superscript or subscript."""
INSIDE = [*LETTERS, *CHAINS, "Ar", "Ar1", "Ar2", "Het", "Hal", "Alk"]
"""Placeholders that can have several bonds."""
ONE_R, TWO_RS = ([name for name in GENERIC_GROUPS if name.count("R") == count] for count in (1, 2))
NUMBER_STYLES = ("sup", "sup", "sup", "sub", "sub", "")
"""Markup of the number of R1, or none."""
SPELLINGS = {
    "NH": (("NH{}", "{}HN"), ("NH{}", "{}NH")),
    "CO": (("CO{}", "{}OC"), ("CO{}", "{}CO"), ("C(O){}", "{}(O)C")),
    "CO2": (("CO2{}", "{}O2C"), ("COO{}", "{}OOC"), ("C(O)O{}", "{}O(O)C")),
    "SO2": (("SO2{}", "{}O2S"), ("SO2{}", "{}SO2"), ("S(O)2{}", "{}(O)2S")),
    "CONH": (("CONH{}", "{}HNOC"), ("CONH{}", "{}NHCO"), ("C(O)NH{}", "{}HN(O)C")),
    "OCO": (("OC(O){}", "{}(O)CO"), ("OCO{}", "{}CO2"), ("OCO{}", "{}COO")),
    "NHCO": (("NHCO{}", "{}OCHN"), ("NHCO{}", "{}CONH"), ("NHC(O){}", "{}(O)CHN")),
    "NHSO2": (("NHSO2{}", "{}O2SHN"), ("NHSO2{}", "{}SO2NH"), ("NHS(O)2{}", "{}(O)2SHN")),
    "SO2NH": (("SO2NH{}", "{}HNO2S"), ("SO2NH{}", "{}NHSO2"), ("S(O)2NH{}", "{}HN(O)2S")),
    "CON": (("CON{}", "{}NOC"), ("CON{}", "{}NCO"), ("C(O)N{}", "{}N(O)C")),
    "SO2N": (("SO2N{}", "{}NO2S"), ("SO2N{}", "{}NSO2"), ("S(O)2N{}", "{}N(O)2S")),
}
"""Spellings of groups with R groups by the part before these, to the right of the bond and to the left. A part that is
not here has one spelling."""


def is_known(text: str) -> bool:
    """Reports whether plain letters are a placeholder."""
    return text in PLACEHOLDERS and text not in LIKE_METALS


def add_placeholders(molecule: Chem.Mol, random: Random, wavy: bool = True) -> Chem.Mol:
    """Replaces ends, hydrogens and atoms of chains and rings by placeholders.

    wavy: whether the program draws an atom without a label as a wavy end of a bond.
    """
    out = Chem.RWMol(molecule)
    Chem.Kekulize(out, clearAromaticFlags=True)
    style = random.choice(NUMBER_STYLES)
    first = random.choice((0, 0, 0, random.randrange(len(NUMBERED_R_GROUPS))))
    names = NUMBERED_R_GROUPS[first:] if random.random() < CONSECUTIVE_SHARE else []
    for number in range(random.choice(COUNTS)):
        chance = random.random()
        if chance < INSIDE_SHARE:
            _replace_inside(out, random, style)
            continue
        at = _open_place(out, random)
        if at is None:
            continue
        if chance < INSIDE_SHARE + GENERIC_SHARE:
            name = _choose(ONE_R if random.random() < ONE_R_SHARE else TWO_RS, random)
        elif number < len(names):
            name = names[number]
        else:
            name = _choose([name for name in PLACEHOLDERS if wavy or name != ATTACHMENT_POINT], random)
        _put(out, at, name, random, style)
    return out.GetMol()


def random_name(random: Random) -> str:
    """Returns a placeholder other than an attachment point."""
    return _choose([name for name in PLACEHOLDERS if name != ATTACHMENT_POINT], random)


def put_placeholder(molecule: Chem.RWMol, at: int, name: str, random: Random) -> None:
    """Replaces an atom by a placeholder, its number in a random style."""
    _put(molecule, at, name, random, random.choice(NUMBER_STYLES))


def _choose(names: list[str], random: Random) -> str:
    """Returns one of the names by WEIGHTS, a group by the weight of its first R group."""
    return random.choices(names, [WEIGHTS.get(_split(name)[1], 1) for name in names])[0]


def _split(name: str) -> tuple[str, str, str]:
    """Returns the part of a name before its R groups, and these: OR1 is O, R1 and "". For other names, it returns "",
    the name and ""."""
    if name not in GENERIC_GROUPS:
        return "", name, ""
    group, first, *second = re.split("(?=R)", name)
    return group, first, "".join(second)


def _open_place(molecule: Chem.RWMol, random: Random) -> int | None:
    """Returns an end, or a new atom in place of a hydrogen; None if there is neither."""
    ends = [a.GetIdx() for a in molecule.GetAtoms() if is_end(a) and not a.HasProp(DRAWN_LABEL)]
    bearing = [
        a
        for a in molecule.GetAtoms()
        if a.GetSymbol() in ("C", "N", "O") and a.GetTotalNumHs() and not a.HasProp(DRAWN_LABEL) and a.GetDegree() < 4
    ]
    if ends and (not bearing or random.random() < 0.5):
        return random.choice(ends)
    if not bearing:
        return None
    atom = random.choice(bearing)
    if atom.GetNumExplicitHs():
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() - 1)
    new = molecule.AddAtom(Chem.Atom(0))
    molecule.AddBond(atom.GetIdx(), new, Chem.BondType.SINGLE)
    atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
    atom.UpdatePropertyCache(strict=False)
    return new


def _replace_inside(molecule: Chem.RWMol, random: Random, style: str) -> None:
    """Replaces an atom of a chain or ring, if there is one, by a placeholder."""
    inside = [
        a.GetIdx()
        for a in molecule.GetAtoms()
        if a.GetDegree() in (2, 3)
        and a.GetAtomicNum()
        and not a.HasProp(DRAWN_LABEL)
        and (a.IsInRing() or all(b.GetBondType() == Chem.BondType.SINGLE for b in a.GetBonds()))
    ]
    if inside:
        at = random.choice(inside)
        for bond in molecule.GetAtomWithIdx(at).GetBonds():
            bond.SetStereo(Chem.BondStereo.STEREONONE)
        _put(molecule, at, _choose(INSIDE, random), random, style)


def _put(molecule: Chem.RWMol, at: int, name: str, random: Random, style: str) -> None:
    if name == ATTACHMENT_POINT:
        atom = Chem.Atom(0)
        atom.SetNoImplicit(True)
        atom.SetProp(DRAWN_LABEL, name)
        molecule.ReplaceAtom(at, atom, preserveProps=False)
        return
    put_label(molecule, at, name, *random.choice(spellings(name, style)))


def spellings(name: str, style: str) -> list[tuple[str, str]]:
    """Returns the markup of a placeholder, to the right and to the left of its bond; style: one of NUMBER_STYLES.

    The markup never starts with <sub>, at which RDKit crashes.
    """
    if name in GENERIC_GROUPS:
        return _group_spellings(name, style)
    if name in CHAINS:
        count = name.removeprefix("(CH2)")
        right, left = "(CH<sub>2</sub>)", "(H<sub>2</sub>C)"
        return [(right + count, count + left), (f"{right}<sub>{count}</sub>", f"{left}<sub>{count}</sub>")]
    if name in REPEATED_R_GROUPS:
        group, count = name[1:].split(")")
        texts = [f"({_markup(group, style)}){count}", f"({_markup(group, style)})<sub>{count}</sub>"]
        return [(text, text) for text in texts]
    text = _markup(name, style)
    return [(text, text)]


def _group_spellings(name: str, style: str) -> list[tuple[str, str]]:
    """Returns the markup of a group with R groups, such as OR1."""
    group, first, second = _split(name)
    ends = [_markup(end, style) for end in (first, second) if end]
    orders = {"".join(ends), "".join(reversed(ends))}
    texts = [
        (_subscript(right).format("".join(ends)), _subscript(left).format(order))
        for right, left in SPELLINGS.get(group, ((group + "{}", "{}" + group),))
        for order in sorted(orders)
    ]
    if first == second:
        twice = f"{first}<sub>2</sub>" if first == "R" else f"({ends[0]})<sub>2</sub>"
        texts += [
            (_subscript(right).format(twice), _subscript(left).format(twice))
            for right, left in SPELLINGS.get(group, ((group + "{}", "{}" + group),))
        ]
    return texts


def _subscript(template: str) -> str:
    """Returns the text with its 2 as a subscript."""
    return template.replace("2", "<sub>2</sub>")


def _markup(name: str, style: str) -> str:
    """Returns the markup of a letter with an index, such as R1 or Ra, in a style."""
    letter = "Ar" if name.startswith("Ar") else name[0]
    index = name[len(letter) :]
    is_index = index[:1].isdigit() or (letter == "R" and index.isalpha())
    if name in LIKE_METALS:
        style = style or "sup"
    return f"{letter}<{style}>{index}</{style}>" if style and is_index else name
