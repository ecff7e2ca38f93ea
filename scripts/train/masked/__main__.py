"""Trains the masked model on SAFE strings. One command, resumable:

    python -m scripts.train.masked --data DATA --minutes 180

reads the drug-like molecules of DATA/zinc250k_train.smi.gz (with --muv also of muv_druglike.smi.gz), writes each as strings
(once, about half an hour; kept in runs/masked/strings.npz) and trains in runs/masked/. Continue, or train longer, with
the same command and a larger budget. --start ENTRY begins with the weights and tokens of an entry of the model repository, to which
--mix broad adds what it needs: it trains on molecules of every kind, with stereo, and with tokens for length and quality: see broad.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import torch

from scripts.train import provenance, training
from scripts.train.masked import broad, data, evaluation, start
from scripts.train.masked.model import PRESETS, Model, Shape, loss


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="masked", batch=256, lr=2e-3, optimiser="muon", warmup=20_000, ema=0.998)
    parser.add_argument("--preset", choices=PRESETS, default="cpu", help="model size (default: cpu)")
    parser.add_argument(
        "--start", type=Path, help="entry of the model repository to begin with, such as model_repository/masked"
    )
    parser.add_argument(
        "--mix",
        choices=("druglike", "broad"),
        default="druglike",
        help="what to train on, see broad.py (default: druglike)",
    )
    parser.add_argument("--molecules", type=int, default=300_000, help="molecules of the broad mix (default: 300,000)")
    parser.add_argument("--own", type=Path, help="strings of the model's own to train on too, see rejection.py")
    parser.add_argument("--own-share", type=float, default=0.3, help="their share of the rows (default: 0.3)")
    parser.add_argument("--muv", action="store_true", help="train on muv_druglike too")
    parser.add_argument("--qed", type=float, default=0.6, help="least QED of a training molecule (default: 0.6)")
    parser.add_argument("--sa", type=float, default=4.0, help="greatest SA score of a training molecule (default: 4)")
    parser.add_argument(
        "--runs-of-tokens", type=int, default=1200, help="tokens that are runs of SMILES tokens (default: 1200)"
    )
    parser.add_argument("--evaluate", type=int, default=200, help="de novo samples at each evaluation")
    return parser


def main() -> None:
    given = arguments().parse_args()
    options = training.from_arguments(given)
    druglike = ["zinc250k_train.smi.gz", "muv_druglike.smi.gz"][: 1 + given.muv]
    provenance.note(options, broad.SHARES if given.mix == "broad" else druglike)
    tokens = start.vocabulary(given.start) if given.start else None
    if given.mix == "broad":
        strings = data.mixed(options, given.runs_of_tokens, given.molecules, tokens)
    else:
        strings = data.prepare(options, given.runs_of_tokens, given.muv, given.qed, given.sa, tokens)
    vocabulary, lengths = strings.vocabulary, strings.lengths()
    (options.folder / "vocab.txt").write_text("".join(t + "\n" for t in vocabulary.tokens))
    table = data.table(strings)
    (options.folder / "lengths.txt").write_text("".join(" ".join(map(str, row)) + "\n" for row in table.tolist()))
    (options.folder / "mix.json").write_text(json.dumps({"qed": given.qed, "sa": given.sa}) + "\n")
    shape = Shape(vocabulary=len(vocabulary), reserved=vocabulary.reserved, **PRESETS[given.preset])
    torch.manual_seed(options.seed)
    model = Model(shape)
    if tokens:
        model = start.grown(start.model(given.start), tokens, vocabulary)
        shape = model.shape
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(shape), indent=1) + "\n")
    print(
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, {len(strings)} strings of {lengths.mean():.1f} tokens, "
        f"{len(vocabulary)} tokens",
        flush=True,
    )
    held = data.held(Path(options.data), options.folder, vocabulary)
    if given.own:
        strings = data.joined(strings, data.read(given.own), given.own_share)
    training.run(
        options,
        model,
        data.Batches(strings, options).batch,
        loss,
        evaluate=lambda network, step: evaluation.brief(
            network, vocabulary, data.lengths(table, True), given.evaluate, held
        ),
    )


if __name__ == "__main__":
    main()
