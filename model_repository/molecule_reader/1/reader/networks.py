"""The two trained networks: the interface that detection.py needs, and its ONNX Runtime form."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .sparse_cells import SparseCells


class Networks(Protocol):
    """The atom detector and the bond classifier."""

    def detect_atoms(self, cells: SparseCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns features [n, features] and atom logits [n, 1 + labels + 2] of the n cells of 4 pixels, and a logit
        per drawing that it shows a molecule.

        The first atom logit stands for no atom. The last two values are the offset to the atom, x and y, in cells.
        """

    def classify_bonds(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        """Returns logits [pairs, kinds] from features, cell indices [pairs, detection.LINE_POINTS] and
        shapes [pairs, 4] (detection.line_between)."""


class OnnxNetworks:
    """The networks in a version's folder; safe for concurrent use. Each call runs on `threads` threads."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.atom_detector = load_session(folder / "atom_detector.onnx", threads)
        self.bond_classifier = load_session(folder / "bond_classifier.onnx", threads)

    def detect_atoms(self, cells: SparseCells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        features, atoms, molecule = self.atom_detector.run(["features", "atoms", "molecule"], cells.tensors())
        return features, atoms, molecule

    def classify_bonds(self, features: np.ndarray, line: np.ndarray, shape: np.ndarray) -> np.ndarray:
        return self.bond_classifier.run(["kinds"], {"features": features, "line": line, "shape": shape})[0]


def load_session(path: Path, threads: int) -> Any:
    """Returns an ONNX Runtime session whose calls run on `threads` threads each."""
    # ONNX Runtime (from 1.29) sends telemetry to Microsoft unless this is set when it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # Not at the top: training and tests use this package without it.

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
