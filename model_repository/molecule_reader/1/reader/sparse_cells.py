"""The inked cells of drawings and their neighbours: the networks compute on these instead of on whole pictures.

Nine tenths of a line drawing are blank. A cell is a square of 2, 4, 8 or 16 pixels with ink in it, by level. Each cell
is a row of the networks' matrices, so a 3x3 convolution gathers nine rows, with zeros for blank neighbours. Several
drawings share one canvas, one below the other, two blank cells of the last level apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SIDES = (2, 4, 8, 16)
"""Side of a cell in pixels, by level."""
THRESHOLD = 40
"""The ink (0 to 255) above which a pixel makes its cell inked."""
PATCH = 6
"""Side in pixels of the square that the network sees of a first-level cell: the cell and its neighbours."""


@dataclass
class Level:
    """The n inked cells of one size, in reading order. The index n stands for any blank cell."""

    side: int
    ids: np.ndarray
    """int32 [rows + 2, columns + 2]: index of each cell, with a blank border."""
    rows: np.ndarray
    columns: np.ndarray
    neighbours: np.ndarray
    """int64 [n, 9]: indices of the 3x3 square around each cell, in reading order."""
    children: np.ndarray | None = None
    """int64 [n, 4]: indices of the previous level's cells in each cell (None at the first level)."""
    place: np.ndarray | None = None
    """int64 [n]: 4 x index of the parent, the next level's cell, + position in it (None at the last level)."""

    def __len__(self) -> int:
        return len(self.rows)

    def centres(self) -> np.ndarray:
        """Returns the cells' centres, float32 [n, 2]: x, y in pixels of the canvas."""
        return np.stack([self.columns, self.rows], 1).astype(np.float32) * self.side + self.side / 2

    def at(self, points: np.ndarray) -> np.ndarray:
        """Returns the indices of the cells at points float [..., 2] (x, y in canvas pixels); n for blank or outside."""
        column = np.clip((points[..., 0] // self.side).astype(np.int64) + 1, 0, self.ids.shape[1] - 1)
        row = np.clip((points[..., 1] // self.side).astype(np.int64) + 1, 0, self.ids.shape[0] - 1)
        return self.ids[row, column].astype(np.int64)


@dataclass
class SparseCells:
    """Drawings as inked cells."""

    patches: np.ndarray
    """uint8 [cells of the first level, PATCH * PATCH]: ink of the pixels in and around each cell."""
    levels: list[Level]
    tops: np.ndarray
    """int64 [drawings + 1]: first canvas row of each drawing and one past the last, in pixels."""

    def drawing_of_cells(self, level: int) -> np.ndarray:
        """Returns the number of the drawing that each cell of a level is in, int64 [n]."""
        cells = self.levels[level]
        return np.searchsorted(self.tops, cells.rows * cells.side, side="right") - 1

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the atom detector's inputs by name."""
        out = {"patches": self.patches}
        for number, level in enumerate(self.levels):
            out[f"neighbours{number}"] = level.neighbours
            if level.children is not None:
                out[f"children{number}"] = level.children
            if level.place is not None:
                out[f"place{number}"] = level.place
        return out


def sparse_cells(inks: list[np.ndarray]) -> SparseCells:
    """Returns the inked cells of drawings, each uint8 [height, width]."""
    largest = SIDES[-1]
    heights = [-(-ink.shape[0] // largest) * largest + 2 * largest for ink in inks]
    tops = np.concatenate([[0], np.cumsum(heights)]).astype(np.int64)
    width = -(-max(ink.shape[1] for ink in inks) // largest) * largest
    margin = (PATCH - SIDES[0]) // 2
    padded = np.zeros((int(tops[-1]) + 2 * margin, width + 2 * margin), np.uint8)
    canvas = padded[margin:-margin, margin:-margin]
    for ink, top in zip(inks, tops):
        canvas[top : top + ink.shape[0], : ink.shape[1]] = ink
    inked = canvas > THRESHOLD
    levels = []
    for side in SIDES:
        inked = inked[0::2, 0::2] | inked[1::2, 0::2] | inked[0::2, 1::2] | inked[1::2, 1::2]
        levels.append(_level(side, inked))
    for fine, coarse in zip(levels, levels[1:]):
        _connect(fine, coarse)
    first = levels[0]
    corner = (first.rows * SIDES[0]) * padded.shape[1] + first.columns * SIDES[0]
    offsets = (np.arange(PATCH)[:, None] * padded.shape[1] + np.arange(PATCH)).ravel()
    return SparseCells(padded.ravel()[corner[:, None] + offsets], levels, tops)


def _level(side: int, inked: np.ndarray) -> Level:
    flat = np.flatnonzero(inked)
    rows, columns = np.divmod(flat, inked.shape[1])
    ids = np.full((inked.shape[0] + 2, inked.shape[1] + 2), len(flat), np.int32)
    stride = ids.shape[1]
    positions = (rows + 1) * stride + columns + 1
    ids.ravel()[positions] = np.arange(len(flat), dtype=np.int32)
    offsets = np.array([row * stride + column for row in (-1, 0, 1) for column in (-1, 0, 1)])
    return Level(side, ids, rows, columns, ids.ravel()[positions[:, None] + offsets].astype(np.int64))


def _connect(fine: Level, coarse: Level) -> None:
    """Sets the children of the coarse level and the places of the fine one."""
    stride = fine.ids.shape[1]
    corner = (2 * coarse.rows + 1) * stride + 2 * coarse.columns + 1
    coarse.children = fine.ids.ravel()[corner[:, None] + np.array([0, 1, stride, stride + 1])].astype(np.int64)
    parent = coarse.ids[fine.rows // 2 + 1, fine.columns // 2 + 1].astype(np.int64)
    fine.place = 4 * parent + 2 * (fine.rows % 2) + fine.columns % 2
