"""Trains the networks that read drawings of molecules:

    python -m scripts.train.vision --config cpu --data DATA

draws the molecules of DATA (corpus.py), or of --molecules, in many styles, and writes runs/vision/. The same command
with a larger budget resumes the run. With --start model_repository/molecule_reader training starts from the served
weights.

RDKit draws while the network learns. Other programs draw in advance, in an environment of their own
(other_programs.py); `--programs rdkit=1 indigo=0.5 cdk=0.5` takes half of the drawings from theirs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
from pathlib import Path

import torch

from scripts.train import reader, training
from scripts.train.vision import evaluation, sources
from scripts.train.vision.batches import Batches
from scripts.train.vision.model import SIZES, Model, Shape, describe, loss

PLACEHOLDERS, PATENTS, SCANS = 0.12, 0.35, 0.3
"""Shares of RDKit's drawings; see batches.Batches."""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="vision", batch=48, lr=2e-3, optimiser="muon", warmup=6_000, ema=0.998)
    parser.add_argument("--size", choices=SIZES, help="model size (default: that of --start, or small)")
    sources.add_arguments(parser, uses=4)
    parser.add_argument(
        "--start",
        type=Path,
        help="entry of a model repository to start from; --size can add blocks (default: random weights)",
    )
    parser.add_argument(
        "--bonds-only", action="store_true", help="train the bond classifier only; needs --start, whose detector stays"
    )
    parser.add_argument("--evaluate", type=int, default=100, help="drawings a style at each evaluation (default: 100)")
    return parser


def retain_memory() -> None:
    """Makes the allocator retain memory: fresh pages for every large tensor cost half the time of a step."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    except (OSError, AttributeError):  # Another C library: slower, not wrong.
        pass


def start(given: argparse.Namespace) -> Model:
    """Returns the model to train: that of --start, or a new one. Exits if an entry is wrong or --size does not fit."""
    if not given.start:
        if given.bonds_only:
            raise SystemExit("training: --bonds-only needs --start, an entry with an atom detector")
        return Model(Shape(**SIZES[given.size or "small"]))
    try:
        stored = reader.read_shape(given.start)
        shape = Shape(**SIZES[given.size]) if given.size else Shape(stored.widths, stored.blocks, stored.features)
        return reader.load_drawings(given.start, shape)
    except ValueError as error:
        raise SystemExit(f"training: --start: {error}") from error


def main() -> None:
    given, options = training.parse(arguments())
    retain_memory()
    molecules, programs, tuning = sources.load(given, options)
    torch.manual_seed(options.seed)
    model = start(given)
    if given.bonds_only:
        model.train_bonds_only()
    batches = Batches(
        molecules,
        programs,
        options.batch,
        options.seed,
        given.uses,
        placeholders=PLACEHOLDERS,
        patents=PATENTS,
        scans=SCANS,
    )
    options.folder.mkdir(parents=True, exist_ok=True)  # The first process may not have made it yet.
    (options.folder / "shape.json").write_text(json.dumps(describe(model.shape), indent=1) + "\n")
    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"{parameters:.2f} M parameters, drawings by {', '.join(programs.names)}", flush=True)
    training.run(
        options,
        model,
        batches.batch,
        loss,
        evaluate=lambda network, step: evaluation.quick(network, tuning, given.evaluate),
    )


if __name__ == "__main__":
    main()
