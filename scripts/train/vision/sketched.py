"""Coordinates as people draw them: bonds of uneven length, bent angles, squeezed rings. Programs draw every bond the same length; the
structures of patents and papers were drawn by hand in an editor."""

from __future__ import annotations

import math
from random import Random

import numpy as np
from rdkit import Chem

SHARE = 0.35
"""Of the drawings to learn from in random styles."""


def sketched(molecule: Chem.Mol, random: Random) -> None:
    """Makes the coordinates of a molecule uneven. What would lay an atom on another or on a line of others is left out."""
    conformer = molecule.GetConformer()
    points = conformer.GetPositions()[:, :2]
    bonds = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()], np.int64).reshape(-1, 2)
    if not len(bonds):
        return
    bond = float(np.median(np.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1)))
    if random.random() < 0.5:
        points = _better(points, _squeezed(points, random), bonds, bond)
    if random.random() < 0.4:
        points = _better(points, _shortened(molecule, points, random.uniform(0.55, 0.9)), bonds, bond)
    hinges = [b for b in molecule.GetBonds() if not b.IsInRing()]
    for hinge in random.sample(hinges, min(len(hinges), random.randrange(5))):
        points = _better(points, _bent(molecule, points, hinge, random), bonds, bond)
    if random.random() < 0.6:
        noise = np.array([(random.gauss(0, 1), random.gauss(0, 1)) for _ in points]) * bond * random.uniform(0.01, 0.08)
        points = _better(points, points + noise, bonds, bond)
    for atom, (x, y) in enumerate(points):
        conformer.SetAtomPosition(atom, (float(x), float(y), 0.0))


def _squeezed(points: np.ndarray, random: Random) -> np.ndarray:
    """Everything longer or shorter along a line of any direction, or of the two of the page."""
    angle = random.choice([0.0, math.pi / 2, random.uniform(0, math.pi)])
    along = np.array([math.cos(angle), math.sin(angle)])
    return points + np.outer(points @ along, along) * (math.exp(random.gauss(0, 0.14)) - 1)


def _shortened(molecule: Chem.Mol, points: np.ndarray, factor: float) -> np.ndarray:
    """All bonds to atoms at the ends shorter."""
    out = points.copy()
    for atom in molecule.GetAtoms():
        if atom.GetDegree() == 1:
            other = points[atom.GetNeighbors()[0].GetIdx()]
            out[atom.GetIdx()] = other + (points[atom.GetIdx()] - other) * factor
    return out


def _bent(molecule: Chem.Mol, points: np.ndarray, hinge: Chem.Bond, random: Random) -> np.ndarray:
    """The smaller side of a bond outside of rings turned around the other's atom, and nearer or farther."""
    first, second = hinge.GetBeginAtomIdx(), hinge.GetEndAtomIdx()
    side = _side(molecule, first, second)
    if 2 * len(side) > len(points):
        first, second = second, first
        side = _side(molecule, first, second)
    angle = random.gauss(0, math.radians(15))
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    shift = (points[second] - points[first]) @ turn * (min(1.8, max(0.6, math.exp(random.gauss(0, 0.25)))) - 1)
    out = points.copy()
    out[side] = points[first] + (points[side] - points[first]) @ turn + shift
    return out


def _side(molecule: Chem.Mol, first: int, second: int) -> list[int]:
    """The atoms on the second atom's side of a bond outside of rings."""
    found = [second]
    seen = {first, second}
    for atom in found:
        for other in molecule.GetAtomWithIdx(atom).GetNeighbors():
            if other.GetIdx() not in seen:
                seen.add(other.GetIdx())
                found.append(other.GetIdx())
    return found


def _better(before: np.ndarray, after: np.ndarray, bonds: np.ndarray, bond: float) -> np.ndarray:
    """The new points where they are no more crowded than the old ones."""
    return after if _crowded(after, bonds, bond) <= _crowded(before, bonds, bond) else before


def _crowded(points: np.ndarray, bonds: np.ndarray, bond: float) -> int:
    """How many pairs of an atom and a line of others are nearer than a third of a bond, ends of lines of other atoms included."""
    start, end = points[bonds[:, 0]], points[bonds[:, 1]]
    line = end - start
    where = ((points[:, None] - start) * line).sum(-1) / np.maximum((line * line).sum(-1), 1e-9)
    nearest = start + np.clip(where, 0, 1)[..., None] * line
    near = np.linalg.norm(points[:, None] - nearest, axis=-1) < bond / 3
    number = np.arange(len(points))[:, None]
    return int((near & (bonds[:, 0] != number) & (bonds[:, 1] != number)).sum())
