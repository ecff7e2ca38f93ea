"""Pictures for the evaluation of the chat API: drawings of molecules, without metadata, and other pictures."""

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
"""Number of the first molecules of zinc250k_valid, which are for measuring. The others are for tuning and calibration.
None is for training."""


def molecules(data: Path, count: int, seed: int) -> list[str]:
    """Returns canonical SMILES of molecules to draw, the same for the same seed."""
    with gzip.open(data / "zinc250k_valid.smi.gz", "rt") as file:
        candidates = file.read().split()[:MEASURED]
    return [Chem.CanonSmiles(s) for s in random.Random(f"eval-chat {seed}").sample(candidates, count)]


def drawing(smiles: str, style: str, seed: int) -> str:
    """Returns a drawing of a molecule in RDKit's default style or a random one, as a data URL."""
    file, _ = picture(smiles, random.Random(f"eval-chat {seed} {style} {smiles}"), style == "default")
    return data_url(Image.open(io.BytesIO(file)))


def data_url(image: Image.Image) -> str:
    """Returns a picture as a data URL of a PNG without metadata."""
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(image.convert("RGB"))).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def others(count: int, seed: int) -> list[str]:
    """Returns pictures without a molecule: two of three are text, charts or tables, the third is like a photograph."""
    draw = np.random.default_rng([seed, 77])
    out = []
    for n in range(count):
        ink = negatives.picture(draw) if n % 3 else landscape(draw)
        out.append(data_url(Image.fromarray(255 - ink if ink.ndim == 2 else ink)))
    return out


def landscape(draw: np.random.Generator) -> np.ndarray:
    """Returns a smooth, noisy picture in colours, uint8 [height, width, 3]."""
    smooth = Image.fromarray(draw.integers(0, 256, (8, 10, 3), np.uint8)).resize((400, 300), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(smooth) + draw.normal(0, 6, (300, 400, 3)), 0, 255).astype(np.uint8)
