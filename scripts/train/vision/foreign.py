"""Draws molecules by other programs than RDKit, and finds where they put each atom. Needs an environment of its own:

    make .venv-renderers/stamp
    .venv-renderers/bin/python -m scripts.train.vision.foreign --data DATA --programs indigo,openbabel,cdk,chython --count 6000

writes runs/drawings/PROGRAM.jsonl: a drawing a line, its picture as base64 of a PNG file, its atoms and lines. A file that is there
is made longer. With --layouts indigo,openbabel,cdk the coordinates are by these instead of RDKit's, in PROGRAM-layouts.jsonl; with
--plain --programs openbabel,cdk,chython each draws SMILES as when nothing is set, in PROGRAM-plain.jsonl.

For measuring: --molecules FILE --to FOLDER draws each molecule of FILE once, in its order, as far as --count; scripts.eval.drawings
reads the folder. With --plain any program.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
from rdkit.Geometry import Point3D

from scripts.served_reader.ink import ink_of
from scripts.served_reader.labels import AROMATIC, DASH, DOUBLE, SINGLE, TRIPLE, WAVY, WEDGE
from scripts.train.vision import abbreviated, drawing, located, programs, sketched, styles
from scripts.train.vision.corpus import Corpus, molecules, read

ROUNDING = 1
"""Decimals of the points that are kept."""


class OtherMolecule(Exception):
    """Coordinates show another molecule than was asked for."""


def moved(molecule: Chem.Mol, layout: programs.Layout) -> None:
    """Gives a molecule with coordinates others by another program. OtherMolecule where they show another arrangement."""
    plain = Chem.RWMol(molecule)
    for atom in plain.GetAtoms():
        if not atom.GetAtomicNum() or atom.HasProp(abbreviated.SHORT):
            atom.SetAtomicNum(6)
            atom.SetIsotope(0)
            atom.SetNoImplicit(True)  # A carbon of whatever bonds it has.
    text = Chem.MolToMolBlock(plain)
    conformer = molecule.GetConformer()
    for number, (x, y) in enumerate(layout(text)):
        conformer.SetAtomPosition(number, Point3D(x, y, 0.0))
        plain.GetConformer().SetAtomPosition(number, Point3D(x, y, 0.0))
    if _shown(Chem.MolToMolBlock(plain)) != _shown(text):
        raise OtherMolecule


def _shown(text: str) -> str | None:
    """Canonical SMILES of what a mol file shows, None where RDKit does not read it."""
    molecule = Chem.MolFromMolBlock(text)
    return None if molecule is None else Chem.MolToSmiles(molecule)


def block(
    molecule: Chem.Mol, random: Random, alter: drawing.Alter | None, layout: programs.Layout | None = None
) -> tuple[str, Chem.Mol, list[str]]:
    """A mol file with coordinates and wedges, the molecule as it says, and what stands at each atom. OtherMolecule: see moved."""
    if alter:
        molecule = alter(molecule, random)
    styles.place(molecule, random)
    if layout:
        moved(molecule, layout)
    elif alter and random.random() < sketched.SHARE:
        sketched.sketched(molecule, random)
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule)
    marks = [drawing.atom_class(a) for a in molecule.GetAtoms()]
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    for atom in molecule.GetAtoms():
        if atom.HasProp(abbreviated.SHORT):
            atom.SetProp(
                "molFileAlias",
                atom.GetProp("_displayLabel")
                .replace("<sub>", "")
                .replace("</sub>", "")
                .replace("<sup>", "")
                .replace("</sup>", ""),
            )
            atom.SetAtomicNum(6)
            atom.SetNoImplicit(False)  # Open Babel draws a dot at a carbon that lacks hydrogens.
    molecule.SetProp("_MolFileChiralFlag", "1")
    return Chem.MolToMolBlock(molecule, kekulize=False), molecule, marks


def lines(text: str) -> np.ndarray:
    """int64 [bonds, 3]: two atoms and the kind of line, as a V2000 mol file says, narrow end of wedges first."""
    rows = text.split("\n")[3:]
    atoms, bonds = int(rows[0][:3]), int(rows[0][3:6])
    out = []
    for row in rows[1 + atoms : 1 + atoms + bonds]:
        first, second, order, stereo = (int(row[i : i + 3]) for i in (0, 3, 6, 9))
        kind = (
            {1: WEDGE, 6: DASH, 4: WAVY}.get(stereo, SINGLE)
            if order == 1
            else {2: DOUBLE, 3: TRIPLE, 4: AROMATIC}[order]
        )
        out.append((first - 1, second - 1, kind))
    return np.array(out, np.int64).reshape(-1, 3)


def placed(image: Image.Image, molecule: Chem.Mol, bonds: np.ndarray) -> np.ndarray | None:
    """Where the atoms of a molecule with coordinates are in a picture of it, float32 [atoms, 2] in pixels; None where no place fits."""
    single = np.flatnonzero(~np.isin(bonds[:, 2], (DOUBLE, AROMATIC)))
    return located.located(
        ink_of(image), molecule.GetConformer().GetPositions()[:, :2], bonds[single] if len(single) > 3 else bonds
    )


def drawn(
    smiles: str,
    draw: Callable[[str, Random], programs.Picture],
    random: Random,
    alter: drawing.Alter | None,
    labelled: bool = True,
    layout: programs.Layout | None = None,
) -> dict | None:
    """One drawing as a record; None where it is to be labelled and its atoms are not where the mol file says, where RDKit does not read
    the molecule, where one with random groups has no Kekulé structure, or where the layout shows another molecule."""
    read = Chem.MolFromSmiles(smiles)
    if read is None:
        return None
    try:
        text, molecule, marks = block(read, random, alter, layout)
    except (Chem.KekulizeException, OtherMolecule):
        return None
    if molecule.GetNumBonds() < 2:
        return None
    picture = draw(text, random)
    image = Image.open(io.BytesIO(picture.png)).convert("RGB")
    bonds = lines(text)
    for first, second in picture.circled:
        for row in bonds:
            if {row[0], row[1]} == {first, second}:
                row[2] = AROMATIC
    points = placed(image, molecule, bonds)
    if points is None:
        if labelled:
            return None
        points = np.zeros((0, 2))
    return written(smiles, image, points, marks, bonds, picture.numbered)


class NoMoreMolecules(Exception):
    """All those to be measured were drawn."""


@dataclass
class InTurn:
    """Molecules one after another, each once."""

    molecules: list[str]

    def draw(self, random: Random) -> str:
        """The next molecule, whatever the chance. NoMoreMolecules behind the last."""
        if not self.molecules:
            raise NoMoreMolecules
        return self.molecules.pop(0)

    def after(self, path: Path) -> InTurn:
        """Those behind the last one that a file of drawings has."""
        done = path.read_text().splitlines() if path.exists() else []
        return InTurn(self.molecules[self.molecules.index(json.loads(done[-1])["smiles"]) + 1 if done else 0 :])


Molecules = Corpus | InTurn
Record = Callable[[Random], dict | None]


def styled(name: str, molecules: Molecules, layouts: list[programs.Layout], labelled: bool) -> Record:
    """Makes drawings by a program in random styles, to learn from where labelled, else to measure."""
    draw = programs.PROGRAMS[name]()
    alter = None if not labelled else abbreviated.shortened if name in programs.ALIASES else abbreviated.alien

    def record(random: Random) -> dict | None:
        layout = random.choice(layouts) if layouts else None
        return drawn(molecules.draw(random), draw, random, alter, labelled, layout)

    return record


def plain(name: str, molecules: Molecules, labelled: bool) -> Record:
    """Makes drawings as a program does when nothing is set, but for those that show another molecule by the program's own mol file;
    labelled by that file where they are to learn from."""
    draw = programs.PLAIN[name]()

    def record(random: Random) -> dict | None:
        smiles = molecules.draw(random)
        if Chem.MolFromSmiles(smiles) is None:
            return None
        png, text = draw(smiles) or (None, None)
        if png is None or (text is not None and _shown(text) != Chem.CanonSmiles(smiles)):
            return None
        if not labelled:
            return {"png": base64.b64encode(png).decode(), "smiles": smiles}
        image, bonds = Image.open(io.BytesIO(png)).convert("RGB"), lines(text)
        molecule = Chem.MolFromMolBlock(text, removeHs=False)
        points = placed(image, molecule, bonds) if len(bonds) > 1 else None
        if points is None:
            return None
        return written(smiles, image, points, [drawing.atom_class(a) for a in molecule.GetAtoms()], bonds)

    return record


def own(name: str, molecules: Molecules) -> Record:
    """Makes drawings in random styles to learn from, with the program's own coordinates, but for those that show another molecule."""
    draw = programs.OWN[name]()

    def record(random: Random) -> dict | None:
        smiles = molecules.draw(random)
        if Chem.MolFromSmiles(smiles) is None:
            return None
        labels, text = draw(smiles, random) or (None, None)
        if labels is None or _shown(text) != Chem.CanonSmiles(smiles):
            return None
        return written(
            smiles, Image.open(io.BytesIO(labels.png)).convert("RGB"), labels.points, labels.marks, labels.bonds
        )

    return record


def written(
    smiles: str, image: Image.Image, points: np.ndarray, marks: list[str], bonds: np.ndarray, numbered: bool = False
) -> dict:
    """What a record keeps of a molecule, its picture and labels, and whether numbers stand in the place of carbons."""
    small = io.BytesIO()
    image.quantize(32).save(small, "PNG", optimize=True)
    return {
        "png": base64.b64encode(small.getvalue()).decode(),
        "points": np.round(points, ROUNDING).tolist(),
        "atoms": marks,
        "bonds": bonds.tolist(),
        "smiles": smiles,
        "numbered": numbered,
    }


def make(path: Path, count: int, record: Record, seed: str) -> None:
    """Makes a file longer until it has count records, the same ones for the same seed however often it is stopped."""
    made = sum(1 for _ in path.open()) if path.exists() else 0
    failed = failed_since = 0
    with path.open("a") as file:
        while made < count:
            try:
                found = record(Random(f"{seed}/{made}/{failed_since}"))
            except NoMoreMolecules:
                break
            if found:
                file.write(json.dumps(found, separators=(",", ":")) + "\n")
                made += 1
                failed_since = 0
            else:
                failed += 1
                failed_since += 1
    print(f"{path.stem}: {made} drawings; {failed} tries of this call gave none", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.foreign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument(
        "--programs",
        default="indigo,openbabel,cdk,chython",
        help="which of " + ", ".join([*programs.PROGRAMS, *programs.OWN]),
    )
    parser.add_argument("--count", type=int, default=6000, help="drawings a program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--molecules", type=Path, help="draw those of a file, one SMILES a line, instead: for measuring"
    )
    parser.add_argument(
        "--layouts",
        default="",
        help="coordinates by these at random, instead of RDKit's: " + ", ".join(programs.LAYOUTS),
    )
    parser.add_argument("--plain", action="store_true", help="as each program draws SMILES when nothing is set")
    parser.add_argument("--to", type=Path, default=Path("runs/drawings"), help="folder")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    measured = InTurn(read(given.molecules)) if given.molecules else None
    learnt = molecules(given.data) if measured is None else None
    layouts = [programs.LAYOUTS[name]() for name in given.layouts.split(",") if name]
    end = "-plain" if given.plain else "-layouts" if layouts else ""
    for name in given.programs.split(","):
        path = given.to / f"{name}{end}.jsonl"
        chosen = learnt or measured.after(path)
        if given.plain and not given.molecules and name not in programs.TOLD:
            parser.error(f"--plain without --molecules is for {', '.join(sorted(programs.TOLD))}, not for {name}")
        if given.plain:
            record = plain(name, chosen, labelled=given.molecules is None)
        elif name in programs.OWN:
            record = own(name, chosen)
        else:
            record = styled(name, chosen, layouts, labelled=given.molecules is None)
        make(path, given.count, record, f"{given.seed}/{name}")


if __name__ == "__main__":
    main()
