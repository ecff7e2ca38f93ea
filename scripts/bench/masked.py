"""The masked-template API against ONNX Runtime alone and against the plain PyTorch loop in fp32, side by side on the same CPU.

    make bench PART=masked

asks a running API for 100 molecules de novo in one request and in ten at once of 10, and fills 100 templates of the same
lengths with the same weights in ONNX Runtime alone (the same graph, one batch) and in PyTorch, where every row stays in the
batch until the last is done. What the graph computes in is printed beside the figures. The ways take turns;
medians and ranges are printed. Every row is drawn once (attempts 1), so that all ways do the same work, the API also
reading and scoring the molecules. The gateway's own part, SAFE and scoring, is what its metrics say.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime

from scripts.bench.arithmetic import arithmetic
from scripts.train.masked import evaluation, sampler, start, structure
from scripts.train.masked.vocabulary import Vocabulary

COUNT, CLIENTS = 100, 10
SETTINGS = {"temperature": 0.5, "noise": 0.5, "attempts": 1, "min_add_len": 40}


class API:
    def __init__(self, url: str) -> None:
        self.url, self.seed = url, 0

    def generate(self, count: int) -> int:
        """Molecules of one request; no two requests are the same."""
        self.seed += 1
        body = json.dumps({"num_molecules": count, "seed": self.seed, **SETTINGS}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/generate", body, {"Content-Type": "application/json"}), timeout=600) as answer:
            return len(json.load(answer)["molecules"])

    def at_once(self) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self.generate, [COUNT // CLIENTS] * CLIENTS))

    def seconds(self, name: str) -> float:
        """The sum of a histogram of /generate."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return sum(float(value) for labels, value in re.findall(rf"^{name}_sum\{{(.*?)\}} (\S+)$", text, re.M) if "/generate" in labels)


def templates(entry: Path) -> sampler.Rows:
    """Rows of masks alone, of the entry's lengths."""
    table = np.loadtxt(entry / "lengths.txt", dtype=np.int64)
    lengths = np.random.default_rng(1).choice(np.repeat(table[:, 0], table[:, 1]), COUNT).clip(7)
    return sampler.Rows(evaluation.blank(lengths), np.full(COUNT, SETTINGS["temperature"], np.float32), np.full(COUNT, SETTINGS["noise"], np.float32),
                        np.full(COUNT, 1, np.int64), np.full(COUNT, 0, np.float32), np.arange(COUNT))


def plain(entry: Path) -> Callable[[], object]:
    """The loop in PyTorch, in fp32."""
    model, rows = start.model(entry).eval(), templates(entry)
    barred = structure.table(Vocabulary.read(entry / "vocab.txt").tokens)
    return lambda: sampler.unmask(model, rows, barred)


def alone(entry: Path) -> Callable[[], object]:
    """The entry's graph by ONNX Runtime in this process, in one batch: no gateway, no Triton."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    session = onnxruntime.InferenceSession(str(entry / "1" / "model.onnx"), options, providers=["CPUExecutionProvider"])
    rows = templates(entry)
    feed = {"input_ids": rows.ids, **{name: getattr(rows, name)[:, None] for name in ("temperature", "noise", "step_size", "gamma", "seed")}}
    return lambda: session.run(["token_ids"], feed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="base address of the API")
    parser.add_argument("--entry", type=Path, default=Path("model_repository/masked"), help="the model's entry")
    parser.add_argument("--turns", type=int, default=7, help="turns of each way")
    given = parser.parse_args()
    api = API(given.url)
    own = ["retort_http_own_seconds", "retort_http_request_duration_seconds"]
    ways: dict[str, Callable[[], object]] = {
        f"one request for {COUNT}": lambda: api.generate(COUNT), f"{CLIENTS} at once of {COUNT // CLIENTS}": api.at_once,
        "ONNX Runtime alone": alone(given.entry), "PyTorch fp32": plain(given.entry)}
    times: dict[str, list[float]] = {name: [] for name in ways}
    shares = []
    for turn in range(given.turns + 1):
        for name, way in ways.items():
            before, begun = [api.seconds(n) for n in own], time.perf_counter()
            way()
            spent = time.perf_counter() - begun
            if turn:  # the first turn warms up
                times[name].append(spent)
            if turn and name.startswith("one"):
                after = [api.seconds(n) for n in own]
                shares.append((after[0] - before[0]) / (after[1] - before[1]))
    one, many, bare, torch = (statistics.median(values) for values in times.values())
    print(f"the graph: {arithmetic(given.entry / '1' / 'model.onnx')}\n")
    print("| way | seconds | range | molecules/s |\n|---|---|---|---|")
    for name, values in times.items():
        print(f"| {name} | {statistics.median(values):.3f} | {min(values):.3f} to {max(values):.3f} | {COUNT / statistics.median(values):.0f} |")
    print(f"\none request against PyTorch in fp32: {torch / one:.2f} times as fast (2 wanted); ONNX Runtime alone: {torch / bare:.2f} times")
    print(f"{CLIENTS} at once against one request: {many / one:.2f} times its time (at most 1.5 wanted)")
    print(f"the gateway's own part, SAFE and scoring: {statistics.median(shares):.1%} (under 15 % wanted)")


if __name__ == "__main__":
    main()
