"""Reads every drawing on a page: finds the structures, reads each on its own ink, and tells molecules from other ink.

Terms are those of structures.py, and:
structure   bodies that are one drawing, with a broken-off label
neighbour   a body near a structure that may belong to it: an ion, a caption
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from .ink import Page, box_of, page_of, scale_of
from .molecule_builder import are_acid_and_base
from .placeholders import heavy_atoms
from .reading import MIN_DRAWING_PROBABILITY, Reading
from .structures import Bodies, bodies_of, cells_of, connected, dilated, gaps_around, reading_order
from .views import MAX_BOND, MIN_BOND, View

if TYPE_CHECKING:
    from .drawing_reader import DrawingReader

MAX_STRUCTURES = 64
"""The most drawings of a picture that are read: the largest ones."""
MAX_LOOKS = 128
"""The most bodies of a page that are looked at: those with the longest shorter sides, so not lines of text."""
MAX_FAILURES = 8
"""Bodies in a row that are no drawings, or structures that are no molecules, after which smaller ones are left out: the
others are text or noise."""
MIN_HEAVY_ATOMS = 4
"""The fewest heavy atoms of a drawing beside others. Less may be a letter or a part of a chart."""
BOND = 24.0
"""The bond length in scaled pixels at which a body is looked at."""
MIN_SECOND_LOOK = 2.0
"""The shorter side from which a body is looked at again at its own scale, in bond lengths. Lines of text are lower."""
MIN_PROBABILITY = 0.2
"""The least probability of a drawing at the first look; the reading decides."""
PARTS_LOOKED_AT = 3
"""The most drawings among the largest parts from which the bond length of a page is taken."""
PART_GAP = 4
"""The gap over which these parts are joined if none is a drawing, in cells of two pixels."""
MIN_PART = 1 / 6
"""The least shorter side of such a part, relative to the largest one."""
MIN_PART_BOND = 10.0
"""The least bond length of such a part, in scaled pixels."""
LABEL_GAP = 0.4
"""The largest gap of a label to its structure, in that structure's bond lengths."""
NEIGHBOUR_GAP = 1.4
"""The largest gap of an ion or a caption to its structure."""
MAX_ION = 1.8
"""The largest extent of an ion or a solvent, in the structure's bond lengths. A caption is often longer."""
SALT_GAP = 2.0
"""The largest gap between an acid and a base that are one drawing, in bond lengths."""
MAX_COUNTERPART = 15
"""The most heavy atoms of the smaller one."""
SMALL_COUNTERPART = 8
"""Up to this number of heavy atoms the gap may be SMALL_SALT_GAP: RDKit draws mesylic acid 3.9 bonds from imatinib."""
SMALL_SALT_GAP = 4.5


@dataclass
class Structure:
    """Bodies that are one drawing."""

    numbers: list[int]
    box: np.ndarray
    """The box of these bodies in cells, int64 [4]."""
    bond_length: float
    """In cells."""
    heavy_atoms: int
    probability: float
    """That it is a drawing, at the first look, as its heavy atoms."""
    neighbours: list[int] = field(default_factory=list)


def find_drawings(reader: DrawingReader, image: Image.Image, page: Page, first: View) -> PageReader | None:
    """Returns a reader of the structures in a picture, None if its ink is one body.

    first: the view of the whole picture.
    """
    bond_length = page_bond_length(reader, page.ink, first)
    bodies = bodies_of(page, bond_length) if bond_length else None
    if bodies is None:
        return None
    large = np.flatnonzero(bodies.is_large)
    heights = (bodies.boxes[large, 2:] - bodies.boxes[large, :2]).min(1)
    chosen = large[np.argsort(-heights, kind="stable")[:MAX_LOOKS]]
    detail = page_of(image, 2 * max(page.ink.shape)) if page.scale < 1 else page
    return PageReader(reader, detail, bodies, image.size, chosen.tolist())


def page_bond_length(reader: DrawingReader, ink: np.ndarray, first: View) -> float:
    """Returns the bond length of the smallest drawing on a page in pixels, 0 if no drawing is found.

    It is that of the whole picture's view if the view's scale was right, else that of the largest parts.
    """
    if is_drawing(reader, first) and first.bond_length >= MIN_BOND:
        return first.picture_bond_length()
    inked = cells_of(ink, 2)
    for gap in (0, PART_GAP):  # A molecule with many labels has no large part.
        lengths = part_bond_lengths(reader, ink, inked, gap)
        if lengths:
            return min(lengths)
    return 0.0


def part_bond_lengths(reader: DrawingReader, ink: np.ndarray, inked: np.ndarray, gap: int) -> list[float]:
    """Returns the bond lengths in the largest drawings among parts, in pixels. gap: up to which parts are joined, in
    cells."""
    runs = connected(dilated(inked, gap // 2, gap - gap // 2))
    labels = np.where(inked, runs.grid(runs.parts), -1)
    boxes = runs.boxes(runs.parts, runs.count)
    sides = (boxes[:, 2:] - boxes[:, :2]).min(1, initial=max(inked.shape))  # The longer one is long in a line of text.
    largest = np.argsort(-sides, kind="stable")[: 2 * PARTS_LOOKED_AT]
    largest = largest[sides[largest] > MIN_PART * sides.max(initial=0)]
    lengths: list[float] = []
    for number in largest.tolist() if len(largest) > 1 else []:
        part, _ = masked(ink, labels, [number], boxes[number], 2.0)
        whole = box_of(part)
        view = reader.take_view(part, whole, scale_of(whole)) if whole else None
        if view is not None and is_drawing(reader, view) and MIN_PART_BOND <= view.bond_length <= MAX_BOND:
            lengths.append(view.picture_bond_length())
        if len(lengths) == PARTS_LOOKED_AT:
            break
    return lengths


def is_drawing(reader: DrawingReader, view: View) -> bool:
    return (
        view.candidate is not None
        and view.bond_length > 0
        and reader.calibration.drawing_probability(view) > MIN_PROBABILITY
    )


def masked(
    ink: np.ndarray, labels: np.ndarray, numbers: list[int], box: np.ndarray, side: float
) -> tuple[np.ndarray, tuple[int, int]]:
    """Returns the ink of some bodies, blank elsewhere, cut to their box with two cells around it, and its left and top
    pixels.

    box: in cells. side: of a cell, in pixels of the ink.
    """
    left, top = np.maximum(box[:2] - 2, 0)
    window = labels[top : box[3] + 2, left : box[2] + 2]
    mine = np.isin(window, numbers)
    near = dilated(mine, 1, 1) & (mine | (window < 0))  # One cell around the ink has its blurred edge.
    edges = [np.ceil(np.arange(start, start + n + 1) * side).astype(int) for start, n in zip((top, left), near.shape)]
    edges = [np.minimum(edge, size) for edge, size in zip(edges, ink.shape)]
    mask = np.repeat(np.repeat(near, np.diff(edges[0]), 0), np.diff(edges[1]), 1)
    return ink[edges[0][0] : edges[0][-1], edges[1][0] : edges[1][-1]] * mask, (int(edges[1][0]), int(edges[0][0]))


def join(structures: dict[int, Structure], a: int, b: int) -> None:
    """Makes the structures of two bodies one."""
    first, second = structures[a], structures[b]
    if first is second:
        return
    first.numbers += second.numbers
    first.box = around(first.box, second.box)
    first.heavy_atoms += second.heavy_atoms
    first.probability = max(first.probability, second.probability)
    for number in second.numbers:
        structures[number] = first


def around(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the box around two boxes."""
    return np.concatenate([np.minimum(a[:2], b[:2]), np.maximum(a[2:], b[2:])])


class PageReader:
    """Reads the structures of one page."""

    def __init__(
        self, reader: DrawingReader, page: Page, bodies: Bodies, size: tuple[int, int], chosen: list[int]
    ) -> None:
        """Finds the structures among chosen bodies.

        page: on which the structures are read; it may be larger than the one on which bodies were found. size: of the
        picture.
        """
        self.reader = reader
        self.page = page
        self.bodies = bodies
        self.size = size
        self.cell = bodies.cell * page.scale
        """Side of a cell in pixels of the page."""
        self.structures = self.find_structures(chosen)

    def readings(self) -> list[Reading]:
        """Returns the readings of the molecules in reading order, or none if they are a salt."""
        found: list[tuple[Structure, Reading]] = []
        failures = 0
        for structure in self.structures:
            reading = self.read(structure)
            failures = failures + 1 if reading is None else 0
            if reading is not None:
                found.append((structure, reading))
            elif failures == MAX_FAILURES:
                break
        if len(found) == 2 and self.is_salt(*found):
            return []
        cut = len(found) > MAX_STRUCTURES
        found = sorted(found, key=lambda item: -np.prod(item[0].box[2:] - item[0].box[:2]))[:MAX_STRUCTURES]
        order = reading_order([reading.box for _, reading in found])
        return [replace(found[n][1], drawings=len(order), more_drawings=cut) for n in order]

    def find_structures(self, chosen: list[int]) -> list[Structure]:
        """Looks at bodies, and returns the structures with their neighbours."""
        found: dict[int, Structure] = {}
        failures = 0
        for number in chosen:
            structure = self.look_at(number)
            if structure is not None:
                found[number] = structure
            failures = 0 if structure is not None and structure.probability >= MIN_DRAWING_PROBABILITY else failures + 1
            if failures == MAX_FAILURES:
                break
        joined = dict(found)
        nearest: dict[int, tuple[float, int]] = {}
        """By body that is no structure: the gap to the nearest one, in its bond lengths, and that structure's body."""
        for number, structure in found.items():
            length = structure.bond_length
            box = self.bodies.boxes[number]
            for other, gap in gaps_around(self.bodies.labels, [number], box, int(NEIGHBOUR_GAP * length)).items():
                relative = gap / length
                if other in found:
                    if gap <= LABEL_GAP * min(length, found[other].bond_length):
                        join(joined, number, other)
                    continue
                if relative <= LABEL_GAP and nearest.get(other, (np.inf, 0))[0] <= LABEL_GAP:
                    join(joined, number, nearest[other][1])
                if relative < nearest.get(other, (np.inf, 0))[0]:
                    nearest[other] = relative, number
        for other, (gap, number) in nearest.items():
            structure, box = joined[number], self.bodies.boxes[other]
            if gap <= LABEL_GAP:
                structure.numbers.append(other)
                structure.box = around(structure.box, box)
            elif max(box[2:] - box[:2]) <= MAX_ION * structure.bond_length:
                structure.neighbours.append(other)
        return list({id(structure): structure for structure in joined.values()}.values())

    def look_at(self, number: int) -> Structure | None:
        """Returns a body as a structure, None if it is no drawing."""
        box = self.bodies.boxes[number]
        part = self.ink_of([number], box).ink
        whole = box_of(part)
        if whole is None:
            return None
        scales = [min(BOND / (self.bodies.bond_length * self.cell), 2 * scale_of(whole))]
        if min(box[2:] - box[:2]) > MIN_SECOND_LOOK * self.bodies.bond_length:
            scales.append(scale_of(whole))
        for scale in scales:
            view = self.reader.take_view(part, whole, scale)
            if view.candidate is not None and is_drawing(self.reader, view):
                heavy = heavy_atoms(view.candidate.molecule)
                probability = self.reader.calibration.drawing_probability(view)
                return Structure([number], box, view.picture_bond_length() / self.cell, heavy, probability)
        return None

    def ink_of(self, numbers: list[int], box: np.ndarray) -> Page:
        """Returns the ink of some bodies. box: around them, in cells."""
        ink, corner = masked(self.page.ink, self.bodies.labels, numbers, box, self.cell)
        return Page(ink, self.page.scale, corner)

    def read(self, structure: Structure) -> Reading | None:
        """Returns the reading of a structure, None if it is no molecule."""
        reading = self.reader.read_ink(self.ink_of(structure.numbers, structure.box), self.size)
        if structure.neighbours:
            whole = structure.box
            for neighbour in structure.neighbours:
                whole = around(whole, self.bodies.boxes[neighbour])
            salt = self.reader.read_ink(self.ink_of(structure.numbers + structure.neighbours, whole), self.size)
            if salt.is_readable() and not salt.is_unsure() and not salt.is_connected():
                reading, structure.box = salt, whole
        probability = max(reading.drawing_probability, structure.probability)
        atoms = reading.heavy_atoms() if reading.has_molecule() else structure.heavy_atoms
        if probability < MIN_DRAWING_PROBABILITY or atoms < MIN_HEAVY_ATOMS:
            return None
        left, top, right, bottom = (round(float(side) * self.bodies.cell) for side in structure.box)
        box = left, top, min(right, self.size[0]), min(bottom, self.size[1])
        return replace(reading, drawing_probability=probability, box=box)

    def is_salt(self, a: tuple[Structure, Reading], b: tuple[Structure, Reading]) -> bool:
        """Reports whether two drawings are an acid beside a base."""
        if not (a[1].has_molecule() and b[1].has_molecule()):
            return False
        if not are_acid_and_base(a[1].molecule, b[1].molecule):
            return False
        smaller = min(a[1].heavy_atoms(), b[1].heavy_atoms())
        apart = np.maximum(a[0].box[:2] - b[0].box[2:], b[0].box[:2] - a[0].box[2:]).max(initial=0)
        gap = apart / min(a[0].bond_length, b[0].bond_length)
        return bool(
            gap <= SMALL_SALT_GAP if smaller <= SMALL_COUNTERPART else gap <= SALT_GAP and smaller <= MAX_COUNTERPART
        )
