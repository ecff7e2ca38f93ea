"""Pictures without a molecule: text, charts, shapes, scribbles, tables, dots, diagrams."""

from __future__ import annotations

import functools

import numpy as np
from PIL import Image, ImageDraw, ImageFont

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;()+-=HCNO"


def picture(random: np.random.Generator) -> np.ndarray:
    """Returns the ink of a random picture without a molecule, uint8 [height, width]."""
    width, height = (int(n) for n in random.integers(120, 420, 2))
    image = Image.new("L", (width, height), 0)
    pen = ImageDraw.Draw(image)
    for _ in range(random.integers(1, 3)):
        (text, chart, shapes, scribble, table, dots, diagram)[random.integers(7)](pen, width, height, random)
    return np.asarray(image)


@functools.lru_cache
def font_of_size(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def random_ink(random: np.random.Generator) -> int:
    return int(random.integers(120, 256))


def text(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    font = font_of_size(int(random.integers(8, 40)))
    y = 5.0
    for _ in range(random.integers(1, 12)):
        line = "".join(random.choice(list(LETTERS), random.integers(1, 40)))
        pen.text((float(random.uniform(0, 30)), y), line, random_ink(random), font)
        y += font.size * 1.3


def chart(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    pen.line([(20, 10), (20, height - 20), (width - 10, height - 20)], random_ink(random), int(random.integers(1, 4)))
    xs = np.linspace(20, width - 10, random.integers(4, 30))
    for _ in range(random.integers(1, 4)):
        ys = np.clip(
            height / 2 + random.normal(0, height / 8, len(xs)).cumsum() * random.uniform(0.2, 1), 10, height - 20
        )
        if random.random() < 0.3:
            for x, y in zip(xs, ys):
                pen.rectangle([x, y, x + 0.6 * width / len(xs), height - 20], outline=random_ink(random))
        else:
            pen.line(list(map(tuple, np.stack([xs, ys], 1).tolist())), random_ink(random), int(random.integers(1, 4)))


def shapes(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    for _ in range(random.integers(1, 10)):
        x, y, w, h = random.uniform(0, 1, 4) * [width, height, width / 2, height / 2]
        fill = random_ink(random) if random.random() < 0.3 else None
        draw = (pen.ellipse, pen.rectangle)[random.integers(2)]
        draw([x, y, x + w + 1, y + h + 1], fill=fill, outline=random_ink(random), width=int(random.integers(1, 5)))


def scribble(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    for _ in range(random.integers(1, 6)):
        steps = random.normal(0, 12, (random.integers(3, 60), 2)).cumsum(0) + random.uniform(0.2, 0.8, 2) * [
            width,
            height,
        ]
        pen.line(list(map(tuple, steps.tolist())), random_ink(random), int(random.integers(1, 5)))


def table(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    font = font_of_size(int(random.integers(8, 14)))
    rows, columns = random.integers(2, 9, 2)
    for row in range(rows + 1):
        pen.line([(5, 5 + row * (height - 10) / rows), (width - 5, 5 + row * (height - 10) / rows)], random_ink(random))
    for column in range(columns + 1):
        pen.line(
            [(5 + column * (width - 10) / columns, 5), (5 + column * (width - 10) / columns, height - 5)],
            random_ink(random),
        )
    for row in range(rows):
        for column in range(columns):
            word = "".join(random.choice(list(LETTERS), random.integers(1, 6)))
            pen.text(
                (8 + column * (width - 10) / columns, 8 + row * (height - 10) / rows), word, random_ink(random), font
            )


def dots(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    for x, y in random.uniform(0, 1, (random.integers(5, 150), 2)) * [width, height]:
        r = random.uniform(0.5, 5)
        pen.ellipse([x - r, y - r, x + r, y + r], random_ink(random))


def diagram(pen: ImageDraw.ImageDraw, width: int, height: int, random: np.random.Generator) -> None:
    """Draws boxes or circles with words, joined by lines: the negatives most like a molecule."""
    font = font_of_size(int(random.integers(8, 16)))
    nodes = random.uniform(0.1, 0.9, (random.integers(3, 9), 2)) * [width, height]
    for a, b in random.integers(0, len(nodes), (len(nodes) + 2, 2)):
        pen.line([tuple(nodes[a].tolist()), tuple(nodes[b].tolist())], random_ink(random), int(random.integers(1, 3)))
    for x, y in nodes:
        r = random.uniform(8, 20)
        (pen.ellipse, pen.rectangle)[random.integers(2)](
            [x - r, y - r, x + r, y + r], fill=0, outline=random_ink(random)
        )
        pen.text(
            (x - r / 2, y - r / 2),
            "".join(random.choice(list(LETTERS), random.integers(1, 4))),
            random_ink(random),
            font,
        )
