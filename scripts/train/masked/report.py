"""Measures de novo sampling of a trained masked model and writes <run>/figures.json:

    python -m scripts.train.masked.report --run runs/masked --data DATA

1,000 samples for each of SETTINGS, one token a round, through the graph that the export makes with the same --int8;
and the same figures of held-out molecules, for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.train import checkpoint, configuration, quantise, training
from scripts.train.graph import Ranges
from scripts.train.masked import data, evaluation, structure, unmask_graph, weights
from scripts.train.masked.data import Batches, read
from scripts.train.masked.model import Model
from scripts.train.masked.vocabulary import MASK, Vocabulary
from scripts.train.molecules import read_molecules

SETTINGS = ((1.0, 0.5, True), (1.0, 0.5, False), (0.5, 0.5, True))
"""Temperature, noise, whether quality is requested."""


def load(run: Path) -> tuple[Model, Vocabulary, np.ndarray]:
    """Returns the model of a run, its vocabulary and data.count_lengths of its strings."""
    file = run / "lengths.txt"
    try:
        counts = np.loadtxt(file, dtype=np.int64, ndmin=2)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return *weights.load(run), counts


def observe_ranges(model: Model, run: Path) -> Ranges:
    """Returns the input ranges of the linear maps on training strings masked at every level."""
    source = Batches(read(run / "strings.npz"), training.Options(device="cpu", batch=100))

    def feed() -> None:
        for step in range(10):
            ids, masked = source.batch(step)
            model(ids.masked_fill(masked, MASK))

    return quantise.observe(unmask_graph.integer_layers(model), feed)


def graph_fill(model: Model, vocabulary: Vocabulary, threads: int, ranges: Ranges) -> evaluation.Fill:
    """Returns a function that unmasks templates through the exported graph."""
    with tempfile.TemporaryDirectory() as folder:
        unmask_graph.write(model, Path(folder) / "model.onnx", ranges, structure.balance_table(vocabulary.tokens))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(Path(folder) / "model.onnx", options)
    names = [name for name, _ in unmask_graph.SETTINGS]
    return lambda rows: session.run(None, {"input_ids": rows.ids, **{n: getattr(rows, n)[:, None] for n in names}})[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/masked"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--samples", type=int, default=1000, help="samples a setting")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="number of settings to measure")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    parser.add_argument("--int8", action="store_true", help=quantise.HELP)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model, vocabulary, length_counts = load(given.run)
    ranges = observe_ranges(model, given.run) if given.int8 else {}
    fill = graph_fill(model, vocabulary, given.threads, ranges)
    de_novo: list[dict[str, object]] = []
    figures: dict[str, object] = {"samples": given.samples, "int8": given.int8, "de_novo": de_novo}
    for temperature, noise, quality in SETTINGS[: given.settings]:
        texts = evaluation.de_novo(
            fill, vocabulary, data.lengths(length_counts, quality), given.samples, temperature, noise, quality
        )
        de_novo.append({"temperature": temperature, "noise": noise, "asked": quality, **evaluation.figures(texts)})
        print(de_novo[-1], flush=True)
    valid = configuration.load(given.run).get("valid", "zinc250k_valid.smi.gz")
    molecules = read_molecules(Path(given.data) / valid)
    chosen = np.random.default_rng(7).permutation(len(molecules))[: given.samples]
    figures["held_out"] = {"file": valid, **evaluation.figures([molecules[i] for i in chosen])}
    state = checkpoint.load(given.run / "checkpoint.pt")
    figures["training"] = {
        **{k: state[k] for k in ("step", "samples", "seconds", "falling")},
        "options": state["options"],
    }
    (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
