"""Augments pictures of drawings: frames, grey levels, rotations, scans, photographs.

Points are float32 [n, 2]: x, y in pixels of the picture.
"""

from __future__ import annotations

import io
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

GREY, FRAMED, TURNED, TILTED, PHOTOGRAPHED = 0.15, 0.05, 0.2, 0.12, 0.07
"""Shares of the pictures."""
MAX_SCAN = 1200
"""The longest side in pixels to which a scan enlarges a picture."""
MAX_PHOTO = 900
"""The longest side in pixels to which a photograph enlarges a picture, and reduces a larger one."""


def augment(
    image: Image.Image, points: np.ndarray, random: Random, scans: float = 0.0
) -> tuple[Image.Image, np.ndarray]:
    """Returns the picture with random changes, or none, and its points. scans: share of the pictures that look scanned,
    of those that are not photographed."""
    if random.random() < GREY:
        image = image.convert("L").convert("RGB")
    if random.random() < FRAMED:
        image = add_frame(image, random)
    if random.random() < TURNED:
        image, points = rotate_quarters(image, points, random.randrange(1, 4))
    if random.random() < PHOTOGRAPHED:
        return photograph(image, points, random)
    if scans and random.random() < scans:
        image, points = scan(image, points, random)
    if random.random() < TILTED:
        return tilt(image, points, random)
    return image, points


def add_frame(image: Image.Image, random: Random) -> Image.Image:
    """Returns the picture with a rectangle around it."""
    out = image.copy()
    margin = random.randrange(0, 4)
    box = (margin, margin, image.width - 1 - margin, image.height - 1 - margin)
    ImageDraw.Draw(out).rectangle(
        box, outline=random.choice(["black", "black", "grey", "navy"]), width=random.randrange(1, 4)
    )
    return out


def rotate_quarters(image: Image.Image, points: np.ndarray, quarters: int) -> tuple[Image.Image, np.ndarray]:
    """Rotates counterclockwise by quarters of a circle."""
    out = points.astype(np.float32)
    for _ in range(quarters):
        out = np.stack([out[:, 1], image.width - out[:, 0]], 1)
        image = image.transpose(Image.Transpose.ROTATE_90)
    return image, out


def warp(
    image: Image.Image, points: np.ndarray, corners: np.ndarray, size: tuple[int, int]
) -> tuple[Image.Image, np.ndarray]:
    """Maps the picture to a new one of a size in pixels, with its corners, clockwise from the top left, at float [4,
    2]."""
    width, height = image.size
    old_corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
    forward = homography(old_corners, corners)
    back = homography(corners, old_corners)
    paper = tuple(int(v) for v in np.median(np.asarray(image)[0], 0))
    out = image.transform(
        size,
        Image.Transform.PERSPECTIVE,
        tuple((back / back[2, 2]).ravel()[:8]),
        Image.Resampling.BICUBIC,
        fillcolor=paper,
    )
    moved = np.concatenate([points, np.ones((len(points), 1))], 1) @ forward.T
    return out, (moved[:, :2] / moved[:, 2:]).astype(np.float32)


def homography(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the projective map of four points to four others, float [3, 3]."""
    rows: list[list[float]] = []
    right: list[float] = []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows), np.array(right)), 1).reshape(3, 3)


def tilt(
    image: Image.Image, points: np.ndarray, random: Random, max_degrees: float = 10.0
) -> tuple[Image.Image, np.ndarray]:
    """Rotates by a few degrees, on a picture that is large enough."""
    angle = np.radians(random.uniform(-max_degrees, max_degrees))
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [image.width, 0], [image.width, image.height], [0, image.height]]) @ rotation.T
    corners = corners - corners.min(0)
    size = np.ceil(corners.max(0)).astype(int)
    return warp(image, points, corners, (int(size[0]), int(size[1])))


def scan(image: Image.Image, points: np.ndarray, random: Random) -> tuple[Image.Image, np.ndarray]:
    """Imitates a scan in black and white: at another resolution, thicker or broken lines, ragged edges, specks."""
    generator = np.random.default_rng(random.getrandbits(32))
    factor = random.uniform(1.0, max(1.0, min(2.0, MAX_SCAN / max(image.size))))
    size = (max(8, round(image.width * factor)), max(8, round(image.height * factor)))
    grey = image.convert("L").resize(size, Image.Resampling.BILINEAR)
    if random.random() < 0.3:
        grey = grey.filter(ImageFilter.MinFilter(3))
    noise = generator.normal(0, random.uniform(3, 18), (size[1], size[0])).astype(np.float32)
    ink = np.asarray(grey) + noise < random.uniform(110, 190)
    specks = generator.random(ink.shape) < random.choice([0, 0, 1e-4, 3e-4])
    out = Image.fromarray(np.where(ink | specks, 0, 255).astype(np.uint8)).convert("RGB")
    return out, (points * np.array([size[0] / image.width, size[1] / image.height])).astype(np.float32)


def photograph(image: Image.Image, points: np.ndarray, random: Random) -> tuple[Image.Image, np.ndarray]:
    """Imitates a photograph of a print: at an angle, unevenly lit, on paper that is not white, blurred, saved as
    JPEG."""
    generator = np.random.default_rng(random.getrandbits(32))
    reduced = image.copy()
    reduced.thumbnail((MAX_PHOTO, MAX_PHOTO))
    points = points * np.array([reduced.width / image.width, reduced.height / image.height])
    image, points = tilt(reduced, points, random, 5.0)
    width, height = image.size
    scale = random.uniform(1.0, max(1.0, min(2.0, MAX_PHOTO / max(width, height))))
    margin = random.uniform(0, 0.06) * max(width, height)
    bend = generator.uniform(-0.05, 0.05, (4, 2)) * np.array([width, height])
    corners = (np.array([[0, 0], [width, 0], [width, height], [0, height]]) + bend) * scale + margin
    corners = corners - corners.min(0) + margin
    size = np.ceil(corners.max(0) + margin).astype(int)
    image, points = warp(image, points, corners, (int(size[0]), int(size[1])))
    lit = np.asarray(image).astype(np.float32) / 255
    ink = random.uniform(0.0, 0.25)
    lit = ink + (1 - ink) * lit  # Printed black reflects a little.
    light = _illumination(lit.shape[:2], generator)[..., None]
    colour = generator.uniform([0.85, 0.82, 0.72], [1.0, 1.0, 1.0]).astype(np.float32)
    lit *= light * colour
    lit += generator.normal(0, random.uniform(0.004, 0.02), lit.shape).astype(np.float32)
    out = Image.fromarray((255 * np.clip(lit, 0, 1)).astype(np.uint8)).filter(
        ImageFilter.GaussianBlur(random.uniform(0.3, 1.1))
    )
    file = io.BytesIO()
    out.save(file, "JPEG", quality=random.randrange(45, 93))
    return Image.open(file).convert("RGB"), points


def _illumination(shape: tuple[int, int], generator: np.random.Generator) -> np.ndarray:
    """Returns the light at each pixel, float32 [height, width], 0.4 to 1: brighter towards one side, with soft
    shadows."""
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32)
    x, y = x / max(shape[1], 1) - 0.5, y / max(shape[0], 1) - 0.5
    angle = generator.uniform(0, 2 * np.pi)
    light = 0.85 + generator.uniform(0, 0.25) * (x * np.cos(angle) + y * np.sin(angle))
    coarse = Image.fromarray(generator.uniform(0.88, 1.0, (4, 4)).astype(np.float32), "F")
    shadows = np.asarray(coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC))
    return np.clip(light * shadows, 0.4, 1).astype(np.float32)
