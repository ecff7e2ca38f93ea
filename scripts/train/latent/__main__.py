"""Trains the latent model on SMILES. One command, resumable:

    python -m scripts.train.latent --data DATA --start model_repository/latent_encoder --config cpu

The run mixes the molecules of DATA (scripts.train.latent.corpus) and writes runs/latent/. Resume it, or train longer,
with the same command and a larger budget. End early with --finish 100000, which decays the learning rate.

--start takes the weights of an encoder's entry, which has those of the decoder, or of another run (--start
runs/latent), and extends the vocabulary for the molecules; --merges 0 adds no merged tokens. Without --start the
weights are random.

The latent noise may change between calls. Little noise (--lowest -2 --highest 1.2) trains fastest; more noise at the
end makes the space around a molecule smooth.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from scripts.train import batches, checkpoint, processes, provenance, training
from scripts.train.latent import corpus, evaluation, extension, weights
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import NOISE, SIZES, Model, Shape
from scripts.train.latent.tokens import BOS, EOS, PAD, Vocabulary


class Data:
    """Training molecules as rows of ids; batch(step) is (encoder ids, [BOS] ids [EOS])."""

    def __init__(self, corpus: Corpus, options: training.Options) -> None:
        self.corpus = corpus
        self.buckets = batches.Buckets(corpus.lengths(), options.batch, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [self.corpus[i] for i in self.buckets.rows(step)]
        # torch.compile takes a width that equals a size of the model for that size, and recompiles. Multiples of 3
        # never equal the sizes, which are powers of 2. The decoder reads all but the last column.
        source = batches.pad(rows, PAD, 3)
        target = batches.pad([np.concatenate(([BOS], row, [EOS])) for row in rows], PAD, 3, over=1)
        return torch.from_numpy(source), torch.from_numpy(target)


class SelfGenerated:
    """Texts that the decoder generated, see rejection.py.

    batch(step) is (z, [BOS] ids [EOS]), a quarter as many rows as a batch of Data.
    """

    def __init__(self, files: list[Path], options: training.Options) -> None:
        parts = [checkpoint.load(file) for file in files]
        self.z = torch.cat([part["z"] for part in parts])
        self.rows = [row.numpy() for part in parts for row in part["ids"]]
        self.buckets = batches.Buckets(np.array([len(row) for row in self.rows]), options.batch // 4, options.seed)

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        chosen = self.buckets.rows(step)
        target = batches.pad([np.concatenate(([BOS], self.rows[i])) for i in chosen], PAD, 4)
        return self.z[torch.from_numpy(chosen)].float(), torch.from_numpy(target)


def loss_on(
    network: Model, batch: tuple[torch.Tensor, ...], given: argparse.Namespace
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the loss on molecules plus, if the batch has them, on self-generated texts."""
    # Tensors, because torch.compile would treat numbers as constants and recompile when they change.
    loss, figures = network(
        *batch[:2], *(torch.tensor(bound, device=batch[0].device) for bound in (given.lowest, given.highest))
    )
    if len(batch) == 2:
        return loss, figures
    generated, generated_figures = network.decoding_loss(*batch[2:])
    return loss + generated, {
        **figures,
        "self_generated": generated.detach(),
        "self_generated_exact_forced": generated_figures["exact_forced"],
    }


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="latent", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument(
        "--molecules",
        nargs="+",
        metavar="FILE=SHARE",
        help="files of the data folder and their shares of the rows (default: those of scripts.train.latent.corpus)",
    )
    parser.add_argument(
        "--valid", nargs="+", metavar="FILE", default=evaluation.VALID, help="files of held-out molecules"
    )
    parser.add_argument("--size", choices=SIZES, help="model size (default: that of --start, or small)")
    parser.add_argument(
        "--start",
        type=Path,
        help="entry of an encoder, or folder of a run, to start from (default: random weights)",
    )
    parser.add_argument(
        "--freeze-encoder",
        action="store_true",
        help="train only the decoder, so that hidden states do not change",
    )
    parser.add_argument(
        "--self-generated", type=Path, nargs="+", help="add texts that the decoder generated, see rejection.py"
    )
    parser.add_argument("--merges", type=int, default=600, help="new tokens merged from several SMILES tokens")
    parser.add_argument(
        "--slots",
        type=int,
        default=0,
        help="memory vectors, more than the model of --start has (0: the same)",
    )
    parser.add_argument("--lowest", type=float, default=NOISE[0], help="minimum log-variance of the latent noise")
    parser.add_argument("--highest", type=float, default=NOISE[1], help="maximum log-variance of the latent noise")
    parser.add_argument("--evaluate", type=int, default=300, help="validation molecules of each set in each evaluation")
    return parser


def initial_model(given: argparse.Namespace, molecules: list[str]) -> tuple[Model, Vocabulary]:
    """Returns the model to train and a vocabulary for the molecules, from --start or new."""
    if not given.start:
        vocabulary = Vocabulary.build(molecules, given.merges)
        return Model(Shape(vocabulary=len(vocabulary), **SIZES[given.size or "small"])), vocabulary
    model, old_vocabulary = training.load_start(weights.load, given.start)
    vocabulary = old_vocabulary.extended(molecules, given.merges)
    model = extension.with_vocabulary(model, old_vocabulary, vocabulary)
    return extension.with_slots(model, given.slots) if given.slots > model.shape.slots else model, vocabulary


def prepare(given: argparse.Namespace, options: training.Options) -> tuple[Model, Vocabulary, Corpus]:
    """Returns the model, vocabulary and corpus of a run; the first call writes them, later calls read them."""
    folder, cache = options.folder, options.folder / "corpus.npz"
    if cache.exists():
        vocabulary = Vocabulary.read(folder / "vocab.txt")
        return Model(Shape(**json.loads((folder / "shape.json").read_text()))), vocabulary, Corpus.load(cache)
    shares = corpus.parse_shares(given.molecules, corpus.SHARES)
    molecules, times = corpus.mix(corpus.sources(Path(options.data), shares, options.seed), options.seed)
    model, vocabulary = initial_model(given, [m for m, n in zip(molecules, times) for _ in range(n)])
    vocabulary.write(folder / "vocab.txt")
    (folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    checkpoint.save(model.state_dict(), folder / "initial.pt")
    rows = Corpus.build(molecules, vocabulary, times)
    rows.save(cache)
    return model, vocabulary, rows


def evaluate_sets(model: Model, vocabulary: Vocabulary, valid: dict[str, list[str]]) -> dict[str, float]:
    """Returns evaluation.quick of each set, as <set>_<figure>."""
    return {
        f"{name}_{figure}": value
        for name, molecules in valid.items()
        for figure, value in evaluation.quick(model, vocabulary, molecules).items()
    }


def main() -> None:
    given, options = training.parse(arguments())
    training.check_start(given)
    torch.manual_seed(options.seed)
    provenance.record(options, [*corpus.parse_shares(given.molecules, corpus.SHARES), *given.valid])
    valid = evaluation.read_sets(Path(options.data), given.valid, given.evaluate)
    with processes.first_alone():
        model, vocabulary, rows = prepare(given, options)
    model.load_state_dict(checkpoint.load(options.folder / "initial.pt"))
    model.encoder.requires_grad_(not given.freeze_encoder)
    data = Data(rows, options)
    generated = SelfGenerated(given.self_generated, options) if given.self_generated else None
    print(
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, "
        f"{len(rows)} rows a pass, {len(vocabulary)} tokens",
        flush=True,
    )
    training.run(
        options,
        model,
        lambda step: (*data.batch(step), *(generated.batch(step) if generated else ())),
        loss=lambda network, batch: loss_on(network, batch, given),
        evaluate=lambda network, step: evaluate_sets(network, vocabulary, valid),
    )


if __name__ == "__main__":
    main()
