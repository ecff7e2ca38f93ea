"""From atoms and lines seen, each with its probabilities, to the likeliest molecule that chemistry allows."""

from __future__ import annotations

import heapq
import math
import re
from dataclasses import dataclass

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

RDLogger.DisableLog("rdApp.*")

ATOMS = ("C", "O", "N", "NH", "S", "F", "Cl", "NH+", "OH", "O-", "NH2", "NH2+", "N+", "Br", "NH3+", "N-", "I", "S-", "SH", "P", "H")
"""What can stand at an atom: element, hydrogens and charge as they are written."""
NONE, SINGLE, DOUBLE, TRIPLE, WEDGE, WEDGE_BACK, DASH, DASH_BACK = range(8)
"""Kinds of line from one atom to another; the narrow end of a WEDGE is at the first atom, of a WEDGE_BACK at the second."""
BACK = np.array([NONE, SINGLE, DOUBLE, TRIPLE, WEDGE_BACK, WEDGE, DASH_BACK, DASH])
"""The kind seen from the other end."""
LARGEST = 150
"""More atoms than this are no molecule that was drawn to be read."""
DEGREE = 6
"""More bonds at an atom are refused unseen."""
TRIES = 40
"""Molecules tried at most."""
_PARTS = [re.fullmatch(r"([A-Z][a-z]?)(H(\d?))?([+-]?)", name) for name in ATOMS]
ELEMENTS = [Chem.GetPeriodicTable().GetAtomicNumber(m[1]) if m[1] != "H" else 1 for m in _PARTS]
CHARGES = [{"": 0, "+": 1, "-": -1}[m[4]] for m in _PARTS]
HYDROGENS = [None if name in ("C", "H") else (int(m[3] or 1) if m[2] else 0) for name, m in zip(ATOMS, _PARTS)]
"""Hydrogens written at an atom; None where they are not written."""
_TYPES = [None, Chem.BondType.SINGLE, Chem.BondType.DOUBLE, Chem.BondType.TRIPLE] + 4 * [Chem.BondType.SINGLE]
_HARD = 4.0
"""What a contradiction (hydrogens that do not fit the bonds, a second piece) costs, as a negative log probability."""


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
    """float [pairs, 8]: the line from the first to the second."""


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
    """Pieces beside the largest one, which were left out."""


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
    if len(seen.points) > 1:  # A lone carbon is a speck.
        dropped |= {a for a in range(len(atoms)) if a not in bonded and ATOMS[atoms[a]] in ("C", "H")}
    pieces = components(len(atoms), seen.pairs[kinds != NONE], dropped)
    strange = len(pieces) - 1   # Text beside the drawing, or a bond overlooked.
    dropped |= {a for piece in pieces[1:] for a in piece}
    molecule, kept = assemble(seen.points, atoms, seen.pairs, kinds, dropped)
    if not molecule.GetNumAtoms() or max(a.GetDegree() for a in molecule.GetAtoms()) > DEGREE:
        return None
    try:
        Chem.SanitizeMol(molecule)
    except ValueError:
        return None
    hydrogens = [a.GetTotalNumHs(includeNeighbors=True) for a in molecule.GetAtoms()]
    faults = sum(HYDROGENS[atoms[a]] is not None and hydrogens[i] != HYDROGENS[atoms[a]] for i, a in enumerate(kept))
    faults += sum(a.GetNumRadicalElectrons() > 0 for a in molecule.GetAtoms())
    faults += sum(ATOMS[atoms[a]] == "H" and molecule.GetAtomWithIdx(i).GetDegree() != 1 for i, a in enumerate(kept))
    faults += min(strange, 2)
    try:
        molecule = finish(molecule)
        smiles = Chem.MolToSmiles(molecule)
    except (ValueError, RuntimeError):
        return None
    return Built(molecule, smiles, cost + _HARD * faults, len(changes), faults, strange)


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


def assemble(points: np.ndarray, atoms: np.ndarray, pairs: np.ndarray, kinds: np.ndarray, dropped: set[int]) -> tuple[Chem.RWMol, list[int]]:
    """The molecule as drawn, before any check: atoms with charges, bonds with wedges, a conformer (y up). And which were kept."""
    molecule, kept = Chem.RWMol(), [a for a in range(len(atoms)) if a not in dropped]
    place = {a: i for i, a in enumerate(kept)}
    conformer = Chem.Conformer(len(kept))
    for a in kept:
        atom = Chem.Atom(ELEMENTS[atoms[a]])
        atom.SetFormalCharge(CHARGES[atoms[a]])
        conformer.SetAtomPosition(molecule.AddAtom(atom), Point3D(float(points[a, 0]), float(-points[a, 1]), 0.0))
    for (a, b), kind in zip(pairs.tolist(), kinds.tolist()):
        if kind == NONE or a in dropped or b in dropped:
            continue
        begin, end = (b, a) if kind in (WEDGE_BACK, DASH_BACK) else (a, b)
        count = molecule.AddBond(place[begin], place[end], _TYPES[kind])
        if kind >= WEDGE:
            direction = Chem.BondDir.BEGINWEDGE if kind in (WEDGE, WEDGE_BACK) else Chem.BondDir.BEGINDASH
            molecule.GetBondWithIdx(count - 1).SetBondDir(direction)
    molecule.AddConformer(conformer, assignId=True)
    return molecule, kept


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
