"""Builds the likeliest valid molecule from detected atoms and bonds with their probabilities.

Terms:
candidate    a molecule that one combination of labels and kinds of bonds makes
replacement  a choice other than the likeliest: another label or kind, or an atom that is dropped
fault        a contradiction in the molecule, such as hydrogens that do not fit the bonds; some count half or a quarter
piece        a connected part of the drawing: a salt has two; a caption that was read as atoms is one, to be dropped
class        an index into labels.ATOM_LABELS
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

from . import markush
from .detection import MAX_ATOMS, Detections
from .labels import (
    AROMATIC,
    ATOM_LABELS,
    ATOMS,
    BOND_COUNTS,
    CLASSES,
    CROSSED,
    DASH,
    DASH_BACK,
    FRAGMENTS,
    IN_GROUP,
    NONE,
    REPEAT_COUNT_CLASSES,
    STAR,
    UNBONDED_OK,
    UNKNOWN_CLASS,
    WAVY,
    WEDGE,
    WEDGE_BACK,
)
from .placeholders import LABEL, clear_isotopes, label_of, set_isotopes, smiles_of

RDLogger.DisableLog("rdApp.*")

MAX_DEGREE = 6
"""The most bonds of an atom."""
MAX_TRIES = 40
"""The most combinations of replacements that are tried."""
MAX_REPLACEMENTS = 24
"""The most replacements that are combined: the cheapest ones."""
MAX_EXTRA_COST = 9.0
"""The extra cost from which a replacement is not considered."""
MIN_DROP_SCORE = 0.95
"""The score from which an atom is never dropped."""
MIN_PIECE_SCORE = 0.6
"""The least score of an atom in a piece other than the largest; a piece with a lower one is dropped as a caption."""
FAULT_COST = 4.0
"""The cost of a fault, as a negative log probability."""
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
    + [Chem.BondType.AROMATIC, Chem.BondType.SINGLE, Chem.BondType.SINGLE]
)


@dataclass
class Candidate:
    """A molecule and how likely it is. All but the cost are counts."""

    molecule: Chem.Mol
    """With a conformer in pixels of the scaled ink, y up."""
    smiles: str
    cost: float
    """Negative log probability of all choices, plus FAULT_COST for each fault."""
    replacements: int
    faults: float
    dropped_pieces: int
    """Pieces dropped as captions."""
    unknown_labels: int = 0
    """Atoms with UNKNOWN_LABEL; the molecule has a carbon in their place."""
    pieces: int = 1
    """Pieces in the molecule: more than one for a salt or a solvate."""


class Replacement(NamedTuple):
    """A choice other than the likeliest for one atom or pair."""

    extra_cost: float
    target: Literal["atom", "pair", "drop"]
    """What is replaced: the class of an atom, the kind of a pair, or the atom by nothing."""
    row: int
    """The atom or the pair."""
    value: int
    """The class or the kind."""


def build(detections: Detections) -> Candidate | None:
    """Returns the cheapest of the candidates that the MAX_TRIES likeliest combinations make, None if there is none.

    A best-first search over sets of replacements, in order of their cost, from the empty set on.
    """
    if not 0 < len(detections.points) <= MAX_ATOMS:
        return None
    base, options = _replacements(detections)
    queue: list[tuple[float, tuple[int, ...]]] = [(base, ())]
    best: Candidate | None = None
    for _ in range(MAX_TRIES):
        if not queue or (best is not None and queue[0][0] >= best.cost):
            break
        cost, chosen = heapq.heappop(queue)
        candidate = _build_with(detections, [options[i] for i in chosen], cost)
        if candidate is not None and (best is None or candidate.cost < best.cost):
            best = candidate
        last = chosen[-1] if chosen else -1
        if last + 1 < len(options):  # The successors: one more replacement, or the next one instead of the last.
            following = options[last + 1].extra_cost
            heapq.heappush(queue, (cost + following, (*chosen, last + 1)))
            if chosen:
                heapq.heappush(queue, (cost - options[last].extra_cost + following, (*chosen[:-1], last + 1)))
    return best


def _replacements(detections: Detections) -> tuple[float, list[Replacement]]:
    """Returns the cost of the likeliest choices, and the cheapest replacements in order of their extra cost."""
    out: list[Replacement] = []
    base = -float(np.log(np.clip(detections.scores, 1e-6, 1)).sum())
    choices: tuple[tuple[Literal["atom", "pair"], np.ndarray], ...] = (
        ("atom", detections.label_probabilities),
        ("pair", detections.kind_probabilities),
    )
    for target, probabilities in choices:
        likely = np.flatnonzero(probabilities.max(0, initial=0) > 1e-6)  # Most labels are in no drawing.
        costs = -np.log(np.clip(probabilities[:, likely], 1e-6, 1))
        for row, ranked in enumerate(np.argsort(costs, 1)[:, :3]):
            base += float(costs[row, ranked[0]])
            for other in ranked[1:]:
                extra = float(costs[row, other] - costs[row, ranked[0]])
                if extra < MAX_EXTRA_COST:
                    out.append(Replacement(extra, target, row, int(likely[other])))
    for row, score in enumerate(detections.scores):
        if score < MIN_DROP_SCORE:
            extra = max(0.0, math.log(max(score, 1e-6) / max(1 - score, 1e-6)))
            out.append(Replacement(extra, "drop", row, 0))
    return base, sorted(out)[:MAX_REPLACEMENTS]


def _build_with(detections: Detections, replacements: list[Replacement], cost: float) -> Candidate | None:
    """Returns the candidate with these replacements, whose cost without faults is given; None if RDKit refuses it."""
    classes = detections.label_probabilities.argmax(1)
    kinds = detections.kind_probabilities.argmax(1) if len(detections.kind_probabilities) else np.zeros(0, int)
    dropped: set[int] = set()
    for _, target, row, value in replacements:
        if target == "atom":
            classes[row] = value
        elif target == "pair":
            kinds[row] = value
        else:
            dropped.add(row)
    bonded = {int(a) for pair, kind in zip(detections.pairs, kinds) if kind for a in pair}
    alone = {a for a in range(len(classes)) if a not in bonded and a not in dropped}
    count_atoms = [a for a in alone if classes[a] in REPEAT_COUNT_CLASSES]
    if len(alone) > 1 or bonded:  # A single atom without bonds may be methane; beside others it is a speck.
        dropped |= {a for a in alone if classes[a] not in UNBONDED_OK}
    rings = markush.inner_ends(detections.points, classes, detections.pairs, kinds, dropped)
    classes[list(rings)] = CLASSES[STAR]
    attached = [(a, ring[0]) for a, ring in rings.items()]
    bonds = np.concatenate([detections.pairs[kinds != NONE], np.array(attached, int).reshape(-1, 2)])
    pieces = connected_pieces(len(classes), bonds, dropped)
    captions = [
        piece
        for piece in pieces[1:]
        if min(detections.scores[a] for a in piece) < MIN_PIECE_SCORE or any(classes[a] == UNKNOWN_CLASS for a in piece)
    ]
    dropped |= {a for piece in captions for a in piece}
    molecule, kept = assemble(detections.points, classes, detections.pairs, kinds, dropped)
    if not molecule.GetNumAtoms() or max(a.GetDegree() for a in molecule.GetAtoms()) > MAX_DEGREE:
        return None
    try:
        Chem.SanitizeMol(molecule)
    except ValueError:
        return None
    piece_count = len(pieces) - len(captions)
    faults = _atom_faults(molecule, classes, kept) + min(len(captions), 2)
    if piece_count > 1:
        faults += _piece_faults(molecule, [(kept.index(a), kept.index(b)) for a, b in attached if a in kept])
    markush.mark_atoms(molecule, kept, rings)
    counts = [markush.RepeatCount(ATOM_LABELS[classes[a]], detections.points[a] * [1, -1]) for a in count_atoms]
    markush.open_ends(molecule, counts)
    unknown_labels = sum(classes[a] == UNKNOWN_CLASS for a in kept)
    try:
        set_isotopes(molecule)
        molecule = perceive_stereo(molecule)
        molecule, more_faults = markush.add_features(molecule, counts)
        faults += more_faults
        smiles = smiles_of(molecule)
    except (ValueError, RuntimeError):
        return None
    clear_isotopes(molecule)
    cost += FAULT_COST * faults
    return Candidate(molecule, smiles, cost, len(replacements), faults, len(captions), unknown_labels, piece_count)


def _atom_faults(molecule: Chem.Mol, classes: np.ndarray, kept: list[int]) -> float:
    """Counts atoms with other hydrogens than in their label, radicals, hydrogens without exactly one bond, and groups
    with a number of bonds that BOND_COUNTS does not allow."""
    faults = 0
    for number, a in enumerate(kept):
        atom = molecule.GetAtomWithIdx(number)
        label_class = classes[a]
        hydrogens = ATOMS[label_class].hydrogens
        counts = (atom.GetTotalNumHs(), atom.GetTotalNumHs(includeNeighbors=True))  # Without and with drawn hydrogens.
        faults += hydrogens is not None and hydrogens not in counts
        faults += atom.GetNumRadicalElectrons() > 0
        if ATOM_LABELS[label_class] in ("H", "D"):
            faults += atom.GetDegree() != 1
        faults += label_class in REPEAT_COUNT_CLASSES  # A count has no bond.
        if label_class in FRAGMENTS:
            bonds_in_group = FRAGMENTS[label_class].GetAtomWithIdx(0).GetDegree()
            faults += atom.GetDegree() - bonds_in_group not in BOND_COUNTS[label_class]
    return faults


def _piece_faults(molecule: Chem.Mol, attached: list[tuple[int, int]]) -> float:
    """Returns the faults of several pieces in one molecule. attached: pairs of atoms whose pieces belong
    together.

    The charges of a salt's pieces add up to 0, or the pieces are an acid and a base. Any other piece is probably a
    caption, or half of a molecule with an undetected bond.
    """
    joined = Chem.RWMol(molecule)
    for pair in attached:
        joined.AddBond(*pair, Chem.BondType.ZERO)
    pieces = sorted(Chem.GetMolFrags(joined, asMols=True, sanitizeFrags=False), key=Chem.Mol.GetNumAtoms)[:-1]
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


def are_acid_and_base(a: Chem.Mol, b: Chem.Mol) -> bool:
    """Reports whether one molecule is an acid and the other a base."""
    return any(x.HasSubstructMatch(_ACID) and y.HasSubstructMatch(_BASE) for x, y in ((a, b), (b, a)))


def connected_pieces(count: int, bonds: np.ndarray, dropped: set[int]) -> list[list[int]]:
    """Returns the connected sets of the atoms that are not dropped, the largest first."""
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
    points: np.ndarray, classes: np.ndarray, pairs: np.ndarray, kinds: np.ndarray, dropped: set[int]
) -> tuple[Chem.RWMol, list[int]]:
    """Returns the molecule as drawn, not sanitized, and the detected atoms in it.

    Its atoms are the detected ones in order, then the further atoms of groups. It has charges, wedges and a conformer
    (y up).
    """
    molecule = Chem.RWMol()
    kept = [a for a in range(len(classes)) if a not in dropped]
    index = {a: i for i, a in enumerate(kept)}
    positions = []
    for a in kept:
        molecule.AddAtom(_atom(classes[a]))
        positions.append((float(points[a, 0]), float(-points[a, 1])))
    for (a, b), kind in zip(pairs.tolist(), kinds.tolist()):
        if kind == NONE or a in dropped or b in dropped:
            continue
        begin, end = (b, a) if kind in (WEDGE_BACK, DASH_BACK) else (a, b)
        bond = molecule.GetBondWithIdx(molecule.AddBond(index[begin], index[end], _BOND_TYPES[kind]) - 1)
        _set_stereo_or_aromatic(bond, kind, [classes[begin], classes[end]])
        if kind == CROSSED:
            bond.SetBoolProp(markush.CROSSING, True)
    for a in kept:
        if classes[a] in FRAGMENTS:
            _expand_group(molecule, index[a], FRAGMENTS[classes[a]], positions)
    conformer = Chem.Conformer(molecule.GetNumAtoms())
    for number, (x, y) in enumerate(positions):
        conformer.SetAtomPosition(number, Point3D(x, y, 0.0))
    molecule.AddConformer(conformer, assignId=True)
    return molecule, kept


def _atom(label_class: int) -> Chem.Atom:
    labelled = ATOMS[label_class]
    atom = Chem.Atom(labelled.number)
    atom.SetFormalCharge(labelled.charge)
    atom.SetIsotope(labelled.isotope)
    if label := label_of(ATOM_LABELS[label_class]) if not labelled.number else "":
        atom.SetProp(LABEL, label)
    if label_class in FRAGMENTS:
        first = FRAGMENTS[label_class].GetAtomWithIdx(0)
        atom.SetAtomicNum(first.GetAtomicNum())
        atom.SetFormalCharge(first.GetFormalCharge())
        atom.SetIsAromatic(first.GetIsAromatic())
    return atom


def _set_stereo_or_aromatic(bond: Chem.Bond, kind: int, ends: list[int]) -> None:
    """Sets what a kind of bond says beside its order: a wedge, or aromaticity. ends: the classes of both atoms."""
    if kind in (WEDGE, WEDGE_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINWEDGE)
    elif kind in (DASH, DASH_BACK):
        bond.SetBondDir(Chem.BondDir.BEGINDASH)
    elif kind == WAVY:
        bond.SetBondDir(Chem.BondDir.UNKNOWN)
    elif kind == AROMATIC:
        bond.SetIsAromatic(True)
        for atom, label_class in zip((bond.GetBeginAtom(), bond.GetEndAtom()), ends, strict=True):
            labelled = ATOMS[label_class]
            atom.SetIsAromatic(True)
            if labelled.hydrogens and labelled.number != 6:
                atom.SetNumExplicitHs(labelled.hydrogens)


def _expand_group(molecule: Chem.RWMol, at: int, fragment: Chem.Mol, positions: list[tuple[float, float]]) -> None:
    """Adds the further atoms of a group to its first one, each a little farther from the atom that the group is bonded
    to."""
    x, y = positions[at]
    neighbours = molecule.GetAtomWithIdx(at).GetNeighbors()
    attachment = positions[neighbours[0].GetIdx()] if neighbours else (x - 1, y)
    index = {0: at}
    for atom in list(fragment.GetAtoms())[1:]:
        index[atom.GetIdx()] = molecule.AddAtom(atom)
        molecule.GetAtomWithIdx(index[atom.GetIdx()]).SetBoolProp(IN_GROUP, True)
        step = 0.1 * len(index)
        positions.append((x + step * (x - attachment[0]), y + step * (y - attachment[1]) + step))
    for bond in fragment.GetBonds():
        molecule.AddBond(index[bond.GetBeginAtomIdx()], index[bond.GetEndAtomIdx()], bond.GetBondType())


def perceive_stereo(molecule: Chem.RWMol) -> Chem.Mol:
    """Returns the molecule with stereo from wedges and coordinates, and drawn hydrogens made implicit."""
    Chem.AssignChiralTypesFromBondDirs(molecule)
    for bond in molecule.GetBonds():
        if bond.GetBondDir() != Chem.BondDir.UNKNOWN:
            bond.SetBondDir(Chem.BondDir.NONE)
    Chem.DetectBondStereochemistry(molecule)  # A double bond beside a wavy one is neither E nor Z.
    for bond in molecule.GetBonds():
        if bond.GetBondDir() == Chem.BondDir.UNKNOWN:
            bond.SetBondDir(Chem.BondDir.NONE)
    Chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    out = Chem.RemoveHs(molecule)
    Chem.AssignStereochemistry(out, cleanIt=True, force=True)
    return out
