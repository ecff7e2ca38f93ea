"""Converts a picture in any colours to ink on blank paper, and scales it for the networks.

Ink is uint8 [height, width]: 0 is blank paper, 255 the strongest ink. A box is (left, top, right, bottom) in pixels,
right and bottom exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageFilter

Box = tuple[int, int, int, int]

INKED = 48
"""The ink above which a pixel counts as inked in cropping."""
AREA = 18_000
"""Area of a scaled box in pixels, at which a bond of a drug-like molecule is about 24 pixels long."""
MAX_SIDE = 640
"""The longest side of a scaled box in pixels."""
MARGIN = 8
"""Blank pixels around a scaled box."""
UNEVEN = 10
"""The difference from the median colour (0 to 255) that one border pixel in five of uneven paper exceeds."""
BLOCK = 16
"""Side in pixels of the blocks from which the colour of uneven paper is estimated."""
MAX_FRAME_DEPTH = 12
"""The most pixels from the edge of the ink to the inner side of a frame."""
MAX_FRAMED_SHARE = 0.5
"""The largest inked share of a box with a frame: in a photograph or noise, full rows are no lines."""


@dataclass
class Page:
    """The ink of a picture, or of a part of it."""

    ink: np.ndarray
    scale: float
    """Pixels of the ink per pixel of the picture."""
    corner: tuple[int, int] = (0, 0)
    """Left and top of a part, in pixels of the whole ink."""


def page_of(image: Image.Image, max_side: int) -> Page:
    """Returns the page of a picture, halved until no side is longer than max_side pixels, without its frame."""
    width = image.width
    while max(image.size) > max_side:
        image = image.reduce(2)
    return Page(remove_frame(ink_of(image)), image.width / width)


def flatten(image: Image.Image) -> Image.Image:
    """Returns the picture in RGB, with white behind transparent pixels."""
    if image.mode == "I" or image.mode.startswith("I;16"):  # 16 bits, which convert("RGB") cuts off at 255.
        image = Image.fromarray((np.asarray(image) // 256).clip(0, 255).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image).convert("RGB")
    return image.convert("RGB")


def ink_of(image: Image.Image) -> np.ndarray:
    """Returns the ink of a picture: the largest difference of each pixel from the paper in a colour channel.

    The paper is the median colour of the border, so white on black works too and coloured letters are dark. If the
    border has many colours, as in a photograph, the paper is estimated locally.
    """
    pixels = np.asarray(flatten(image))
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    paper = np.median(border, 0).astype(np.uint8)
    if (paper == 255).all():
        return 255 - np.minimum(np.minimum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])
    if np.percentile(np.abs(border.astype(np.int16) - paper.astype(np.int16)).max(1), 80) > UNEVEN:
        return _ink_on_uneven_paper(pixels)
    distance = np.abs(pixels.astype(np.int16) - paper.astype(np.int16))
    return np.maximum(np.maximum(distance[..., 0], distance[..., 1]), distance[..., 2]).astype(np.uint8)


def _ink_on_uneven_paper(pixels: np.ndarray) -> np.ndarray:
    """Returns how much darker each pixel is than the paper around it, relative to the paper's brightness.

    The paper is the 75th percentile of each block, smoothed over the neighbouring blocks.
    """
    height, width, _ = pixels.shape
    rows, columns = -(-height // BLOCK), -(-width // BLOCK)
    padded = np.pad(pixels, ((0, rows * BLOCK - height), (0, columns * BLOCK - width), (0, 0)), mode="edge")
    blocks = padded.reshape(rows, BLOCK, columns, BLOCK, 3).transpose(0, 2, 4, 1, 3)
    bright = np.percentile(blocks.reshape(rows, columns, 3, BLOCK * BLOCK), 75, axis=3)
    paper = Image.fromarray(bright.astype(np.uint8)).filter(ImageFilter.MedianFilter(5))
    paper = paper.filter(ImageFilter.GaussianBlur(1.5))
    paper = paper.resize((columns * BLOCK, rows * BLOCK), Image.Resampling.BILINEAR)
    light = np.asarray(paper)[:height, :width].astype(np.float32)
    darkness = (255 * np.clip(1 - (pixels + 1) / (light + 1), 0, 1)).max(2)
    strongest = max(float(np.percentile(darkness, 99.7)), 60.0)
    return np.clip((darkness - 0.16 * strongest) * (255 / (0.75 * strongest)), 0, 255).astype(np.uint8)


def remove_frame(ink: np.ndarray) -> np.ndarray:
    """Returns the ink without frames: lines on all four sides, each over at least nine tenths of its side."""
    box = box_of(ink)
    if box is None or min(box[2] - box[0], box[3] - box[1]) < 40:
        return ink
    left, top, right, bottom = box
    inked = ink[top:bottom, left:right] > INKED
    if inked.mean() > MAX_FRAMED_SHARE:
        return ink
    depths = [_frame_depth(side) for side in (inked, inked[::-1], inked.T, inked.T[::-1])]
    if not all(depths):
        return ink
    inner = slice(top + depths[0], bottom - depths[1]), slice(left + depths[2], right - depths[3])
    out = np.zeros_like(ink)
    out[inner] = ink[inner]
    return remove_frame(out)


def _frame_depth(inked: np.ndarray) -> int:
    """Returns the number of first rows that a line of a frame covers, with its blurred edge; 0 without a line."""
    full = inked[:MAX_FRAME_DEPTH].mean(1) > 0.9
    return int(np.flatnonzero(full)[-1]) + 2 if full.any() else 0


def box_of(ink: np.ndarray) -> Box | None:
    """Returns the box around all ink, None for a blank picture."""
    inked = ink > INKED
    rows, columns = np.flatnonzero(inked.any(1)), np.flatnonzero(inked.any(0))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def scale_of(box: Box) -> float:
    """Returns the factor that scales a box to AREA, with no side longer than MAX_SIDE."""
    width, height = box[2] - box[0], box[3] - box[1]
    wide, high = max(width, height / 4), max(height, width / 4)
    return min((AREA / (wide * high)) ** 0.5, MAX_SIDE / max(wide, high))


def scaled(ink: np.ndarray, box: Box, factor_x: float, factor_y: float) -> np.ndarray:
    """Returns the box at another scale, with MARGIN around it and 255 as the strongest ink.

    A point x of the picture moves to (x - left) * factor_x + MARGIN, and y likewise, up to the rounding of the size.
    """
    left, top, right, bottom = box
    width, height = max(1, round((right - left) * factor_x)), max(1, round((bottom - top) * factor_y))
    small = np.asarray(Image.fromarray(ink).resize((width, height), Image.Resampling.BILINEAR, box))
    strongest = max(int(small.max()), 1)
    if strongest <= 250:
        small = (small.astype(np.uint16) * 255 // strongest).astype(np.uint8)
    out = np.zeros((height + 2 * MARGIN, width + 2 * MARGIN), np.uint8)
    out[MARGIN:-MARGIN, MARGIN:-MARGIN] = small
    return out
