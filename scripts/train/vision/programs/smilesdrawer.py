"""SmilesDrawer, which draws molecules on web pages: always from SMILES, with coordinates of its own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from random import Random

import numpy as np
from rdkit import Chem

from scripts.served_reader.labels import AROMATIC, DASH, GROUPS, UNKNOWN_LABEL, WEDGE
from scripts.train.vision import drawing
from scripts.train.vision.programs import javascript
from scripts.train.vision.programs.picture import FAMILIES, Labelled, Own, Plain, rasterised

SCRIPT = "smilesdrawer.mjs"
SIDE = 500
"""Pixels of a drawing, by default as wide as high."""
THEMES = ("light", "light", "light", "oldschool", "solarized", "github")
"""Those that are drawn on white or nearly so."""
BOND = 30
"""Of a bond in units of the svg."""
NAMES = {Chem.CanonSmiles("*" + text): name for name, text in reversed(GROUPS.items())}
"""The groups by their SMILES, with * where they hang."""


def plain() -> Plain:
    asked = javascript.process(SCRIPT)

    def draw(smiles: str) -> tuple[bytes, str] | None:
        answer = asked({"smiles": smiles, "options": {}, "theme": "light"})
        text = block(smiles, answer)
        return text and (rasterised(still(answer["svg"]), width=SIDE), text)

    return draw


def own() -> Own:
    asked = javascript.process(SCRIPT)

    def draw(smiles: str, random: Random) -> tuple[Labelled, str] | None:
        if random.random() < 0.3:
            smiles = Chem.MolToSmiles(Chem.MolFromSmiles(smiles), kekuleSmiles=True)
        answer = asked({"smiles": smiles, "options": style(random), "theme": random.choice(THEMES)})
        text = block(smiles, answer)
        labels = text and labelled(smiles, answer)
        if not labels:
            return None
        x, y, width, height = (float(part) for part in re.search(r'viewBox="([^"]*)"', answer["svg"])[1].split())
        margin = random.choice([0, 0, 10, 25])  # Letters reach beyond the box that SmilesDrawer makes.
        box = (x - margin, y - margin, width + 2 * margin, height + 2 * margin)
        svg = re.sub(r'viewBox="[^"]*"', 'viewBox="{} {} {} {}"'.format(*box), still(answer["svg"]))
        pixels = max(120, min(900, round(box[2] / BOND * random.choice([14, 18, 22, 26, 30, 36, 44]))))
        svg = re.sub(rf'( width| height)="{SIDE}"', rf'\1="{pixels}"', svg, count=2)
        points, marks, bonds = labels
        labels = Labelled(
            rasterised(svg, random.choice(FAMILIES), pixels),
            (points - np.array(box[:2])) * pixels / box[2],
            marks,
            bonds,
        )
        return labels, text

    return draw


def style(random: Random) -> dict:
    """SmilesDrawer's options."""
    options = {
        "bondThickness": random.choice([0.6, 1, 1, 1, 1.5, 2]),
        "fontSizeLarge": random.choice([8, 10, 11, 11, 11, 13]),
        "bondSpacing": random.uniform(3.5, 6.5),
        "shortBondLength": random.uniform(0.65, 0.9),
    }
    if random.random() < 0.25:
        options["compactDrawing"] = False
    if random.random() < 0.25:
        options["explicitHydrogens"] = False
    return options


def still(svg: str) -> str:
    """Font and places of letters as attributes instead of CSS, which resvg does not follow."""
    size = float(re.search(r"\.element \{\s*font: ([0-9.]+)pt", svg)[1]) * 4 / 3
    svg = svg.replace('<text class="element"', f'<text font-family="sans-serif" font-size="{size:.2f}"')
    return re.sub(
        r'style="transform: translateX\(([^)]*)px\) translateY\(([^)]*)px\)"', r'transform="translate(\1,\2)"', svg
    )


def between(answer: dict, atoms: Collection[int]) -> Iterator[tuple[int, int, list[int | None], str]]:
    """The bonds between some of the drawn atoms: the ends, the narrow one first, their indices in the SMILES, and the wedge."""
    for bond in answer["bonds"]:
        first, second = bond["atoms"] if bond["narrow"] == bond["atoms"][0] else reversed(bond["atoms"])
        if first in atoms and second in atoms:
            yield first, second, [answer["atoms"][number]["index"] for number in (first, second)], bond["wedge"]


def block(smiles: str, answer: dict) -> str | None:
    """A V2000 mol file of what is drawn; None where SmilesDrawer failed."""
    molecule = Chem.MolFromSmiles(smiles)
    if (
        "error" in answer
        or molecule is None
        or [a["index"] for a in answer["atoms"] if a["index"] is not None] != list(range(molecule.GetNumAtoms()))
    ):
        return None
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    place = {
        number: count
        for count, number in enumerate(n for n, a in enumerate(answer["atoms"]) if a["index"] is not None or a["drawn"])
    }
    rows, charged = [], []
    for number in place:
        atom = answer["atoms"][number]
        rows.append(
            f"{atom['x'] / BOND:10.4f}{-atom['y'] / BOND:10.4f}{0:10.4f} {atom['element']:<3} 0  0  0  0  0  0  0  0  0  0  0  0"
        )
        if atom["charge"]:
            charged.append(f"M  CHG  1{place[number] + 1:4d}{atom['charge']:4d}")
        if atom["isotope"]:
            charged.append(f"M  ISO  1{place[number] + 1:4d}{atom['isotope']:4d}")
    lines = []
    for first, second, ends, wedged in between(answer, place):
        order = 1 if None in ends else int(molecule.GetBondBetweenAtoms(*ends).GetBondTypeAsDouble())
        wedge = {"up": 1, "down": 6}.get(wedged, 0) if order == 1 else 0  # None is drawn on a double bond.
        lines.append(f"{place[first] + 1:3d}{place[second] + 1:3d}{order:3d}{wedge:3d}")
    counts = f"{len(rows):3d}{len(lines):3d}  0  0  1  0  0  0  0  0999 V2000"
    return "\n".join(["", "", "", counts, *rows, *lines, *charged, "M  END", ""])


def labelled(smiles: str, answer: dict) -> tuple[np.ndarray, list[str], np.ndarray] | None:
    """Points in units of the svg float [atoms, 2], marks and bonds int64 [bonds, 3] of what is drawn; None where an aromatic ring
    is drawn as the reader's lines cannot say, or where everything is one label."""
    molecule, written = Chem.MolFromSmiles(smiles), Chem.MolFromSmiles(smiles, sanitize=False)
    around: dict[int, list[int]] = {number: [] for number in range(len(answer["atoms"]))}
    for bond in answer["bonds"]:
        first, second = bond["atoms"]
        around[first].append(second)
        around[second].append(first)
    marks: dict[int, str] = {}
    for number, atom in enumerate(answer["atoms"]):
        if not atom["drawn"]:
            continue
        if atom["index"] is None:
            marks[number] = "H"
        elif atom["holds"]:
            marks[number] = group(molecule, answer, number, around[number])
        else:
            one = molecule.GetAtomWithIdx(atom["index"])
            one.SetNoImplicit(True)
            one.SetNumExplicitHs(max(0, atom["hydrogens"]))
            marks[number] = drawing.atom_class(one)
    circled = {frozenset((ring[i - 1], ring[i])) for ring in answer["circles"] for i in range(len(ring))}
    place = {number: count for count, number in enumerate(marks)}
    lines = []
    for first, second, ends, wedged in between(answer, place):
        kind = drawing.SINGLE if None in ends else drawing.kind(written.GetBondBetweenAtoms(*ends))
        if frozenset((first, second)) in circled:
            kind = AROMATIC
        elif kind == AROMATIC:
            return None
        if kind == drawing.SINGLE:
            kind = {"up": WEDGE, "down": DASH}.get(wedged, kind)
        lines.append((place[first], place[second], kind))
    if answer["dashed"] or len(lines) < 2:
        return None
    points = np.array([(answer["atoms"][number]["x"], answer["atoms"][number]["y"]) for number in marks])
    return points, list(marks.values()), np.array(lines, np.int64)


def group(molecule: Chem.Mol, answer: dict, centre: int, around: list[int]) -> str:
    """The mark of a label that holds an atom and its neighbours that are not drawn."""
    held = Chem.RWMol(molecule)
    inside = [
        answer["atoms"][number]["index"]
        for number in (centre, *around)
        if number == centre or not answer["atoms"][number]["drawn"]
    ]
    outside = [answer["atoms"][number]["index"] for number in around if answer["atoms"][number]["drawn"]]
    if len(outside) != 1 or None in inside or outside[0] is None:
        return UNKNOWN_LABEL
    held.ReplaceAtom(outside[0], Chem.Atom(0))
    for number in range(held.GetNumAtoms() - 1, -1, -1):
        if number not in inside and number not in outside:
            held.RemoveAtom(number)
    text = Chem.MolToSmiles(held.GetMol(), isomericSmiles=False)
    return NAMES.get(text, UNKNOWN_LABEL)
