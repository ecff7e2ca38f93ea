"""Styles of RDKit's drawings: the default one, and random ones."""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdDepictor
from rdkit.Chem.Draw import rdMolDraw2D

SIZES = (200, 225, 250, 250, 300, 300, 300, 300, 350, 400, 450, 600)
"""Sides of pictures in pixels."""
PATENT_SCALES = 1.0, 2.4
"""Range of factors on the size of a picture that imitates a patent: those are scanned at 300 dpi, with bonds of 60
pixels."""
PRINTED = ("LiberationSerif-Regular", "LiberationSans-Regular", "LiberationSansNarrow-Regular", "FreeSerif.ttf")
"""Fonts of patents: those of Debian's fonts-liberation and fonts-freefont-ttf, as wide as Times and Helvetica."""


def default(random: Random) -> rdMolDraw2D.MolDraw2DCairo:
    """Returns a drawer with RDKit's own options, at a common size."""
    size = random.choice([(300, 300), (300, 300), (250, 250), (350, 300), (400, 300), (400, 400)])
    return options(rdMolDraw2D.MolDraw2DCairo(*size))[0]


def options(drawer: rdMolDraw2D.MolDraw2DCairo) -> tuple[rdMolDraw2D.MolDraw2DCairo, rdMolDraw2D.MolDrawOptions]:
    """Returns the drawer and its options. Molecules are prepared by the caller; the file has no structure in its
    metadata; dummies without a label are wavy ends."""
    chosen = drawer.drawOptions()
    chosen.dummiesAreAttachments = True
    chosen.prepareMolsBeforeDrawing = False
    chosen.includeMetadata = False
    return drawer, chosen


def varied(molecule: Chem.Mol, random: Random, patents: float = 0.0) -> tuple[rdMolDraw2D.MolDraw2DCairo, str]:
    """Returns a drawer with random size, colours, widths, letters, notes and angle, and a legend.

    patents: share of the styles that imitate patents.
    """
    width = random.choice(SIZES)
    height = width if random.random() < 0.5 else min(600, max(180, int(width * random.uniform(0.6, 1.4))))
    is_patent = patents > 0 and random.random() < patents
    scale = random.uniform(*PATENT_SCALES) if is_patent else 1.0
    drawer, chosen = options(rdMolDraw2D.MolDraw2DCairo(int(width * scale), int(height * scale)))
    if not is_patent and random.random() < 0.12:
        rdMolDraw2D.SetACS1996Mode(chosen, rdMolDraw2D.MeanBondLength(molecule) or 1.5)
        if random.random() < 0.5:  # The style is for print; its lines are thin at the size of a screen.
            chosen.fixedBondLength = random.uniform(14, 36)
    else:
        _set_lines_and_colours(chosen, random)
        if is_patent:
            _imitate_patent(chosen, random, scale)
    annotate(chosen, molecule, random)
    return drawer, _legend(random)


def _set_lines_and_colours(chosen: rdMolDraw2D.MolDrawOptions, random: Random) -> None:
    colours = random.random()
    if colours < 0.4:
        chosen.useBWAtomPalette()
    elif colours < 0.5:
        chosen.useCDKAtomPalette()
    elif colours < 0.6:
        chosen.useAvalonAtomPalette()
    chosen.bondLineWidth = random.choice([0.7, 1, 1.5, 2, 2, 2, 2.5, 3, 4])
    chosen.scaleBondWidth = random.random() < 0.1
    chosen.baseFontSize = random.uniform(0.45, 0.8)
    chosen.minFontSize = random.choice([6, 6, 8, 10, 12])
    chosen.multipleBondOffset = random.uniform(0.1, 0.22)
    chosen.additionalAtomLabelPadding = random.choice([0, 0, 0.05, 0.1, 0.15])
    chosen.padding = random.uniform(0.01, 0.15)
    chosen.rotate = random.uniform(0, 360) if random.random() < 0.7 else random.choice([0, 90, 180, 270])
    chosen.explicitMethyl = random.random() < 0.15
    chosen.singleColourWedgeBonds = random.random() < 0.3
    chosen.singleColourBonds = random.random() < 0.1
    chosen.splitBonds = random.random() < 0.05
    if random.random() < 0.15:
        chosen.fixedBondLength = random.uniform(14, 30)
    if random.random() < 0.05:
        chosen.comicMode = True
    if random.random() < 0.1:
        chosen.setBackgroundColour(tuple(random.uniform(0.85, 1) for _ in range(3)))
    if random.random() < 0.3:
        font = random.choice(fonts())
        if font:
            chosen.fontFile = font


def _imitate_patent(chosen: rdMolDraw2D.MolDrawOptions, random: Random, scale: float) -> None:
    """Sets large black letters with serifs more often than not, thin or thick lines, written methyl groups. scale: the
    factor on the size of the picture."""
    chosen.useBWAtomPalette()
    chosen.baseFontSize = random.uniform(0.3, 0.9)
    chosen.bondLineWidth = random.choice([1, 1, 1.5, 2, 2, 3, 4]) * random.uniform(1, scale)
    chosen.scaleBondWidth = False
    chosen.comicMode = False
    chosen.rotate = random.choice([0, 0, 90, 180, 270, random.uniform(0, 360)])
    chosen.explicitMethyl = random.random() < 0.4
    chosen.setBackgroundColour((1.0, 1.0, 1.0))
    printed = [path for path in fonts() if any(name in path for name in PRINTED)]
    if printed and random.random() < 0.8:
        chosen.fontFile = random.choice(printed)


@functools.lru_cache
def fonts() -> tuple[str, ...]:
    """Returns the files of installed fonts, upright ones of regular weight more often; "" for RDKit's own if there are
    none."""
    found = [
        str(p) for folder in ("/usr/share/fonts", "/usr/local/share/fonts") for p in sorted(Path(folder).rglob("*.ttf"))
    ]
    plain = [
        p
        for p in found
        if any(name in p for name in ("Sans", "Serif", "Mono", "Arial", "Times", "Roman"))
        and not any(name in p for name in ("Math", "Fallback"))  # Droid Sans Fallback has no Latin letters.
    ]
    usual = [p for p in plain if not any(name in p for name in ("Bold", "Italic", "Oblique", "Mono", "Light"))]
    return (*plain, *3 * usual) or ("",)


WAVY_SHARE, HIGHLIGHTED_SHARE, MAPPED_SHARE = 0.08, 0.05, 0.04
"""Shares of RDKit's training drawings with wavy bonds, highlighted atoms and atom map numbers."""
HIGHLIGHTS = (1.0, 0.5, 0.5), (1.0, 0.8, 0.8), (0.6, 0.9, 0.6), (0.6, 0.8, 1.0), (1.0, 0.9, 0.4), (0.85, 0.7, 1.0)
"""Colours behind highlighted atoms; the first is RDKit's own."""


def mark(molecule: Chem.Mol, random: Random) -> dict[str, Any]:
    """Gives some prepared molecules wavy bonds or atom map numbers, and returns the arguments of DrawMolecule that
    highlight atoms, mostly none."""
    if random.random() < WAVY_SHARE:
        make_wavy(molecule, random)
    if random.random() < MAPPED_SHARE:
        _number_atoms(molecule, random)
    return _highlights(molecule, random) if random.random() < HIGHLIGHTED_SHARE else {}


def _number_atoms(molecule: Chem.Mol, random: Random) -> None:
    """Gives all atoms, or some, atom map numbers. RDKit then writes all letters, also those of carbons: C:1."""
    share = random.choice((1.0, 1.0, 0.5, 0.2))
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() and random.random() < share:
            atom.SetAtomMapNum(atom.GetIdx() + 1)


def _highlights(molecule: Chem.Mol, random: Random) -> dict[str, Any]:
    """Returns the arguments of DrawMolecule that highlight the atoms around a random one, and mostly their bonds, in
    one or two colours."""
    centre = random.randrange(molecule.GetNumAtoms())
    reach = random.choice((0, 1, 1, 2, 2, 3))
    distances = Chem.GetDistanceMatrix(molecule)[centre]
    atoms = [number for number, distance in enumerate(distances) if distance <= reach]
    bonds = [
        bond.GetIdx() for bond in molecule.GetBonds() if {bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()} <= set(atoms)
    ]
    colours = random.choices(HIGHLIGHTS, (4, 1, 1, 1, 1, 1), k=random.choice((1, 1, 2)))
    return {
        "highlightAtoms": atoms,
        "highlightBonds": bonds if random.random() < 0.8 else [],
        "highlightAtomColors": {atom: random.choice(colours) for atom in atoms},
        "highlightBondColors": {bond: random.choice(colours) for bond in bonds},
    }


def make_wavy(molecule: Chem.Mol, random: Random) -> None:
    """Makes one or two single bonds of a prepared molecule wavy, each at an atom with at least three bonds, as those of
    stereocentres whose arrangement is unknown."""
    bonds = [
        bond
        for bond in molecule.GetBonds()
        if bond.GetBondType() == Chem.BondType.SINGLE
        and not bond.GetIsAromatic()
        and max(bond.GetBeginAtom().GetDegree(), bond.GetEndAtom().GetDegree()) > 2
        and (not bond.IsInRing() or random.random() < 0.2)
    ]
    for bond in random.sample(bonds, min(random.choice((1, 1, 2)), len(bonds))):
        bond.SetBondDir(Chem.BondDir.UNKNOWN)


NOTES = ("abs", "abs", "or1", "or2", "&1", "&2", "and1", "R", "S", "r", "s", "a", "b")
"""Letters with which programs mark stereocentres. A star is not among them: at the end of a bond it is an unknown
atom."""


def annotate(chosen: rdMolDraw2D.MolDrawOptions, molecule: Chem.Mol, random: Random) -> None:
    """Adds atom numbers, stereo labels or other small letters beside atoms."""
    chance = random.random()
    if chance < 0.1:
        chosen.addAtomIndices = True
        chosen.annotationFontScale = random.uniform(0.4, 0.7)
    elif chance < 0.22:
        chosen.addStereoAnnotation = True
        chosen.annotationFontScale = random.uniform(0.4, 0.8)
    elif chance < 0.28:
        chosen.annotationFontScale = random.uniform(0.4, 0.8)
        centres = [a for a in molecule.GetAtoms() if a.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED]
        for atom in centres or random.sample(list(molecule.GetAtoms()), min(2, molecule.GetNumAtoms())):
            atom.SetProp("atomNote", random.choice(NOTES))


def _legend(random: Random) -> str:
    """Returns a name or number for below the molecule, mostly none."""
    if random.random() > 0.06:
        return ""
    letters = "abcdefghijklmnoprstuxyzABCDEFGHIJKLMNOP0123456789-"
    return random.choice(
        [
            str(random.randrange(1, 60)),
            f"({random.randrange(1, 40)})",
            "".join(random.choices(letters, k=random.randrange(4, 16))),
        ]
    )


def lay_out(molecule: Chem.Mol, random: Random) -> None:
    """Gives the molecule coordinates by RDKit or CoordGen, sometimes mirrored."""
    rdDepictor.SetPreferCoordGen(random.random() < 0.08)
    rdDepictor.Compute2DCoords(molecule, canonOrient=random.random() < 0.5)
    rdDepictor.SetPreferCoordGen(False)
    if random.random() < 0.1:
        rdDepictor.StraightenDepiction(molecule)
    if random.random() < 0.5:
        conformer = molecule.GetConformer()
        points = conformer.GetPositions() * np.array([-1.0, 1.0, 1.0])
        for atom, (x, y, z) in enumerate(points):
            conformer.SetAtomPosition(atom, (x, y, z))
