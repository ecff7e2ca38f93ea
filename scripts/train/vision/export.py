"""Writes the trained reader into the model repository:

    python -m scripts.train.vision.export --run runs/vision --data DATA --id retort/molecule-reader-vN

writes atom_detector.onnx and bond_classifier.onnx (weights in fp16) and calibration.json, fitted on the tuning
molecules (evaluation.py), which nothing measures; the id goes into config.pbtxt. With --to FOLDER it writes there and
needs no id.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
from pathlib import Path

import torch

from scripts.served_reader.drawing_reader import DrawingReader
from scripts.served_reader.views import UNFITTED
from scripts.train import checkpoint, entry, served
from scripts.train.vision import calibration, evaluation, graphs, warm_start
from scripts.train.vision.model import Model, shape_of


def load_run(run: Path) -> Model:
    """Returns the averaged weights of a run, in eval mode."""
    model = Model(shape_of(json.loads((run / "shape.json").read_text())))
    model.load_state_dict(checkpoint.weights(run))
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/vision"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--to", type=Path, default=served.VERSION, help="folder of the version in the model repository")
    parser.add_argument("--count", type=int, default=600, help="drawings a style for the calibration")
    parser.add_argument("--id", help="new public id of molecule_reader; needed without --to")
    given = parser.parse_args()
    is_served = given.to.resolve() == served.VERSION.resolve()
    if is_served:
        entry.check_new(given.id, served.ENTRY.parent)
    torch.set_num_threads(1)
    given.to.mkdir(parents=True, exist_ok=True)
    graphs.save(load_run(given.run), given.to)
    if not is_served:
        warm_start.labels_file(given.to).parent.mkdir(exist_ok=True)
        shutil.copy(warm_start.labels_file(served.VERSION), warm_start.labels_file(given.to))
    reader = DrawingReader(given.to, calibration=UNFITTED)
    held_out = evaluation.tuning_molecules(Path(given.data))
    fitted = dataclasses.asdict(calibration.calibrate(reader, held_out, given.count))
    text = json.dumps({key: [round(w, 4) for w in weights] for key, weights in fitted.items()}, indent=1)
    (given.to / "calibration.json").write_text(text + "\n")
    if is_served:
        entry.set_id(served.ENTRY / "config.pbtxt", given.id)


if __name__ == "__main__":
    main()
