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

from scripts.train import batches, checkpoint, training
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


class Own:
    """Texts of the decoder's own, see rejection.py; batch(step) is (z, [BOS] ids [EOS]), half as many rows as a batch of Data."""

    def __init__(self, file: Path, options: training.Options) -> None:
        held = checkpoint.load(file)
        self.z, self.rows = held["z"], [row.numpy() for row in held["ids"]]
        self.buckets = batches.Buckets(np.array([len(row) for row in self.rows]), options.batch // 2, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = self.buckets.rows(step)
        target = batches.pad([np.concatenate(([BOS], self.rows[i])) for i in chosen], PAD, 4)
        return self.z[torch.from_numpy(chosen)].float(), torch.from_numpy(target)


def both(network: Model, batch: tuple[torch.Tensor, ...], given: argparse.Namespace) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss on molecules, and on texts of the decoder's own where the batch has them."""
    loss, figures = network(*batch[:2], given.lowest, given.highest)
    if len(batch) == 2:
        return loss, figures
    own, told = network.decoded(*batch[2:])
    return loss + own, {**figures, "own": own.detach(), "own_exact_forced": told["exact_forced"]}


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    training.add_arguments(parser, name="latent", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="model size (default: cpu)")
    parser.add_argument("--muv", action="store_true", help="train on muv_druglike too")
    parser.add_argument("--start", type=Path, help="model repository whose latent entries the training starts from (default: from nothing)")
    parser.add_argument("--own", type=Path, help="texts of the decoder's own to learn as well, see rejection.py")
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
    folder = Path(options.data)
    molecules = read_molecules(folder / "zinc250k_train.smi.gz")
    molecules += read_molecules(folder / "muv_druglike.smi.gz") if given.muv else []
    torch.manual_seed(options.seed)
    model, vocabulary = start.model(given.start) if given.start else fresh(given, options, molecules)
    vocabulary.write(options.folder / "vocab.txt")
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    valid = read_molecules(folder / "zinc250k_valid.smi.gz")
    data, own = Data(molecules, vocabulary, options), Own(given.own, options) if given.own else None
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(molecules)} molecules, {len(vocabulary)} tokens", flush=True)
    training.run(
        options, model, lambda step: (*data.batch(step), *(own.batch(step) if own else ())),
        loss=lambda network, batch: both(network, batch, given),
        evaluate=lambda network, step: evaluation.brief(network, vocabulary, valid[: given.evaluate]),
    )


if __name__ == "__main__":
    main()
