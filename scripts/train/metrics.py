"""The figures of a run: one JSON object a line, and TensorBoard."""

from __future__ import annotations

import json
import math
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from scripts.train import files, processes


class Metrics:
    """Appends to <folder>/metrics.jsonl and <folder>/tensorboard, in the first process of a run.

    Drops the lines after `step`, which a crashed call has left.
    """

    def __init__(self, folder: Path, step: int, samples: int) -> None:
        self.path = folder / "metrics.jsonl"
        self.writes = processes.is_first()
        if not self.writes:
            return
        kept = [line for line in read(folder) if line["step"] <= step]
        files.replace(self.path, "".join(json.dumps(line) + "\n" for line in kept).encode())
        self.board = SummaryWriter(str(folder / "tensorboard"), purge_step=samples + 1)

    def __enter__(self) -> Metrics:
        return self

    def __exit__(self, *_: object) -> None:
        if self.writes:
            self.board.close()

    def write(self, *, step: int, samples: int, **figures: float) -> None:
        """Appends a line, without figures that are not finite."""
        if not self.writes:
            return
        finite = {name: round(float(value), 6) for name, value in figures.items() if math.isfinite(value)}
        with open(self.path, "a") as file:
            file.write(json.dumps({"step": step, "samples": samples, **finite}) + "\n")
        for name, value in finite.items():
            self.board.add_scalar(name, value, samples)


def read(folder: Path) -> list[dict[str, float]]:
    """Returns the complete lines of a run, oldest first: a crash may have cut off the last one."""
    path = folder / "metrics.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("}\n")]
