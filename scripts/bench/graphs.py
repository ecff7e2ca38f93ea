"""Compares the throughput of two graphs of a text model on ONNX Runtime alone, in turns in one process.

    git show COMMIT:model_repository/minilm_embed_qa/1/model.onnx > /tmp/former.onnx
    .venv-export/bin/python -m scripts.bench.graphs /tmp/former.onnx model_repository/minilm_embed_qa/1/model.onnx

For batches of several sizes, rows of half to all of the width are random tokens; the table has the median time of each
graph and the median ratio of neighbouring runs. A graph takes input_ids, attention_mask and, optionally,
token_type_ids.
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
import onnxruntime as ort

BATCHES = ((1, 16), (1, 128), (4, 32), (32, 32), (64, 64), (32, 128), (16, 256), (8, 512))
"""Rows and width in tokens."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("former", help="an ONNX file")
    parser.add_argument("new", help="an ONNX file")
    parser.add_argument("--seconds", type=float, default=8, help="for each batch")
    parser.add_argument("--width", type=int, default=512, help="of the widest batch, in tokens")
    args = parser.parse_args()
    options = ort.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    sessions = [ort.InferenceSession(path, options) for path in (args.former, args.new)]
    names = {node.name for node in sessions[1].get_inputs()}
    print(f"ONNX Runtime {ort.__version__}, {options.intra_op_num_threads} threads\n")
    print("| rows | width | former, ms | new, ms | throughput, new / former |\n| --- | --- | --- | --- | --- |")
    random = np.random.default_rng(0)
    for rows, width in BATCHES:
        if width > args.width:
            continue
        feed = {name: tensor for name, tensor in draw(random, rows, width).items() if name in names}
        former, new = measure(sessions, feed, args.seconds)
        print(
            f"| {rows} | {width} | {1e3 * np.median(former):.1f} | {1e3 * np.median(new):.1f} "
            f"| {np.median(former / new):.2f} |",
            flush=True,
        )


def draw(random: np.random.Generator, rows: int, width: int) -> dict[str, np.ndarray]:
    """Draws a batch of pairs, the first text of which has a third of the width. At least one row has no padding."""
    lengths = random.integers(width // 2, width + 1, rows)
    lengths[0] = width
    positions = np.arange(width)
    mask = (positions < lengths[:, None]).astype(np.int64)
    ids = random.integers(1000, 30_000, (rows, width)) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": (positions >= width // 3) * mask}


def measure(sessions: list[ort.InferenceSession], feed: dict[str, np.ndarray], seconds: float) -> np.ndarray:
    """Runs the sessions in turns and returns the seconds of each run, [sessions, turns]."""
    for session in sessions:
        session.run(None, feed)
    turns: list[list[float]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(turns) < 5:
        turn = []
        for session in sessions:
            start = time.perf_counter()
            session.run(None, feed)
            turn.append(time.perf_counter() - start)
        turns.append(turn)
    return np.array(turns).T


if __name__ == "__main__":
    main()
