"""Molecules for tests of the reader, and what perfect networks would detect in drawings."""

from __future__ import annotations

import numpy as np

from scripts.served_reader.detection import Detections
from scripts.served_reader.labels import ATOM_LABELS, REVERSED_KIND
from scripts.train.vision.drawing import Drawing

MOLECULES = [
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C[C@H](N)C(=O)[O-]",
    "C[C@@H]1CC[C@H]2CCCC[C@@H]2[NH2+]1",
    "C/C=C/C(=O)Nc1ccc(Cl)cc1",
    "C/C=C\\C#N",
    "O=[N+]([O-])c1ccc(Br)cc1",
    "CC(C)(C)OC(=O)N1CC[C@@H](CO)C1",
    "Cc1nn(C)c(S)c1C(F)(F)F",
]


def perfect_detections(drawing: Drawing) -> Detections:
    """Returns the labels of a drawing as detections, all with probability 1."""
    atoms = np.eye(len(ATOM_LABELS))[[ATOM_LABELS.index(label) for label in drawing.atoms]]
    kinds = np.eye(len(REVERSED_KIND))[drawing.bonds[:, 2]]
    return Detections(drawing.points, np.ones(len(atoms)), atoms, drawing.bonds[:, :2], kinds)
