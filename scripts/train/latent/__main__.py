"""Trains the latent model on SMILES. One command, resumable:

    python -m scripts.train.latent --data DATA --start model_repository --minutes 180

mixes the molecules of DATA (scripts.train.latent.corpus) and writes runs/latent/. Continue, or train longer, with the same command
and a larger budget; end with --finish 20, which lets the learning rate fall. --start begins with the weights of the entries of a
model repository, whose vocabulary grows by what the molecules need; without it the training begins from nothing.

A run may begin with the weights of another one (--start runs/latent), its vocabulary then staying as it is with --merges 0.

The latent noise may change from call to call: little of it (--lowest -2 --highest 1.2) is learned fastest, and more at the end
makes the space around a molecule smooth.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from scripts.train import batches, checkpoint, provenance, training
from scripts.train.latent import corpus, evaluation, start
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import NOISE, PRESETS, Model, Shape
from scripts.train.latent.tokens import BOS, EOS, PAD, Vocabulary, read_molecules


class Data:
    """Training molecules as rows of ids; batch(step) is (encoder ids, [BOS] ids [EOS])."""

    def __init__(self, corpus: Corpus, options: training.Options) -> None:
        self.corpus = corpus
        self.buckets = batches.Buckets(corpus.lengths(), options.batch, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self.corpus[i] for i in self.buckets.rows(step)]
        # Widths that are multiples of 3 are none of the model's sizes, which are powers of 2: torch.compile, which takes a width
        # that equals a size for that size, compiles once for all of them. The decoder reads all but the last column.
        source = batches.pad(rows, PAD, 3)
        target = batches.pad([np.concatenate(([BOS], row, [EOS])) for row in rows], PAD, 3, over=1)
        return torch.from_numpy(source), torch.from_numpy(target)


class Own:
    """Texts of the decoder's own, see rejection.py; batch(step) is (z, [BOS] ids [EOS]), a quarter as many rows as a batch of Data."""

    def __init__(self, files: list[Path], options: training.Options) -> None:
        held = [checkpoint.load(file) for file in files]
        self.z, self.rows = (
            torch.cat([part["z"] for part in held]),
            [row.numpy() for part in held for row in part["ids"]],
        )
        self.buckets = batches.Buckets(np.array([len(row) for row in self.rows]), options.batch // 4, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = self.buckets.rows(step)
        target = batches.pad([np.concatenate(([BOS], self.rows[i])) for i in chosen], PAD, 4)
        return self.z[torch.from_numpy(chosen)].float(), torch.from_numpy(target)


def both(
    network: Model, batch: tuple[torch.Tensor, ...], given: argparse.Namespace
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss on molecules, and on texts of the decoder's own where the batch has them."""
    # As tensors the bounds are no constants of a compiled network, which is then found again when they change.
    loss, figures = network(
        *batch[:2], *(torch.tensor(bound, device=batch[0].device) for bound in (given.lowest, given.highest))
    )
    if len(batch) == 2:
        return loss, figures
    own, told = network.decoded(*batch[2:])
    return loss + own, {**figures, "own": own.detach(), "own_exact_forced": told["exact_forced"]}


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="latent", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="model size (default: cpu)")
    parser.add_argument(
        "--start",
        type=Path,
        help="model repository, or folder of a run, that the training starts from (default: from nothing)",
    )
    parser.add_argument(
        "--hold-encoder",
        action="store_true",
        help="train the decoder alone: hidden states stay as they are, those of --own too",
    )
    parser.add_argument(
        "--own", type=Path, nargs="+", help="texts of the decoder's own to learn as well, see rejection.py"
    )
    parser.add_argument("--merges", type=int, default=600, help="new tokens of more than one atom, bond or sign")
    parser.add_argument(
        "--slots",
        type=int,
        default=0,
        help="memory vectors of a model that --start has with fewer (0: as many as it has)",
    )
    parser.add_argument("--lowest", type=float, default=NOISE[0], help="smallest log-variance of the latent noise")
    parser.add_argument("--highest", type=float, default=NOISE[1], help="largest log-variance of the latent noise")
    parser.add_argument("--evaluate", type=int, default=300, help="validation molecules of each set at each evaluation")
    return parser


def begun(given: argparse.Namespace, molecules: list[str]) -> tuple[Model, Vocabulary]:
    """The model to train, with a vocabulary for the molecules: that of --start with new tokens, or from nothing."""
    if not given.start:
        vocabulary = Vocabulary.build(molecules, given.merges)
        return Model(Shape(vocabulary=len(vocabulary), **PRESETS[given.preset])), vocabulary
    model, words = start.model(given.start)
    vocabulary = words.grown(molecules, given.merges)
    model = start.grown(model, words, vocabulary)
    return start.widened(model, given.slots) if given.slots > model.shape.slots else model, vocabulary


def prepare(given: argparse.Namespace, options: training.Options) -> tuple[Model, Vocabulary, Corpus]:
    """What a run trains and learns from; made by its first call, read again by the others."""
    folder, kept = options.folder, options.folder / "corpus.npz"
    if kept.exists():
        vocabulary = Vocabulary.read(folder / "vocab.txt")
        return Model(Shape(**json.loads((folder / "shape.json").read_text()))), vocabulary, Corpus.load(kept)
    molecules, times = corpus.mixed(corpus.sources(Path(options.data), corpus.SHARES, options.seed), options.seed)
    model, vocabulary = begun(given, [m for m, n in zip(molecules, times) for _ in range(n)])
    vocabulary.write(folder / "vocab.txt")
    (folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    checkpoint.save(model.state_dict(), folder / "begun.pt")
    rows = Corpus.build(molecules, vocabulary, times)
    rows.save(kept)
    return model, vocabulary, rows


def evaluated(model: Model, vocabulary: Vocabulary, valid: dict[str, list[str]]) -> dict[str, float]:
    """evaluation.brief of every set, <set>_<figure>."""
    return {
        f"{name}_{figure}": value
        for name, molecules in valid.items()
        for figure, value in evaluation.brief(model, vocabulary, molecules).items()
    }


def main() -> None:
    given = arguments().parse_args()
    options = training.from_arguments(given)
    torch.manual_seed(options.seed)
    provenance.note(options, corpus.SHARES)
    model, vocabulary, rows = prepare(given, options)
    begun_at = options.folder / "begun.pt"
    model.load_state_dict(checkpoint.load(begun_at))
    model.encoder.requires_grad_(not given.hold_encoder)
    valid = {
        name: read_molecules(Path(options.data) / file)[: given.evaluate] for name, file in evaluation.VALID.items()
    }
    data, own = Data(rows, options), Own(given.own, options) if given.own else None
    print(
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(rows)} rows a pass, {len(vocabulary)} tokens",
        flush=True,
    )
    training.run(
        options,
        model,
        lambda step: (*data.batch(step), *(own.batch(step) if own else ())),
        loss=lambda network, batch: both(network, batch, given),
        evaluate=lambda network, step: evaluated(network, vocabulary, valid),
    )


if __name__ == "__main__":
    main()
