"""Pages of several drawings, composed for scripts.eval.pages: 2 to 12 drawings in rows, with numbers, names and yields
below them, arrows and plus signs between some, a title and lines of text.

The drawings are by RDKit, or by programs that the reader was not trained on. Pages have 100 to 300 dots per inch; some
are grey and noisy as a scan.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.eval import drawing_sets
from scripts.train.vision import styles

Box = tuple[int, int, int, int]
WIDTH, MARGIN = 8.27, 0.6
"""Of a page, in inches."""
MAX_HEIGHT = 11.69
"""Of a page, in inches; further drawings are left out."""
HELD_OUT = ("openchemlib-plain", "pikachu-plain")
"""Files of drawings by programs that the reader was not trained on."""
MIN_ATOMS = 6
"""The fewest heavy atoms of a molecule."""
ELEMENTS = {"C", "N", "O", "S", "P", "F", "Cl", "Br", "I", "B", "Si"}
SCREEN = 96
"""Dots per inch of the other programs' drawings."""
WORDS = (
    "the reaction of compound with acid in methanol gave yield product was prepared according to general procedure "
    "as shown Figure Scheme Table selected inhibitors activity against kinase IC50 values were measured mixture "
    "stirred at room temperature for 12 h then washed with brine dried over Na2SO4 and purified by column "
    "chromatography a white solid mp 142 °C 1H NMR (400 MHz, CDCl3) δ 7.32 (d, J = 8.1 Hz, 2H) 3.81 (s, 3H)"
).split()


@dataclass
class Structure:
    """One drawing of a page."""

    smiles: str
    """Canonical."""
    box: Box
    """Left, top, right, bottom in pixels."""
    program: str


@dataclass
class ComposedPage:
    """A page with the drawings on it, in no order."""

    file: bytes
    """PNG or JPEG."""
    structures: list[Structure]
    kind: str
    """clean or scanned."""


def pages(data: Path, folder: Path | None, count: int, seed: int) -> Iterator[ComposedPage]:
    """Composes pages. folder: files of HELD_OUT by scripts.train.vision.other_programs; without it, all drawings are by
    RDKit."""
    molecules = [s for s in drawing_sets.molecules(data, 8 * count, seed + 2) if is_organic(s)]
    others = [
        (name.removesuffix("-plain"), smiles, file)
        for name in HELD_OUT
        if folder
        for smiles, file in drawing_sets.drawn_by(folder / f"{name}.jsonl", 10 * count)[1]
        if is_organic(smiles)
    ]
    for number in range(count):
        random = Random(f"page {seed} {number}")
        yield compose(molecules, others, random)


def is_organic(smiles: str) -> bool:
    """Reports whether a molecule is in one piece, with carbon and MIN_ATOMS."""
    molecule = Chem.MolFromSmiles(smiles)
    elements = {atom.GetSymbol() for atom in molecule.GetAtoms()}
    return "." not in smiles and molecule.GetNumHeavyAtoms() >= MIN_ATOMS and "C" in elements and elements <= ELEMENTS


def compose(molecules: list[str], others: list[tuple[str, str, bytes]], random: Random) -> ComposedPage:
    """Returns a page of random drawings."""
    dpi = random.choice([100, 150, 200, 300])
    is_scan = random.random() < 0.5
    program = random.choice(["rdkit", "rdkit", "other"]) if others else "rdkit"
    drawings = []
    style = random.getrandbits(32)
    for _ in range(random.randrange(2, 13)):
        if program == "rdkit":
            smiles = random.choice(molecules)
            image = drawn_by_rdkit(smiles, dpi, is_scan, Random(style))
            drawings.append((smiles, image, program))
        else:
            name, smiles, file = random.choice(others)
            image = Image.open(io.BytesIO(file)).convert("RGB")
            factor = dpi / SCREEN
            size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
            drawings.append((smiles, image.resize(size, Image.Resampling.LANCZOS), name))
    return Composer(dpi, is_scan, random).page([(smiles, trimmed(image), name) for smiles, image, name in drawings])


def drawn_by_rdkit(smiles: str, dpi: int, black: bool, random: Random) -> Image.Image:
    """Draws with bonds of 0.17 to 0.24 inches, in RDKit's default style or in that of the ACS, in colours or black."""
    molecule = Chem.MolFromSmiles(smiles)
    drawer = rdMolDraw2D.MolDraw2DCairo(-1, -1)
    options = drawer.drawOptions()
    options.includeMetadata = False
    bond = random.uniform(0.17, 0.24) * dpi
    if random.random() < 0.3:
        rdMolDraw2D.SetACS1996Mode(options, 1.5)
        options.fixedFontSize = round(options.fixedFontSize * bond / options.fixedBondLength)
    options.bondLineWidth = max(1, round(dpi / 100 * random.choice([0.7, 1, 1.3])))
    if black or random.random() < 0.5:
        options.useBWAtomPalette()
    options.fixedBondLength = bond
    options.scalingFactor = bond / 1.5
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, molecule)
    drawer.FinishDrawing()
    return Image.open(io.BytesIO(drawer.GetDrawingText())).convert("RGB")


def trimmed(image: Image.Image) -> Image.Image:
    """Returns the picture without its blank border."""
    inked = np.asarray(image.convert("L")) < 208
    rows, columns = np.flatnonzero(inked.any(1)), np.flatnonzero(inked.any(0))
    return image.crop((int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1))


class Composer:
    """Puts drawings and text on a page."""

    def __init__(self, dpi: int, is_scan: bool, random: Random) -> None:
        self.dpi = dpi
        self.is_scan = is_scan
        self.random = random
        self.width = round(WIDTH * dpi)
        self.image = Image.new("RGB", (self.width, round(MAX_HEIGHT * dpi)), "white")
        self.pen = ImageDraw.Draw(self.image)
        self.font_file = random.choice(styles.fonts())
        self.y = MARGIN * dpi

    def font(self, points: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        size = max(6, round(points / 72 * self.dpi))
        return ImageFont.truetype(self.font_file, size) if self.font_file else ImageFont.load_default(size)

    def page(self, drawings: list[tuple[str, Image.Image, str]]) -> ComposedPage:
        random, inch = self.random, self.dpi
        if random.random() < 0.5:
            self.write(" ".join(random.choices(WORDS, k=random.randrange(2, 7))), random.uniform(12, 18))
        if random.random() < 0.5:
            self.paragraph(random.randrange(1, 7))
        structures: list[Structure] = []
        is_scheme = random.random() < 0.3
        captions = random.choice(["none", "number", "number", "name", "lines"])
        while drawings:
            row: list[tuple[str, Image.Image, str]] = []
            gaps: list[float] = []
            used = 2 * MARGIN * inch
            while drawings:
                gap = random.uniform(0.9, 1.2) * inch if is_scheme and row else random.uniform(0.25, 0.7) * inch
                wide = drawings[0][1].width + gap * bool(row)
                if row and used + wide > self.width:
                    break
                used += wide
                gaps.append(gap)
                row.append(drawings.pop(0))
            height = max(image.height for _, image, _ in row)
            if self.y + height + 0.8 * inch > self.image.height:
                break
            structures += self.row(row, gaps, height, is_scheme, captions)
        if random.random() < 0.4:
            self.paragraph(random.randrange(1, 5))
        bottom = min(round(self.y + MARGIN * inch), self.image.height)
        image = self.image if random.random() < 0.3 else self.image.crop((0, 0, self.width, bottom))
        return self.finished(image, structures)

    def row(
        self,
        row: list[tuple[str, Image.Image, str]],
        gaps: list[float],
        height: int,
        is_scheme: bool,
        captions: str,
    ) -> list[Structure]:
        """Puts drawings beside each other, with captions below and signs between them."""
        out = []
        x = MARGIN * self.dpi
        for (smiles, image, program), gap in zip(row, gaps):
            if x > MARGIN * self.dpi:
                if is_scheme:
                    self.sign(x, x + gap, self.y + height / 2)
                x += gap
            left, top = round(x), round(self.y + (height - image.height) / 2)
            self.image.paste(image, (left, top))
            out.append(Structure(smiles, (left, top, left + image.width, top + image.height), program))
            self.caption(captions, left + image.width / 2, self.y + height + self.random.uniform(0.06, 0.15) * self.dpi)
            x += image.width
        self.y += height + (0.25 + 0.2 * (captions == "lines") + self.random.uniform(0.1, 0.4)) * self.dpi
        return out

    def caption(self, kind: str, x: float, y: float) -> None:
        random = self.random
        number = f"{random.randrange(1, 60)}{random.choice(['', '', 'a', 'b'])}"
        name = " ".join(random.choices(WORDS, k=random.randrange(1, 3)))[:24]
        text = {
            "none": "",
            "number": random.choice([number, f"({number})"]),
            "name": name,
            "lines": f"{number}\n{random.randrange(10, 99)} % yield",
        }[kind]
        self.pen.text((x, y), text, "black", self.font(random.uniform(8, 11)), anchor="ma", align="center")

    def sign(self, left: float, right: float, y: float) -> None:
        """Draws an arrow with reagents, or a plus sign."""
        random = self.random
        middle = (left + right) / 2
        if random.random() < 0.4:
            self.pen.text((middle, y), "+", "black", self.font(18), anchor="mm")
            return
        inch = self.dpi
        start, end = left + 0.15 * inch, right - 0.15 * inch
        width = max(1, round(inch / 100))
        self.pen.line([(start, y), (end, y)], "black", width)
        self.pen.polygon([(end, y), (end - 0.1 * inch, y - 0.04 * inch), (end - 0.1 * inch, y + 0.04 * inch)], "black")
        font = self.font(7)
        self.pen.text(
            (middle, y - 0.05 * inch), random.choice(["NaH, THF", "HCl", "Pd/C, H2", "rt"]), "black", font, "ms"
        )
        if random.random() < 0.5:
            self.pen.text((middle, y + 0.04 * inch), f"{random.randrange(20, 99)} %", "black", font, "ma")

    def write(self, text: str, points: float) -> None:
        font = self.font(points)
        self.pen.text((MARGIN * self.dpi, self.y), text, "black", font)
        self.y += points / 72 * 1.6 * self.dpi

    def paragraph(self, lines: int) -> None:
        for _ in range(lines):
            font = self.font(10)
            text = ""
            while self.pen.textlength(text, font) < self.width - 2.2 * MARGIN * self.dpi:
                text += " " * bool(text) + self.random.choice(WORDS)
            self.write(text.rpartition(" ")[0], 10)
        self.y += 0.2 * self.dpi

    def finished(self, image: Image.Image, structures: list[Structure]) -> ComposedPage:
        """Returns the page as a file, clean or as from a scanner."""
        random = self.random
        file = io.BytesIO()
        if not self.is_scan:
            image.save(file, "PNG")
            return ComposedPage(file.getvalue(), structures, "clean")
        grey = image.convert("L").filter(ImageFilter.GaussianBlur(random.uniform(0.3, 0.8) * self.dpi / 200))
        pixels = np.asarray(grey).astype(np.float32)
        noise = np.random.default_rng(random.getrandbits(32))
        paper, ink = random.uniform(225, 255), random.uniform(0, 60)
        pixels = ink + pixels / 255 * (paper - ink) + noise.normal(0, random.uniform(1, 7), pixels.shape)
        specks = noise.integers(0, pixels.size, random.randrange(0, 60))
        pixels.ravel()[specks] = 0
        scan = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        if random.random() < 0.3:
            scan = scan.point(lambda v: 255 if v > 150 else 0)
        if random.random() < 0.5:
            scan.save(file, "JPEG", quality=random.randrange(60, 92))
        else:
            scan.save(file, "PNG")
        return ComposedPage(file.getvalue(), structures, "scanned")
