"""The two trained networks in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from cells import Cells


def inputs(found: Cells) -> dict[str, np.ndarray]:
    """What the seer wants of the cells of one drawing."""
    out = {"patches": found.patches}
    for number, level in enumerate(found.levels):
        out[f"neighbours{number}"] = level.neighbours
        if level.children is not None:
            out[f"children{number}"] = level.children
        if level.place is not None:
            out[f"place{number}"] = level.place
    return out


class Onnx:
    """Sessions on `threads` threads each; calls from several threads run side by side."""

    def __init__(self, folder: Path, threads: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        self.seer, self.liner = (
            onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
            for name in ("seer", "liner")
        )

    def see(self, found: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return tuple(self.seer.run(["features", "atoms", "molecule"], inputs(found)))

    def lines(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return self.liner.run(["kinds"], {"features": features, "line": line, "shape": shape})[0]
