"""Exports the trained network of questions as a model repository entry:

    python -m scripts.train.phrases.export --run runs/phrases --id own/phrases-v1

writes the weights of the run into a copy of the shipped entry (scripts.train.reader), model_repository/own_phrases;
makes phrases.onnx and phrases.json of them; and measures it as served for the card, into figures.json of the run. An
entry that exists keeps its model of drawings and its code.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from scripts.served_reader.intents import IntentParser
from scripts.train import configuration, entry, reader, stored
from scripts.train.phrases import measure
from scripts.train.phrases.examples import own_questions
from scripts.train.phrases.model import Model, shape_of

MODEL = """{parameters:.0f} thousand parameters, {families} families of questions."""
FIGURES = """{command}:

| questions | figure |
| --- | ---: |
| {phrases} held-out wordings: the family is right | {held_out_phrases:.1%} |
| {texts:,} new texts from the templates, with typing errors: all labels are right | {new_texts:.1%} |
{rows}"""
ROW = "| out of scope, refused: {name}, {part} | {right:,} of {count:,} |"
PARTS = {"held out": "held out of the training", "outside": "not trained on"}


def load_run(run: Path) -> Model:
    """Returns the model of a run. ValueError, which names the file: see stored.load_run."""
    return stored.load_run(run, lambda shape: Model(shape_of(shape)))


def card_sections(name: str, options: dict[str, Any], model: Model, figures: dict[str, Any]) -> tuple[str, str]:
    """Returns the sections card-model and card-figures."""
    families = len(model.shape.labels["family"])
    described = MODEL.format(parameters=sum(p.numel() for p in model.parameters()) / 1e3, families=families)
    own = f" --questions {options['questions']}" if "questions" in options else ""
    arguments = f"--entry model_repository/{name} --sets {' '.join(options['sets'])}".rstrip() + own
    rows = [
        ROW.format(name=file, part=PARTS[part], right=right, count=count)
        for part, files in figures["refused"].items()
        for file, (right, count) in files.items()
    ]
    command = f"`python -m scripts.train.phrases.measure --data DATA {arguments}`"
    return described, FIGURES.format(command=command, rows="\n".join(rows), **figures)


def write_run(given: argparse.Namespace) -> dict[str, Any]:
    """Writes the entry of a run. Returns its figures."""
    options = configuration.load(given.run)
    model = load_run(given.run)
    data = given.data or Path(options["data"])
    held_out = own_questions(data, options.get("questions")).held_out
    with reader.draft(given.repository, given.entry, given.run) as folder:
        reader.replace(folder, reader.QUESTIONS, reader.stored_questions(model), model.shape)
        reader.write_graphs(folder)
        (folder / "1" / "phrases.json").write_text(json.dumps(model.shape.labels, indent=1) + "\n")
        served = IntentParser(folder / "1")
        figures = measure.measure(served, data, options["sets"], held_out)
        (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
        print("\n".join(measure.list_misread(served, held_out)[0]))
        reader.name_entry(folder, given.id, given.run)
        sections = card_sections(folder.name, options, model, figures)
        reader.write_card(folder, reader.QUESTIONS, given.run, *sections, options.get("start"))
    return figures


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.add_arguments(parser, "own_phrases", Path("runs/phrases"))
    parser.add_argument("--data", type=Path, help="data folder (default: that of the run)")
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    with entry.report_errors(given.run):
        figures = write_run(given)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
