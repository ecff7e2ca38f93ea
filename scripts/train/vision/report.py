"""Measures the exported reader on drawings of molecules that it was not trained on:

    python -m scripts.train.vision.report --data DATA

1,000 drawings of each style: exact SMILES, exact without stereochemistry, any SMILES; how often a reading is exact by
its confidence; CPU time of a reading on one thread; and pictures without a molecule. Writes runs/vision/figures.json.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import time
from pathlib import Path

import numpy as np
from PIL import Image

from scripts.served_reader.drawing_reader import DrawingReader
from scripts.train import served
from scripts.train.molecules import read_molecules
from scripts.train.vision import evaluation, negatives

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)
"""Bounds of the bins of confidence."""


def measure(reader: DrawingReader, drawings: list[tuple[str, bytes]]) -> dict[str, object]:
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
        "exact": exacts.mean(),
        "flat": flats.mean(),
        "given": given.mean(),
        "taken_for_drawing": drawn.mean(),
        "confidence": [
            {"from": low, "drawings": int(in_bin.sum()), "exact": float(exacts[in_bin].mean())}
            for low, in_bin in bins
            if in_bin.any()
        ],
        "milliseconds": {f"p{q}": float(np.percentile(times, q)) * 1000 for q in (50, 95)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--reader", type=Path, default=served.VERSION, help="folder of the reader")
    parser.add_argument("--count", type=int, default=1000, help="drawings of each style")
    parser.add_argument("--out", type=Path, default=Path("runs/vision/figures.json"), help="output file")
    given = parser.parse_args()
    reader = DrawingReader(given.reader)
    molecules = read_molecules(Path(given.data) / "zinc250k_valid.smi.gz")[: evaluation.TUNING_START]
    figures: dict[str, object] = {}
    for style in ("default", "varied"):
        figures[style] = measure(reader, evaluation.pictures(molecules, given.count, style == "default", 3))
        print(style, json.dumps(figures[style]), flush=True)
    random = np.random.default_rng(3)
    others = [Image.fromarray(255 - negatives.picture(random)) for _ in range(given.count // 4)]
    figures["others"] = {
        "pictures": len(others),
        "taken_for_drawing": float(np.mean([reader.read(picture).is_drawing() for picture in others])),
    }
    print("others", figures["others"])
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
