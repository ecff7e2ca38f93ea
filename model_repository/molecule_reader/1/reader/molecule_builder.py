"""Builds the likeliest molecule that chemistry allows from detected atoms and bonds with their probabilities.

Terms:
replacement  a choice other than the likeliest: another label or kind, or an atom that is dropped
fault        a contradiction in the molecule, such as hydrogens that do not fit the bonds; some count half or a quarter
piece        a connected part of the drawing: a salt has two, a caption read as atoms is one that must be dropped
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

from .detection import MAX_ATOMS, Detections
from .labels import (
    AROMATIC,
    ATOM_LABELS,
    ATOMS,
    BOND_COUNTS,
    DASH,
    DASH_BACK,
    FRAGMENTS,
    NONE,
    UNBONDED_OK,
    UNKNOWN_CLASS,
    WAVY,
    WEDGE,
    WEDGE_BACK,
)

RDLogger.DisableLog("rdApp.*")

MAX_DEGREE = 6
"""A molecule with an atom of more bonds is refused."""
MAX_TRIES = 40
"""The most combinations of replacements that are tried."""
MAX_REPLACEMENTS = 24
"""The most replacements that are considered, the cheapest ones."""
MIN_PIECE_SCORE = 0.6
"""A piece beside the largest is kept only if each of its atoms has at least this score."""
FAULT_COST = 4.0
"""What a fault costs, as a negative log probability."""
UNBALANCED = 0.5
"""The fault of several pieces whose charges do not add up to 0."""
UNRELATED = 0.25
"""The fault of a piece without a charge that is neither water nor part of a salt."""
_ACID = Chem.MolFromSmarts("[$([F,Cl,Br,I;D0;H1]),$([OX2;H1][C,S,P,$([N+])]=O)]")
_BASE = Chem.MolFromSmarts("[$([N;+0;!$(N#*);!$(N[C,S]=[O,S])]),$([nX2])]")
_WATER = Chem.MolFromSmarts("[O;D0;H2]")
_BOND_TYPES = (
    [None, Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE]
    + 4 * [Chem.BondType.SINGLE]
    + [Chem.BondType.AROMATIC, Chem.BondType.SINGLE]
)


@dataclass
class Built:
    """A molecule and how likely it is."""

    molecule: Chem.Mol
    """With a conformer in pixels of the scaled ink, y up."""
    smiles: str
    cost: float
    """Negative log probability of all choices, plus FAULT_COST for each fault."""
    replacements: int
    faults: float
    dropped_pieces: int
    """Pieces taken for text beside the drawing."""
    unknown: int = 0
    """Atoms with UNKNOWN_LABEL; the molecule has a carbon in their place."""
    pieces: int = 1
    """Pieces that were kept: more than one for a salt or a solvate."""


class Replacement(NamedTuple):
    """One choice other than the likeliest."""

    extra_cost: float
    target: str
    """ "atom", "pair" or "drop"."""
    row: int
    value: int
    """The class of the atom or the kind of the pair."""


def build(detections: Detections) -> Built | None:
    """Returns the cheapest molecule among the MAX_TRIES likeliest combinations, None if none is possible.

    A best-first search over sets of replacements: first none, then one, two and so on, in order of their probability.
    """
    if not 0 < len(detections.points) <= MAX_ATOMS:
        return None
    base, options = _replacements(detections)
    queue: list[tuple[float, tuple[int, ...]]] = [(base, ())]
    best: Built | None = None
    for _ in range(MAX_TRIES):
        if not queue or (best is not None and queue[0][0] >= best.cost):
            break
        cost, chosen = heapq.heappop(queue)
        built = _build_with(detections, [options[i] for i in chosen], cost)
        if built is not None and (best is None or built.cost < best.cost):
            best = built
        last = chosen[-1] if chosen else -1
        if last + 1 < len(options):  # The successors: one more replacement, or the last one exchanged for the next.
            following = options[last + 1].extra_cost
            heapq.heappush(queue, (cost + following, (*chosen, last + 1)))
            if chosen:
                heapq.heappush(queue, (cost - options[last].extra_cost + following, (*chosen[:-1], last + 1)))
    return best


def _replacements(detections: Detections) -> tuple[float, list[Replacement]]:
    """Returns the cost of the likeliest choices, and the cheapest replacements in order of their extra cost."""
    out: list[Replacement] = []
    base = -float(np.log(np.clip(detections.scores, 1e-6, 1)).sum())
    for target, probabilities in (("atom", detections.atoms), ("pair", detections.kinds)):
        costs = -np.log(np.clip(probabilities, 1e-6, 1))
        for row, ranked in enumerate(np.argsort(costs, 1)[:, :3]):
            base += float(costs[row, ranked[0]])
            for other in ranked[1:]:
                extra = float(costs[row, other] - costs[row, ranked[0]])
                if extra < 9:
                    out.append(Replacement(extra, target, row, int(other)))
    for row, score in enumerate(detections.scores):
        if score < 0.95:
            extra = max(0.0, math.log(max(score, 1e-6) / max(1 - score, 1e-6)))
            out.append(Replacement(extra, "drop", row, 0))
    return base, sorted(out)[:MAX_REPLACEMENTS]


def _build_with(detections: Detections, replacements: list[Replacement], cost: float) -> Built | None:
    """Returns the molecule with these replacements, None if RDKit refuses it."""
    atoms = detections.atoms.argmax(1)
    kinds = detections.kinds.argmax(1) if len(detections.kinds) else np.zeros(0, int)
    dropped: set[int] = set()
    for _, target, row, value in replacements:
        if target == "atom":
            atoms[row] = value
        elif target == "pair":
            kinds[row] = value
        else:
            dropped.add(row)
    bonded = {int(a) for pair, kind in zip(detections.pairs, kinds) if kind for a in pair}
    alone = {a for a in range(len(atoms)) if a not in bonded and a not in dropped}
    if len(alone) > 1 or bonded:  # A single atom without bonds may be methane; beside others it is a speck.
        dropped |= {a for a in alone if atoms[a] not in UNBONDED_OK}
    pieces = connected_pieces(len(atoms), detections.pairs[kinds != NONE], dropped)
    captions = [
        piece
        for piece in pieces[1:]
        if min(detections.scores[a] for a in piece) < MIN_PIECE_SCORE or any(atoms[a] == UNKNOWN_CLASS for a in piece)
    ]
    dropped |= {a for piece in captions for a in piece}
    molecule, kept = assemble(detections.points, atoms, detections.pairs, kinds, dropped)
    if not molecule.GetNumAtoms() or max(a.GetDegree() for a in molecule.GetAtoms()) > MAX_DEGREE:
        return None
    try:
        Chem.SanitizeMol(molecule)
    except ValueError:
        return None
    piece_count = len(pieces) - len(captions)
    faults = _atom_faults(molecule, atoms, kept) + min(len(captions), 2)
    if piece_count > 1:
        faults += _piece_faults(molecule)
    unknown = sum(atoms[a] == UNKNOWN_CLASS for a in kept)
    try:
        molecule = perceive_stereo(molecule)
        smiles = Chem.MolToSmiles(molecule)
    except (ValueError, RuntimeError):
        return None
    cost += FAULT_COST * faults
    return Built(molecule, smiles, cost, len(replacements), faults, len(captions), unknown, piece_count)


def _atom_faults(molecule: Chem.Mol, atoms: np.ndarray, kept: list[int]) -> float:
    """Counts atoms with other hydrogens than written, radicals, hydrogens without exactly one bond, and groups with
    another number of bonds than theirs."""
    faults = 0
    for number, a in enumerate(kept):
        atom = molecule.GetAtomWithIdx(number)
        _, _, written_hydrogens, _ = ATOMS[atoms[a]]
        faults += written_hydrogens is not None and atom.GetTotalNumHs(includeNeighbors=True) != written_hydrogens
        faults += atom.GetNumRadicalElectrons() > 0
        if ATOM_LABELS[atoms[a]] in ("H", "D"):
            faults += atom.GetDegree() != 1
        if atoms[a] in FRAGMENTS:
            inner = FRAGMENTS[atoms[a]].GetAtomWithIdx(0).GetDegree()
            faults += atom.GetDegree() - inner not in BOND_COUNTS[atoms[a]]
    return faults


def _piece_faults(molecule: Chem.Mol) -> float:
    """Returns the faults of several pieces beside each other.

    The pieces of a salt have charges that add up to 0, or are an acid and a base. A piece that fits nothing is probably
    a caption, or half of a molecule with an undetected bond.
    """
    pieces = sorted(Chem.GetMolFrags(molecule, asMols=True, sanitizeFrags=False), key=Chem.Mol.GetNumAtoms)[:-1]
    acid, base = molecule.HasSubstructMatch(_ACID), molecule.HasSubstructMatch(_BASE)
    unrelated = 0
    for piece in pieces:
        related = (
            (acid and piece.HasSubstructMatch(_BASE))
            or (base and piece.HasSubstructMatch(_ACID))
            or piece.HasSubstructMatch(_WATER)
        )
        unrelated += not related and Chem.GetFormalCharge(piece) == 0
    return UNBALANCED * (Chem.GetFormalCharge(molecule) != 0) + UNRELATED * min(unrelated, 4)


def connected_pieces(count: int, bonds: np.ndarray, dropped: set[int]) -> list[list[int]]:
    """Returns the connected sets of atoms, the largest first."""
    parent = list(range(count))

    def root(a: int) -> int:
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        return a

    for a, b in bonds.tolist():
        if a not in dropped and b not in dropped:
            parent[root(a)] = root(b)
    pieces: dict[int, list[int]] = {}
    for a in range(count):
        if a not in dropped:
            pieces.setdefault(root(a), []).append(a)
    return sorted(pieces.values(), key=len, reverse=True)


def assemble(
    points: np.ndarray, atoms: np.ndarray, pairs: np.ndarray, kinds: np.ndarray, dropped: set[int]
) -> tuple[Chem.RWMol, list[int]]:
    """Returns the molecule as drawn, unchecked, and the detected atoms it keeps.

    Its atoms are the kept ones in order, then the further atoms of groups. It has charges, wedges and a conformer (y
    up).
    """
    molecule = Chem.RWMol()
    kept = [a for a in range(len(atoms)) if a not in dropped]
    index = {a: i for i, a in enumerate(kept)}
    positions = []
    for a in kept:
        molecule.AddAtom(_atom(atoms[a]))
        positions.append((float(points[a, 0]), float(-points[a, 1])))
    for (a, b), kind in zip(pairs.tolist(), kinds.tolist()):
        if kind == NONE or a in dropped or b in dropped:
            continue
        begin, end = (b, a) if kind in (WEDGE_BACK, DASH_BACK) else (a, b)
        bond = molecule.GetBondWithIdx(molecule.AddBond(index[begin], index[end], _BOND_TYPES[kind]) - 1)
        _decorate(bond, kind, [atoms[begin], atoms[end]])
    for a in kept:
        if atoms[a] in FRAGMENTS:
            _expand(molecule, index[a], FRAGMENTS[atoms[a]], positions)
    conformer = Chem.Conformer(molecule.GetNumAtoms())
    for number, (x, y) in enumerate(positions):
        conformer.SetAtomPosition(number, Point3D(x, y, 0.0))
    molecule.AddConformer(conformer, assignId=True)
    return molecule, kept


def _atom(label: int) -> Chem.Atom:
    number, charge, _, isotope = ATOMS[label]
    atom = Chem.Atom(number)
    atom.SetFormalCharge(charge)
    atom.SetIsotope(isotope)
    if label in FRAGMENTS:
        first = FRAGMENTS[label].GetAtomWithIdx(0)
        atom.SetAtomicNum(first.GetAtomicNum())
        atom.SetFormalCharge(first.GetFormalCharge())
        atom.SetIsAromatic(first.GetIsAromatic())
    return atom


def _decorate(bond: Chem.Bond, kind: int, ends: list[int]) -> None:
    """Sets the wedge or the aromaticity of a kind of bond between two labels."""
    if kind in (WEDGE, WEDGE_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINWEDGE)
    elif kind in (DASH, DASH_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINDASH)
    elif kind == WAVY:
        bond.SetBondDir(Chem.BondDir.UNKNOWN)
    elif kind == AROMATIC:
        bond.SetIsAromatic(True)
        for atom, label in zip((bond.GetBeginAtom(), bond.GetEndAtom()), ends, strict=True):
            number, _, written_hydrogens, _ = ATOMS[label]
            atom.SetIsAromatic(True)
            if written_hydrogens and number != 6:
                atom.SetNumExplicitHs(written_hydrogens)


def _expand(molecule: Chem.RWMol, at: int, fragment: Chem.Mol, positions: list[tuple[float, float]]) -> None:
    """Adds a group's further atoms to its first one, each a little farther from the neighbour that the group hangs
    on."""
    x, y = positions[at]
    neighbours = molecule.GetAtomWithIdx(at).GetNeighbors()
    back = positions[neighbours[0].GetIdx()] if neighbours else (x - 1, y)
    index = {0: at}
    for atom in list(fragment.GetAtoms())[1:]:
        index[atom.GetIdx()] = molecule.AddAtom(atom)
        step = 0.1 * len(index)
        positions.append((x + step * (x - back[0]), y + step * (y - back[1]) + step))
    for bond in fragment.GetBonds():
        molecule.AddBond(index[bond.GetBeginAtomIdx()], index[bond.GetEndAtomIdx()], bond.GetBondType())


def perceive_stereo(molecule: Chem.RWMol) -> Chem.Mol:
    """Returns the molecule with stereo from wedges and coordinates, and drawn hydrogens made implicit."""
    Chem.AssignChiralTypesFromBondDirs(molecule)
    for bond in molecule.GetBonds():
        bond.SetBondDir(Chem.BondDir.NONE)
    Chem.DetectBondStereochemistry(molecule)
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    out = Chem.RemoveHs(molecule)
    Chem.AssignStereochemistry(out, cleanIt=True, force=True)
    return out
