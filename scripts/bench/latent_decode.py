"""Measures decoding speed: the exported graph against PyTorch, side by side on the same CPU.

    python -m scripts.bench.latent_decode [--run runs/latent] [--rows 100] [--threads 1]

Four greedy decoders decode the same hidden states in turn: the shipped ONNX graph (loop and key/value cache in ONNX
Runtime, integer arithmetic), the same graph in floating point, and loops in PyTorch without and with a cache. If there
is no trained run, the model has the same size and random weights, and decodes 48 tokens a row. Prints median times, and
the share of rows with the same token ids as PyTorch without a cache.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.train import quantise
from scripts.train.graph import Ranges
from scripts.train.latent import decoder_graph, decoding
from scripts.train.latent.model import Model, Shape
from scripts.train.latent.tokens import BOS
from scripts.train.latent.weights import load


def model_and_states(run: Path, rows: int) -> tuple[Model, torch.Tensor]:
    """Returns a model whose weights are exact in fp16, as in the graph, and hidden states [rows, latent]."""
    if (run / "shape.json").exists():
        model, _ = load(run)
    else:
        torch.manual_seed(0)
        model = Model(Shape(vocabulary=66, positions=48)).eval()
    z = torch.randn(rows, model.shape.latent, generator=torch.Generator().manual_seed(1))
    return model.half().float(), z


def graph_decoder(model: Model, threads: int, ranges: Ranges) -> Callable[[torch.Tensor], np.ndarray]:
    """Returns a greedy decoder that runs the ONNX graph."""
    with tempfile.TemporaryDirectory() as folder:
        decoder_graph.write(model.decoder, Path(folder) / "model.onnx", ranges)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(Path(folder) / "model.onnx", options)
    return lambda z: session.run(
        ["token_ids"],
        {
            "hiddens": z[:, None].numpy(),
            "temperature": np.zeros((len(z), 1), np.float32),
            "seed": np.zeros((len(z), 1), np.int64),
        },
    )[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of a trained run")
    parser.add_argument("--rows", type=int, default=100, help="hidden states in one call")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each decoder")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each decoder")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    model, z = model_and_states(given.run, given.rows)
    limit = model.shape.positions
    text = decoding.decode_with_cache(model.decoder, z, limit)
    start = torch.full((len(z), 1), BOS)
    ranges = quantise.observe(
        decoder_graph.integer_layers(model.decoder), lambda: model.decoder(torch.cat([start, text[:, :-1]], 1), z)
    )
    integers, floats = graph_decoder(model, given.threads, ranges), graph_decoder(model, given.threads, {})
    decoders: dict[str, Callable[[], np.ndarray]] = {
        "ONNX graph, integers": lambda: integers(z),
        "ONNX graph, float": lambda: floats(z),
        "PyTorch without cache": lambda: decoding.decode_without_cache(model.decoder, z, limit).numpy(),
        "PyTorch with cache": lambda: decoding.decode_with_cache(model.decoder, z, limit).numpy(),
    }
    times: dict[str, list[float]] = {name: [] for name in decoders}
    ids = {name: decode() for name, decode in decoders.items()}
    for _ in range(given.repeats):
        for name, decode in decoders.items():
            start_time = time.perf_counter()
            decode()
            times[name].append(time.perf_counter() - start_time)
    reference = ids["PyTorch without cache"]
    baseline = statistics.median(times["ONNX graph, integers"])
    print(f"{given.rows} rows, {reference.shape[1]} tokens, {given.threads} threads")
    for name, values in times.items():
        median = statistics.median(values)
        same = np.mean([rows_equal(a, b) for a, b in zip(ids[name], reference)])
        print(
            f"{name:22} {1000 * median:8.0f} ms {given.rows / median:7.0f} molecules/s "
            f"{median / baseline:6.1f} x the graph's time, {same:.0%} of rows equal"
        )


def rows_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Reports whether two rows of ids are equal apart from padding."""
    return np.array_equal(np.trim_zeros(a, "b"), np.trim_zeros(b, "b"))


if __name__ == "__main__":
    main()
