"""Chython. Every length can be set; widths and distances are in bond lengths."""

from __future__ import annotations

import math
import re
import statistics
from random import Random

from scripts.train.vision.programs.picture import FAMILIES, Draw, DrawPlain, Picture, rasterise, view_box

PIXELS_PER_MM = 96 / 25.4
"""Pixels a millimetre, as in a browser."""


def styled() -> Draw:
    import chython as kit

    def style(random: Random, circles: bool) -> kit.DepictStyle:
        width = random.choice([0.03, 0.04, 0.04, 0.052, 0.07, 0.1])
        return kit.DepictStyle().tuned(
            **{
                "bond.width": width,
                "bond.spacing": max(random.uniform(0.12, 0.22), 2.5 * width),
                "bond.triple_spacing": max(random.uniform(0.12, 0.18), 2.5 * width),
                "bond.wedge_width": max(random.uniform(0.12, 0.26), 3 * width),
                "bond.hash_step": max(random.uniform(0.07, 0.13), 2 * width),
                "bond.trim": random.uniform(0.04, 0.12),
                "bond.cap": random.choice(["round", "butt"]),
                "bond.aromatic": random.choice(["circle", "dashed-inner"]) if circles else "kekule",
                "atom.carbon": random.random() < 0.05,
                "atom.colour_by_element": random.random() < 0.5,
                "label.family": random.choice(["helvetica", "helvetica", "times"]),
                "label.size": random.uniform(0.3, 0.5),
                "atom.stereo_labels": random.random() < 0.03,
            }
        )

    def draw(text: str, random: Random) -> Picture:
        molecule = kit.mol(text)
        circled = []
        circles = random.random() < 0.3
        if circles:
            molecule.thiele()
            order = {atom.n: place for place, atom in enumerate(molecule.atoms())}
            circled = [(order[bond.n], order[bond.m]) for bond in molecule.bonds() if bond.order == 4]
        svg = str(molecule.depict(style=style(random, circles), plane=plane(molecule)))
        _, _, width, height = view_box(svg)
        bond = random.choice([18, 22, 26, 30, 36, 44, 56])
        svg = re.sub(
            r'width="[^"]*" height="[^"]*"', f'width="{width * bond:.1f}" height="{height * bond:.1f}"', svg, count=1
        )
        return Picture(rasterise(svg, random.choice(FAMILIES)), circled)

    def plane(molecule: kit.MoleculeContainer) -> dict[int, tuple[float, float]]:
        """Returns the coordinates of the mol file in bond lengths, by atom number."""
        points = {atom.n: (atom.x, atom.y) for atom in molecule.atoms()}
        length = statistics.median_high(math.dist(points[bond.n], points[bond.m]) for bond in molecule.bonds())
        return {number: (x / length, y / length) for number, (x, y) in points.items()}

    return draw


def plain() -> DrawPlain:
    import chython as kit
    from chython.exceptions import ImplementationError

    def draw(smiles: str) -> tuple[bytes, str] | None:
        molecule = kit.smiles(smiles)
        try:
            molecule.clean2d()
        except ImplementationError:  # Some small and some bridged molecules.
            return None
        svg = re.sub(
            r'="([0-9.]+)mm"', lambda size: f'="{float(size[1]) * PIXELS_PER_MM:.1f}"', str(molecule.depict()), count=2
        )
        return rasterise(svg), kit.mol(molecule)

    return draw
