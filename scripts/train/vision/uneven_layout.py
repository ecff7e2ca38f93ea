"""Makes coordinates uneven, as people draw them: uneven bond lengths, bent angles, stretched rings.

Programs draw every bond at the same length; the structures of patents and papers were drawn by hand in an editor.
"""

from __future__ import annotations

import math
from random import Random

import numpy as np
from rdkit import Chem

SHARE = 0.35
"""Share of the training drawings in random styles."""


def distort(molecule: Chem.Mol, random: Random) -> None:
    """Makes the coordinates of a molecule uneven, except by changes that crowd atoms and bonds."""
    conformer = molecule.GetConformer()
    points = conformer.GetPositions()[:, :2]
    bonds = np.array([(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()], np.int64).reshape(-1, 2)
    if not len(bonds):
        return
    bond = float(np.median(np.linalg.norm(points[bonds[:, 0]] - points[bonds[:, 1]], axis=1)))
    if random.random() < 0.5:
        points = _less_crowded(points, _stretch(points, random), bonds, bond)
    if random.random() < 0.4:
        points = _less_crowded(points, _shorten_ends(molecule, points, random.uniform(0.55, 0.9)), bonds, bond)
    hinges = [b for b in molecule.GetBonds() if not b.IsInRing()]
    for hinge in random.sample(hinges, min(len(hinges), random.randrange(5))):
        points = _less_crowded(points, _bend(molecule, points, hinge, random), bonds, bond)
    if random.random() < 0.6:
        noise = np.array([(random.gauss(0, 1), random.gauss(0, 1)) for _ in points]) * bond * random.uniform(0.01, 0.08)
        points = _less_crowded(points, points + noise, bonds, bond)
    for atom, (x, y) in enumerate(points):
        conformer.SetAtomPosition(atom, (float(x), float(y), 0.0))


def _stretch(points: np.ndarray, random: Random) -> np.ndarray:
    """Stretches or squeezes everything along the page's axes or along any direction."""
    angle = random.choice([0.0, math.pi / 2, random.uniform(0, math.pi)])
    along = np.array([math.cos(angle), math.sin(angle)])
    return points + np.outer(points @ along, along) * (math.exp(random.gauss(0, 0.14)) - 1)


def _shorten_ends(molecule: Chem.Mol, points: np.ndarray, factor: float) -> np.ndarray:
    """Shortens all bonds to end atoms."""
    out = points.copy()
    for atom in molecule.GetAtoms():
        if atom.GetDegree() == 1:
            other = points[atom.GetNeighbors()[0].GetIdx()]
            out[atom.GetIdx()] = other + (points[atom.GetIdx()] - other) * factor
    return out


def _bend(molecule: Chem.Mol, points: np.ndarray, hinge: Chem.Bond, random: Random) -> np.ndarray:
    """Rotates the smaller side of a bond outside rings around the other side's atom, and changes the bond's length."""
    first, second = hinge.GetBeginAtomIdx(), hinge.GetEndAtomIdx()
    side = _atoms_beyond(molecule, first, second)
    if 2 * len(side) > len(points):
        first, second = second, first
        side = _atoms_beyond(molecule, first, second)
    angle = random.gauss(0, math.radians(15))
    rotation = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    shift = (points[second] - points[first]) @ rotation * (min(1.8, max(0.6, math.exp(random.gauss(0, 0.25)))) - 1)
    out = points.copy()
    out[side] = points[first] + (points[side] - points[first]) @ rotation + shift
    return out


def _atoms_beyond(molecule: Chem.Mol, first: int, second: int) -> list[int]:
    """Returns the atoms on the second atom's side of a bond outside rings."""
    side = [second]
    seen = {first, second}
    for atom in side:
        for other in molecule.GetAtomWithIdx(atom).GetNeighbors():
            if other.GetIdx() not in seen:
                seen.add(other.GetIdx())
                side.append(other.GetIdx())
    return side


def _less_crowded(before: np.ndarray, after: np.ndarray, bonds: np.ndarray, bond: float) -> np.ndarray:
    """Returns the new points, unless they are more crowded than the old ones."""
    return after if _count_crowded(after, bonds, bond) <= _count_crowded(before, bonds, bond) else before


def _count_crowded(points: np.ndarray, bonds: np.ndarray, bond: float) -> int:
    """Counts pairs of an atom and a bond of other atoms that are nearer than a third of a bond length."""
    start, end = points[bonds[:, 0]], points[bonds[:, 1]]
    vector = end - start
    position = ((points[:, None] - start) * vector).sum(-1) / np.maximum((vector * vector).sum(-1), 1e-9)
    nearest = start + np.clip(position, 0, 1)[..., None] * vector
    near = np.linalg.norm(points[:, None] - nearest, axis=-1) < bond / 3
    number = np.arange(len(points))[:, None]
    return int((near & (bonds[:, 0] != number) & (bonds[:, 1] != number)).sum())
