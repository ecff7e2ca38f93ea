"""The pictures of drawing programs, the types of their functions, and the rasterisation of SVG."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np


@dataclass
class Picture:
    """A drawing by another program."""

    png: bytes
    circled: list[tuple[int, int]] = field(default_factory=list)
    """Bonds, by their atoms, in rings drawn with a circle or dashes."""
    numbered: bool = False
    """Whether numbers stand in place of carbons."""


@dataclass
class LabelledPicture:
    """A drawing with the program's own coordinates, and its labels."""

    png: bytes
    points: np.ndarray
    """float [atoms, 2], in pixels."""
    labels: list[str]
    """The label of each atom (drawing.atom_label)."""
    bonds: np.ndarray
    """int64 [bonds, 3]: two atoms and the kind, the narrow end of wedges first."""


Draw = Callable[[str, Random], Picture]
"""Draws a mol file in a random style."""
DrawPlain = Callable[[str], tuple[bytes, str | None] | None]
"""Returns a PNG file of SMILES, and the mol file of the drawing if the program reports it; None if it fails."""
DrawLabelled = Callable[[str, Random], tuple[LabelledPicture, str] | None]
"""Returns a drawing of SMILES in a random style, and its mol file; None if it fails or has no labels."""
Layout = Callable[[str], list[tuple[float, float]]]
"""Returns new coordinates for the atoms of a mol file, y up."""
FAMILIES = ("DejaVu Sans", "DejaVu Sans", "Liberation Sans", "Liberation Sans", "FreeSans", "DejaVu Serif")
"""Font families, some more often."""


def view_box(svg: str) -> tuple[float, float, float, float]:
    """Returns x, y, width and height of an SVG."""
    match = re.search(r'viewBox="([^"]*)"', svg)
    if match is None:
        raise ValueError("an SVG without a viewBox")
    x, y, width, height = (float(part) for part in match[1].split())
    return x, y, width, height


def rasterise(svg: str, family: str = FAMILIES[0], width: int | None = None) -> bytes:
    """Returns a PNG file on white, `width` pixels wide or as wide as the SVG says."""
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
