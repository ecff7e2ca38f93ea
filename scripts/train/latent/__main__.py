"""Trains the latent model on SMILES. One command, resumable:

    python -m scripts.train.latent --data DATA --minutes 180

reads DATA/zinc250k_train.smi.gz (with --muv also muv_druglike.smi.gz) and writes runs/latent/. Continue, or train
longer, with the same command and a larger budget.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from scripts.train import batches, training
from scripts.train.latent import evaluation, start
from scripts.train.latent.model import NOISE, PRESETS, Model, Shape
from scripts.train.latent.tokens import BOS, EOS, PAD, Vocabulary, read_molecules


class Data:
    """Training molecules as rows of ids; batch(step) is (encoder ids, [BOS] ids [EOS])."""

    def __init__(self, molecules: list[str], vocabulary: Vocabulary, options: training.Options) -> None:
        self.rows = [vocabulary.encode(smiles) for smiles in molecules]
        lengths = np.array([len(row) for row in self.rows])
        self.buckets = batches.Buckets(lengths, options.batch, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self.rows[i] for i in self.buckets.rows(step)]
        source = batches.pad(rows, PAD, 4)
        target = batches.pad([np.concatenate(([BOS], row, [EOS])) for row in rows], PAD, 4)
        return torch.from_numpy(source), torch.from_numpy(target)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    training.add_arguments(parser, name="latent", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="model size (default: cpu)")
    parser.add_argument("--muv", action="store_true", help="train on muv_druglike too")
    parser.add_argument("--start", type=Path, help="model repository whose latent entries the training starts from (default: from nothing)")
    parser.add_argument("--merges", type=int, default=300, help="tokens of more than one atom, bond or sign")
    parser.add_argument("--lowest", type=float, default=NOISE[0], help="smallest log-variance of the latent noise")
    parser.add_argument("--highest", type=float, default=NOISE[1], help="largest log-variance of the latent noise")
    parser.add_argument("--evaluate", type=int, default=300, help="validation molecules at each evaluation")
    return parser


def fresh(given: argparse.Namespace, options: training.Options, molecules: list[str]) -> tuple[Model, Vocabulary]:
    """A model to train from nothing, with the vocabulary of the run if it has one."""
    words = options.folder / "vocab.txt"
    vocabulary = Vocabulary.read(words) if words.exists() else Vocabulary.build(molecules, given.merges)
    return Model(Shape(vocabulary=len(vocabulary), **PRESETS[given.preset])), vocabulary


def main() -> None:
    given = arguments().parse_args()
    options = training.from_arguments(given)
    data = Path(options.data)
    molecules = read_molecules(data / "zinc250k_train.smi.gz")
    molecules += read_molecules(data / "muv_druglike.smi.gz") if given.muv else []
    torch.manual_seed(options.seed)
    model, vocabulary = start.model(given.start) if given.start else fresh(given, options, molecules)
    vocabulary.write(options.folder / "vocab.txt")
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    valid = read_molecules(data / "zinc250k_valid.smi.gz")
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(molecules)} molecules, {len(vocabulary)} tokens", flush=True)
    training.run(
        options, model, Data(molecules, vocabulary, options).batch,
        loss=lambda network, batch: network(*batch, given.lowest, given.highest),
        evaluate=lambda network, step: evaluation.brief(network, vocabulary, valid[: given.evaluate]),
    )


if __name__ == "__main__":
    main()
