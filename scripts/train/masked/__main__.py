"""Trains the masked model on SAFE strings. One command, resumable:

    python -m scripts.train.masked --data DATA --minutes 180

reads DATA/zinc250k_train.smi.gz (with --muv also muv_druglike.smi.gz), cuts every molecule once (a few minutes; kept in
runs/masked/pieces.npz) and writes runs/masked/. Continue, or train longer, with the same command and a larger budget.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from scripts.train import training
from scripts.train.latent.tokens import read_molecules
from scripts.train.masked import data, evaluation
from scripts.train.masked.model import PRESETS, Model, Shape, loss


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.masked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    training.add_arguments(parser, name="masked", batch=96, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="model size (default: cpu)")
    parser.add_argument("--muv", action="store_true", help="train on muv_druglike too")
    parser.add_argument("--evaluate", type=int, default=100, help="de novo samples at each evaluation")
    return parser


def main() -> None:
    given = arguments().parse_args()
    options = training.from_arguments(given)
    molecules = read_molecules(Path(options.data) / "zinc250k_train.smi.gz")
    molecules += read_molecules(Path(options.data) / "muv_druglike.smi.gz") if given.muv else []
    pieces = data.prepare(molecules, options.folder / ("pieces_muv.npz" if given.muv else "pieces.npz"))
    vocabulary, lengths = pieces.vocabulary, pieces.lengths()
    (options.folder / "vocab.txt").write_text("".join(t + "\n" for t in vocabulary.tokens))
    (options.folder / "lengths.txt").write_text("".join(f"{n} {c}\n" for n, c in zip(*np.unique(lengths, return_counts=True))))
    shape = Shape(vocabulary=len(vocabulary), **PRESETS[given.preset])
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(shape), indent=1) + "\n")
    torch.manual_seed(options.seed)
    model = Model(shape)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(pieces)} molecules, {len(vocabulary)} tokens", flush=True)
    training.run(options, model, data.Batches(pieces, options).batch, loss,
                 evaluate=lambda network, step: evaluation.brief(network, vocabulary, lengths, given.evaluate))


if __name__ == "__main__":
    main()
