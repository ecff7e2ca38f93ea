"""Draws molecules with other programs than RDKit, and labels where they put each atom. Needs its own environment:

    make .venv-renderers/stamp
    .venv-renderers/bin/python -m scripts.train.vision.other_programs --data DATA --programs indigo,cdk

writes DATA/drawings/PROGRAM.jsonl, a drawing a line: the picture as base64 of a PNG file, its atoms and bonds. Training
reads it with `--programs rdkit=1 PROGRAM=1`. An existing file is continued. With --layouts indigo,cdk the coordinates
are by these instead of RDKit, in PROGRAM-layouts.jsonl. With --plain each program draws SMILES with its default
settings, in PROGRAM-plain.jsonl.

For measuring, --measure FILE --to FOLDER draws each molecule of FILE once, in its order, up to --count;
scripts.eval.drawings reads the folder. Every program can then be --plain.
"""

from __future__ import annotations

import argparse
import base64
import functools
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.Geometry import Point3D

from scripts.served_reader import markush
from scripts.served_reader.ink import ink_of
from scripts.served_reader.labels import AROMATIC, DASH, DOUBLE, SINGLE, TRIPLE, WAVY, WEDGE
from scripts.train import files
from scripts.train.latent.corpus import parse_shares
from scripts.train.vision import abbreviations, alignment, corpus, drawing, marks, programs, styles, uneven_layout

POINT_DECIMALS = 1
"""Decimals of the stored points."""
MAX_ENDPOINT_DISTANCE = 1.5
"""The longest distance of a variable attachment's end to the nearest atom of its ring, in bond lengths."""


class OtherMolecule(Exception):
    """A layout shows another molecule than the given one."""


def change_layout(molecule: Chem.Mol, layout: programs.Layout) -> None:
    """Gives a molecule with coordinates those of another program. OtherMolecule if they show another arrangement."""
    plain = Chem.RWMol(molecule)
    for atom in plain.GetAtoms():
        if not atom.GetAtomicNum() or atom.HasProp(marks.DRAWN_LABEL):
            atom.SetAtomicNum(6)
            atom.SetIsotope(0)
            atom.SetNoImplicit(True)  # A carbon with any number of bonds.
    text = Chem.MolToMolBlock(plain)
    conformer = molecule.GetConformer()
    for number, (x, y) in enumerate(layout(text)):
        conformer.SetAtomPosition(number, Point3D(x, y, 0.0))
        plain.GetConformer().SetAtomPosition(number, Point3D(x, y, 0.0))
    if smiles_of(Chem.MolToMolBlock(plain)) != smiles_of(text):
        raise OtherMolecule


def smiles_of(text: str) -> str | None:
    """Returns the canonical SMILES of a mol file, None if RDKit does not read it."""
    molecule = Chem.MolFromMolBlock(text)
    return None if molecule is None else Chem.MolToSmiles(molecule)


def mol_file(
    molecule: Chem.Mol, random: Random, alter: drawing.Alter | None, layout: programs.Layout | None = None
) -> tuple[str, Chem.Mol, list[str]]:
    """Returns a mol file with coordinates and wedges, its molecule, and the label of each atom. OtherMolecule:
    change_layout."""
    if alter:
        molecule = alter(molecule, random)
    styles.lay_out(molecule, random)
    if layout:
        change_layout(molecule, layout)
    elif alter and random.random() < uneven_layout.SHARE:
        uneven_layout.distort(molecule, random)
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule)
    labels = [drawing.atom_label(a) for a in molecule.GetAtoms()]
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    for atom in molecule.GetAtoms():
        if atom.HasProp(marks.DRAWN_LABEL):
            atom.SetProp("molFileAlias", re.sub("</?su[bp]>", "", atom.GetProp("_displayLabel")))
            atom.SetAtomicNum(6)
            atom.SetNoImplicit(False)  # Open Babel draws a dot at a carbon that lacks hydrogens.
    molecule.SetProp("_MolFileChiralFlag", "1")
    return Chem.MolToMolBlock(molecule, kekulize=False), molecule, labels


def bonds_of(text: str) -> np.ndarray:
    """Returns two atoms and the kind of each bond of a V2000 mol file, int64 [bonds, 3], the narrow end of wedges
    first."""
    rows = text.split("\n")[3:]
    atoms, bonds = int(rows[0][:3]), int(rows[0][3:6])
    out = []
    for row in rows[1 + atoms : 1 + atoms + bonds]:
        first, second, order, stereo = (int(row[i : i + 3]) for i in (0, 3, 6, 9))
        if order == 1:
            kind = {1: WEDGE, 6: DASH, 4: WAVY}.get(stereo, SINGLE)
        else:
            kind = {2: DOUBLE, 3: TRIPLE, 4: AROMATIC}[order]
        out.append((first - 1, second - 1, kind))
    return np.array(out, np.int64).reshape(-1, 3)


def find_points(image: Image.Image, molecule: Chem.Mol, bonds: np.ndarray) -> np.ndarray | None:
    """Returns the atoms' points in a picture of a molecule with coordinates, float32 [atoms, 2] in pixels, None if no
    alignment fits."""
    single = np.flatnonzero(~np.isin(bonds[:, 2], (DOUBLE, AROMATIC)))
    positions = molecule.GetConformer().GetPositions()[:, :2]
    return alignment.align(ink_of(image), positions, bonds[single] if len(single) > 3 else bonds)


def draw_labelled(
    smiles: str,
    draw: programs.Draw,
    random: Random,
    alter: drawing.Alter | None,
    labelled: bool = True,
    layout: programs.Layout | None = None,
) -> dict | None:
    """Returns the record of one drawing.

    None if RDKit does not read the molecule or, with random groups, finds no Kekulé structure; if the layout shows
    another molecule; and, for a labelled drawing, if its atoms are not where the mol file puts them.
    """
    parsed = Chem.MolFromSmiles(smiles)
    if parsed is None:
        return None
    try:
        text, molecule, labels = mol_file(parsed, random, alter, layout)
    except (Chem.KekulizeException, OtherMolecule):
        return None
    if molecule.GetNumBonds() < 2:
        return None
    picture = draw(text, random)
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    bonds = bonds_of(text)
    for first, second in picture.circled:
        for row in bonds:
            if {row[0], row[1]} == {first, second}:
                row[2] = AROMATIC
    points = find_points(image, molecule, bonds)
    if points is None:
        if labelled:
            return None
        points = np.zeros((0, 2))
    return make_record(smiles, image, points, labels, bonds, picture.numbered)


class NoMoreMolecules(Exception):
    """Every molecule to be measured was drawn."""


@dataclass
class InOrder:
    """Molecules one after another, each once."""

    molecules: list[str]

    def draw(self, random: Random) -> str:
        """Returns the next molecule. NoMoreMolecules after the last."""
        if not self.molecules:
            raise NoMoreMolecules
        return self.molecules.pop(0)

    def after(self, path: Path) -> InOrder:
        """Returns the molecules after the last one in a file of drawings."""
        lines = path.read_text().splitlines() if path.exists() else []
        return InOrder(self.molecules[self.molecules.index(json.loads(lines[-1])["smiles"]) + 1 if lines else 0 :])


Molecules = corpus.Corpus | InOrder
RecordMaker = Callable[[Random], dict | None]
"""Makes a record; None if the attempt failed."""


def styled_records(
    name: str, molecules: Molecules, layouts: list[programs.Layout], labelled: bool, placeholders: float = 0.0
) -> RecordMaker:
    """Returns a maker of drawings by a program in random styles: labelled for training, else for measuring.

    placeholders: share of the labelled drawings with placeholders, by programs that write aliases.
    """
    draw = programs.PROGRAMS[name]()
    alter: drawing.Alter | None = None
    if labelled:
        altered = functools.partial(abbreviations.alter_for_training, with_placeholders=placeholders, wavy=False)
        alter = altered if name in programs.ALIASES else abbreviations.add_unknown_atom

    def record(random: Random) -> dict | None:
        layout = random.choice(layouts) if layouts else None
        return draw_labelled(molecules.draw(random), draw, random, alter, labelled, layout)

    return record


def plain_records(name: str, molecules: Molecules, labelled: bool) -> RecordMaker:
    """Returns a maker of drawings by a program with its default settings.

    Drawings of another molecule, by the program's own mol file, are left out. That file labels drawings for training.
    """
    draw = programs.PLAIN[name]()

    def record(random: Random) -> dict | None:
        smiles = molecules.draw(random)
        if Chem.MolFromSmiles(smiles) is None:
            return None
        drawn = draw(smiles)
        if drawn is None:
            return None
        png, text = drawn
        if text is not None and (smiles_of(text) != Chem.CanonSmiles(smiles) or not _shows_attachments(text, smiles)):
            return None
        if not labelled:
            return {"png": base64.b64encode(png).decode(), "smiles": smiles}
        if text is None:
            raise ValueError(f"{name} does not report what it draws: programs.REPORTING lists the programs that do")
        image, bonds = Image.open(io.BytesIO(png)).convert("RGB"), bonds_of(text)
        molecule = Chem.MolFromMolBlock(text, removeHs=False)
        points = find_points(image, molecule, bonds) if len(bonds) > 1 else None
        if points is None:
            return None
        return make_record(smiles, image, points, [drawing.atom_label(a) for a in molecule.GetAtoms()], bonds)

    return record


def _shows_attachments(text: str, smiles: str) -> bool:
    """Reports whether the bonds of variable attachments end near the atoms that CXSMILES names. CDK cannot always place
    them. text: the mol file of the drawing, with the atoms of the CXSMILES in their order."""
    molecule = Chem.MolFromSmiles(smiles)
    attachments = list(markush.attachments(molecule))
    if not attachments:
        return True
    points = Chem.MolFromMolBlock(text, removeHs=False).GetConformer().GetPositions()
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    reach = MAX_ENDPOINT_DISTANCE * float(np.median([np.linalg.norm(points[a] - points[b]) for a, b in bonds]))
    return all(np.linalg.norm(points[atoms] - points[inner], axis=1).min() < reach for inner, atoms in attachments)


def self_labelled_records(name: str, molecules: Molecules) -> RecordMaker:
    """Returns a maker of training drawings in random styles by a program with its own coordinates and labels, without
    those of another molecule."""
    draw = programs.SELF_LABELLED[name]()

    def record(random: Random) -> dict | None:
        smiles = molecules.draw(random)
        if Chem.MolFromSmiles(smiles) is None:
            return None
        drawn = draw(smiles, random)
        if drawn is None:
            return None
        picture, text = drawn
        if smiles_of(text) != Chem.CanonSmiles(smiles):
            return None
        image = Image.open(io.BytesIO(picture.png)).convert("RGB")
        return make_record(smiles, image, picture.points, picture.labels, picture.bonds)

    return record


def make_record(
    smiles: str, image: Image.Image, points: np.ndarray, labels: list[str], bonds: np.ndarray, numbered: bool = False
) -> dict:
    """Returns a drawing as stored. numbered: whether numbers stand in place of carbons."""
    png = io.BytesIO()
    image.quantize(32).save(png, "PNG", optimize=True)
    return {
        "png": base64.b64encode(png.getvalue()).decode(),
        "points": np.round(points, POINT_DECIMALS).tolist(),
        "atoms": labels,
        "bonds": bonds.tolist(),
        "smiles": smiles,
        "numbered": numbered,
    }


def extend_file(path: Path, count: int, record: RecordMaker, seed: str) -> None:
    """Extends a file to `count` records, the same ones for the same seed however often it is interrupted."""
    written = sum(1 for _ in path.open()) if path.exists() else 0
    failed = failed_in_a_row = 0
    with path.open("a") as file:
        while written < count:
            try:
                found = record(Random(f"{seed}/{written}/{failed_in_a_row}"))
            except NoMoreMolecules:
                break
            if found:
                file.write(json.dumps(found, separators=(",", ":")) + "\n")
                written += 1
                failed_in_a_row = 0
            else:
                failed += 1
                failed_in_a_row += 1
    print(f"{path.stem}: {written} drawings; {failed} attempts failed", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.other_programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument(
        "--programs",
        default="indigo,openbabel,cdk,chython",
        help="some of " + ", ".join([*programs.PROGRAMS, *programs.SELF_LABELLED]),
    )
    parser.add_argument("--count", type=int, default=6000, help="drawings by each program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--molecules",
        nargs="+",
        metavar="FILE=SHARE",
        help="files of the data folder, and their shares of the molecules (default: those of corpus.py)",
    )
    parser.add_argument(
        "--measure", type=Path, help="draw the molecules of this file, one SMILES or CXSMILES a line, to measure on"
    )
    parser.add_argument(
        "--layouts",
        default="",
        help="take the coordinates from one of these at random, instead of RDKit: " + ", ".join(programs.LAYOUTS),
    )
    parser.add_argument(
        "--placeholders",
        type=float,
        default=0.0,
        help="share of the drawings with R groups and the like, of "
        + ", ".join(sorted(programs.ALIASES))
        + " (default: 0)",
    )
    parser.add_argument("--plain", action="store_true", help="draw SMILES with each program's default settings")
    parser.add_argument("--to", type=Path, help="output folder (default: DATA/drawings)")
    given = parser.parse_args()
    if not (given.to if given.measure else given.data):
        parser.error("--data is required, or --to with --measure")
    if not 0 <= given.placeholders <= 1:
        parser.error(f"--placeholders must be 0 to 1, got {given.placeholders}")
    folder = given.to or Path(given.data) / "drawings"
    folder.mkdir(parents=True, exist_ok=True)
    molecules: Molecules = (
        InOrder([line.strip() for line in files.read_lines(given.measure) if line.strip()])
        if given.measure
        else corpus.load(Path(given.data), parse_shares(given.molecules, corpus.FILES))
    )
    labelled = not given.measure
    layouts = [programs.LAYOUTS[name]() for name in given.layouts.split(",") if name]
    suffix = "-plain" if given.plain else "-layouts" if layouts else ""
    for name in given.programs.split(","):
        path = folder / f"{name}{suffix}.jsonl"
        chosen = molecules.after(path) if isinstance(molecules, InOrder) else molecules
        if given.plain and labelled and name not in programs.REPORTING:
            listed = ", ".join(sorted(programs.REPORTING))
            parser.error(f"--plain without --measure is for {listed}, not for {name}")
        if given.plain:
            record = plain_records(name, chosen, labelled)
        elif name in programs.SELF_LABELLED:
            record = self_labelled_records(name, chosen)
        else:
            record = styled_records(name, chosen, layouts, labelled, given.placeholders)
        extend_file(path, given.count, record, f"{given.seed}/{name}")


if __name__ == "__main__":
    main()
