"""From a picture of any colours to ink on blank paper, at the size that the networks know."""

from __future__ import annotations

import numpy as np
from PIL import Image

AREA = 18_000
"""Pixels of the box around a drawing after scaling: a bond of a drug-like molecule is then about 24 pixels long."""
LONGEST = 640
"""No side of the box is longer."""
MARGIN = 8
"""Blank pixels left around a drawing."""


def opaque(image: Image.Image) -> Image.Image:
    """The picture in RGB, on white where it is transparent."""
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (255, 255, 255, 255)), image).convert("RGB")
    return image.convert("RGB")


def ink_of(image: Image.Image) -> np.ndarray:
    """uint8 [height, width]: how far the pixel is from the paper, in the colour channel where it is farthest.

    The paper is the commonest colour of the border, so white ink on black works too, and letters of any colour are dark."""
    pixels = np.asarray(opaque(image))
    border = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    paper = np.median(border, 0).astype(np.uint8)
    if (paper == 255).all():
        return 255 - np.minimum(np.minimum(pixels[..., 0], pixels[..., 1]), pixels[..., 2])
    distance = np.abs(pixels.astype(np.int16) - paper.astype(np.int16))
    return np.maximum(np.maximum(distance[..., 0], distance[..., 1]), distance[..., 2]).astype(np.uint8)


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
    out[MARGIN:-MARGIN, MARGIN:-MARGIN] = small if strongest > 250 else (small.astype(np.uint16) * 255 // strongest).astype(np.uint8)
    return out
