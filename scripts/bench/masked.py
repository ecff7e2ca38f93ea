"""Measures the masked-template API against ONNX Runtime alone and PyTorch in fp32, side by side on the same CPU.

    make bench PART=masked

Four variants take turns; medians and ranges are printed. The API generates 100 molecules de novo in one request, and in
ten concurrent requests for 10. ONNX Runtime alone (the same graph, one batch) and a loop in PyTorch, where every row
stays in the batch until the last is done, fill 100 templates of the same lengths with the same weights. Then one
request for 1,000 molecules is compared with ONNX Runtime alone on 1,000 rows in its fastest batch size.

Each row is sampled once (attempts 1), so that all variants do the same work; the API also reads and scores the
molecules. The gateway's share of the time, SAFE and scoring, comes from its metrics. The number formats of the graph
are printed.
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
from scripts.bench.busy import Busy, verdict
from scripts.train.masked import evaluation, sampler, structure, weights

COUNT, CLIENTS = 100, 10
SETTINGS = {"temperature": 0.5, "noise": 0.5, "attempts": 1, "min_add_len": 40}


class API:
    """A client of the API, which never sends the same request twice."""

    def __init__(self, url: str) -> None:
        self.url, self.seed = url, 0

    def generate(self, count: int) -> int:
        """Requests molecules and returns how many came."""
        self.seed += 1
        body = json.dumps({"num_molecules": count, "seed": self.seed, **SETTINGS}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(self.url + "/generate", body, {"Content-Type": "application/json"}), timeout=600
        ) as answer:
            return len(json.load(answer)["molecules"])

    def generate_concurrently(self) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self.generate, [COUNT // CLIENTS] * CLIENTS))

    def seconds(self, name: str) -> float:
        """Returns the sum of a histogram of /generate."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return sum(
            float(value)
            for labels, value in re.findall(rf"^{name}_sum\{{(.*?)\}} (\S+)$", text, re.M)
            if "/generate" in labels
        )


def templates(entry: Path, count: int = COUNT) -> sampler.Rows:
    """Returns rows of masks, with the API's distribution of lengths."""
    return rows_of(lengths_of(entry, count), np.arange(count))


def lengths_of(entry: Path, count: int) -> np.ndarray:
    """Samples the lengths of `count` rows de novo, in tokens, as orchestrator/masked/lengths.go does.

    A length is the token count of a molecule that is about as long as a good published molecule, at least min_add_len.
    """
    random = np.random.default_rng(1)
    tokens, published, _, good = np.loadtxt(entry / "lengths.txt", dtype=np.int64).T
    share = good / good.sum()
    targets = np.maximum(random.choice(published, count, p=share), SETTINGS["min_add_len"])
    sampled = []
    for length in targets:
        near = np.where(abs(published - length) <= 0.5 + 0.05 * length, share, 0)
        sampled.append(random.choice(tokens, p=near / near.sum()))
    return np.array(sampled)


def rows_of(lengths: np.ndarray, seeds: np.ndarray) -> sampler.Rows:
    count = len(lengths)
    return sampler.Rows(
        evaluation.masked_templates(lengths),
        np.full(count, SETTINGS["temperature"], np.float32),
        np.full(count, SETTINGS["noise"], np.float32),
        np.full(count, 1, np.int64),
        np.full(count, 0, np.float32),
        seeds,
    )


def pytorch(entry: Path) -> Callable[[], object]:
    """Returns a function that unmasks the templates with a loop in PyTorch, in fp32."""
    (model, vocabulary), rows = weights.load(entry), templates(entry)
    barred = structure.balance_table(vocabulary.tokens)
    return lambda: sampler.unmask(model, rows, barred)


def session_of(entry: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    return onnxruntime.InferenceSession(str(entry / "1" / "model.onnx"), options, providers=["CPUExecutionProvider"])


def unmask_with(session: onnxruntime.InferenceSession, rows: sampler.Rows) -> Callable[[], object]:
    feed = {
        "input_ids": rows.ids,
        **{name: getattr(rows, name)[:, None] for name in ("temperature", "noise", "step_size", "gamma", "seed")},
    }
    return lambda: session.run(["token_ids"], feed)


def onnxruntime_alone(entry: Path) -> Callable[[], object]:
    """Returns a function that unmasks the templates with the entry's graph in this process, in one batch."""
    return unmask_with(session_of(entry), templates(entry))


MANY = 1000
BATCHES = (16, 32, 64, 128)


def thousand(api: API, entry: Path, turns: int, processes: list[int]) -> None:
    """Compares one request for 1,000 molecules with ONNX Runtime alone on as many rows, sorted by length."""
    session = session_of(entry)
    lengths = np.sort(lengths_of(entry, MANY))
    calls = {
        size: [
            unmask_with(session, rows_of(lengths[at : at + size], np.arange(at, min(at + size, MANY))))
            for at in range(0, MANY, size)
        ]
        for size in BATCHES
    }
    middle = {size: batches[len(batches) // 2] for size, batches in calls.items()}
    speeds = {size: size / min(seconds(middle[size]) for _ in range(2)) for size in BATCHES}
    size = max(speeds, key=speeds.__getitem__)
    busy, api_times, bare_times = Busy(*processes), [], []
    for _ in range(turns):
        bare_times.append(seconds(lambda: [call() for call in calls[size]]))
        api_times.append(seconds(lambda: api.generate(MANY)))
    ratio = statistics.median(bare / request for request, bare in zip(api_times, bare_times))
    print(
        f"\none request for {MANY} molecules: {statistics.median(api_times):.1f} s "
        f"({min(api_times):.1f} to {max(api_times):.1f})"
    )
    print(
        f"ONNX Runtime alone on {MANY} rows sorted by length, {size} a call (best of {BATCHES}): "
        f"{statistics.median(bare_times):.1f} s"
    )
    print(f"the request is {ratio:.2f} times as fast; {verdict(ratio, busy.others(), least=0.85)}", flush=True)


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="base address of the API")
    parser.add_argument("--entry", type=Path, default=Path("model_repository/masked"), help="the model's entry")
    parser.add_argument("--pids", type=int, nargs="*", default=[], help="processes that serve the API")
    parser.add_argument("--turns", type=int, default=7, help="turns of each variant")
    given = parser.parse_args()
    api = API(given.url)
    histograms = ["retort_http_own_seconds", "retort_http_request_duration_seconds"]
    variants: dict[str, Callable[[], object]] = {
        f"one request for {COUNT}": lambda: api.generate(COUNT),
        f"{CLIENTS} at once of {COUNT // CLIENTS}": api.generate_concurrently,
        "ONNX Runtime alone": onnxruntime_alone(given.entry),
        "PyTorch fp32": pytorch(given.entry),
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    shares, busy = [], Busy(*given.pids)
    for turn in range(given.turns + 1):
        for name, variant in variants.items():
            before = [api.seconds(histogram) for histogram in histograms]
            elapsed = seconds(variant)
            if turn:  # the first turn warms up
                times[name].append(elapsed)
            if turn and name.startswith("one"):
                after = [api.seconds(histogram) for histogram in histograms]
                shares.append((after[0] - before[0]) / (after[1] - before[1]))
    one, many, bare, torch = (statistics.median(values) for values in times.values())
    others, gateway_share = busy.others(), statistics.median(shares)
    print(f"the graph: {arithmetic(given.entry / '1' / 'model.onnx')}\n")
    print("| variant | seconds | range | molecules/s |\n|---|---|---|---|")
    for name, values in times.items():
        print(
            f"| {name} | {statistics.median(values):.3f} | {min(values):.3f} to {max(values):.3f} "
            f"| {COUNT / statistics.median(values):.0f} |"
        )
    print(
        f"\none request against PyTorch in fp32: {torch / one:.2f} times as fast; "
        f"{verdict(torch / one, others, least=2)}; ONNX Runtime alone: "
        f"{torch / bare:.2f} times"
    )
    print(
        f"{CLIENTS} at once against one request: {many / one:.2f} times its time; "
        f"{verdict(many / one, others, most=1.5)}"
    )
    print(
        f"the gateway's own part, SAFE and scoring: {gateway_share:.2f} of a request; "
        f"{verdict(gateway_share, others, most=0.15)}",
        flush=True,
    )
    thousand(api, given.entry, max(1, given.turns // 2), given.pids)


if __name__ == "__main__":
    main()
