"""From atoms and lines seen, each with its probabilities, to the likeliest molecule that chemistry allows."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

from marks import APART, FRAGMENTS, LINES, MARKS, PARTS, STRANGE

RDLogger.DisableLog("rdApp.*")

ATOMS = MARKS
"""What can stand at an atom: see marks."""
NONE, SINGLE, DOUBLE, TRIPLE, WEDGE, WEDGE_BACK, DASH, DASH_BACK, AROMATIC, WAVY = range(10)
"""Kinds of line from one atom to another; the narrow end of a WEDGE is at the first atom, of a WEDGE_BACK at the second. AROMATIC is a
side of a ring with a circle or dashes in it; WAVY, or a crossed double line, says that the arrangement is not known."""
BACK = np.array([NONE, SINGLE, DOUBLE, TRIPLE, WEDGE_BACK, WEDGE, DASH_BACK, DASH, AROMATIC, WAVY])
"""The kind seen from the other end."""
LARGEST = 150
"""More atoms than this are no molecule that was drawn to be read."""
DEGREE = 6
"""More bonds at an atom are refused unseen."""
TRIES = 40
"""Molecules tried at most."""
CLEAR = 0.6
"""A piece beside the largest belongs to the drawing where each of its atoms is at least so probable: a salt, a solvent."""
UNBALANCED, UNRELATED = 0.5, 0.25
"""How much of a contradiction it is that the charges of several pieces do not add up to 0, and that one without a charge is neither water nor of a salt."""
_ACID = Chem.MolFromSmarts("[$([F,Cl,Br,I;D0;H1]),$([OX2;H1][C,S,P,$([N+])]=O)]")
_BASE = Chem.MolFromSmarts("[$([N;+0;!$(N#*);!$(N[C,S]=[O,S])]),$([nX2])]")
_WATER = Chem.MolFromSmarts("[O;D0;H2]")
_TYPES = (
    [None, Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE]
    + 4 * [Chem.BondType.SINGLE]
    + [Chem.BondType.AROMATIC, Chem.BondType.SINGLE]
)
_HARD = 4.0
"""What a contradiction (hydrogens that do not fit the bonds, pieces that do not fit each other) costs, as a negative log probability."""


@dataclass
class Seen:
    """What the networks saw."""

    points: np.ndarray
    """float [atoms, 2]: x, y in pixels, y down."""
    scores: np.ndarray
    """float [atoms]: probability that there is an atom."""
    atoms: np.ndarray
    """float [atoms, len(ATOMS)]: what it is."""
    pairs: np.ndarray
    """int [pairs, 2]: first < second."""
    kinds: np.ndarray
    """float [pairs, len(BACK)]: the line from the first to the second."""


@dataclass
class Built:
    """A molecule and how likely it is."""

    molecule: Chem.Mol
    smiles: str
    cost: float
    """Negative log probability of everything chosen, and penalties for contradictions."""
    changes: int
    """Choices that are not the likeliest."""
    faults: int
    """Contradictions left."""
    strange: int
    """Pieces that were left out: text beside the drawing."""
    unknown: int = 0
    """Letters that the reader does not know; the molecule has a carbon at their place."""
    pieces: int = 1
    """Pieces that are left: more than one where a salt or a solvent is drawn."""


def build(seen: Seen) -> Built | None:
    """The cheapest molecule among the likeliest TRIES readings; None where none is possible.

    Readings come in order of their probability: the likeliest of every atom and line first, then with one choice replaced by
    the next best, with two, and so on (best-first search over sets of replacements)."""
    if not 0 < len(seen.points) <= LARGEST:
        return None
    base, options = _options(seen)
    queue: list[tuple[float, tuple[int, ...]]] = [(base, ())]
    best: Built | None = None
    for _ in range(TRIES):
        if not queue or (best is not None and queue[0][0] >= best.cost):
            break
        cost, chosen = heapq.heappop(queue)
        built = _try(seen, [options[i] for i in chosen], cost)
        if built is not None and (best is None or built.cost < best.cost):
            best = built
        last = chosen[-1] if chosen else -1
        if last + 1 < len(options):  # Children: one more replacement, or the last one exchanged for the next.
            heapq.heappush(queue, (cost + options[last + 1][0], (*chosen, last + 1)))
            if chosen:
                heapq.heappush(queue, (cost - options[last][0] + options[last + 1][0], (*chosen[:-1], last + 1)))
    return best


def _options(seen: Seen) -> tuple[float, list[tuple[float, str, int, int]]]:
    """The cost of the likeliest reading, and replacements (extra cost, "atom" or "pair" or "drop", which, by what), cheapest first."""
    out: list[tuple[float, str, int, int]] = []
    total = -float(np.log(np.clip(seen.scores, 1e-6, 1)).sum())
    for what, rows in (("atom", seen.atoms), ("pair", seen.kinds)):
        logs = -np.log(np.clip(rows, 1e-6, 1))
        order = np.argsort(logs, 1)[:, :3]
        for row, ranked in enumerate(order):
            total += float(logs[row, ranked[0]])
            for other in ranked[1:]:
                extra = float(logs[row, other] - logs[row, ranked[0]])
                if extra < 9:
                    out.append((extra, what, row, int(other)))
    for row, score in enumerate(seen.scores):
        if score < 0.95:
            out.append((max(0.0, math.log(max(score, 1e-6) / max(1 - score, 1e-6))), "drop", row, 0))
    return total, sorted(out)[:24]


def _try(seen: Seen, changes: list[tuple[float, str, int, int]], cost: float) -> Built | None:
    """The molecule with those replacements, None where RDKit refuses it."""
    atoms, kinds = seen.atoms.argmax(1), seen.kinds.argmax(1) if len(seen.kinds) else np.zeros(0, int)
    dropped = set()
    for _, what, row, value in changes:
        if what == "atom":
            atoms[row] = value
        elif what == "pair":
            kinds[row] = value
        else:
            dropped.add(row)
    bonded = {int(a) for (a, b), k in zip(seen.pairs, kinds) if k for a in (a, b)}
    alone = {a for a in range(len(atoms)) if a not in bonded and a not in dropped}
    if len(alone) > 1 or bonded:  # A lone carbon is a speck, unless it is all there is.
        dropped |= {a for a in alone if atoms[a] not in APART}
    pieces = components(len(atoms), seen.pairs[kinds != NONE], dropped)
    left_out = [p for p in pieces[1:] if min(seen.scores[a] for a in p) < CLEAR or any(atoms[a] == STRANGE for a in p)]
    dropped |= {a for piece in left_out for a in piece}
    molecule, kept = assemble(seen.points, atoms, seen.pairs, kinds, dropped)
    if not molecule.GetNumAtoms() or max(a.GetDegree() for a in molecule.GetAtoms()) > DEGREE:
        return None
    try:
        Chem.SanitizeMol(molecule)
    except ValueError:
        return None
    count = len(pieces) - len(left_out)
    faults = (
        _contradictions(molecule, atoms, kept) + min(len(left_out), 2) + (_ill_matched(molecule) if count > 1 else 0)
    )
    unknown = sum(atoms[a] == STRANGE for a in kept)
    try:
        molecule = finish(molecule)
        smiles = Chem.MolToSmiles(molecule)
    except (ValueError, RuntimeError):
        return None
    return Built(molecule, smiles, cost + _HARD * faults, len(changes), faults, len(left_out), unknown, count)


def _contradictions(molecule: Chem.Mol, atoms: np.ndarray, kept: list[int]) -> float:
    """How many atoms have other hydrogens than are written, are radicals, are hydrogens with other than one line, or groups
    with other than theirs."""
    faults = 0
    for number, a in enumerate(kept):
        atom = molecule.GetAtomWithIdx(number)
        _, _, written, _ = PARTS[atoms[a]]
        faults += written is not None and atom.GetTotalNumHs(includeNeighbors=True) != written
        faults += atom.GetNumRadicalElectrons() > 0
        if ATOMS[atoms[a]] in ("H", "D"):
            faults += atom.GetDegree() != 1
        if atoms[a] in FRAGMENTS:
            faults += atom.GetDegree() - FRAGMENTS[atoms[a]].GetAtomWithIdx(0).GetDegree() not in LINES[atoms[a]]
    return faults


def _ill_matched(molecule: Chem.Mol) -> float:
    """How much of a contradiction several pieces are to each other. Salts have charges that add up to 0, or an acid and a base; what is
    read as a piece and fits nothing is likely to be a caption, or the other half of a molecule of which a line was not seen."""
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


def components(count: int, bonds: np.ndarray, dropped: set[int]) -> list[list[int]]:
    """Atoms that hang together, the largest piece first."""
    root = list(range(count))

    def top(a: int) -> int:
        while root[a] != a:
            root[a] = a = root[root[a]]
        return a

    for a, b in bonds.tolist():
        if a not in dropped and b not in dropped:
            root[top(a)] = top(b)
    pieces: dict[int, list[int]] = {}
    for a in range(count):
        if a not in dropped:
            pieces.setdefault(top(a), []).append(a)
    return sorted(pieces.values(), key=len, reverse=True)


def assemble(
    points: np.ndarray, atoms: np.ndarray, pairs: np.ndarray, kinds: np.ndarray, dropped: set[int]
) -> tuple[Chem.RWMol, list[int]]:
    """The molecule as drawn, before any check: atoms with charges, bonds with wedges, a conformer (y up). And which were kept; the
    other atoms of groups come after these."""
    molecule, kept = Chem.RWMol(), [a for a in range(len(atoms)) if a not in dropped]
    place = {a: i for i, a in enumerate(kept)}
    positions = []
    for a in kept:
        molecule.AddAtom(_atom(atoms[a]))
        positions.append((float(points[a, 0]), float(-points[a, 1])))
    for (a, b), kind in zip(pairs.tolist(), kinds.tolist()):
        if kind == NONE or a in dropped or b in dropped:
            continue
        begin, end = (b, a) if kind in (WEDGE_BACK, DASH_BACK) else (a, b)
        bond = molecule.GetBondWithIdx(molecule.AddBond(place[begin], place[end], _TYPES[kind]) - 1)
        _mark(bond, kind, [atoms[begin], atoms[end]])
    for a in kept:
        if atoms[a] in FRAGMENTS:
            _expand(molecule, place[a], FRAGMENTS[atoms[a]], positions)
    conformer = Chem.Conformer(molecule.GetNumAtoms())
    for number, (x, y) in enumerate(positions):
        conformer.SetAtomPosition(number, Point3D(x, y, 0.0))
    molecule.AddConformer(conformer, assignId=True)
    return molecule, kept


def _atom(mark: int) -> Chem.Atom:
    number, charge, _, isotope = PARTS[mark]
    atom = Chem.Atom(number)
    atom.SetFormalCharge(charge)
    atom.SetIsotope(isotope)
    if mark in FRAGMENTS:
        first = FRAGMENTS[mark].GetAtomWithIdx(0)
        atom.SetAtomicNum(first.GetAtomicNum())
        atom.SetFormalCharge(first.GetFormalCharge())
        atom.SetIsAromatic(first.GetIsAromatic())
    return atom


def _mark(bond: Chem.Bond, kind: int, ends: list[int]) -> None:
    """What a kind of line says beside the order of the bond."""
    if kind in (WEDGE, WEDGE_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINWEDGE)
    elif kind in (DASH, DASH_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINDASH)
    elif kind == WAVY:
        bond.SetBondDir(Chem.BondDir.UNKNOWN)
    elif kind == AROMATIC:
        bond.SetIsAromatic(True)
        for atom, mark in zip((bond.GetBeginAtom(), bond.GetEndAtom()), ends, strict=True):
            atom.SetIsAromatic(True)
            if PARTS[mark][2] and PARTS[mark][0] != 6:
                atom.SetNumExplicitHs(PARTS[mark][2])


def _expand(molecule: Chem.RWMol, at: int, fragment: Chem.Mol, positions: list[tuple[float, float]]) -> None:
    """Adds the atoms of a group after its first, which is there, a little beyond it as seen from its neighbour."""
    x, y = positions[at]
    neighbours = molecule.GetAtomWithIdx(at).GetNeighbors()
    back = positions[neighbours[0].GetIdx()] if neighbours else (x - 1, y)
    there = {0: at}
    for atom in list(fragment.GetAtoms())[1:]:
        there[atom.GetIdx()] = molecule.AddAtom(atom)
        step = 0.1 * len(there)
        positions.append((x + step * (x - back[0]), y + step * (y - back[1]) + step))
    for bond in fragment.GetBonds():
        molecule.AddBond(there[bond.GetBeginAtomIdx()], there[bond.GetEndAtomIdx()], bond.GetBondType())


def finish(molecule: Chem.RWMol) -> Chem.Mol:
    """Stereo from wedges and coordinates; hydrogens that were drawn become implicit."""
    Chem.AssignChiralTypesFromBondDirs(molecule)
    for bond in molecule.GetBonds():
        bond.SetBondDir(Chem.BondDir.NONE)
    Chem.DetectBondStereochemistry(molecule)
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    out = Chem.RemoveHs(molecule)
    Chem.AssignStereochemistry(out, cleanIt=True, force=True)
    return out
