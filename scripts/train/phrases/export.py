"""Writes the trained network into the model repository, and measures it as served:

    python -m scripts.train.phrases.export --run runs/phrases --data DATA --id retort/molecule-reader-vN

writes phrases.onnx (weights in fp16, the table of word features in int8) and phrases.json (labels, training data,
figures) into model_repository/molecule_reader/1; the id, which must be new, goes into config.pbtxt. With --to FOLDER it
writes the two files there and needs no id.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

from scripts.served_reader import intents
from scripts.served_reader.intents import IntentParser
from scripts.train import checkpoint, entry, provenance, served
from scripts.train.phrases import evaluation, measure
from scripts.train.phrases.examples import NAMES, Maker, out_of_scope
from scripts.train.phrases.model import Model, graph


def measure_new_texts(parser: IntentParser, data: Path, count: int) -> dict[str, float]:
    """Returns the share of new texts from the templates that are parsed completely."""
    draw, maker = random.Random(999), Maker(out_of_scope(data, "held out"))
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= intents.MAX_WORDS]
    right = 0
    for e in examples:
        begins, *heads = parser.session.run(None, {"words": intents.feature_rows(e.words)})
        right += evaluation.parsed(e.words, begins, heads) == evaluation.expected(e)
    return {"new_texts": round(right / len(examples), 4), "texts": len(examples)}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/phrases"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--texts", type=int, default=2000, help="new texts to measure on")
    parser.add_argument("--id", help="new public id of molecule_reader; needed without --to")
    parser.add_argument("--to", type=Path, default=served.VERSION, help="folder to write the two files into")
    given = parser.parse_args()
    is_served = given.to.resolve() == served.VERSION.resolve()
    if is_served:
        entry.check_new(given.id, served.ENTRY.parent)
    model = Model(len(NAMES))
    model.load_state_dict(checkpoint.weights(given.run))
    given.to.mkdir(parents=True, exist_ok=True)
    graph(model.eval()).save(given.to / "phrases.onnx", "phrases")
    labels = evaluation.labels()
    file = given.to / "phrases.json"
    file.write_text(json.dumps(labels, indent=1) + "\n")
    served_parser = IntentParser(given.to)
    data = Path(given.data)
    figures = measure.measure(served_parser, data) | measure_new_texts(served_parser, data, given.texts)
    state = checkpoint.load(given.run / "checkpoint.pt")
    origin = provenance.read(given.run)
    training = {
        "samples": state["samples"],
        "seed": state["options"]["seed"],
        "machines": origin["machines"],
        "data": origin["data"],
    }
    file.write_text(json.dumps({**labels, "training": training, "figures": figures}, indent=1) + "\n")
    if is_served:
        entry.set_id(served.ENTRY / "config.pbtxt", given.id)
    print("\n".join(measure.list_misread(served_parser)[0]))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
