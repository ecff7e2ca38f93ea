"""Finds the structures on a page: which ink belongs to which molecule. Geometry only; page_reader.py runs the networks.

Ink is looked at in square cells of a twelfth of a bond. Distances are in bond lengths.

Terms:
part       connected ink: a skeleton, a letter, an arrow
body       parts with short gaps between them: a molecule with its labels, a word, a line of text
rule       a straight line that is no bond: an arrow, a line under a title, the grid of a table
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from .ink import INKED, Box, Page

CELLS_PER_BOND = 12
LINK = 4
"""The most blank cells between parts of a body, a third of a bond. Labels are up to 0.32 bonds from their bonds in
drawings by eight programs, different molecules at least 0.5."""
FAINT = 24
"""The ink above which a pixel counts on clean paper. The bars of a hashed wedge are faint in a small or blurred
picture."""
MAX_FAINT_SHARE = 2.0
"""The most cells with such ink, relative to those above INKED. Noisy paper has more."""
MIN_STRUCTURE = 1.5
"""The least extent of a structure's largest part. A letter is smaller."""
MIN_RULE = 2.5
"""The least length of a rule."""
LINE_WIDTH = 0.35
"""The most width of a part that is a line. Of three bonds at the usual angles, it is more."""
ARROW_WIDTH = 0.9
"""The most width of an arrow, with its head."""
MIN_SHAFT = 0.8
"""The least share of an arrow's length that one line covers."""
RULE_RUN = 3.0
"""The least length of the lines of a table or a frame."""
MIN_RULED_SHARE = 0.85
"""The least share of the cells of a table's grid that such lines cover."""


@dataclass
class Bodies:
    """The bodies of a page without its rules."""

    cell: float
    """Side of a cell in pixels of the picture."""
    bond_length: float
    """In cells."""
    labels: np.ndarray
    """int32 [rows, columns]: the number of each cell's body, -1 for blank cells."""
    boxes: np.ndarray
    """int64 [bodies, 4]: left, top, right, bottom in cells, right and bottom exclusive."""
    is_large: np.ndarray
    """bool [bodies]: whether a part is as large as a structure."""


def cells_of(ink: np.ndarray, side: int) -> np.ndarray:
    """Returns which cells of a side in pixels have ink, bool [rows, columns]."""
    strongest = np.pad(ink, [(0, -size % side) for size in ink.shape])
    for _ in range(2):  # Rows, then columns.
        strongest = functools.reduce(np.maximum, (strongest[n::side] for n in range(side))).T
    inked, faint = strongest > INKED, strongest > FAINT
    return faint if np.count_nonzero(faint) <= MAX_FAINT_SHARE * np.count_nonzero(inked) else inked


@dataclass
class Runs:
    """The runs of inked cells in the rows of a page, with the number of the connected part that each is in. Cells that
    share a corner are connected."""

    shape: tuple[int, int]
    rows: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    """First column and the one after the last."""
    parts: np.ndarray
    count: int
    """Of parts."""

    def grid(self, numbers: np.ndarray) -> np.ndarray:
        """Returns the number of the run that each cell is in, int32 [rows, columns], -1 for blank cells."""
        out = np.full(self.shape, -1, np.int32)
        lengths = self.ends - self.starts
        first = self.rows * self.shape[1] + self.starts
        out.ravel()[_ranges(first, lengths)] = np.repeat(numbers, lengths)
        return out

    def boxes(self, numbers: np.ndarray, count: int) -> np.ndarray:
        """Returns the box around the runs of each number, int64 [count, 4]."""
        out = np.zeros((count, 4), np.int64)
        out[:, :2] = max(self.shape)
        for side, low, high in ((0, self.starts, self.ends), (1, self.rows, self.rows + 1)):
            np.minimum.at(out[:, side], numbers, low)
            np.maximum.at(out[:, side + 2], numbers, high)
        return out


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Returns the integers of ranges, one after the other."""
    return np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)


def connected(inked: np.ndarray) -> Runs:
    """Returns the runs of inked cells. A run is joined with the runs that it touches in the next row."""
    stride = inked.shape[1] + 2
    padded = np.zeros((inked.shape[0], stride), np.int8)
    padded[:, 1:-1] = inked
    edges = np.flatnonzero(np.diff(padded.ravel(), prepend=np.int8(0)))
    starts, ends = edges[::2], edges[1::2]
    first = np.searchsorted(ends, starts + stride, side="left")
    last = np.searchsorted(starts, ends + stride, side="right")
    touching = np.maximum(last - first, 0)
    parts = _joined(len(starts), np.repeat(np.arange(len(starts)), touching), _ranges(first, touching))
    rows = starts // stride
    shift = rows * stride + 1
    return Runs(inked.shape, rows, starts - shift, ends - shift, parts, int(parts.max(initial=-1)) + 1)


def _joined(count: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns the number of the set that each of `count` elements is in after the pairs a[i], b[i] are joined."""
    roots = np.arange(count)
    while True:
        low, high = np.minimum(roots[a], roots[b]), np.maximum(roots[a], roots[b])
        apart = low != high
        if not apart.any():
            return np.unique(roots, return_inverse=True)[1].reshape(-1)
        np.minimum.at(roots, high[apart], low[apart])
        while (roots[roots] != roots).any():
            roots = roots[roots]


def dilated(inked: np.ndarray, before: int, after: int) -> np.ndarray:
    """Returns the cells within a square around an inked cell: `before` cells to the left and above, `after` to the
    right and below."""
    out = inked
    for axis in (0, 1):
        pad = [(0, 0), (0, 0)]
        pad[axis] = (after + 1, before)
        sums = np.cumsum(np.pad(out, pad), axis, dtype=np.int32)
        width = before + after + 1
        out = np.take(sums, range(width, sums.shape[axis]), axis) > np.take(sums, range(sums.shape[axis] - width), axis)
    return out


def bodies_of(page: Page, bond_length: float) -> Bodies | None:
    """Returns the bodies of a page with bonds of a length in pixels of its ink; None if it has fewer than two that are
    as large as a structure."""
    side = max(1, round(bond_length / CELLS_PER_BOND))
    per_bond = bond_length / side
    smallest = MIN_STRUCTURE * per_bond
    inked = cells_of(page.ink, side)
    # A cell reaches link / 2 cells to all sides, so bodies are linked over up to `link` blank cells.
    link = max(1, round(LINK * per_bond / CELLS_PER_BOND))
    linked = connected(dilated(inked, link // 2, link - link // 2))
    boxes = linked.boxes(linked.parts, linked.count)
    if np.count_nonzero((boxes[:, 2:] - boxes[:, :2]).max(1, initial=0) - link >= smallest) < 2:
        return None
    runs = connected(inked)
    parts = runs.grid(runs.parts)
    boxes = runs.boxes(runs.parts, runs.count)
    extents = (boxes[:, 2:] - boxes[:, :2]).max(1, initial=0)
    rules = [n for n in np.flatnonzero(extents >= MIN_RULE * per_bond) if _is_rule(parts, n, boxes[n], per_bond)]
    if rules:
        inked &= ~np.isin(parts, rules)
        runs = connected(inked)
        linked = connected(dilated(inked, link // 2, link - link // 2))
        boxes = runs.boxes(runs.parts, runs.count)
        extents = (boxes[:, 2:] - boxes[:, :2]).max(1, initial=0)
    bodies = linked.grid(linked.parts)[runs.rows, runs.starts]
    is_large = np.zeros(linked.count, bool)
    is_large[bodies[extents[runs.parts] >= smallest]] = True
    return Bodies(side / page.scale, per_bond, runs.grid(bodies), runs.boxes(bodies, linked.count), is_large)


def _is_rule(parts: np.ndarray, number: int, box: np.ndarray, per_bond: float) -> bool:
    """Reports whether a part is an arrow or a line, or consists of long lines across and down."""
    left, top, right, bottom = box
    part = parts[top:bottom, left:right] == number
    width, length = sorted(part.shape)
    if width <= LINE_WIDTH * per_bond:
        return True
    if width <= ARROW_WIDTH * per_bond:
        lines = part if part.shape[1] == length else part.T
        starts, ends = (
            np.nonzero(np.diff(np.pad(lines, ((0, 0), (1, 1))).astype(np.int8)) == sign)[1] for sign in (1, -1)
        )
        return bool((ends - starts).max() >= MIN_SHAFT * length)
    if max(part.shape) < 2 * RULE_RUN * per_bond:
        return False
    length = int(RULE_RUN * per_bond)
    ruled = np.zeros_like(part)
    for turned in (False, True):
        lines, out = (part.T, ruled.T) if turned else (part, ruled)
        edges = np.diff(np.pad(lines, ((0, 0), (1, 1))).astype(np.int8), axis=1)
        (rows, starts), (_, ends) = np.nonzero(edges == 1), np.nonzero(edges == -1)
        for row, start, end in zip(rows, starts, ends):
            if end - start >= length:
                out[row, start:end] = True
    return bool(ruled.sum() >= MIN_RULED_SHARE * part.sum())


def distances(inked: np.ndarray, reach: int) -> np.ndarray:
    """Returns the distance of each cell to the nearest inked cell, in cells; more than `reach` if it is farther."""
    rows, columns = inked.shape
    far = np.int32(2 * reach + 2)
    index = np.arange(columns, dtype=np.int32)
    before = np.maximum.accumulate(np.where(inked, index, -far), axis=1)
    after = np.minimum.accumulate(np.where(inked, index, columns + far)[:, ::-1], axis=1)[:, ::-1]
    across = np.minimum(np.minimum(index - before, after - index), far).astype(np.int32) ** 2
    nearest = across.copy()
    for step in range(1, min(reach, rows - 1) + 1):
        np.minimum(nearest[step:], across[:-step] + step * step, out=nearest[step:])
        np.minimum(nearest[:-step], across[step:] + step * step, out=nearest[:-step])
    return np.sqrt(nearest)


def gaps_around(labels: np.ndarray, numbers: list[int], box: np.ndarray, reach: int) -> dict[int, float]:
    """Returns the distances in cells of the other bodies within `reach` cells of some bodies, by number.

    box: the box around these bodies, in cells.
    """
    left, top = np.maximum(box[:2] - reach, 0)
    right, bottom = box[2:] + reach
    window = labels[top:bottom, left:right]
    mine = np.isin(window, numbers)
    others = (window >= 0) & ~mine
    found = window[others]
    away = distances(mine, reach)[others]
    order = np.lexsort((away, found))
    found, away = found[order], away[order]
    firsts = np.flatnonzero(np.diff(found, prepend=-1))
    return {int(n): float(d) - 1 for n, d in zip(found[firsts], away[firsts]) if d - 1 <= reach}


def reading_order(boxes: list[Box]) -> list[int]:
    """Returns the indices of boxes by rows from the top, each from left to right.

    A box is in the row of the topmost box that is left if its middle is above the bottom of that box.
    """
    left = sorted(range(len(boxes)), key=lambda n: boxes[n][1])
    out: list[int] = []
    while left:
        bottom = boxes[left[0]][3]
        row = [n for n in left if boxes[n][1] + boxes[n][3] < 2 * bottom]
        out += sorted(row, key=lambda n: boxes[n][0])
        left = [n for n in left if n not in row]
    return out
