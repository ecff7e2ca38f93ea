"""The figures of a run: one JSON object a line, and a plot."""

from __future__ import annotations

import json
import math
from pathlib import Path


class Metrics:
    """Appends to <folder>/metrics.jsonl; drops lines after `step`, which a crashed run left."""

    def __init__(self, folder: Path, step: int) -> None:
        self.path = folder / "metrics.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        kept = [line for line in read(folder) if line["step"] <= step]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in kept))

    def write(self, **figures: float) -> None:
        """Appends a line, without figures that are not finite. The figures must include `step`."""
        line = {
            k: round(v, 6) if isinstance(v, float) else v
            for k, v in figures.items()
            if not (isinstance(v, float) and not math.isfinite(v))
        }
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")


def read(folder: Path) -> list[dict[str, float]]:
    """Returns all lines of a run, oldest first."""
    path = folder / "metrics.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def plot(folder: Path, title: str) -> None:
    """Plots each figure over the samples to <folder>/metrics.png."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    lines = [line for line in read(folder) if "samples" in line]
    names = sorted({k for line in lines for k in line} - {"step", "samples", "seconds"})
    if not names:
        return
    columns = 3
    height = math.ceil(len(names) / columns)
    figure, axes = pyplot.subplots(height, columns, figsize=(5 * columns, 3 * height), squeeze=False)
    for axis in axes.flat[len(names) :]:
        axis.remove()
    for name, axis in zip(names, axes.flat):
        points = [(line["samples"], line[name]) for line in lines if name in line]
        axis.plot(*zip(*points), linewidth=1, marker="." if len(points) < 40 else None)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("samples", fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(folder / "metrics.png", dpi=90)
    pyplot.close(figure)
