"""SAFE strings in nested order, the model's language.

A molecule is cut at its BRICS bonds. Cuts are never in a ring, so the pieces form a tree, and written depth first they need
no attachment numbers: `*` is an open end, and a piece, from its dot on, bonds by its first atom to the open end that waits.

    .c1ccc*cc1.C(=O)*.N(C)C.Cl

reads: a benzene ring; on its open end the carbonyl, on whose open end the amine; and the last piece, the chlorine, bonds to
the first atom of all, as if the string began with an open end. Any cut bond, seen from either side, may be that first bond:
a molecule of n cuts has 2 n strings. `.=C` is bonded doubly, to `=*`. A molecule without cuts is a SMILES without a dot.

For people and for RDKit the same is written as SAFE with attachment numbers in angle brackets, `c1<1>ccc<2>cc1.Cl<1>...`.

Sources: SAFE (Noutahi et al. 2023, arXiv 2310.10773); the bracket form, GenMol (Lee et al. 2025, arXiv 2501.06158) version 2.
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
    """A cut bond seen from the piece on one side: that piece, written from the bond on, and its other cuts in the order of
    its open ends, as indices of the sides across them."""

    text: str
    beyond: tuple[int, ...]


_forms: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
"""For every piece met so far, by its canonical SMILES, and each of its dummies in the order of that SMILES: the piece
written from there, and the other dummies in the order of that text."""


def sides(smiles: str, stereo: bool = False) -> list[Side]:
    """The two sides of every cut bond, with stereo if that is wanted; sides 2i and 2i + 1 are of the same bond. Empty: nothing
    to cut.

    ValueError if RDKit refuses the molecule.
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"not a molecule: {smiles!r}")
    if not stereo:
        Chem.RemoveStereochemistry(molecule)
    atoms = molecule.GetNumAtoms()
    cut = _cut(molecule)
    ends = cut.GetNumAtoms() - atoms  # Two dummies for each cut, side by side after the molecule's own atoms.
    for atom in range(atoms, atoms + ends):
        cut.GetAtomWithIdx(atom).SetIsotope(0)
    out = [Side("", ())] * ends
    places: list[list[int]] = []
    for piece, place in (
        zip(Chem.GetMolFrags(cut, asMols=True, sanitizeFrags=False, fragsMolAtomMapping=places), places) if ends else ()
    ):
        canonical = Chem.MolToSmiles(piece)
        dummies = [i for i in _order(piece) if place[i] >= atoms]
        own = [place[i] - atoms for i in dummies]
        if _configured(piece):
            forms = _written(piece, dummies, True)
        else:
            forms = _forms[canonical] = _forms.get(canonical) or _written(piece, dummies)
        for end, (text, beyond) in zip(own, forms):
            # The dummy stands for the piece across: the piece's own side is the other dummy of the cut.
            out[end] = Side(text, tuple(own[i] ^ 1 for i in beyond))
    return out


def _cut(molecule: Chem.Mol) -> Chem.Mol:
    """The molecule with a dummy atom on each side of every cut. A bond beside a double bond with stereo stays: its cut would
    take the atom by which the stereo is told."""
    told = {
        atom
        for bond in molecule.GetBonds()
        if bond.GetStereo() > Chem.BondStereo.STEREOANY
        for atom in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
    }
    if not told:
        return Chem.FragmentOnBRICSBonds(molecule)
    pairs = [pair for pair, _ in BRICS.FindBRICSBonds(molecule) if not told & set(pair)]
    bonds = [molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair in pairs]
    return Chem.FragmentOnBonds(molecule, bonds, dummyLabels=[(0, 0)] * len(bonds)) if bonds else molecule


def _order(piece: Chem.Mol) -> list[int]:
    """The atoms in the order in which they were written last."""
    return [int(i) for i in piece.GetProp("_smilesAtomOutputOrder")[1:-1].split(",") if i.strip()]


def _configured(piece: Chem.Mol) -> bool:
    """Whether an atom has a configuration. Such a piece is not looked up: what lies across its cuts makes its dummies differ."""
    return any(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in piece.GetAtoms())


def _written(piece: Chem.Mol, dummies: list[int], apart: bool = False) -> list[tuple[str, tuple[int, ...]]]:
    """The piece from each of its dummies. apart: dummies differ, so that an atom between two of them keeps its configuration."""
    forms = []
    for dummy in dummies:
        for number, atom in enumerate(dummies, 1):
            piece.GetAtomWithIdx(atom).SetIsotope(number if apart else 0)
        text = _LABEL.sub("*", Chem.MolToSmiles(piece, rootedAtAtom=dummy))
        beyond = tuple(dummies.index(i) for i in _order(piece) if i in dummies and i != dummy)
        forms.append(("." + _END.sub(r"\1*", text[1:]), beyond))
    return forms


def whole(smiles: str, stereo: bool = False) -> str:
    """A molecule in one piece."""
    molecule = Chem.MolFromSmiles(smiles)
    if not stereo:
        Chem.RemoveStereochemistry(molecule)
    return Chem.MolToSmiles(molecule)


def nested(cuts: list[Side], first: int) -> list[str]:
    """The pieces of the string that begins at side `first`."""
    out, waiting = [], [first ^ 1, first]
    while waiting:
        side = cuts[waiting.pop()]
        out.append(side.text)
        waiting.extend(reversed(side.beyond))
    return out


def encode(smiles: str, first: int = 0, stereo: bool = False) -> str:
    """A string of a molecule."""
    cuts = sides(smiles, stereo)
    return "".join(nested(cuts, first)) if cuts else whole(smiles, stereo)


def numbered(text: str) -> str:
    """The same in the bracket form of SAFE. An open end that no piece takes, and a piece without an open end, keep a number
    that occurs once."""
    waiting: list[int] = []
    pieces: list[str] = []
    count = 0
    for index, piece in enumerate(text.split(".")):
        if index == 0 and piece == "":
            continue
        tokens, own = split(piece), []
        if index:
            bond = tokens.pop(0).translate(_ACROSS) if tokens and tokens[0] in "=#-/\\" else ""
            if not pieces:
                count += 1
                waiting.append(count)
                number = count
            elif waiting:
                number = waiting.pop()
            else:
                count += 1
                number = count
            # The bond comes first among those of the atom in nested order, and after its hydrogen once it is written as a number,
            # which turns a configuration round.
            if tokens and "@H" in tokens[0]:
                tokens[0] = tokens[0].replace("@@", "@") if "@@" in tokens[0] else tokens[0].replace("@", "@@")
            tokens.insert(min(1, len(tokens)), f"{bond}<{number}>")
        for at, token in enumerate(tokens):
            if token == "*":
                count += 1
                own.append(count)
                tokens[at] = f"<{count}>"
        waiting.extend(reversed(own))
        pieces.append("".join(tokens))
    return ".".join(pieces)


def decode(text: str, lenient: bool = False) -> str | None:
    """Canonical SMILES of the molecule that a string stands for, or None.

    Strictly, every open end must be taken and the string must be one molecule. Leniently (GenMol's way of counting), pieces
    that do not read alone are dropped, open ends become hydrogen, and the largest molecule remains.
    """
    return decode_numbered(numbered(text), lenient)


def decode_numbered(text: str, lenient: bool = False) -> str | None:
    """The same for the bracket form."""
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
    """SMILES: the numbers in `free` become a branch with one hydrogen, the others ring closures %99, %98 ..., which no
    piece uses for its own rings."""
    seen: dict[str, int] = {}

    def closure(match: re.Match[str]) -> str:
        bond, number = match.groups()
        if number in free:
            return f"({bond}*)"
        return f"{bond}%{99 - seen.setdefault(number, len(seen)):02d}"

    return re.sub(r"([=#\-/\\]?)<(\d+)>", closure, text)


def _read(smiles: str) -> Chem.Mol | None:
    """The molecule, its open places filled with hydrogen; None if RDKit refuses it.

    An open place is read as a dummy atom first: an aromatic nitrogen needs its third neighbour to be read at all.
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
    """The tokens of SMILES in a string; ValueError names the first character that starts no token."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no token at character {at + 1} of {text!r}")
        tokens.append(match.group())
        at = match.end()
    return tokens
