"""From a picture of any colours to ink on blank paper, at the size that the networks know."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

AREA = 18_000
"""Pixels of the box around a drawing after scaling: a bond of a drug-like molecule is then about 24 pixels long."""
LONGEST = 640
"""No side of the box is longer."""
MARGIN = 8
"""Blank pixels left around a drawing."""
UNEVEN = 10
"""A border whose pixels differ from their median by more than this (0 to 255, one in five of them) is no plain paper."""
PIECE = 16
"""Side of the blocks in which the colour of uneven paper is looked for, in pixels."""
FRAME = 12
"""Most pixels that a frame's line and its distance from the edge of the ink take."""
FILLED = 0.5
"""What is inked more than this has no frame: in a photograph or in noise full rows are no lines."""


def opaque(image: Image.Image) -> Image.Image:
    """The picture in RGB, on white where it is transparent."""
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image).convert("RGB")
    return image.convert("RGB")


def ink_of(image: Image.Image) -> np.ndarray:
    """uint8 [height, width]: how far the pixel is from the paper, in the colour channel where it is farthest.

    The paper is the commonest colour of the border, so white ink on black works too, and letters of any colour are dark. Where the
    border has many colours, as in a photograph, the paper is what is brightest nearby."""
    pixels = np.asarray(opaque(image))
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    paper = np.median(border, 0).astype(np.uint8)
    if (paper == 255).all():
        return 255 - np.minimum(np.minimum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])
    if np.percentile(np.abs(border.astype(np.int16) - paper.astype(np.int16)).max(1), 80) > UNEVEN:
        return _on_uneven_paper(pixels)
    distance = np.abs(pixels.astype(np.int16) - paper.astype(np.int16))
    return np.maximum(np.maximum(distance[..., 0], distance[..., 1]), distance[..., 2]).astype(np.uint8)


def _on_uneven_paper(pixels: np.ndarray) -> np.ndarray:
    """How much darker a pixel is than the paper around it, as a part of the paper's brightness. The paper is the brightest of
    most blocks of PIECE pixels nearby."""
    height, width, _ = pixels.shape
    rows, columns = -(-height // PIECE), -(-width // PIECE)
    padded = np.pad(pixels, ((0, rows * PIECE - height), (0, columns * PIECE - width), (0, 0)), mode="edge")
    blocks = (
        padded.reshape(rows, PIECE, columns, PIECE, 3).transpose(0, 2, 4, 1, 3).reshape(rows, columns, 3, PIECE * PIECE)
    )
    bright = Image.fromarray(np.percentile(blocks, 75, axis=3).astype(np.uint8))
    paper = (
        bright.filter(ImageFilter.MedianFilter(5))
        .filter(ImageFilter.GaussianBlur(1.5))
        .resize((columns * PIECE, rows * PIECE), Image.Resampling.BILINEAR)
    )
    light = np.asarray(paper)[:height, :width].astype(np.float32)
    darker = (255 * np.clip(1 - (pixels + 1) / (light + 1), 0, 1)).max(2)
    strongest = max(float(np.percentile(darker, 99.7)), 60.0)
    return np.clip((darker - 0.16 * strongest) * (255 / (0.75 * strongest)), 0, 255).astype(np.uint8)


def unframed(ink: np.ndarray) -> np.ndarray:
    """The ink without the lines of a frame around everything: on all four sides, a line over nearly the whole length."""
    box = box_of(ink)
    if box is None or min(box[2] - box[0], box[3] - box[1]) < 40:
        return ink
    left, top, right, bottom = box
    inside = ink[top:bottom, left:right] > 48
    if inside.mean() > FILLED:
        return ink
    depths = [_depth(side) for side in (inside, inside[::-1], inside.T, inside.T[::-1])]
    if not all(depths):
        return ink
    out = np.zeros_like(ink)
    rest = slice(top + depths[0], bottom - depths[1]), slice(left + depths[2], right - depths[3])
    out[rest] = ink[rest]
    return unframed(out)


def _depth(dark: np.ndarray) -> int:
    """How many rows from the first on a frame's line takes, with what is blurred beside it; 0 where there is none."""
    full = dark[:FRAME].mean(1) > 0.9
    return int(np.flatnonzero(full)[-1]) + 2 if full.any() else 0


def box_of(ink: np.ndarray, threshold: int = 48) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom of the box around all ink, None for a blank picture."""
    dark = ink > threshold
    rows, columns = np.flatnonzero(dark.any(1)), np.flatnonzero(dark.any(0))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def fit(width: int, height: int) -> float:
    """The factor that brings a box to AREA."""
    width, height = max(width, height / 4), max(height, width / 4)
    return min((AREA / (width * height)) ** 0.5, LONGEST / max(width, height))


def scaled(ink: np.ndarray, box: tuple[int, int, int, int], factor_x: float, factor_y: float) -> np.ndarray:
    """The box at another size, MARGIN around it, strongest ink 255. A point (x, y) of the picture comes to
    (x - left) * factor_x + MARGIN, and so for y (where the rounded size is exact)."""
    left, top, right, bottom = box
    width, height = max(1, round((right - left) * factor_x)), max(1, round((bottom - top) * factor_y))
    small = np.asarray(Image.fromarray(ink).resize((width, height), Image.Resampling.BILINEAR, box))
    out = np.zeros((height + 2 * MARGIN, width + 2 * MARGIN), np.uint8)
    strongest = max(int(small.max()), 1)
    out[MARGIN:-MARGIN, MARGIN:-MARGIN] = (
        small if strongest > 250 else (small.astype(np.uint16) * 255 // strongest).astype(np.uint8)
    )
    return out
