"""Draws variable attachments, bonds that cross a side of a ring and end inside it, and brackets around repeat units."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import numpy as np
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.Geometry import Point2D, Point3D

from scripts.served_reader.labels import CROSSED, REPEAT_COUNTS, REPEATED_R_GROUPS
from scripts.served_reader.markush import pieces_between
from scripts.train.vision import abbreviations, placeholders
from scripts.train.vision.marks import DRAWN_LABEL

ATTACHED_SHARE, REPEATED_SHARE = 0.1, 0.1
"""Shares of RDKit's training drawings with a variable attachment, and with a repeat unit."""
RING_SIZES = 5, 6
"""Sizes of the rings that have variable attachments."""
INNER_DISTANCE, OUTER_DISTANCE = (0.2, 0.65), (0.5, 0.95)
"""Ranges of the distances of the bond's inner and outer end from the side of the ring that it crosses, in bond
lengths."""
MAX_MOVED = 14
"""The most atoms of a substituent that is moved."""
CLEARANCE = 0.6
"""The least distance of a moved atom to others, in bond lengths."""
MAX_UNIT = 9
"""The most drawn atoms of a repeat unit."""
MAX_ATTEMPTS = 12
"""The most places that are tried."""
COUNT_WEIGHTS = dict.fromkeys("mpqxy", 4.0) | {"n": 24.0} | dict.fromkeys(map(str, range(1, 13)), 1.0)
"""Relative weights of repeat counts; 0.4 for the others."""
ELEMENTS = ("F", "Cl", "Br", "O", "N", "C", "C", "C")
"""Elements of the substituents that are added."""


def attach_variably(molecule: Chem.Mol, random: Random) -> Chem.Mol:
    """Moves a substituent of a ring, or adds one, so that its bond crosses a side of the ring and ends inside it; in a
    prepared molecule with coordinates. Returns the molecule itself where there is no place.

    The inner end is drawn as a carbon is, without letters.
    """
    rings = [ring for ring in molecule.GetRingInfo().AtomRings() if len(ring) in RING_SIZES]
    for _ in range(MAX_ATTEMPTS if rings else 0):
        ring = random.choice(rings)
        out = (
            _move_substituent(molecule, ring, random)
            if random.random() < 0.4
            else _add_substituent(molecule, ring, random)
        )
        if out is not None:
            out.UpdatePropertyCache(strict=False)
            Chem.GetSSSR(out)
            return out.GetMol()
    return molecule


def _add_substituent(molecule: Chem.Mol, ring: tuple[int, ...], random: Random) -> Chem.RWMol | None:
    """Adds a placeholder, an element or an abbreviation; None if another atom is in its place."""
    out = Chem.RWMol(molecule)
    at = out.AddAtom(Chem.Atom(random.choice(ELEMENTS)))
    if not _place_if_clear(out, [at], None, ring, random):
        return None
    chance = random.random()
    if chance < 0.35:
        placeholders.put_placeholder(out, at, random.choice(REPEATED_R_GROUPS), random)
    elif chance < 0.75:
        placeholders.put_placeholder(out, at, placeholders.random_name(random), random)
    elif chance < 0.85:
        abbreviations.put_random_group(out, at, random)
    return out


def _move_substituent(molecule: Chem.Mol, ring: tuple[int, ...], random: Random) -> Chem.RWMol | None:
    """Moves a substituent of the ring; None if it has none that can be moved, or other atoms are in its place."""
    bonds = [
        (number, other.GetIdx())
        for number in ring
        for other in molecule.GetAtomWithIdx(number).GetNeighbors()
        if _is_plain_bond(molecule.GetBondBetweenAtoms(number, other.GetIdx()))
        and molecule.GetAtomWithIdx(number).GetSymbol() == "C"
        and not molecule.GetAtomWithIdx(number).HasProp(DRAWN_LABEL)
        and molecule.GetAtomWithIdx(number).GetChiralTag() == Chem.ChiralType.CHI_UNSPECIFIED
    ]
    if not bonds:
        return None
    from_ring, first = random.choice(bonds)
    out = Chem.RWMol(molecule)
    out.RemoveBond(from_ring, first)
    Chem.GetSSSR(out)
    moved = next(list(piece) for piece in Chem.GetMolFrags(out) if first in piece)
    if len(moved) > MAX_MOVED:
        return None
    moved.remove(first)
    return out if _place_if_clear(out, [first, *moved], from_ring, ring, random) else None


def _is_plain_bond(bond: Chem.Bond) -> bool:
    """Reports whether a bond is a single one outside rings, neither a wedge nor wavy."""
    return bond.GetBondType() == Chem.BondType.SINGLE and bond.GetBondDir() == Chem.BondDir.NONE and not bond.IsInRing()


def _place_if_clear(
    out: Chem.RWMol, moved: list[int], neighbour: int | None, ring: tuple[int, ...], random: Random
) -> bool:
    """Places atoms, the first of which gets a bond to a new atom inside the ring, and reports whether they are clear of
    the others. neighbour: the atom that the first one was bonded to."""
    conformer = out.GetConformer()
    points = conformer.GetPositions()[:, :2]
    bond_length = rdMolDraw2D.MeanBondLength(out)
    sides = [
        pair for pair in pairwise((*ring, ring[0])) if out.GetRingInfo().NumBondRings(_bond_index(out, *pair)) == 1
    ]
    if not sides:
        return False
    side = points[list(random.choice(sides))]
    middle = side[0] + (side[1] - side[0]) * random.uniform(0.4, 0.6)
    outwards = middle - points[list(ring)].mean(0)
    outwards /= max(float(np.linalg.norm(outwards)), 1e-6)
    inner = middle - outwards * random.uniform(*INNER_DISTANCE) * bond_length
    target = middle + outwards * random.uniform(*OUTER_DISTANCE) * bond_length
    placed = np.array([target])
    if neighbour is not None:
        old = points[moved[0]] - points[neighbour]
        old /= max(float(np.linalg.norm(old)), 1e-6)
        cosine, sine = float(old @ outwards), float(old[0] * outwards[1] - old[1] * outwards[0])
        placed = (points[moved] - points[moved[0]]) @ np.array([[cosine, sine], [-sine, cosine]]) + target
    others = np.delete(points, moved, axis=0)
    distance = np.linalg.norm(placed[:, None] - others[None], axis=2)
    if distance.min(initial=np.inf) < CLEARANCE * bond_length:
        return False
    end = out.AddAtom(Chem.Atom("C"))
    out.GetAtomWithIdx(end).SetProp("_displayLabel", "")  # No letters, even where methyl groups have them.
    out.AddBond(moved[0], end, Chem.BondType.SINGLE)
    for number, (x, y) in zip((*moved, end), (*placed, inner), strict=True):
        conformer.SetAtomPosition(number, Point3D(float(x), float(y), 0.0))
    return True


def _bond_index(molecule: Chem.Mol, first: int, second: int) -> int:
    return molecule.GetBondBetweenAtoms(first, second).GetIdx()


@dataclass
class RepeatUnit:
    """A repeat unit that was drawn."""

    bonds: tuple[int, int]
    """The bonds that its brackets cross."""
    atoms: list[int]
    count: str
    """One of REPEAT_COUNTS."""
    point: tuple[float, float]
    """The middle of the count, in pixels."""


def draw_repeat_unit(
    drawer: rdMolDraw2D.MolDraw2DCairo, molecule: Chem.Mol, points: np.ndarray, random: Random
) -> RepeatUnit | None:
    """Draws brackets or parentheses around a part of a chain of a drawn molecule, and a count; None where there is no
    room.

    points: the atoms in pixels, float [atoms, 2].
    """
    bonds = [
        bond.GetIdx()
        for bond in molecule.GetBonds()
        if _is_plain_bond(bond) and not any(map(_cannot_be_crossed, (bond.GetBeginAtom(), bond.GetEndAtom())))
    ]
    if len(bonds) < 2:
        return None
    for _ in range(MAX_ATTEMPTS):
        first, second = random.sample(bonds, 2)
        unit = atoms_between(molecule, first, second)
        if not unit or len(unit) > MAX_UNIT:
            continue
        drawn = _brackets(molecule, points, (first, second), unit, random)
        if drawn is None:
            continue
        lines, count_at, bond_length = drawn
        text = random.choices(REPEAT_COUNTS, [COUNT_WEIGHTS.get(count, 0.4) for count in REPEAT_COUNTS])[0]
        size = max(6.0, bond_length * random.uniform(0.25, 0.6))
        corners = np.concatenate([*lines, count_at + size * np.array([[-1, -0.6], [1, 0.6]])])
        if (corners < 1).any() or (corners > [drawer.Width() - 1, drawer.Height() - 1]).any():
            continue
        drawer.SetColour((0.0, 0.0, 0.0))
        drawer.SetLineWidth(random.choice((1.0, 1.0, 1.5, 2.0, 3.0)) * min(1.0, bond_length / 30))
        for line in lines:
            for (x, y), (next_x, next_y) in pairwise(line.tolist()):
                drawer.DrawLine(Point2D(x, y), Point2D(next_x, next_y), rawCoords=True)
        drawer.SetFontSize(size)
        drawer.DrawString(text, Point2D(*count_at.tolist()), rawCoords=True)
        return RepeatUnit((first, second), unit, text, tuple(count_at.tolist()))
    return None


def _cannot_be_crossed(atom: Chem.Atom) -> bool:
    """Reports whether an atom is a hydrogen or the inner end of a variable attachment."""
    return atom.GetSymbol() == "H" or (atom.HasProp("_displayLabel") and not atom.GetProp("_displayLabel"))


def atoms_between(molecule: Chem.Mol, first: int, second: int) -> list[int]:
    """Returns the atoms between two bonds outside rings; none if the bonds are in different pieces of the molecule."""
    return sorted(next(iter(pieces_between(molecule, first, second)), ()))


def _brackets(
    molecule: Chem.Mol, points: np.ndarray, bonds: tuple[int, int], unit: list[int], random: Random
) -> tuple[list[np.ndarray], np.ndarray, float] | None:
    """Returns the lines of two brackets and the middle of their count, in pixels, and the bond length; None if they
    would cross other atoms."""
    places, directions, lengths = [], [], []
    share = random.uniform(0.4, 0.62)
    for bond in map(molecule.GetBondWithIdx, bonds):
        inner, outer = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if outer in unit:
            inner, outer = outer, inner
        vector = points[outer] - points[inner]
        lengths.append(float(np.linalg.norm(vector)))
        places.append(points[inner] + share * vector)
        directions.append(vector / max(lengths[-1], 1e-6))
    bond_length = float(np.mean(lengths))
    if np.linalg.norm(places[0] - places[1]) < 0.7 * bond_length:
        return None
    heights = np.array([1.0, 1.0]) * random.uniform(0.4, 0.95) * bond_length
    are_vertical = directions[0][0] * directions[1][0] < 0 and min(abs(d[0]) for d in directions) > 0.5
    if are_vertical and random.random() < 0.7:
        directions = [np.array([np.sign(d[0]), 0.0]) for d in directions]
        top, bottom = points[unit][:, 1].min(), points[unit][:, 1].max()
        if bottom - top < 2.5 * bond_length and random.random() < 0.6:
            middle = (places[0][1] + places[1][1]) / 2
            reach = random.uniform(0.3, 0.6) * bond_length
            heights = np.array([max(middle - top, 0.0) + reach, max(bottom - middle, 0.0) + reach])
            for place in places:
                if not -0.8 * heights[0] < place[1] - middle < 0.8 * heights[1]:
                    return None
    serif = random.uniform(0.12, 0.3) * bond_length
    is_round = random.random() < 0.5
    lines, ends = [], []
    for place, out in zip(places, directions, strict=True):
        down = np.array([-out[1], out[0]])
        if down[1] < 0:
            down = -down
        upper, lower = place - down * heights[0], place + down * heights[1]
        if is_round:
            along = np.linspace(0, 1, 9)[:, None]
            bulge = 4 * along * (1 - along) * serif
            line = upper - out * serif + along * (lower - upper) + bulge * out
        else:
            line = np.stack([upper - out * serif, upper, lower, lower - out * serif])
        between = np.linspace(0, 1, 12)[:, None]
        dense = np.concatenate([a + between * (b - a) for a, b in pairwise(line)])
        if np.linalg.norm(dense[:, None] - points[None], axis=2).min() < 0.28 * bond_length:
            return None
        lines.append(line)
        ends.append((lower, out, down))
    lower, out, down = max(ends, key=lambda end: float(end[1][0]) + 0.01 * float(end[0][1]))
    count_at = lower + out * random.uniform(0.15, 0.45) * bond_length + down * random.uniform(-0.15, 0.15) * bond_length
    if np.linalg.norm(points - count_at, axis=1).min() < 0.5 * bond_length:
        return None
    return lines, count_at, bond_length


def mark_bonds(bonds: np.ndarray, unit: RepeatUnit) -> None:
    """Sets the kind of the bonds, int64 [bonds, 3], that the brackets cross."""
    bonds[list(unit.bonds), 2] = CROSSED
