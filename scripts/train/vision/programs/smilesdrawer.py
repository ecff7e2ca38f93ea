"""SmilesDrawer, which draws molecules on web pages: from SMILES only, with its own coordinates.

`answer` is what javascript/smilesdrawer.mjs returns for a molecule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from random import Random

import numpy as np
from rdkit import Chem

from scripts.served_reader.labels import AROMATIC, DASH, GROUPS, SINGLE, UNKNOWN_LABEL, WEDGE
from scripts.train.vision import drawing
from scripts.train.vision.programs import javascript
from scripts.train.vision.programs.picture import (
    FAMILIES,
    DrawLabelled,
    DrawPlain,
    LabelledPicture,
    rasterise,
    view_box,
)

SCRIPT = "smilesdrawer.mjs"
SIDE = 500
"""Width and height of a drawing in pixels, by default."""
THEMES = ("light", "light", "light", "oldschool", "solarized", "github")
"""Themes with a white background, or nearly so."""
BOND = 30
"""Length of a bond in units of the SVG."""
GROUPS_BY_SMILES = {Chem.CanonSmiles("*" + text): name for name, text in reversed(GROUPS.items())}
"""Abbreviations by the SMILES of the group, with * where it hangs."""


def plain() -> DrawPlain:
    ask = javascript.start(SCRIPT)

    def draw(smiles: str) -> tuple[bytes, str] | None:
        answer = ask({"smiles": smiles, "options": {}, "theme": "light"})
        text = mol_file(smiles, answer)
        return (rasterise(without_css(answer["svg"]), width=SIDE), text) if text else None

    return draw


def self_labelled() -> DrawLabelled:
    ask = javascript.start(SCRIPT)

    def draw(smiles: str, random: Random) -> tuple[LabelledPicture, str] | None:
        if random.random() < 0.3:
            smiles = Chem.MolToSmiles(Chem.MolFromSmiles(smiles), kekuleSmiles=True)
        answer = ask({"smiles": smiles, "options": random_options(random), "theme": random.choice(THEMES)})
        text = mol_file(smiles, answer)
        labelled = labels_of(smiles, answer) if text else None
        if text is None or labelled is None:
            return None
        points, labels, bonds = labelled
        x, y, width, height = view_box(answer["svg"])
        margin = random.choice([0, 0, 10, 25])  # Letters may extend beyond SmilesDrawer's box.
        box = (x - margin, y - margin, width + 2 * margin, height + 2 * margin)
        svg = re.sub(r'viewBox="[^"]*"', 'viewBox="{} {} {} {}"'.format(*box), without_css(answer["svg"]))
        pixels = max(120, min(900, round(box[2] / BOND * random.choice([14, 18, 22, 26, 30, 36, 44]))))
        svg = re.sub(rf'( width| height)="{SIDE}"', rf'\1="{pixels}"', svg, count=2)
        png = rasterise(svg, random.choice(FAMILIES), pixels)
        return LabelledPicture(png, (points - np.array(box[:2])) * pixels / box[2], labels, bonds), text

    return draw


def random_options(random: Random) -> dict[str, object]:
    """Returns random options of SmilesDrawer."""
    options: dict[str, object] = {
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


def without_css(svg: str) -> str:
    """Returns the SVG with fonts and positions of letters as attributes: resvg ignores them in CSS."""
    font = re.search(r"\.element \{\s*font: ([0-9.]+)pt", svg)
    if font is None:
        raise ValueError("SmilesDrawer's SVG has no font of elements")
    size = float(font[1]) * 4 / 3
    svg = svg.replace('<text class="element"', f'<text font-family="sans-serif" font-size="{size:.2f}"')
    return re.sub(
        r'style="transform: translateX\(([^)]*)px\) translateY\(([^)]*)px\)"', r'transform="translate(\1,\2)"', svg
    )


def drawn_bonds(answer: dict, atoms: Collection[int]) -> Iterator[tuple[int, int, list[int | None], str]]:
    """Yields the bonds between some of the atoms: both atoms, the narrow end first; their indices in the SMILES; the
    wedge."""
    for bond in answer["bonds"]:
        first, second = bond["atoms"] if bond["narrow"] == bond["atoms"][0] else reversed(bond["atoms"])
        if first in atoms and second in atoms:
            yield first, second, [answer["atoms"][number]["index"] for number in (first, second)], bond["wedge"]


def mol_file(smiles: str, answer: dict) -> str | None:
    """Returns a V2000 mol file of the drawing, None if SmilesDrawer failed."""
    molecule = Chem.MolFromSmiles(smiles)
    if "error" in answer or molecule is None:
        return None
    if [a["index"] for a in answer["atoms"] if a["index"] is not None] != list(range(molecule.GetNumAtoms())):
        return None
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    listed = [n for n, atom in enumerate(answer["atoms"]) if atom["index"] is not None or atom["drawn"]]
    position = {number: count for count, number in enumerate(listed)}
    atom_lines, property_lines, bond_lines = [], [], []
    for number in listed:
        atom = answer["atoms"][number]
        coordinates = f"{atom['x'] / BOND:10.4f}{-atom['y'] / BOND:10.4f}{0:10.4f}"
        atom_lines.append(f"{coordinates} {atom['element']:<3} 0  0  0  0  0  0  0  0  0  0  0  0")
        if atom["charge"]:
            property_lines.append(f"M  CHG  1{position[number] + 1:4d}{atom['charge']:4d}")
        if atom["isotope"]:
            property_lines.append(f"M  ISO  1{position[number] + 1:4d}{atom['isotope']:4d}")
    for first, second, indices, wedge in drawn_bonds(answer, position):
        order = 1 if None in indices else int(molecule.GetBondBetweenAtoms(*indices).GetBondTypeAsDouble())
        stereo = {"up": 1, "down": 6}.get(wedge, 0) if order == 1 else 0  # No wedge is drawn on a double bond.
        bond_lines.append(f"{position[first] + 1:3d}{position[second] + 1:3d}{order:3d}{stereo:3d}")
    counts = f"{len(atom_lines):3d}{len(bond_lines):3d}  0  0  1  0  0  0  0  0999 V2000"
    return "\n".join(["", "", "", counts, *atom_lines, *bond_lines, *property_lines, "M  END", ""])


def labels_of(smiles: str, answer: dict) -> tuple[np.ndarray, list[str], np.ndarray] | None:
    """Returns the drawing's points in units of the SVG float [atoms, 2], atom labels, and bonds int64 [bonds, 3].

    None if an aromatic ring is drawn in a way that no kind of bond describes, or if everything is one label.
    """
    molecule = Chem.MolFromSmiles(smiles)
    written = Chem.MolFromSmiles(smiles, sanitize=False)
    neighbours: dict[int, list[int]] = {number: [] for number in range(len(answer["atoms"]))}
    for bond in answer["bonds"]:
        first, second = bond["atoms"]
        neighbours[first].append(second)
        neighbours[second].append(first)
    labels: dict[int, str] = {}
    for number, atom in enumerate(answer["atoms"]):
        if not atom["drawn"]:
            continue
        if atom["index"] is None:
            labels[number] = "H"
        elif atom["holds"]:
            labels[number] = group_label(molecule, answer, number, neighbours[number])
        else:
            rdkit_atom = molecule.GetAtomWithIdx(atom["index"])
            rdkit_atom.SetNoImplicit(True)
            rdkit_atom.SetNumExplicitHs(max(0, atom["hydrogens"]))
            labels[number] = drawing.atom_label(rdkit_atom)
    circled = {frozenset((ring[i - 1], ring[i])) for ring in answer["circles"] for i in range(len(ring))}
    position = {number: count for count, number in enumerate(labels)}
    bonds = []
    for first, second, indices, wedge in drawn_bonds(answer, position):
        kind = SINGLE if None in indices else drawing.bond_kind(written.GetBondBetweenAtoms(*indices))
        if frozenset((first, second)) in circled:
            kind = AROMATIC
        elif kind == AROMATIC:
            return None
        if kind == SINGLE:
            kind = {"up": WEDGE, "down": DASH}.get(wedge, kind)
        bonds.append((position[first], position[second], kind))
    if answer["dashed"] or len(bonds) < 2:
        return None
    points = np.array([(answer["atoms"][number]["x"], answer["atoms"][number]["y"]) for number in labels])
    return points, list(labels.values()), np.array(bonds, np.int64)


def group_label(molecule: Chem.Mol, answer: dict, centre: int, neighbours: list[int]) -> str:
    """Returns the label of an atom together with its neighbours that are not drawn."""
    drawn = [answer["atoms"][number]["index"] for number in neighbours if answer["atoms"][number]["drawn"]]
    hidden = [answer["atoms"][number]["index"] for number in neighbours if not answer["atoms"][number]["drawn"]]
    inside = [answer["atoms"][centre]["index"], *hidden]
    if len(drawn) != 1 or None in inside or drawn[0] is None:
        return UNKNOWN_LABEL
    group = Chem.RWMol(molecule)
    group.ReplaceAtom(drawn[0], Chem.Atom(0))
    for number in range(group.GetNumAtoms() - 1, -1, -1):
        if number not in inside and number not in drawn:
            group.RemoveAtom(number)
    return GROUPS_BY_SMILES.get(Chem.MolToSmiles(group.GetMol(), isomericSmiles=False), UNKNOWN_LABEL)
