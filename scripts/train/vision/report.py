"""Measures an exported reader on drawings of molecules that it was not trained on:

    python -m scripts.train.vision.report --data DATA

up to 1,000 drawings of each style: exact SMILES, exact without stereochemistry, any SMILES; how often a reading is
exact by its confidence; CPU time of a reading on one thread; and pictures without a molecule. Prints JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scripts.served_reader.drawing_reader import DrawingReader
from scripts.train import served
from scripts.train.vision import evaluation, negatives

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)
"""Bounds of the bins of confidence."""
STYLES = {"default": "RDKit's default style", "varied": "random styles, 30 % with abbreviations"}
COUNT = 1000
"""Drawings of a style, if there are that many molecules."""


def measure_style(reader: DrawingReader, drawings: list[tuple[str, bytes]]) -> dict[str, Any]:
    """Returns the accuracy, and the share of exact readings by confidence."""
    rows = []
    for smiles, png in drawings:
        image = Image.open(io.BytesIO(png))
        start = time.thread_time()
        reading = reader.read(image)
        seconds = time.thread_time() - start
        exact = reading.smiles == smiles
        flat = exact or (
            reading.smiles is not None
            and evaluation.without_stereo(reading.smiles) == evaluation.without_stereo(smiles)
        )
        rows.append((exact, flat, reading.smiles is not None, reading.confidence, reading.is_drawing(), seconds))
    exacts, flats, given, confidences, drawn, times = map(np.array, zip(*rows))
    bins = [(low, (confidences >= low) & (confidences < high)) for low, high in zip(BINS, BINS[1:])]
    return {
        "drawings": len(rows),
        "exact": float(exacts.mean()),
        "flat": float(flats.mean()),
        "given": float(given.mean()),
        "taken_for_drawing": float(drawn.mean()),
        "confidence": [
            {"from": low, "drawings": int(in_bin.sum()), "exact": float(exacts[in_bin].mean())}
            for low, in_bin in bins
            if in_bin.any()
        ],
        "milliseconds": {f"p{q}": float(np.percentile(times, q)) * 1000 for q in (50, 95)},
    }


def measure(reader: DrawingReader, molecules: list[str], count: int) -> dict[str, Any]:
    """Returns the figures of a reader by style, and those of pictures without a molecule (others)."""
    figures: dict[str, Any] = {
        style: measure_style(reader, evaluation.pictures(molecules, count, style == "default", 3)) for style in STYLES
    }
    random = np.random.default_rng(3)
    others = [Image.fromarray(255 - negatives.picture(random)) for _ in range(max(1, count // 4))]
    taken = [reader.read(picture).is_drawing() for picture in others]
    return figures | {"others": {"pictures": len(others), "taken_for_drawing": int(sum(taken))}}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument(
        "--valid", nargs="+", metavar="FILE", default=evaluation.VALID, help="files of held-out molecules"
    )
    parser.add_argument(
        "--entry", type=Path, default=served.ENTRY, help="the reader's entry (default: the shipped one)"
    )
    parser.add_argument("--count", type=int, default=COUNT, help=f"drawings of each style (default: {COUNT})")
    given = parser.parse_args()
    if not given.data:
        parser.error("--data, the data folder, is required")
    molecules, _ = evaluation.held_out(given.data, given.valid)
    print(json.dumps(measure(DrawingReader(given.entry / "1"), molecules, given.count), indent=1))


if __name__ == "__main__":
    main()
