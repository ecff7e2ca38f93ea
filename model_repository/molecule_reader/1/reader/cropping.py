"""Finds the drawing on a page: crops to it, cuts off captions, blanks what is far from the molecule."""

from __future__ import annotations

import numpy as np

from .ink import INKED, Box, box_of

MAX_INKED_SHARE = 0.35
"""The largest inked share of a line drawing's box. A photograph has more."""


def drawing_box(ink: np.ndarray) -> Box | None:
    """Returns the box around the ink, None for a blank picture, a speck or a photograph."""
    box = box_of(ink)
    if box is None or max(box[2] - box[0], box[3] - box[1]) < 4:
        return None
    inside = ink[box[1] : box[3], box[0] : box[2]]
    return None if inside.size > 2500 and (inside > INKED).mean() > MAX_INKED_SHARE else box


def split_at_widest_gap(ink: np.ndarray, box: Box) -> tuple[int, Box]:
    """Returns the width in pixels of the widest blank band across a box, and the box of the larger part beside it.

    Without a blank band the width is 0 and the box the given one. Parts are compared by _unbroken_area.
    """
    left, top, right, bottom = box
    inked = ink[top:bottom, left:right] > INKED
    bands = []
    for axis in (0, 1):
        places = np.flatnonzero(inked.any(axis))
        gaps = np.diff(places) - 1
        if gaps.max(initial=0) > 0:
            bands.append((int(gaps.max()), axis, int(places[gaps.argmax()])))
    if not bands:
        return 0, box
    gap, axis, last = max(bands)
    before = inked[:, : last + 1] if axis == 0 else inked[: last + 1]
    after = inked[:, last + 1 :] if axis == 0 else inked[last + 1 :]
    start = 0 if _unbroken_area(before) >= _unbroken_area(after) else last + 1
    larger = box_of((before if start == 0 else after) * np.uint8(255))
    assert larger is not None  # Both sides of a gap have ink.
    x, y = (left + start, top) if axis == 0 else (left, top + start)
    return gap, (larger[0] + x, larger[1] + y, larger[2] + x, larger[3] + y)


def _unbroken_area(inked: np.ndarray) -> int:
    """Returns the longest run of inked rows times the longest run of inked columns, in pixels.

    It is large for a molecule, but small for a line of text, whose letters are apart.
    """
    lengths = []
    for axis in (0, 1):
        edges = np.flatnonzero(np.diff(np.pad(inked.any(axis), 1).astype(np.int8)))
        lengths.append(int((edges[1::2] - edges[::2]).max(initial=0)))
    return lengths[0] * lengths[1]


def keep_near(ink: np.ndarray, points: np.ndarray, bonds: list[tuple[int, int]], reach: float) -> np.ndarray:
    """Returns the ink within `reach` pixels of an atom or a bond, in blocks of 4 pixels; blank elsewhere."""
    on_bonds = [points[a] * (1 - t) + points[b] * t for a, b in bonds for t in (0.25, 0.5, 0.75)]
    centres = np.concatenate([points, np.array(on_bonds).reshape(-1, 2)])
    rows, columns = (np.arange(0, n, 4) + 2 for n in ink.shape)
    nearest = np.full((len(rows), len(columns)), np.inf)
    for x, y in centres:
        np.minimum(nearest, (rows[:, None] - y) ** 2 + (columns[None] - x) ** 2, out=nearest)
    near = np.repeat(np.repeat(nearest < reach**2, 4, 0), 4, 1)[: ink.shape[0], : ink.shape[1]]
    return np.where(near, ink, 0).astype(np.uint8)
