"""Generates molecules with quality from a trained model, to train it on them:

    python -m scripts.train.masked.rejection --run runs/broad --samples 60000     # writes runs/broad/self_generated.npz
    python -m scripts.train.masked --data DATA --name broad --self-generated runs/broad/self_generated.npz

After training on molecules of every kind, one sample in five that requests [QUALITY] lacks it. Rejection sampling
fine-tuning (Dong et al. 2023, arXiv 2304.06767) samples de novo with [QUALITY] and keeps distinct, strictly valid
molecules with quality (broad.has_quality) as training strings. Only rows that start with [QUALITY] use them, so samples
that start with [BOS] still follow the distribution of the data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem, RDLogger

from scripts.train.masked import broad, data, evaluation, safe
from scripts.train.masked.report import graph_fill, load, observe_ranges

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
    model, vocabulary, length_counts = load(given.run)
    fill = graph_fill(model, vocabulary, given.threads, observe_ranges(model, given.run))
    texts = evaluation.de_novo(
        fill, vocabulary, data.lengths(length_counts, True), given.samples, TEMPERATURE, NOISE, True, seed=given.seed
    )
    molecules = sorted({m for m in map(safe.decode, texts) if m})
    good = [m for m in molecules if broad.has_quality(m)]
    print(f"{len(molecules)} distinct molecules of {given.samples}, {len(good)} with quality", flush=True)
    cuts = [broad.sides(m) for m in good if Chem.MolFromSmiles(m) is not None]
    data.write(cuts, given.run / "self_generated.npz", 0, given.seed, vocabulary, np.ones(len(cuts), bool), times=2)


if __name__ == "__main__":
    main()
