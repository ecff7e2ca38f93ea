"""What a program that draws molecules makes, and pictures out of SVG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random


@dataclass
class Picture:
    """A drawing by another program."""

    png: bytes
    circled: list[tuple[int, int]] = field(default_factory=list)
    """Bonds, by their atoms, that are drawn as sides of a ring with a circle or dashes in it."""
    numbered: bool = False
    """Whether numbers stand in the place of carbons."""


Draw = Callable[[str, Random], Picture]
Plain = Callable[[str], tuple[bytes, str]]
"""From SMILES to a PNG file, and a mol file by the same program of what it shows."""
Layout = Callable[[str], list[tuple[float, float]]]
"""From a mol file with coordinates to others for its atoms, y up."""
FAMILIES = ("DejaVu Sans", "DejaVu Sans", "Liberation Sans", "Liberation Sans", "FreeSans", "DejaVu Serif")
"""Of letters, some more often."""


def rasterised(svg: str, family: str = FAMILIES[0], width: int | None = None) -> bytes:
    import resvg_py

    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=width, background="#ffffff", font_family=family, sans_serif_family=family,
                                       serif_family="DejaVu Serif", monospace_family="DejaVu Sans Mono"))
