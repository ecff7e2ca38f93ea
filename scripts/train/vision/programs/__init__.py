"""Other programs that draw molecules: Indigo, Open Babel, the Chemistry Development Kit, Chython, OpenChemLib, SmilesDrawer and
PIKAChU, a module each, which imports the program when it is asked for.

Each entry of PROGRAMS makes a function from a mol file with coordinates to a picture in a random style; of PLAIN, from SMILES to a
picture as the program makes it when nothing is set, with coordinates of its own; of OWN, from SMILES to a labelled picture in a random
style, with coordinates of its own; of LAYOUTS, from a mol file to coordinates of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from scripts.train.vision.programs import cdk, chython, indigo, openbabel, openchemlib, pikachu, smilesdrawer
from scripts.train.vision.programs.picture import Draw, Labelled, Layout, Own, Picture, Plain

__all__ = [
    "ALIASES",
    "LAYOUTS",
    "OWN",
    "PLAIN",
    "PROGRAMS",
    "TOLD",
    "Draw",
    "Labelled",
    "Layout",
    "Own",
    "Picture",
    "Plain",
]
PROGRAMS: dict[str, Callable[[], Draw]] = {
    "indigo": indigo.styled,
    "indigo-numbered": functools.partial(indigo.styled, numbered=1.0),
    "openbabel": openbabel.styled,
    "cdk": cdk.styled,
    "chython": chython.styled,
    "openchemlib": openchemlib.styled,
}
PLAIN: dict[str, Callable[[], Plain]] = {
    "indigo": indigo.plain,
    "openbabel": openbabel.plain,
    "cdk": cdk.plain,
    "chython": chython.plain,
    "openchemlib": openchemlib.plain,
    "smilesdrawer": smilesdrawer.plain,
    "pikachu": pikachu.plain,
}
OWN: dict[str, Callable[[], Own]] = {"smilesdrawer": smilesdrawer.own}
LAYOUTS: dict[str, Callable[[], Layout]] = {"indigo": indigo.layout, "openbabel": openbabel.layout, "cdk": cdk.layout}
ALIASES = frozenset({"openbabel", "openchemlib"})
"""Programs that write the alias of an atom in its place, which is how a mol file names an abbreviation."""
TOLD = frozenset({"openbabel", "cdk", "chython"})
"""Programs whose mol file says, atom by atom and line by line, what they draw when nothing is set."""
