"""Exports the trained label reader as a model repository entry:

    python -m scripts.train.labels.export --run runs/labels --id own/labels-v1

writes the weights of the run into a copy of the shipped entry (scripts.train.reader), model_repository/own_labels;
makes label_reader.onnx of them; fits 1/calibration.json with all networks of the entry on the held-out molecules for
tuning; and measures the label reader on the other ones for the card, into figures.json of the run. An entry that exists
keeps its other models and its code.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from scripts.train import configuration, entry, reader, stored
from scripts.train.labels import crops, measure
from scripts.train.labels.model import Model, shape_of
from scripts.train.vision import evaluation
from scripts.train.vision.export import add_calibrate_argument, calibrate

MODEL = """{parameters:.1f} M parameters. It learned from drawings by {programs}."""
FIGURES = """Labels read right in {drawings:,} drawings of held-out molecules, {share:.0%} of them with placeholders,
each at a slightly wrong place and scale:

| labels | number | read right |
| --- | ---: | ---: |
{rows}"""
ROW = "| {kind} | {count:,} | {right:.1%} |"


def load_run(run: Path) -> Model:
    """Returns the model of a run. ValueError, which names the file: see stored.load_run."""
    return stored.load_run(run, lambda shape: Model(shape_of(shape)))


def card_sections(options: dict[str, Any], model: Model, figures: dict[str, Any]) -> tuple[str, str]:
    """Returns the sections card-model and card-figures."""
    described = MODEL.format(
        parameters=sum(p.numel() for p in model.parameters()) / 1e6, programs=", ".join(options["programs"])
    )
    rows = [ROW.format(kind=kind, count=count, right=right) for kind, (count, right) in figures["labels"].items()]
    return described, FIGURES.format(drawings=figures["drawings"], share=crops.PLACEHOLDERS, rows="\n".join(rows))


def write_run(given: argparse.Namespace) -> dict[str, Any]:
    """Writes the entry of a run. Returns its figures."""
    options = configuration.load(given.run)
    model = load_run(given.run)
    torch.set_num_threads(1)
    measuring, tuning = evaluation.held_out(given.data or Path(options["data"]), options["valid"])
    figures = {
        "drawings": given.count,
        "labels": measure.by_kind(model, measure.held_out(measuring, given.count)),
    }
    with reader.draft(given.repository, given.entry, given.run) as folder:
        reader.replace(folder, reader.LABELS, reader.stored_labels(model), model.shape)
        reader.write_graphs(folder)
        calibrate(folder / "1", tuning, given.calibrate)
        (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
        reader.name_entry(folder, given.id, given.run)
        reader.write_card(folder, reader.LABELS, given.run, *card_sections(options, model, figures), None)
    return figures


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.labels.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.add_arguments(parser, "own_labels", Path("runs/labels"))
    parser.add_argument("--data", type=Path, help="data folder (default: that of the run)")
    add_calibrate_argument(parser)
    parser.add_argument(
        "--count", type=int, default=measure.COUNT, help=f"drawings to measure (default: {measure.COUNT})"
    )
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    with entry.report_errors(given.run):
        figures = write_run(given)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
