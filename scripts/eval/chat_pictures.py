"""Pictures for the evaluation of the chat API: drawings of molecules without a word about them in the file, and other pictures."""

from __future__ import annotations

import base64
import gzip
import io
import random
from pathlib import Path

import numpy as np
from PIL import Image
from rdkit import Chem

from scripts.train.vision import negatives
from scripts.train.vision.drawing import picture

MEASURED = 20_000
"""The reader was chosen and calibrated on the molecules of zinc250k_valid behind these; it was trained on none of them."""


def molecules(data: Path, count: int, seed: int) -> list[str]:
    """Canonical SMILES of molecules to draw, always the same for a seed."""
    with gzip.open(data / "zinc250k_valid.smi.gz", "rt") as file:
        every = file.read().split()[:MEASURED]
    return [Chem.CanonSmiles(s) for s in random.Random(f"eval-chat {seed}").sample(every, count)]


def drawing(smiles: str, style: str, seed: int) -> str:
    """The molecule as a data URL: pixels alone, in RDKit's default style or a random one."""
    file, _ = picture(smiles, random.Random(f"eval-chat {seed} {style} {smiles}"), style == "default")
    return bare(Image.open(io.BytesIO(file)))


def bare(image: Image.Image) -> str:
    """A picture as a data URL of a PNG that holds nothing but its pixels."""
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(image.convert("RGB"))).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def others(count: int, seed: int) -> list[str]:
    """Pictures that are no molecules: texts, charts, tables, scribbles, and photograph-like ones, in turns."""
    draw = np.random.default_rng([seed, 77])
    out = []
    for n in range(count):
        ink = negatives.picture(draw) if n % 3 else landscape(draw)
        out.append(bare(Image.fromarray(255 - ink if ink.ndim == 2 else ink)))
    return out


def landscape(draw: np.random.Generator) -> np.ndarray:
    """A smooth picture in colours with some noise, uint8 [height, width, 3]."""
    rough = Image.fromarray(draw.integers(0, 256, (8, 10, 3), np.uint8)).resize((400, 300), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(rough) + draw.normal(0, 6, (300, 400, 3)), 0, 255).astype(np.uint8)
