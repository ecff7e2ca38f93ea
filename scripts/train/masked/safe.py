"""SAFE strings with attachment numbers in angle brackets.

A molecule is cut at its BRICS bonds; every piece is written as a SMILES of its own, whose open bonds carry `<1>`, `<2>` ...
in the place of SAFE's ring numbers, and the pieces are joined by dots: `c1ccc<1>cc1.C<1><2>.N<2>`. The ring numbers of a
piece start at 1 again, and pieces may stand in any order. Numbers count the bonds in the order in which they appear.

Sources: SAFE (Noutahi et al. 2023, arXiv 2310.10773); the bracket form, GenMol (Lee et al. 2025, arXiv 2501.06158) version 2.
"""

from __future__ import annotations

import re

import numpy as np
from rdkit import Chem
from rdkit.Chem import BRICS

TOKEN = re.compile(r"<\d+>|\[[^\]]+\]|Br|Cl|%\d\d|[BCNOSPFIbcnosp]|[().=#\-+\\/:~@?>*$]|\d")
_OPEN = re.compile(r"\[(\d+)\*\]")
_BRANCHED = re.compile(r"\(([=#\-]?)(<\d+>)\)")
_NUMBER = re.compile(r"<(\d+)>")


def fragments(smiles: str) -> list[str]:
    """The pieces of a molecule without stereo, largest first; the two ends of cut bond i read `<i>`, i from 0.

    ValueError if RDKit refuses the molecule.
    """
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"not a molecule: {smiles!r}")
    Chem.RemoveStereochemistry(molecule)
    bonds = sorted(molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair, _ in BRICS.FindBRICSBonds(molecule))
    if bonds:
        # Labels from 1: an isotope of 0 would be written as a plain [*].
        molecule = Chem.FragmentOnBonds(molecule, bonds, dummyLabels=[(i + 1, i + 1) for i in range(len(bonds))])
    pieces = sorted(Chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False), key=lambda m: -m.GetNumAtoms())
    return [_write(piece) for piece in pieces]


def _write(piece: Chem.Mol) -> str:
    root = next(a.GetIdx() for a in piece.GetAtoms() if a.GetAtomicNum())
    text = _OPEN.sub(lambda m: f"<{int(m.group(1)) - 1}>", Chem.MolToSmiles(piece, rootedAtAtom=root))
    return _BRANCHED.sub(r"\1\2", text)


def join(pieces: list[str]) -> str:
    """The pieces in the given order as one string, its attachment numbers counted from 1 by first appearance."""
    seen: dict[str, int] = {}
    return _NUMBER.sub(lambda m: f"<{seen.setdefault(m.group(1), len(seen) + 1)}>", ".".join(pieces))


def encode(smiles: str, random: np.random.Generator | None = None) -> str:
    """The string of a molecule, its pieces in random order if a generator is given, else largest first."""
    pieces = fragments(smiles)
    return join([pieces[i] for i in random.permutation(len(pieces))] if random is not None else pieces)


def decode(text: str, lenient: bool = False) -> str | None:
    """Canonical SMILES of the molecule that a string stands for, or None.

    Strictly, every attachment number must occur twice and the string must be one molecule. Leniently (GenMol's way
    of counting), pieces that do not read alone are dropped, unmatched numbers become hydrogen, and the largest molecule
    remains.
    """
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

    return re.sub(r"([=#\-]?)<(\d+)>", closure, text)


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
    """The tokens of a string; ValueError names the first character that starts no token."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"no token at character {at + 1} of {text!r}")
        tokens.append(match.group())
        at = match.end()
    return tokens
