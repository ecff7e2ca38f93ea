"""Variable attachments (CXSMILES m:, CTfile ENDPTS) and structural repeating units (CXSMILES Sg:n:, CTfile SRU).

variable attachment   a bond that crosses a side of a ring and ends inside it: the substituent may be at any atom of the
                      ring with a hydrogen. RDKit stores it as a bond from a dummy, the inner end, with the property
                      ENDPOINTS.
repeat unit           a part of a chain in brackets, with a count such as n. RDKit stores it as an S-group of type SRU.
                      A unit with a number is expanded, unless it has stereochemistry, is beside another unit or an
                      attachment, or makes a molecule of more than MAX_EXPANDED_ATOMS atoms.
crossing bond         a bond that a bracket crosses
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from rdkit import Chem
from rdkit.Geometry import Point3D

from .labels import CLASSES, DASH, DASH_BACK, NONE, SINGLE, WAVY, WEDGE, WEDGE_BACK

ENDPOINTS = "_MolFileBondEndPts"
"""RDKit's property of a variable attachment's bond: the atoms that it may end at, numbered from 1."""
ATTACH = "_MolFileBondAttach"
"""RDKit's property of the same bond: ANY means one of the endpoints."""
DETECTED_ATOM, RING_ATOMS, CROSSING = "detectedAtom", "ringAtoms", "crossing"
"""Temporary properties. Of an atom: its number among the detected atoms. Of an inner end: the detected atoms of its
ring. Of a bond: it is a crossing bond."""
COPY = "copy"
"""The property of an atom in a further copy of an expanded unit; the drawing has no place for it."""
RING_SIZES = range(5, 8)
"""Sizes of the rings that may have a variable attachment."""
MAX_RING_DISTANCE = 1.75
"""The longest distance of an inner end to an atom of its ring, in bond lengths."""
MAX_COUNT_DISTANCE = 2.5
"""The longest distance of a count to the middle of the crossing bond, in bond lengths."""
MAX_EXPANDED_ATOMS = 150
MAX_CROSSING_BONDS, MAX_COUNTS = 6, 4
"""The most crossing bonds and counts that are matched: the pairs of bonds are tried for each count."""
FAULT = 1.0
"""The fault of an unpaired bracket, of brackets without a count, and of a variable attachment whose ring has no
hydrogen or whose bond has two inner ends."""
SINGLE_BONDS = (SINGLE, WEDGE, WEDGE_BACK, DASH, DASH_BACK, WAVY)
"""The kinds of bonds that may be a variable attachment."""
_CARBON = CLASSES["C"]


@dataclass
class RepeatCount:
    """A repeat count in a drawing."""

    text: str
    point: np.ndarray
    """x, y in pixels of the scaled ink, y up."""


def inner_ends(
    points: np.ndarray, classes: np.ndarray, pairs: np.ndarray, kinds: np.ndarray, dropped: set[int]
) -> dict[int, list[int]]:
    """Returns the inner ends of variable attachments, and the atoms of their rings.

    An inner end is detected as a methyl group inside a ring that no bonds connect it to.

    points: float [atoms, 2], y down; classes: int [atoms]; pairs: int [pairs, 2]; kinds: int [pairs]; dropped: atoms to
    ignore.
    """
    kept = np.ones(len(points), bool)
    kept[list(dropped)] = False
    is_bond = (kinds != NONE) & kept[pairs].all(1)
    bonds = pairs[is_bond]
    degree = np.bincount(bonds.ravel(), minlength=len(points))
    ends = bonds[np.isin(kinds[is_bond], SINGLE_BONDS)]
    methyls = np.unique(ends[(degree[ends] == 1) & (classes[ends] == _CARBON)])
    if not len(methyls):
        return {}
    reach = MAX_RING_DISTANCE * float(np.median(np.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1)))
    near = np.linalg.norm(points[methyls][:, None] - points, axis=2) < reach
    crowded = np.count_nonzero(near, axis=1) > min(RING_SIZES)
    if not crowded.any():
        return {}
    molecule = Chem.RWMol()
    for _ in points:
        molecule.AddAtom(Chem.Atom(6))
    for first, second in bonds.tolist():
        molecule.AddBond(first, second, Chem.BondType.SINGLE)
    rings = [list(ring) for ring in Chem.GetSSSR(molecule) if len(ring) in RING_SIZES]
    piece_of = {a: number for number, piece in enumerate(Chem.GetMolFrags(molecule)) for a in piece}
    return {
        a: ring
        for a, is_near in zip(methyls[crowded].tolist(), near[crowded], strict=True)
        for ring in rings
        if piece_of[a] != piece_of[ring[0]] and is_near[ring].all() and _is_inside(points[a], points[ring])
    }


def _is_inside(point: np.ndarray, corners: np.ndarray) -> bool:
    """Reports whether a point is inside a polygon: whether a ray from it crosses an odd number of sides."""
    begin, end = corners - point, np.roll(corners, -1, 0) - point
    crosses = (begin[:, 1] > 0) != (end[:, 1] > 0)
    begin, end = begin[crosses], end[crosses]
    x = begin[:, 0] - begin[:, 1] * (end[:, 0] - begin[:, 0]) / (end[:, 1] - begin[:, 1])
    return bool(np.count_nonzero(x > 0) % 2)


def mark_atoms(molecule: Chem.RWMol, kept: Sequence[int], rings: dict[int, list[int]]) -> None:
    """Sets DETECTED_ATOM and RING_ATOMS. kept: the detected atom of each of the molecule's first atoms; rings: the
    result of inner_ends."""
    for number, a in enumerate(kept):
        atom = molecule.GetAtomWithIdx(number)
        atom.SetIntProp(DETECTED_ATOM, a)
        if a in rings:
            atom.SetProp(RING_ATOMS, " ".join(map(str, rings[a])))


def add_features(molecule: Chem.Mol, counts: list[RepeatCount]) -> tuple[Chem.Mol, float]:
    """Adds the variable attachments and the repeat units that the temporary properties mark. Returns the molecule
    without these properties, and its faults."""
    faults = sum(_attach(molecule, atom) for atom in molecule.GetAtoms() if atom.HasProp(RING_ATOMS))
    if crossing_bonds(molecule):
        molecule, unmatched = _add_units(Chem.RWMol(molecule), counts)
        faults += unmatched
    for atom in molecule.GetAtoms():
        atom.ClearProp(DETECTED_ATOM)
        atom.ClearProp(RING_ATOMS)
    for bond in molecule.GetBonds():
        bond.ClearProp(CROSSING)
    return molecule, faults


def _attach(molecule: Chem.Mol, end: Chem.Atom) -> float:
    """Sets the endpoints of a variable attachment: the atoms of the ring with a hydrogen, or all if none has one.
    Returns its fault: none has one, or the bond has two inner ends."""
    ring = set(end.GetProp(RING_ATOMS).split())
    atoms = [
        atom
        for atom in molecule.GetAtoms()
        if atom.HasProp(DETECTED_ATOM) and str(atom.GetIntProp(DETECTED_ATOM)) in ring
    ]
    with_hydrogen = [atom for atom in atoms if atom.GetTotalNumHs()]
    bond = end.GetBonds()[0]
    if bond.HasProp(ENDPOINTS):
        return FAULT
    set_endpoints(bond, [atom.GetIdx() for atom in with_hydrogen or atoms])
    return 0.0 if with_hydrogen else FAULT


def set_endpoints(bond: Chem.Bond, atoms: Sequence[int]) -> None:
    """Makes the bond of a dummy a variable attachment to one of the atoms."""
    bond.SetProp(ENDPOINTS, f"({len(atoms)} {' '.join(str(atom + 1) for atom in atoms)})")
    bond.SetProp(ATTACH, "ANY")


def add_repeat_unit(molecule: Chem.Mol, atoms: Sequence[int], bonds: Sequence[int], count: str) -> None:
    """Makes atoms a repeat unit, head to tail. bonds: its crossing bonds."""
    group = Chem.CreateMolSubstanceGroup(molecule, "SRU")
    group.SetAtoms(atoms)
    group.SetBonds(bonds)
    group.SetProp("LABEL", count)
    group.SetProp("CONNECT", "HT")


def crossing_bonds(molecule: Chem.Mol) -> list[int]:
    return [bond.GetIdx() for bond in molecule.GetBonds() if bond.HasProp(CROSSING)]


@dataclass
class _Unit:
    """The part of a molecule between two crossing bonds."""

    bonds: tuple[int, int]
    atoms: frozenset[int]
    ends: tuple[tuple[int, int], tuple[int, int]]
    """The inner and the outer atom of each bond."""

    def fits(self, other: _Unit) -> bool:
        """Reports whether two units can be in one drawing: side by side, or one inside the other."""
        inside = self.atoms <= other.atoms or other.atoms <= self.atoms
        return not self.atoms & other.atoms or (inside and not {*self.bonds} & {*other.bonds})


def _units(molecule: Chem.Mol, bonds: list[int]) -> list[_Unit]:
    """Returns the parts between two of the bonds."""
    units = []
    for first, second in combinations(bonds, 2):
        ends = [_ends(molecule, bond) for bond in (first, second)]
        for piece in pieces_between(molecule, first, second):
            begin, end = (pair if pair[0] in piece else pair[::-1] for pair in ends)
            units.append(_Unit((first, second), piece, (begin, end)))
    return units


def pieces_between(molecule: Chem.Mol, first: int, second: int) -> list[frozenset[int]]:
    """Returns the atoms of each part of a molecule that is left by cutting two bonds and has one end of each."""
    ends = [_ends(molecule, bond) for bond in (first, second)]
    cut = Chem.RWMol(molecule)
    for pair in ends:
        cut.RemoveBond(*pair)
    pieces = map(frozenset, Chem.GetMolFrags(cut))
    return [piece for piece in pieces if all(len(piece & {*pair}) == 1 for pair in ends)]


def _ends(molecule: Chem.Mol, bond: int) -> tuple[int, int]:
    return molecule.GetBondWithIdx(bond).GetBeginAtomIdx(), molecule.GetBondWithIdx(bond).GetEndAtomIdx()


def _match(molecule: Chem.Mol, counts: list[RepeatCount]) -> list[tuple[_Unit, str]]:
    """Returns the units and counts of least cost in which every crossing bond belongs to a unit; [] if there are
    none."""
    bonds = crossing_bonds(molecule)
    if not bonds or len(bonds) > MAX_CROSSING_BONDS:
        return []
    positions = molecule.GetConformer().GetPositions()[:, :2]
    units = _units(molecule, bonds)
    costs = np.array([[_cost(positions, unit, count) for unit in units] for count in counts]).reshape(
        len(counts), len(units)
    )
    beside = np.flatnonzero(np.isfinite(costs).any(1)).tolist()
    if not 0 < len(beside) <= MAX_COUNTS:
        return []
    best: tuple[float, list[int]] = (np.inf, [])

    def extend(chosen: list[int], cost: float) -> None:
        """Gives the next count each unit that fits those of the counts before it."""
        nonlocal best
        if cost >= best[0]:
            return
        if len(chosen) == len(beside):
            if {bond for unit in chosen for bond in units[unit].bonds} == {*bonds}:
                best = cost, chosen
            return
        for unit, more in enumerate(costs[beside[len(chosen)]].tolist()):
            if all(units[unit].fits(units[other]) for other in chosen):
                extend([*chosen, unit], cost + more)

    extend([], 0.0)
    return [(units[unit], counts[number].text) for number, unit in zip(beside, best[1])]


def _cost(positions: np.ndarray, unit: _Unit, count: RepeatCount) -> float:
    """Returns the distance of a count from the nearer crossing bond of a unit, in bond lengths, plus 0.5 if the count
    is on its inner side; infinity beyond MAX_COUNT_DISTANCE."""
    costs = [np.inf]
    for inner, outer in unit.ends:
        out = positions[outer] - positions[inner]
        length = max(float(np.linalg.norm(out)), 1e-6)
        vector = count.point - (positions[inner] + positions[outer]) / 2
        distance = float(np.linalg.norm(vector)) / length
        if distance < MAX_COUNT_DISTANCE:
            costs.append(distance + 0.5 * float(vector @ out < 0))
    return min(costs)


def open_ends(molecule: Chem.Mol, counts: list[RepeatCount]) -> None:
    """Replaces the bare ends of a polymer by stars: those outside the brackets, if both are bare.

    A written methyl group is detected like a bare end, so it becomes a star, too.
    """
    if not counts:
        return
    matched = [unit for unit, text in _match(molecule, counts) if not text.isdigit()]
    inside = {atom for unit in matched for atom in unit.atoms}
    outside = {outer for unit in matched for _, outer in unit.ends} - inside
    ends = [molecule.GetAtomWithIdx(outer) for outer in outside]
    if len(ends) == 2 and all(end.GetSymbol() == "C" and end.GetTotalNumHs() == 3 for end in ends):
        for end in ends:
            end.SetAtomicNum(0)
            end.SetNoImplicit(True)


def _add_units(molecule: Chem.RWMol, counts: list[RepeatCount]) -> tuple[Chem.Mol, float]:
    """Makes S-groups of the repeat units, or expands them. Returns the molecule and its fault."""
    matched = _match(molecule, counts)
    if not matched:
        return molecule.GetMol(), FAULT
    expanded = [
        (unit, int(text)) for unit, text in matched if text.isdigit() and _is_expandable(molecule, unit, matched)
    ]
    groups = [(unit, text) for unit, text in matched if all(unit is not other for other, _ in expanded)]
    for unit, count in expanded:
        if molecule.GetNumAtoms() + (count - 1) * len(unit.atoms) <= MAX_EXPANDED_ATOMS:
            _expand(molecule, unit, count)
        else:
            groups.append((unit, str(count)))
    for unit, text in groups:
        add_repeat_unit(
            molecule, sorted(unit.atoms), [molecule.GetBondBetweenAtoms(*pair).GetIdx() for pair in unit.ends], text
        )
    Chem.SanitizeMol(molecule)
    return molecule.GetMol(), 0.0


def _is_expandable(molecule: Chem.Mol, unit: _Unit, matched: list[tuple[_Unit, str]]) -> bool:
    """Reports whether a unit can be expanded: neither it nor an atom beside it has stereochemistry or belongs to
    another unit or a variable attachment."""
    near = unit.atoms | {outer for _, outer in unit.ends}
    endpoints = {atom for inner, ring in attachments(molecule) for atom in (inner, *ring)}
    atoms = [molecule.GetAtomWithIdx(atom) for atom in near]
    return (
        not near & endpoints
        and not any(near & other.atoms for other, _ in matched if other is not unit)
        and all(atom.GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED for atom in atoms)
        and all(bond.GetStereo() == Chem.BondStereo.STEREONONE for atom in atoms for bond in atom.GetBonds())
    )


def _expand(molecule: Chem.RWMol, unit: _Unit, count: int) -> None:
    """Repeats a unit, head to tail."""
    (head, _), (tail, after) = unit.ends
    conformer = molecule.GetConformer()
    bonds = [bond for bond in molecule.GetBonds() if {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= unit.atoms]
    last = tail
    for step in range(1, count):
        copies = {atom: molecule.AddAtom(molecule.GetAtomWithIdx(atom)) for atom in sorted(unit.atoms)}
        for bond in bonds:
            begin, end = copies[bond.GetBeginAtomIdx()], copies[bond.GetEndAtomIdx()]
            molecule.AddBond(begin, end, bond.GetBondType())
        for atom, copy in copies.items():
            place = conformer.GetAtomPosition(atom)
            conformer.SetAtomPosition(copy, Point3D(place.x + 0.1 * step, place.y + 0.1 * step, 0.0))
            molecule.GetAtomWithIdx(copy).SetBoolProp(COPY, True)
        molecule.AddBond(last, copies[head], Chem.BondType.SINGLE)
        last = copies[tail]
    if last != tail:
        molecule.RemoveBond(tail, after)
        molecule.AddBond(last, after, Chem.BondType.SINGLE)


def attachments(molecule: Chem.Mol) -> Iterator[tuple[int, list[int]]]:
    """Yields the inner end of each variable attachment, and the atoms that it may end at."""
    for bond in molecule.GetBonds():
        if bond.HasProp(ENDPOINTS):
            numbers = [int(number) - 1 for number in bond.GetProp(ENDPOINTS).strip("()").split()[1:]]
            ends = [bond.GetBeginAtom(), bond.GetEndAtom()]
            inner = [end for end in ends if not end.GetAtomicNum() and end.GetDegree() == 1]
            inner.sort(key=lambda end: end.HasProp("atomLabel"))  # The other end may be a placeholder.
            yield (inner or ends)[0].GetIdx(), numbers


def repeat_units(molecule: Chem.Mol) -> Iterator[tuple[str, list[int]]]:
    """Yields the count and the atoms of each repeat unit."""
    for group in Chem.GetMolSubstanceGroups(molecule):
        if group.GetProp("TYPE") == "SRU":
            yield group.GetProp("LABEL") if group.HasProp("LABEL") else "n", list(group.GetAtoms())


def pieces(molecule: Chem.Mol) -> int:
    """Returns the number of pieces of a molecule; a variable attachment connects two."""
    joined = Chem.RWMol(molecule)
    for inner, atoms in attachments(molecule):
        joined.AddBond(inner, atoms[0], Chem.BondType.ZERO)
    return len(Chem.GetMolFrags(joined))


def canonical_order(molecule: Chem.Mol) -> list[int]:
    """Returns the atoms in a canonical order that tells apart like atoms with different attachments or in different
    units, so that the same drawing always has the same CXSMILES.

    The order is that of a graph in which an inner end has a bond to each of its endpoints, and each unit is an added
    atom with a bond to each atom of the unit. Without attachments and units, the atoms keep their order.
    """
    ends, units = list(attachments(molecule)), list(repeat_units(molecule))
    if not ends and not units:
        return list(range(molecule.GetNumAtoms()))
    graph = Chem.RWMol(molecule)
    for inner, atoms in ends:
        for atom in atoms:
            graph.AddBond(inner, atom, Chem.BondType.ZERO)
    texts = sorted({count for count, _ in units})
    for count, atoms in units:
        unit = Chem.Atom(0)
        unit.SetIsotope(500 + texts.index(count))  # No isotope of an element has such a number.
        number = graph.AddAtom(unit)
        for atom in atoms:
            graph.AddBond(number, atom, Chem.BondType.ZERO)
    Chem.RemoveStereochemistry(graph)
    graph.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(graph)
    ranks = list(Chem.CanonicalRankAtoms(graph))
    return sorted(range(molecule.GetNumAtoms()), key=ranks.__getitem__)


def extensions(molecule: Chem.Mol, order: Sequence[int]) -> list[str]:
    """Returns the m: and Sg: fields of CXSMILES. order: the atoms in the SMILES."""
    place = {atom: number for number, atom in enumerate(order)}
    ends = sorted((place[inner], sorted(place[atom] for atom in atoms)) for inner, atoms in attachments(molecule))
    units = sorted((sorted(place[atom] for atom in atoms), count) for count, atoms in repeat_units(molecule))
    return [
        *(f"m:{end}:{'.'.join(map(str, atoms))}" for end, atoms in ends),
        *(f"Sg:n:{','.join(map(str, atoms))}:{count}:ht" for atoms, count in units),
    ]


def add_brackets(molecule: Chem.Mol) -> None:
    """Gives each repeat unit brackets across the middles of its crossing bonds, so that programs draw them."""
    positions = molecule.GetConformer().GetPositions()[:, :2]
    groups = list(Chem.GetMolSubstanceGroups(molecule))  # Copies: only a group that was just added can be changed.
    Chem.ClearMolSubstanceGroups(molecule)
    for group in groups:
        added = Chem.AddMolSubstanceGroup(molecule, group)
        for bond in map(molecule.GetBondWithIdx, group.GetBonds() if group.GetProp("TYPE") == "SRU" else ()):
            begin, end = positions[bond.GetBeginAtomIdx()], positions[bond.GetEndAtomIdx()]
            middle, across = (begin + end) / 2, np.array([begin[1] - end[1], end[0] - begin[0]]) / 2
            corners = [(*(middle + across), 0.0), (*(middle - across), 0.0), (0.0, 0.0, 0.0)]
            added.AddBracket([Point3D(*map(float, corner)) for corner in corners])
