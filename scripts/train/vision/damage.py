"""What happens to pictures of drawings before anyone reads them: frames, grey, turns, photographs."""

from __future__ import annotations

import io
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

GREY, FRAMED, TURNED, TILTED, PHOTOGRAPHED = 0.15, 0.05, 0.2, 0.12, 0.07
"""Parts of the pictures."""


def handled(image: Image.Image, points: np.ndarray, random: Random) -> tuple[Image.Image, np.ndarray]:
    """The picture after some or none of it, and where the points float [n, 2] (x, y) are then."""
    if random.random() < GREY:
        image = image.convert("L").convert("RGB")
    if random.random() < FRAMED:
        image = framed(image, random)
    if random.random() < TURNED:
        image, points = turned(image, points, random.randrange(1, 4))
    if random.random() < PHOTOGRAPHED:
        return photographed(image, points, random)
    if random.random() < TILTED:
        return tilted(image, points, random)
    return image, points


def framed(image: Image.Image, random: Random) -> Image.Image:
    """A rectangle round the picture."""
    out = image.copy()
    margin = random.randrange(0, 4)
    box = (margin, margin, image.width - 1 - margin, image.height - 1 - margin)
    ImageDraw.Draw(out).rectangle(
        box, outline=random.choice(["black", "black", "grey", "navy"]), width=random.randrange(1, 4)
    )
    return out


def turned(image: Image.Image, points: np.ndarray, quarters: int) -> tuple[Image.Image, np.ndarray]:
    """Turned by quarters of a circle against the clock."""
    out = points.astype(np.float32)
    for _ in range(quarters):
        out = np.stack([out[:, 1], image.width - out[:, 0]], 1)
        image = image.transpose(Image.Transpose.ROTATE_90)
    return image, out


def warped(
    image: Image.Image, points: np.ndarray, corners: np.ndarray, size: tuple[int, int]
) -> tuple[Image.Image, np.ndarray]:
    """The picture on a new one of a size in pixels, with its corners (from the top left with the clock) at float [4, 2]."""
    width, height = image.size
    here = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
    forth = homography(here, corners)
    back = homography(corners, here)
    paper = tuple(int(v) for v in np.median(np.asarray(image)[0], 0))
    out = image.transform(
        size,
        Image.Transform.PERSPECTIVE,
        tuple((back / back[2, 2]).ravel()[:8]),
        Image.Resampling.BICUBIC,
        fillcolor=paper,
    )
    moved = np.concatenate([points, np.ones((len(points), 1))], 1) @ forth.T
    return out, (moved[:, :2] / moved[:, 2:]).astype(np.float32)


def homography(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """float [3, 3]: the projective map that takes four points to four others."""
    rows, right = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows), np.array(right)), 1).reshape(3, 3)


def tilted(
    image: Image.Image, points: np.ndarray, random: Random, most: float = 10.0
) -> tuple[Image.Image, np.ndarray]:
    """Turned by a few degrees, on a picture large enough."""
    angle = np.radians(random.uniform(-most, most))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [image.width, 0], [image.width, image.height], [0, image.height]]) @ turn.T
    corners = corners - corners.min(0)
    size = np.ceil(corners.max(0)).astype(int)
    return warped(image, points, corners, (int(size[0]), int(size[1])))


def photographed(image: Image.Image, points: np.ndarray, random: Random) -> tuple[Image.Image, np.ndarray]:
    """A mild photograph of a print: seen at an angle, unevenly lit, on paper that is not white, a little blurred, as a JPEG file."""
    generator = np.random.default_rng(random.getrandbits(32))
    image, points = tilted(image, points, random, 5.0)
    width, height = image.size
    scale = random.uniform(1.0, max(1.0, min(2.0, 900 / max(width, height))))
    margin = random.uniform(0, 0.06) * max(width, height)
    bend = generator.uniform(-0.05, 0.05, (4, 2)) * np.array([width, height])
    corners = (np.array([[0, 0], [width, 0], [width, height], [0, height]]) + bend) * scale + margin
    corners = corners - corners.min(0) + margin
    size = np.ceil(corners.max(0) + margin).astype(int)
    image, points = warped(image, points, corners, (int(size[0]), int(size[1])))
    lit = np.asarray(image).astype(np.float32) / 255
    ink = random.uniform(0.0, 0.25)
    lit = ink + (1 - ink) * lit  # Printed black reflects a little.
    lit *= _light(lit.shape[:2], generator)[..., None] * generator.uniform([0.85, 0.82, 0.72], [1.0, 1.0, 1.0]).astype(
        np.float32
    )
    lit += generator.normal(0, random.uniform(0.004, 0.02), lit.shape).astype(np.float32)
    out = Image.fromarray((255 * np.clip(lit, 0, 1)).astype(np.uint8)).filter(
        ImageFilter.GaussianBlur(random.uniform(0.3, 1.1))
    )
    file = io.BytesIO()
    out.save(file, "JPEG", quality=random.randrange(45, 93))
    return Image.open(file).convert("RGB"), points


def _light(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """float32 [height, width], 0.5 to 1: brighter towards one side, with soft shadows."""
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32)
    x, y = x / max(shape[1], 1) - 0.5, y / max(shape[0], 1) - 0.5
    angle = generator.uniform(0, 2 * np.pi)
    light = 0.85 + generator.uniform(0, 0.25) * (x * np.cos(angle) + y * np.sin(angle))
    coarse = Image.fromarray(generator.uniform(0.88, 1.0, (4, 4)).astype(np.float32), "F")
    return np.clip(light * np.asarray(coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC)), 0.4, 1).astype(
        np.float32
    )
