"""Writes the trained reader into the model repository:

    python -m scripts.train.vision.export --run runs/vision --data DATA --id retort/molecule-reader-vN

seer.onnx and liner.onnx (weights in fp16), and calibration.json, fitted on drawings of the molecules that evaluation.tuning
gives, which nothing measures. The id goes into config.pbtxt. With --to FOLDER everything is written there, and no id is needed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
from pathlib import Path

import torch

from scripts.train import checkpoint, entry
from scripts.train.vision import calibration, evaluation, graphs, reader_path
from scripts.train.vision.model import Model, shape_of

from reader import UNFITTED, Reader  # isort: skip


def load(run: Path) -> Model:
    """The averaged weights of a run, in eval mode."""
    model = Model(shape_of(json.loads((run / "shape.json").read_text())))
    model.load_state_dict(checkpoint.load(run / "weights.pt"))
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/vision"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument(
        "--to", type=Path, default=reader_path.FOLDER, help="folder of the version in the model repository"
    )
    parser.add_argument("--count", type=int, default=600, help="drawings a style for the calibration")
    parser.add_argument("--id", help="new public id of molecule_reader; needed without --to")
    given = parser.parse_args()
    shipped = given.to.resolve() == reader_path.FOLDER.resolve()
    if shipped:
        entry.check_new(given.id, reader_path.FOLDER.parents[1])
    torch.set_num_threads(1)
    given.to.mkdir(parents=True, exist_ok=True)
    graphs.save(load(given.run), given.to)
    if not shipped:
        shutil.copy(reader_path.FOLDER / "marks.py", given.to)  # The classes, for start.fill.
    reader = Reader(given.to, calibration=UNFITTED)
    held_out = evaluation.tuning(Path(given.data))
    fitted = dataclasses.asdict(calibration.calibrated(reader, held_out, given.count))
    text = json.dumps({key: [round(w, 4) for w in weights] for key, weights in fitted.items()}, indent=1)
    (given.to / "calibration.json").write_text(text + "\n")
    if shipped:
        entry.set_id(reader_path.FOLDER.parent / "config.pbtxt", given.id)


if __name__ == "__main__":
    main()
