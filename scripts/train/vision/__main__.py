"""Trains the networks that read drawings of molecules:

    python -m scripts.train.vision --config cpu --data DATA

draws the molecules of DATA (corpus.py) in many styles, mixes them with drawings by other programs from runs/drawings
(other_programs.py), and writes runs/vision/. The same command with a larger budget resumes the run. With --start
model_repository/molecule_reader training starts from the served weights.
"""

from __future__ import annotations

import argparse
import ctypes
import json
from pathlib import Path

import torch

from scripts.train import provenance, training
from scripts.train.vision import corpus, evaluation, warm_start
from scripts.train.vision.batches import Batches, ForeignDrawings
from scripts.train.vision.model import SIZES, Model, Shape, describe, loss


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="vision", batch=48, lr=2e-3, optimiser="muon", warmup=6_000, ema=0.998)
    parser.add_argument("--size", choices=SIZES, default="small", help="model size (default: small)")
    parser.add_argument("--uses", type=int, default=4, help="times that a drawing is used (default: 4)")
    parser.add_argument(
        "--start", type=Path, help="entry of a model repository to start from (default: random weights)"
    )
    parser.add_argument(
        "--drawings", type=Path, default=Path("runs/drawings"), help="folder of the drawings by other programs"
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


def main() -> None:
    given, options = training.parse(arguments())
    retain_memory()
    provenance.record(options, corpus.FILES)
    data = Path(options.data)
    molecules = corpus.load(data)
    foreign = ForeignDrawings(given.drawings)
    held_out = evaluation.tuning_molecules(data)
    shape = Shape(**SIZES[given.size])
    options.folder.mkdir(parents=True, exist_ok=True)  # The first process may not have made it yet.
    (options.folder / "shape.json").write_text(json.dumps(describe(shape), indent=1) + "\n")
    torch.manual_seed(options.seed)
    model = Model(shape)
    batches = Batches(molecules, foreign, options.batch, options.seed, given.uses)
    if given.start and not (options.folder / "checkpoint.pt").exists():
        warm_start.load_onnx(model, given.start / "1", batches.batch(0))
    parameters = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"{parameters:.2f} M parameters, {len(foreign.places)} drawings by other programs", flush=True)
    training.run(
        options,
        model,
        batches.batch,
        loss,
        evaluate=lambda network, step: evaluation.quick(network, held_out, given.evaluate),
    )


if __name__ == "__main__":
    main()
