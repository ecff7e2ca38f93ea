"""Writes the trained network beside the reader, and measures it as it will serve:

    python -m scripts.train.phrases.export --run runs/phrases --data DATA --id retort/molecule-reader-vN

Writes phrases.onnx (weights in fp16, the table of word features in int8) and phrases.json (labels, what it was trained on, and the
figures) into model_repository/molecule_reader/1, and the id, which must be new, into the entry's config.pbtxt. With --to FOLDER it
writes the two files there, needs no id and leaves the entry alone.
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


def understood(network: IntentParser, data: Path, count: int) -> dict[str, float]:
    """The share of new texts from the templates that the network understands with every argument."""
    draw, maker = random.Random(999), Maker(out_of_scope(data, "held out"))
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= intents.MAX_WORDS]
    right = 0
    for e in examples:
        begins, *heads = network.session.run(None, {"words": intents.feature_rows(e.words)})
        right += evaluation.understood(e.words, begins, heads) == evaluation.wanted(e)
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
    shipped = given.to.resolve() == served.VERSION.resolve()
    if shipped:
        entry.check_new(given.id, served.ENTRY.parent)
    model = Model(len(NAMES))
    model.load_state_dict(checkpoint.load(given.run / "weights.pt"))
    given.to.mkdir(parents=True, exist_ok=True)
    graph(model.eval()).save(given.to / "phrases.onnx", "phrases")
    labels = evaluation.labels()
    file = given.to / "phrases.json"
    file.write_text(json.dumps(labels, indent=1) + "\n")
    network = IntentParser(given.to)
    measured = measure.measure(network, Path(given.data)) | understood(network, Path(given.data), given.texts)
    state = checkpoint.load(given.run / "checkpoint.pt")
    origin = provenance.read(given.run)
    training = {
        "samples": state["samples"],
        "seed": state["options"]["seed"],
        "machines": origin["machines"],
        "data": origin["data"],
    }
    file.write_text(json.dumps({**labels, "training": training, "figures": measured}, indent=1) + "\n")
    if shipped:
        entry.set_id(served.ENTRY / "config.pbtxt", given.id)
    print("\n".join(measure.list_misread(network)[0]))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
