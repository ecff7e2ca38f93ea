"""Trains the masked model on SAFE strings. One command, resumable:

    python -m scripts.train.masked --config cpu --data DATA

The first call converts the molecules of the public files, or of --molecules, to strings, which takes about half an hour
for the public files, and caches them in runs/masked/strings.npz. The run is written to runs/masked/. Resume it, or
train longer, with the same command and a larger budget.

--start starts from the weights and tokens of a model repository entry, or of another run, and adds the tokens that the
molecules need. --mix druglike is for a model of its own: no stereochemistry, no tokens for length and quality.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import numpy as np
import torch

from scripts.train import processes, provenance, training
from scripts.train.latent import corpus
from scripts.train.masked import broad, data, evaluation, extension, weights
from scripts.train.masked.data import Strings
from scripts.train.masked.model import SIZES, Model, Shape, loss
from scripts.train.masked.vocabulary import Vocabulary


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="masked", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--size", choices=SIZES, help="model size (default: that of --start, or small)")
    parser.add_argument(
        "--start", type=Path, help="entry, such as model_repository/masked, or folder of a run, to start from"
    )
    parser.add_argument(
        "--mix",
        choices=("broad", "druglike"),
        default="broad",
        help="broad: molecules of every kind, see broad.py; druglike: those of --qed and --sa, without stereochemistry "
        "(default: broad)",
    )
    parser.add_argument(
        "--molecules",
        nargs="+",
        metavar="FILE=SHARE",
        help="files of the data folder and, in the broad mix, their shares of it (default: those of the mix)",
    )
    parser.add_argument("--valid", metavar="FILE", default="zinc250k_valid.smi.gz", help="file of held-out molecules")
    parser.add_argument("--count", type=int, default=300_000, help="molecules of the broad mix (default: 300,000)")
    parser.add_argument("--self-generated", type=Path, help="add strings that the model generated, see rejection.py")
    parser.add_argument(
        "--self-generated-share", type=float, default=0.3, help="their share of the rows (default: 0.3)"
    )
    parser.add_argument("--qed", type=float, default=0.6, help="minimum QED of a training molecule (default: 0.6)")
    parser.add_argument("--sa", type=float, default=4.0, help="maximum SA score of a training molecule (default: 4)")
    parser.add_argument(
        "--merges", type=int, default=1200, help="tokens merged from several SMILES tokens (default: 1200)"
    )
    parser.add_argument("--evaluate", type=int, default=200, help="de novo samples at each evaluation")
    return parser


def prepare(
    given: argparse.Namespace, options: training.Options
) -> tuple[Model, Strings, Vocabulary, np.ndarray, tuple[torch.Tensor, torch.Tensor]]:
    """Returns the model, its strings, their vocabulary and lengths, and a held-out batch; writes them or reads them."""
    shares = corpus.parse_shares(given.molecules, broad.SHARES if given.mix == "broad" else data.DRUGLIKE)
    provenance.record(options, [*shares, given.valid])
    corpus.read_file(Path(options.data), given.valid)  # A wrong file ends the run before the strings are made.
    start, start_vocabulary = training.load_start(weights.load, given.start) if given.start else (None, None)
    if given.mix == "broad":
        strings = data.prepare_broad(options, shares, given.merges, given.count, start_vocabulary)
    else:
        strings = data.prepare_druglike(options, list(shares), given.merges, given.qed, given.sa, start_vocabulary)
    vocabulary = strings.vocabulary
    (options.folder / "vocab.txt").write_text("".join(t + "\n" for t in vocabulary.tokens))
    length_counts = data.count_lengths(strings)
    (options.folder / "lengths.txt").write_text(
        "".join(" ".join(map(str, row)) + "\n" for row in length_counts.tolist())
    )
    (options.folder / "mix.json").write_text(json.dumps({"qed": given.qed, "sa": given.sa}) + "\n")
    shape = Shape(vocabulary=len(vocabulary), reserved=vocabulary.reserved, **SIZES[given.size or "small"])
    torch.manual_seed(options.seed)
    model = Model(shape)
    if start and start_vocabulary:
        model = extension.with_vocabulary(start, start_vocabulary, vocabulary)
        shape = model.shape
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(shape), indent=1) + "\n")
    held_out = data.held_out(Path(options.data) / given.valid, options.folder, vocabulary)
    return model, strings, vocabulary, length_counts, held_out


def main() -> None:
    given, options = training.parse(arguments())
    training.check_start(given)
    with processes.first_alone():
        model, strings, vocabulary, length_counts, held_out = prepare(given, options)
    print(
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, "
        f"{len(strings)} strings of {strings.lengths().mean():.1f} tokens, {len(vocabulary)} tokens",
        flush=True,
    )
    if given.self_generated:
        strings = data.mix_in(strings, data.read(given.self_generated), given.self_generated_share)
    training.run(
        options,
        model,
        data.Batches(strings, options).batch,
        loss,
        evaluate=lambda network, step: evaluation.quick(
            network, vocabulary, data.lengths(length_counts, True), given.evaluate, held_out
        ),
    )


if __name__ == "__main__":
    main()
