"""Writes orchestrator/embedding/testdata/quantized.json: vectors in the types of sentence-transformers.

    .venv-export/bin/python scripts/golden/quantized.py

The ranges of int8 and uint8 are those of orchestrator/embedding/quantize.go.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sentence_transformers.util import quantize_embeddings

DEVIATIONS = 6
TARGET = Path(__file__).parents[2] / "orchestrator/embedding/testdata/quantized.json"


def vectors() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    lengths = (8, 16, 20, 32)
    found = [random.standard_normal(n).astype(np.float32) for n in lengths]
    found[1][:] = 0
    found[1][3] = -1  # beyond the ranges
    found[3][:8] = 0
    return [np.round(v / np.linalg.norm(v), 4) for v in found]


def main() -> None:
    golden = []
    for vector in vectors():
        bound = DEVIATIONS / np.sqrt(len(vector))
        ranges = np.array([[-bound] * len(vector), [bound] * len(vector)])
        clipped = np.clip(vector.astype(np.float64), -bound, bound)[None]
        row: dict[str, list] = {"Vector": [float(f"{x:.4f}") for x in vector]}
        for kind in ("int8", "uint8", "binary", "ubinary"):
            row[kind.capitalize()] = quantize_embeddings(clipped, kind, ranges)[0].tolist()
        golden.append(row)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("[\n" + ",\n".join(json.dumps(row) for row in golden) + "\n]\n")


if __name__ == "__main__":
    main()
