"""Puts placeholders into molecules before they are drawn: R groups, letters such as X, wavy ends of bonds."""

from __future__ import annotations

import re
from random import Random

from rdkit import Chem

from scripts.served_reader.labels import GENERIC_GROUPS, OPEN_END, PLACEHOLDERS, R_GROUPS, R_NUMBERS, STAR
from scripts.train.vision.marks import LABEL, is_end, put_label

COUNTS = (1, 1, 2, 2, 3, 4, 6)
"""Numbers of placeholders in a drawing."""
GENERIC_SHARE = 0.16
"""Share of the placeholders that are groups such as OR1."""
INSIDE_SHARE = 0.2
"""Share of the placeholders in place of an atom of a chain or ring."""
CONSECUTIVE_SHARE = 0.5
"""Share of the drawings whose R groups have consecutive numbers."""
WEIGHTS = (
    {"R": 12, "R'": 3, "R''": 2, "X": 9, "Y": 5, "Z": 5, "A": 6, "Q": 5, "Ar": 4, STAR: 5, OPEN_END: 8}
    | {f"R{number}": 8 if number < 5 else 4 if number < 10 else 2 for number in R_NUMBERS}
    | dict.fromkeys(("W", "G", "L", "E", "U", "Het", "Ra", "Rb", "Ar1", "(CH2)n", "(CH2)m"), 2)
)
"""How often a placeholder is drawn; 1 for the others."""
LETTERS = [name for name in PLACEHOLDERS if name not in (STAR, OPEN_END, "alkyl", "aryl", *R_GROUPS)]
"""Placeholders that can have several bonds."""
NUMBER_STYLES = ("sup", "sup", "sup", "sub", "sub", "")
"""Markup of the number of R1, or none."""


def add_placeholders(molecule: Chem.Mol, random: Random, wavy: bool = True) -> Chem.Mol:
    """Replaces ends, hydrogens and atoms of chains and rings by placeholders.

    wavy: whether the program draws an atom without a label as a wavy end of a bond.
    """
    out = Chem.RWMol(molecule)
    Chem.Kekulize(out, clearAromaticFlags=True)
    style = random.choice(NUMBER_STYLES)
    first = random.choice((1, 1, 1, random.choice(R_NUMBERS)))
    names = [f"R{number}" for number in R_NUMBERS[first - 1 :]] if random.random() < CONSECUTIVE_SHARE else []
    for number in range(random.choice(COUNTS)):
        chance = random.random()
        if chance < INSIDE_SHARE:
            _replace_inside(out, random, style)
            continue
        at = _open_place(out, random)
        if at is None:
            continue
        if chance < INSIDE_SHARE + GENERIC_SHARE:
            name = random.choice(list(GENERIC_GROUPS))
        else:
            name = names[number] if number < len(names) else _random_name(random, wavy)
        _put(out, at, name, random, style)
    return out.GetMol()


def _random_name(random: Random, wavy: bool) -> str:
    while True:
        name = random.choices(PLACEHOLDERS, [WEIGHTS.get(name, 1) for name in PLACEHOLDERS])[0]
        if wavy or name != OPEN_END:
            return name


def _open_place(molecule: Chem.RWMol, random: Random) -> int | None:
    """Returns an end, or a new atom in place of a hydrogen; None if there is neither."""
    ends = [a.GetIdx() for a in molecule.GetAtoms() if is_end(a) and not a.HasProp(LABEL)]
    bearing = [
        a
        for a in molecule.GetAtoms()
        if a.GetSymbol() in ("C", "N", "O") and a.GetTotalNumHs() and not a.HasProp(LABEL) and a.GetDegree() < 4
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
    inside = [
        a.GetIdx()
        for a in molecule.GetAtoms()
        if a.GetDegree() in (2, 3)
        and a.GetAtomicNum()
        and not a.HasProp(LABEL)
        and (a.IsInRing() or all(b.GetBondType() == Chem.BondType.SINGLE for b in a.GetBonds()))
    ]
    if inside:
        at = random.choice(inside)
        for bond in molecule.GetAtomWithIdx(at).GetBonds():
            bond.SetStereo(Chem.BondStereo.STEREONONE)
        _put(molecule, at, random.choices(LETTERS, [WEIGHTS.get(name, 1) for name in LETTERS])[0], random, style)


def _put(molecule: Chem.RWMol, at: int, name: str, random: Random, style: str) -> None:
    if name == OPEN_END:
        atom = Chem.Atom(0)
        atom.SetNoImplicit(True)
        atom.SetProp(LABEL, name)
        molecule.ReplaceAtom(at, atom, preserveProps=False)
        return
    put_label(molecule, at, name, *random.choice(spellings(name, style)))


def spellings(name: str, style: str) -> list[tuple[str, str]]:
    """Returns the markup of a placeholder, to the right and to the left of its bond; style: one of NUMBER_STYLES."""
    if name in GENERIC_GROUPS:
        return _group_spellings(name, style)
    if name.startswith("(CH2)"):
        count = name.removeprefix("(CH2)")
        return [
            (f"(CH<sub>2</sub>){count}", f"{count}(H<sub>2</sub>C)"),
            (
                f"(CH<sub>2</sub>)<sub>{count}</sub>",
                f"(H<sub>2</sub>C)<sub>{count}</sub>",
            ),  # RDKit crashes at a leading <sub>.
        ]
    text = _markup(name, style)
    return [(text, text)]


def _group_spellings(name: str, style: str) -> list[tuple[str, str]]:
    """Returns the markup of a group with R groups, such as OR1."""
    prefix, *groups = re.split("(?=R)", name)
    right = "".join(_markup(group, style) for group in groups)
    left = "".join(_markup(group, style) for group in reversed(groups)) if len(groups) > 1 else right
    texts = {
        "CO2": [("CO<sub>2</sub>{}", "{}O<sub>2</sub>C"), ("COO{}", "{}OOC")],
        "SO2": [("SO<sub>2</sub>{}", "{}O<sub>2</sub>S")],
        "CONH": [("CONH{}", "{}HNOC"), ("C(O)NH{}", "{}HN(O)C")],
        "CON": [("CON{}", "{}NOC"), ("C(O)N{}", "{}N(O)C")],
        "NH": [("NH{}", "{}HN"), ("NH{}", "{}NH")],
    }.get(prefix, [(prefix + "{}", "{}" + prefix[::-1])])
    return [(after.format(right), before.format(order)) for after, before in texts for order in (left, right)]


def _markup(name: str, style: str) -> str:
    """Returns the markup of a letter with an index, such as R1 or Ra, in a style."""
    letter = "Ar" if name.startswith("Ar") else name[0]
    index = name[len(letter) :]
    is_index = index[:1].isdigit() or (letter == "R" and index.isalpha())
    return f"{letter}<{style}>{index}</{style}>" if style and is_index else name
