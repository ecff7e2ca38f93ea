"""What a program that draws molecules makes, and pictures out of SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np


@dataclass
class Picture:
    """A drawing by another program."""

    png: bytes
    circled: list[tuple[int, int]] = field(default_factory=list)
    """Bonds, by their atoms, that are drawn as sides of a ring with a circle or dashes in it."""
    numbered: bool = False
    """Whether numbers stand in the place of carbons."""


@dataclass
class Labelled:
    """A drawing with coordinates of the program's own, and what it shows."""

    png: bytes
    points: np.ndarray
    """float [atoms, 2], in pixels."""
    marks: list[str]
    """What stands at each atom, as drawing.atom_class names it."""
    bonds: np.ndarray
    """int64 [bonds, 3]: two atoms and the kind of line, narrow end of wedges first."""


Draw = Callable[[str, Random], Picture]
Plain = Callable[[str], tuple[bytes, str | None] | None]
"""From SMILES to a PNG file, and a mol file of what it shows where the program says; None where it fails."""
Own = Callable[[str, Random], tuple[Labelled, str] | None]
"""From SMILES to a drawing in a random style, and a mol file of what it shows; None where it fails or has no labels."""
Layout = Callable[[str], list[tuple[float, float]]]
"""From a mol file with coordinates to others for its atoms, y up."""
FAMILIES = ("DejaVu Sans", "DejaVu Sans", "Liberation Sans", "Liberation Sans", "FreeSans", "DejaVu Serif")
"""Of letters, some more often."""


def rasterised(svg: str, family: str = FAMILIES[0], width: int | None = None) -> bytes:
    import resvg_py

    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            width=width,
            background="#ffffff",
            font_family=family,
            sans_serif_family=family,
            serif_family="DejaVu Serif",
            monospace_family="DejaVu Sans Mono",
        )
    )
