"""Exports the trained networks of drawings as a model repository entry:

    python -m scripts.train.vision.export --run runs/vision --id own/reader-v1

writes the weights of the run into a copy of the shipped entry (scripts.train.reader), model_repository/own_reader;
makes the ONNX files of them; fits 1/calibration.json on the held-out molecules for tuning; and measures it on the other
ones for the card, into figures.json of the run. An entry that exists keeps its model of questions and its code.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import torch

from scripts.served_reader.drawing_reader import DrawingReader
from scripts.served_reader.views import UNFITTED
from scripts.train import configuration, entry, reader, stored
from scripts.train.vision import calibration, evaluation, report
from scripts.train.vision.model import Model, shape_of

MODEL = """{parameters:.1f} M parameters: levels of width {widths}, {labels} atom labels. It learned from drawings by
{programs}."""
FIGURES = """{command}:

| {drawings:,} drawings of a style | exact SMILES | exact without stereochemistry | any SMILES | CPU time, median |
| --- | ---: | ---: | ---: | ---: |
{rows}

{taken} of {pictures} pictures without a molecule are taken for one."""
ROW = "| {name} | {exact:.1%} | {flat:.1%} | {given:.1%} | {milliseconds:.0f} ms |"


def load_run(run: Path) -> Model:
    """Returns the model of a run. ValueError, which names the file: see stored.load_run."""
    return stored.load_run(run, lambda shape: Model(shape_of(shape)))


def add_calibrate_argument(parser: argparse.ArgumentParser) -> None:
    """Adds --calibrate, the count of calibrate."""
    count = calibration.COUNT
    parser.add_argument(
        "--calibrate", type=int, default=count, help=f"drawings a style to calibrate on (default: {count})"
    )


def calibrate(folder: Path, molecules: list[str], count: int) -> None:
    """Writes calibration.json into the version's folder."""
    fitted = dataclasses.asdict(calibration.calibrate(DrawingReader(folder, calibration=UNFITTED), molecules, count))
    text = json.dumps({key: [round(w, 4) for w in weights] for key, weights in fitted.items()}, indent=1)
    (folder / "calibration.json").write_text(text + "\n")


def card_sections(
    folder: Path, options: dict[str, Any], model: Model, figures: dict[str, Any], count: int
) -> tuple[str, str]:
    """Returns the sections card-model and card-figures."""
    described = MODEL.format(
        parameters=sum(p.numel() for p in model.parameters()) / 1e6,
        widths=", ".join(map(str, model.shape.widths)),
        labels=len(model.shape.labels),
        programs=", ".join(options["programs"]),
    )
    rows = [
        ROW.format(name=name, **figures[style] | {"milliseconds": figures[style]["milliseconds"]["p50"]})
        for style, name in report.STYLES.items()
    ]
    valid = " ".join(options["valid"])
    arguments = f"--entry model_repository/{folder.name} --valid {valid}" + f" --count {count}" * (
        count != report.COUNT
    )
    return described, FIGURES.format(
        command=f"`python -m scripts.train.vision.report --data DATA {arguments}`",
        drawings=figures["default"]["drawings"],
        rows="\n".join(rows),
        taken=figures["others"]["taken_for_drawing"],
        pictures=figures["others"]["pictures"],
    )


def write_run(given: argparse.Namespace) -> dict[str, Any]:
    """Writes the entry of a run. Returns its figures."""
    options = configuration.load(given.run)
    model = load_run(given.run)
    torch.set_num_threads(1)
    measuring, tuning = evaluation.held_out(given.data or Path(options["data"]), options["valid"])
    with reader.draft(given.repository, given.entry, given.run) as folder:
        reader.replace(folder, reader.DRAWINGS, reader.stored_drawings(model), model.shape)
        reader.write_graphs(folder)
        calibrate(folder / "1", tuning, given.calibrate)
        figures = report.measure(DrawingReader(folder / "1"), measuring, given.count)
        (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
        reader.name_entry(folder, given.id, given.run)
        sections = card_sections(folder, options, model, figures, given.count)
        reader.write_card(folder, reader.DRAWINGS, given.run, *sections, options.get("start"))
    return figures


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.add_arguments(parser, "own_reader", Path("runs/vision"))
    parser.add_argument("--data", type=Path, help="data folder (default: that of the run)")
    add_calibrate_argument(parser)
    parser.add_argument(
        "--count", type=int, default=report.COUNT, help=f"drawings a style to measure (default: {report.COUNT})"
    )
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    with entry.report_errors(given.run):
        figures = write_run(given)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
