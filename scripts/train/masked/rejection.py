"""Molecules of a model's own that have the quality it was asked for, for it to learn from:

    python -m scripts.train.masked.rejection --run runs/broad --samples 60000      # writes runs/broad/own.npz
    python -m scripts.train.masked --data DATA --mix broad --name broad --own runs/broad/own.npz --minutes 600

A model of molecules of every kind knows with [QUALITY] what to aim at, and misses in one sample of five. Molecules are drawn de novo
with [QUALITY]; the distinct ones of quality (broad.good) whose whole string reads are written as strings of the training data's form,
marked as of quality (rejection sampling fine-tuning: Dong et al. 2023, arXiv 2304.06767). Rows that begin with [BOS] see nothing of them:
what the model says when it is not asked for quality stays what the data are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem, RDLogger

from scripts.train.masked import broad, data, evaluation, safe
from scripts.train.masked.report import graph_fill, load, observed

RDLogger.DisableLog("rdApp.*")

TEMPERATURE = 1.0
NOISE = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked.rejection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--samples", type=int, default=60_000, help="molecules to draw")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads")
    parser.add_argument("--seed", type=int, default=100)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model, vocabulary, table = load(given.run)
    fill = graph_fill(model, vocabulary, given.threads, observed(model, given.run))
    texts = evaluation.de_novo(
        fill, vocabulary, data.lengths(table, True), given.samples, TEMPERATURE, NOISE, True, seed=given.seed
    )
    molecules = sorted({m for m in map(safe.decode, texts) if m})
    good = [m for m in molecules if broad.good(m)]
    print(f"{len(molecules)} distinct molecules of {given.samples}, {len(good)} of quality", flush=True)
    cuts = [broad.sides(m) for m in good if Chem.MolFromSmiles(m) is not None]
    data.write(cuts, given.run / "own.npz", 0, given.seed, vocabulary, np.ones(len(cuts), bool), times=2)


if __name__ == "__main__":
    main()
