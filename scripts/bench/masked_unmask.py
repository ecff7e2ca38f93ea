"""Unmasking speed: the exported graph against the plain PyTorch loop, side by side on the same CPU.

    python -m scripts.bench.masked_unmask [--run runs/masked] [--rows 100] [--threads 1]

The same de novo templates (lengths as in ZINC250k, 40 tokens at least) are filled in three ways: by the ONNX graph as it is
shipped (whole loop in ONNX Runtime, integer arithmetic), by the same graph in floating point, and by the plain PyTorch
loop, in which every row stays in the batch until the last is done. Without a trained run, a model of the same size with
random weights is used. The ways take turns; medians are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from scripts.train import quantise
from scripts.train.masked import evaluation, sampler, unmask_graph
from scripts.train.masked.model import PRESETS, Model, Shape
from scripts.train.masked.report import graph_fill, load


def prepared(run: Path) -> tuple[Model, np.ndarray]:
    """A model, and lengths to draw from."""
    if (run / "weights.pt").exists():
        model, _, lengths = load(run)
        return model, lengths
    torch.manual_seed(0)
    return Model(Shape(vocabulary=76, **PRESETS["cpu"])).eval(), np.random.default_rng(0).normal(47, 9, 1000).astype(np.int64).clip(10, 85)


def templates(lengths: np.ndarray, count: int) -> sampler.Rows:
    drawn = np.random.default_rng(1).choice(lengths, count).clip(40)
    full = lambda value, kind: np.full(count, value, kind)  # noqa: E731
    return sampler.Rows(evaluation.blank(drawn), full(0.5, np.float32), full(0.5, np.float32), full(1, np.int64), full(0, np.float32), np.arange(count))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/masked"), help="folder of a trained run")
    parser.add_argument("--rows", type=int, default=100, help="molecules in one call")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each way")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each way")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model, lengths = prepared(given.run)
    rows = templates(lengths, given.rows)
    some = torch.from_numpy(rows.ids)
    ranges = quantise.observe(unmask_graph.integer_layers(model), lambda: model(some))
    ways: dict[str, Callable[[], object]] = {
        "ONNX graph, integers": lambda run=graph_fill(model, given.threads, ranges): run(rows),
        "ONNX graph, float": lambda run=graph_fill(model, given.threads, {}): run(rows),
        "PyTorch": lambda: sampler.unmask(model, rows),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(given.repeats):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - begun)
    fastest = statistics.median(times["ONNX graph, integers"])
    print(f"{given.rows} rows of {rows.ids.shape[1]} places, {given.threads} threads")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:22} {middle:7.2f} s {given.rows / middle:7.1f} molecules/s {middle / fastest:6.1f} x the graph's time")


if __name__ == "__main__":
    main()
