"""The inked cells of drawings, and who is whose neighbour: what the networks compute on instead of whole pictures.

A line drawing leaves nine tenths of its picture blank. The networks look only at cells that hold ink: squares of 2, 4, 8
and 16 pixels, each level halving the one before. Cells are rows of matrices, and a 3x3 convolution gathers nine rows
(a blank neighbour is a row of zeros). Several drawings lie in one canvas below each other, two blank cells apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIDES = (2, 4, 8, 16)
"""Side of a cell in pixels, level by level."""
THRESHOLD = 40
"""A cell is inked where a pixel of it is darker than this (0 white, 255 black)."""
PATCH = 6
"""Side of the square of pixels that a cell of the first level sees: itself and its neighbours."""


@dataclass
class Level:
    """The inked cells of one size, in reading order. n of them; the number n stands for a blank one."""

    side: int
    ids: np.ndarray
    """int32 [rows + 2, columns + 2]: number of each cell, with a blank border."""
    rows: np.ndarray
    columns: np.ndarray
    neighbours: np.ndarray
    """int64 [n, 9]: the 3x3 square around the cell, in reading order."""
    children: np.ndarray | None = None
    """int64 [n, 4]: the cells of the level before that lie in this one (none at the first level)."""
    place: np.ndarray | None = None
    """int64 [n]: 4 x parent + position in it, where the parent is a cell of the next level (none at the last)."""

    def __len__(self) -> int:
        return len(self.rows)

    def centres(self) -> np.ndarray:
        """float32 [n, 2]: x, y in pixels of the canvas."""
        return np.stack([self.columns, self.rows], 1).astype(np.float32) * self.side + self.side / 2

    def at(self, points: np.ndarray) -> np.ndarray:
        """Numbers of the cells that hold the points float [..., 2] (x, y in canvas pixels); n where blank or outside."""
        column = np.clip((points[..., 0] // self.side).astype(np.int64) + 1, 0, self.ids.shape[1] - 1)
        row = np.clip((points[..., 1] // self.side).astype(np.int64) + 1, 0, self.ids.shape[0] - 1)
        return self.ids[row, column].astype(np.int64)


@dataclass
class Cells:
    """Drawings as inked cells."""

    patches: np.ndarray
    """uint8 [n of the first level, PATCH * PATCH]: ink of the pixels in and around each cell."""
    levels: list[Level]
    tops: np.ndarray
    """int64 [drawings + 1]: first canvas row of each drawing, in pixels."""

    def drawing(self, level: int) -> np.ndarray:
        """int64 [n]: the drawing that each cell of a level belongs to."""
        cells = self.levels[level]
        return np.searchsorted(self.tops, cells.rows * cells.side, side="right") - 1


def cells(inks: list[np.ndarray]) -> Cells:
    """The inked cells of drawings, each uint8 [height, width]: 0 is blank, 255 the strongest ink."""
    largest = SIDES[-1]
    heights = [-(-ink.shape[0] // largest) * largest + 2 * largest for ink in inks]
    tops = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
    width = -(-max(ink.shape[1] for ink in inks) // largest) * largest
    margin = (PATCH - SIDES[0]) // 2
    padded = np.zeros((int(tops[-1]) + 2 * margin, width + 2 * margin), np.uint8)
    canvas = padded[margin:-margin, margin:-margin]
    for ink, top in zip(inks, tops):
        canvas[top : top + ink.shape[0], : ink.shape[1]] = ink
    inked, levels = canvas > THRESHOLD, []
    for side in SIDES:
        inked = inked[0::2, 0::2] | inked[1::2, 0::2] | inked[0::2, 1::2] | inked[1::2, 1::2]
        levels.append(_level(side, inked))
    for fine, coarse in zip(levels, levels[1:]):
        _join(fine, coarse)
    first = levels[0]
    corner = (first.rows * SIDES[0]) * padded.shape[1] + first.columns * SIDES[0]
    offsets = (np.arange(PATCH)[:, None] * padded.shape[1] + np.arange(PATCH)).ravel()
    return Cells(padded.ravel()[corner[:, None] + offsets], levels, tops)


def _level(side: int, inked: np.ndarray) -> Level:
    flat = np.flatnonzero(inked)
    rows, columns = np.divmod(flat, inked.shape[1])
    ids = np.full((inked.shape[0] + 2, inked.shape[1] + 2), len(flat), np.int32)
    wide = ids.shape[1]
    here = (rows + 1) * wide + columns + 1
    ids.ravel()[here] = np.arange(len(flat), dtype=np.int32)
    around = np.array([r * wide + c for r in (-1, 0, 1) for c in (-1, 0, 1)])
    return Level(side, ids, rows, columns, ids.ravel()[here[:, None] + around].astype(np.int64))


def _join(fine: Level, coarse: Level) -> None:
    wide = fine.ids.shape[1]
    corner = (2 * coarse.rows + 1) * wide + 2 * coarse.columns + 1
    coarse.children = fine.ids.ravel()[corner[:, None] + np.array([0, 1, wide, wide + 1])].astype(np.int64)
    parent = coarse.ids[fine.rows // 2 + 1, fine.columns // 2 + 1].astype(np.int64)
    fine.place = 4 * parent + 2 * (fine.rows % 2) + fine.columns % 2
