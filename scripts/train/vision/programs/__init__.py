"""Other programs that draw molecules: Indigo, Open Babel, the Chemistry Development Kit, Chython, OpenChemLib,
SmilesDrawer and PIKAChU, a module each, which imports its program on first use.

Each table has functions that load a program and return what it does:
PROGRAMS       a mol file with coordinates to a picture in a random style
PLAIN          SMILES to a picture with the program's default settings and its own coordinates
SELF_LABELLED  SMILES to a labelled picture in a random style with the program's own coordinates
LAYOUTS        a mol file to the program's own coordinates
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from scripts.train.vision.programs import cdk, chython, indigo, openbabel, openchemlib, pikachu, smilesdrawer
from scripts.train.vision.programs.picture import Draw, DrawLabelled, DrawPlain, LabelledPicture, Layout, Picture

__all__ = [
    "ALIASES",
    "LAYOUTS",
    "PLAIN",
    "PROGRAMS",
    "REPORTING",
    "SELF_LABELLED",
    "Draw",
    "DrawLabelled",
    "DrawPlain",
    "LabelledPicture",
    "Layout",
    "Picture",
]
PROGRAMS: dict[str, Callable[[], Draw]] = {
    "indigo": indigo.styled,
    "indigo-numbered": functools.partial(indigo.styled, numbered=1.0),
    "openbabel": openbabel.styled,
    "cdk": cdk.styled,
    "chython": chython.styled,
    "openchemlib": openchemlib.styled,
}
PLAIN: dict[str, Callable[[], DrawPlain]] = {
    "indigo": indigo.plain,
    "openbabel": openbabel.plain,
    "cdk": cdk.plain,
    "chython": chython.plain,
    "openchemlib": openchemlib.plain,
    "smilesdrawer": smilesdrawer.plain,
    "pikachu": pikachu.plain,
}
SELF_LABELLED: dict[str, Callable[[], DrawLabelled]] = {"smilesdrawer": smilesdrawer.self_labelled}
LAYOUTS: dict[str, Callable[[], Layout]] = {"indigo": indigo.layout, "openbabel": openbabel.layout, "cdk": cdk.layout}
ALIASES = frozenset({"openchemlib"})
"""Programs that draw the alias of an atom, which is how a mol file names an abbreviation. Open Babel draws it only at
the end of a chain, and not always there."""
REPORTING = frozenset({"openbabel", "cdk", "chython"})
"""Programs that report, in a mol file, each atom and bond of a drawing with default settings."""
