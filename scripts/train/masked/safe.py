"""SAFE strings in nested order, the notation that the model reads and writes.

A molecule is cut at its BRICS bonds. Cuts are never in a ring, so the pieces form a tree. Written depth first, they
need no attachment numbers: `*` is an open end, and the first atom of each piece bonds to the last open end that is
free.

    .c1ccc*cc1.C(=O)*.N(C)C.Cl

is a benzene ring; the carbonyl on its open end; the amine on the carbonyl's open end; and the chlorine, which bonds
to the first atom of the string, as if the string started with an open end. Either side of any cut bond may come
first, so a molecule with n cuts has 2 n strings. `.=C` has a double bond to `=*`. A molecule without cuts is SMILES
without a dot.

The bracket form for people and RDKit has attachment numbers in angle brackets: `c1<1>ccc<2>cc1.Cl<1>...`.

Sources: SAFE (Noutahi et al. 2023, arXiv 2310.10773); the bracket form, GenMol (Lee et al. 2025, arXiv 2501.06158)
version 2.
"""

from __future__ import annotations

import dataclasses
import re

from rdkit import Chem
from rdkit.Chem import BRICS

TOKEN = re.compile(r"<\d+>|\[[^\]]+\]|Br|Cl|%\d\d|[BCNOSPFIbcnosp]|[().=#\-+\\/:~@?>*$]|\d")
_END = re.compile(r"\(([=#\-/\\]?)\*\)")
_LABEL = re.compile(r"\[\d+\*\]")
_ACROSS = str.maketrans("/\\", "\\/")
_NUMBER = re.compile(r"<(\d+)>")


@dataclasses.dataclass(frozen=True)
class Side:
    """One side of a cut bond: the piece there, written from the bond.

    beyond: for each open end of the text, the index of the side across that cut.
    """

    text: str
    beyond: tuple[int, ...]


_forms: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
"""Cache by canonical SMILES of a piece: for each dummy atom in the order of that SMILES, the piece written from that
dummy, and the indices of the other dummies in the order of that text."""


def sides(smiles: str, stereo: bool = False) -> list[Side]:
    """Returns the two sides of each cut bond, sides 2i and 2i + 1 of the same bond; empty without cuts.

    stereo: keep stereochemistry. Raises ValueError if RDKit rejects the molecule.
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"safe: {smiles!r} is not a valid SMILES")
    if not stereo:
        Chem.RemoveStereochemistry(molecule)
    atoms = molecule.GetNumAtoms()
    cut = _cut(molecule)
    ends = cut.GetNumAtoms() - atoms  # Two adjacent dummies for each cut, after the atoms of the molecule.
    for atom in range(atoms, atoms + ends):
        cut.GetAtomWithIdx(atom).SetIsotope(0)
    out = [Side("", ())] * ends
    places: list[list[int]] = []
    for piece, place in (
        zip(Chem.GetMolFrags(cut, asMols=True, sanitizeFrags=False, fragsMolAtomMapping=places), places) if ends else ()
    ):
        canonical = Chem.MolToSmiles(piece)
        dummies = [i for i in _order(piece) if place[i] >= atoms]
        cuts = [place[i] - atoms for i in dummies]
        if _has_stereocenter(piece):
            forms = _rooted_texts(piece, dummies, True)
        else:
            forms = _forms[canonical] = _forms.get(canonical) or _rooted_texts(piece, dummies)
        for end, (text, beyond) in zip(cuts, forms):
            # A dummy stands for the piece across the cut, whose side is the other dummy of that cut.
            out[end] = Side(text, tuple(cuts[i] ^ 1 for i in beyond))
    return out


def _cut(molecule: Chem.Mol) -> Chem.Mol:
    """Returns the molecule with a dummy atom on each side of each cut.

    Bonds next to a double bond with stereochemistry are not cut: that would remove the atom that defines it.
    """
    stereo_atoms = {
        atom
        for bond in molecule.GetBonds()
        if bond.GetStereo() > Chem.BondStereo.STEREOANY
        for atom in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    }
    if not stereo_atoms:
        return Chem.FragmentOnBRICSBonds(molecule)
    pairs = [pair for pair, _ in BRICS.FindBRICSBonds(molecule) if not stereo_atoms & set(pair)]
    bonds = [molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair in pairs]
    return Chem.FragmentOnBonds(molecule, bonds, dummyLabels=[(0, 0)] * len(bonds)) if bonds else molecule


def _order(piece: Chem.Mol) -> list[int]:
    """Returns the atoms in the order of the SMILES written last."""
    return [int(i) for i in piece.GetProp("_smilesAtomOutputOrder")[1:-1].split(",") if i.strip()]


def _has_stereocenter(piece: Chem.Mol) -> bool:
    """Reports whether an atom has a configuration. Such pieces are not cached: their dummies are distinct."""
    return any(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in piece.GetAtoms())


def _rooted_texts(piece: Chem.Mol, dummies: list[int], distinct: bool = False) -> list[tuple[str, tuple[int, ...]]]:
    """Writes the piece from each dummy.

    distinct: label the dummies, so that an atom between two keeps its configuration.
    """
    forms = []
    for dummy in dummies:
        for number, atom in enumerate(dummies, 1):
            piece.GetAtomWithIdx(atom).SetIsotope(number if distinct else 0)
        text = _LABEL.sub("*", Chem.MolToSmiles(piece, rootedAtAtom=dummy))
        beyond = tuple(dummies.index(i) for i in _order(piece) if i in dummies and i != dummy)
        forms.append(("." + _END.sub(r"\1*", text[1:]), beyond))
    return forms


def encode_uncut(smiles: str, stereo: bool = False) -> str:
    """Returns the string of a molecule without cuts."""
    molecule = Chem.MolFromSmiles(smiles)
    if not stereo:
        Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def nested_pieces(cuts: list[Side], first: int) -> list[str]:
    """Returns the pieces of the string that starts at side `first`."""
    out, stack = [], [first ^ 1, first]
    while stack:
        side = cuts[stack.pop()]
        out.append(side.text)
        stack.extend(reversed(side.beyond))
    return out


def encode(smiles: str, first: int = 0, stereo: bool = False) -> str:
    """Returns a string of a molecule, the one that starts at side `first`."""
    cuts = sides(smiles, stereo)
    return "".join(nested_pieces(cuts, first)) if cuts else encode_uncut(smiles, stereo)


def bracket_form(text: str) -> str:
    """Converts a string to the bracket form. An unmatched open end or piece gets a number that occurs once."""
    free: list[int] = []
    pieces: list[str] = []
    count = 0
    for index, piece in enumerate(text.split(".")):
        if index == 0 and piece == "":
            continue
        tokens, ends = split(piece), []
        if index:
            bond = tokens.pop(0).translate(_ACROSS) if tokens and tokens[0] in "=#-/\\" else ""
            if not pieces:
                count += 1
                free.append(count)
                number = count
            elif free:
                number = free.pop()
            else:
                count += 1
                number = count
            # The bond precedes the atom's hydrogen in nested order and follows it as a number, which inverts a
            # configuration.
            if tokens and "@H" in tokens[0]:
                tokens[0] = tokens[0].replace("@@", "@") if "@@" in tokens[0] else tokens[0].replace("@", "@@")
            tokens.insert(min(1, len(tokens)), f"{bond}<{number}>")
        for at, token in enumerate(tokens):
            if token == "*":
                count += 1
                ends.append(count)
                tokens[at] = f"<{count}>"
        free.extend(reversed(ends))
        pieces.append("".join(tokens))
    return ".".join(pieces)


def decode(text: str, lenient: bool = False) -> str | None:
    """Returns the canonical SMILES of a string, or None if it is invalid.

    A valid string is one molecule without unmatched open ends. lenient (GenMol's definition): drop pieces that are not
    valid alone, replace open ends by hydrogen and keep the largest molecule.
    """
    return decode_bracket_form(bracket_form(text), lenient)


def decode_bracket_form(text: str, lenient: bool = False) -> str | None:
    """Decodes the bracket form, see decode."""
    if lenient:
        text = ".".join(p for p in text.split(".") if p and _read(_close(p, _NUMBER.findall(p))) is not None)
    numbers = _NUMBER.findall(text)
    odd = [n for n in numbers if numbers.count(n) != 2]
    molecule = None if not text or (odd and not lenient) else _read(_close(text, odd))
    if molecule is None:
        return None
    if lenient:
        return max(Chem.MolToSmiles(molecule).split("."), key=len)
    return Chem.MolToSmiles(molecule) if len(Chem.GetMolFrags(molecule)) == 1 else None


def _close(text: str, free: list[str]) -> str:
    """Converts the bracket form to SMILES: numbers in `free` become dummy branches, others ring closures %99, %98
    ..., which no piece uses for its rings."""
    seen: dict[str, int] = {}

    def closure(match: re.Match[str]) -> str:
        bond, number = match.groups()
        if number in free:
            return f"({bond}*)"
        return f"{bond}%{99 - seen.setdefault(number, len(seen)):02d}"

    return re.sub(r"([=#\-/\\]?)<(\d+)>", closure, text)


def _read(smiles: str) -> Chem.Mol | None:
    """Parses SMILES and replaces dummy atoms by hydrogen; None if RDKit rejects it.

    Dummy atoms come first because an aromatic nitrogen needs its third neighbour to be parsed.
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or "*" not in smiles:
        return molecule
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() == 0:
            atom.SetAtomicNum(1)
            for bond in atom.GetBonds():
                bond.SetBondType(Chem.BondType.SINGLE)
    try:
        molecule = Chem.RemoveHs(molecule, sanitize=False)
        return Chem.MolFromSmiles(Chem.MolToSmiles(molecule))
    except (ValueError, RuntimeError):
        return None


def split(text: str) -> list[str]:
    """Splits a string into SMILES tokens; raises ValueError at a character that starts no token."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"safe: no token at character {at + 1} of {text!r}")
        tokens.append(match.group())
        at = match.end()
    return tokens
