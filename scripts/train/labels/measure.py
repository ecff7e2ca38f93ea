"""Measures how many labels are read right in crops of drawings of molecules that the network was not trained on:

    python -m scripts.train.labels.measure --data DATA

prints for each kind of label the number and the share that is read right, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn

from scripts.served_reader.label_reader import encoded
from scripts.served_reader.labels import GENERIC_GROUPS, GROUPS, LINKS, PLACEHOLDERS
from scripts.train import reader, served
from scripts.train.labels import crops
from scripts.train.vision import evaluation
from scripts.train.vision.batches import RDKIT, Programs
from scripts.train.vision.corpus import Corpus

Crops = tuple[np.ndarray, list[str]]
"""Crops of atoms, and their labels."""
COUNT = 2000
"""Drawings that are measured."""
QUICK = 150
"""Drawings of an evaluation in training."""
SEED = 9
ROWS = 256
"""Crops that the network reads at once."""


def held_out(molecules: list[str], drawings: int) -> Crops:
    """Returns the crops of drawings of the molecules, the same for the same molecules."""
    corpus = Corpus([(1.0, molecules)], [molecules])
    made = crops.drawings(corpus, Programs({RDKIT: 1.0}, Path()), drawings, SEED).drawings(0)
    random = np.random.default_rng(SEED)
    found = [crops.crops_of(drawing, random) for drawing in made if len(drawing.bonds)]
    return np.concatenate([rows for rows, _ in found]), [label for _, labels in found for label in labels]


@torch.no_grad()
def are_right(network: nn.Module, given: Crops) -> np.ndarray:
    """Reports for each crop whether all characters of its label are read right."""
    rows, labels = given
    device = next(network.parameters()).device
    read = [
        network(torch.from_numpy(rows[start : start + ROWS]).to(device)).argmax(2).cpu()
        for start in range(0, len(rows), ROWS)
    ]
    return (torch.cat(read).numpy() == np.array([encoded(label) for label in labels])).all(1)


def kind_of(label: str) -> str:
    """Returns the kind of a label in the card."""
    if label in PLACEHOLDERS:
        return "placeholders, such as R1 and X"
    if label in GENERIC_GROUPS:
        return "groups with placeholders, such as OR1"
    return "abbreviations" if label in GROUPS or label in LINKS else "atoms"


def by_kind(network: nn.Module, given: Crops) -> dict[str, tuple[int, float]]:
    """Returns the number of labels of each kind and the share that is read right."""
    right = are_right(network, given)
    kinds = np.array([kind_of(label) for label in given[1]])
    return {kind: (int((kinds == kind).sum()), float(right[kinds == kind].mean())) for kind in sorted({*kinds})}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.labels.measure",
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
    parser.add_argument("--count", type=int, default=COUNT, help=f"drawings (default: {COUNT})")
    given = parser.parse_args()
    if not given.data:
        parser.error("--data, the data folder, is required")
    molecules, _ = evaluation.held_out(given.data, given.valid)
    print(json.dumps(by_kind(reader.load_labels(given.entry), held_out(molecules, given.count)), indent=1))


if __name__ == "__main__":
    main()
