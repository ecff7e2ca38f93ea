"""Trains the label reader, the network that reads labels such as R1, which the atom detector does not know:

    python -m scripts.train.labels --config cpu --data DATA

draws the molecules of DATA as scripts.train.vision does, most of them with R groups and the like, crops the pictures
around the atoms, and writes runs/labels/. The same command with a larger budget resumes the run. With --start
model_repository/molecule_reader training starts from the served weights.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

import torch

from scripts.train import reader, training
from scripts.train.labels import measure
from scripts.train.labels.crops import CROPS, LabelBatches, drawings
from scripts.train.labels.model import Model, Shape, loss
from scripts.train.vision import sources
from scripts.train.vision.__main__ import retain_memory


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.labels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    training.add_arguments(parser, name="labels", batch=252, lr=2e-3, warmup=20_000, decay=0.7, ema=0.998)
    sources.add_arguments(parser, uses=8)
    parser.add_argument(
        "--start", type=Path, help="entry of a model repository to start from (default: random weights)"
    )
    return parser


def start(entry: Path | None) -> Model:
    """Returns the model to train: that of an entry, or a new one. Exits if the entry is wrong."""
    try:
        return reader.load_labels(entry).train() if entry else Model(Shape())
    except ValueError as error:
        raise SystemExit(f"training: --start: {error}") from error


def main() -> None:
    given, options = training.parse(arguments())
    retain_memory()
    molecules, programs, tuning = sources.load(given, options)
    torch.manual_seed(options.seed)
    model = start(given.start).to(memory_format=torch.channels_last)
    made = drawings(molecules, programs, -(-options.batch // CROPS), options.seed, given.uses)
    options.folder.mkdir(parents=True, exist_ok=True)  # The first process may not have made it yet.
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    held_out = measure.held_out(tuning, measure.QUICK)
    training.run(
        options,
        model,
        LabelBatches(made, options.batch).batch,
        loss,
        evaluate=lambda network, step: {"right": float(measure.are_right(network, held_out).mean())},
    )


if __name__ == "__main__":
    main()
