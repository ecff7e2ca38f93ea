"""The masked-template API against ONNX Runtime alone and against the plain PyTorch loop in fp32, side by side on the
same CPU.

    make bench PART=masked

asks a running API for 100 molecules de novo in one request and in ten at once of 10, and fills 100 templates of the
same lengths with the same weights in ONNX Runtime alone (the same graph, one batch) and in PyTorch, where every row
stays in the batch until the last is done. What the graph computes in is printed beside the figures. The ways take
turns; medians and ranges are printed; then one request for 1,000 against ONNX Runtime alone on as many rows in its best
batch. Every row is drawn once (attempts 1), so that all ways do the same work, the API also reading and scoring the
molecules. The gateway's own part, SAFE and scoring, is what its metrics say.
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
        with urllib.request.urlopen(
            urllib.request.Request(self.url + "/generate", body, {"Content-Type": "application/json"}), timeout=600
        ) as answer:
            return len(json.load(answer)["molecules"])

    def at_once(self) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(self.generate, [COUNT // CLIENTS] * CLIENTS))

    def seconds(self, name: str) -> float:
        """The sum of a histogram of /generate."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        return sum(
            float(value)
            for labels, value in re.findall(rf"^{name}_sum\{{(.*?)\}} (\S+)$", text, re.M)
            if "/generate" in labels
        )


def templates(entry: Path, count: int = COUNT) -> sampler.Rows:
    """Rows of masks only, with the API's distribution of lengths."""
    return rows_of(lengths_of(entry, count), np.arange(count))


def lengths_of(entry: Path, count: int) -> np.ndarray:
    """Lengths in tokens of `count` rows de novo, drawn as orchestrator/masked/lengths.go draws them.

    Each is the token count of a molecule about as long as a published molecule of quality, and min_add_len or longer.
    """
    random = np.random.default_rng(1)
    tokens, published, _, good = np.loadtxt(entry / "lengths.txt", dtype=np.int64).T
    share = good / good.sum()
    drawn = np.maximum(random.choice(published, count, p=share), SETTINGS["min_add_len"])
    sampled = []
    for length in drawn:
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


def plain(entry: Path) -> Callable[[], object]:
    """The loop in PyTorch, in fp32."""
    model, rows = start.load_onnx(entry).eval(), templates(entry)
    barred = structure.table(Vocabulary.read(entry / "vocab.txt").tokens)
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


def alone(entry: Path) -> Callable[[], object]:
    """The entry's graph by ONNX Runtime in this process, in one batch: no gateway, no Triton."""
    return unmask_with(session_of(entry), templates(entry))


MANY = 1000
BATCHES = (16, 32, 64, 128)


def thousand(api: API, entry: Path, turns: int, processes: list[int]) -> None:
    """One request for 1,000 molecules against ONNX Runtime alone: as many rows, sorted by length, in the best batch."""
    session = session_of(entry)
    lengths = np.sort(lengths_of(entry, MANY))
    cut = {
        size: [
            unmask_with(session, rows_of(lengths[at : at + size], np.arange(at, min(at + size, MANY))))
            for at in range(0, MANY, size)
        ]
        for size in BATCHES
    }
    middle = {size: calls[len(calls) // 2] for size, calls in cut.items()}
    speeds = {size: size / min(seconds(middle[size]) for _ in range(2)) for size in BATCHES}
    size = max(speeds, key=speeds.__getitem__)
    busy, found, bare = Busy(*processes), [], []
    for _ in range(turns):
        bare.append(seconds(lambda: [call() for call in cut[size]]))
        found.append(seconds(lambda: api.generate(MANY)))
    ratio = statistics.median(b / f for f, b in zip(found, bare))
    print(
        f"\none request for {MANY} molecules: {statistics.median(found):.1f} s ({min(found):.1f} to {max(found):.1f})"
    )
    print(
        f"ONNX Runtime alone on {MANY} rows sorted by length, {size} a call (best of {BATCHES}): "
        f"{statistics.median(bare):.1f} s"
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
    parser.add_argument("--pids", type=int, nargs="*", default=[], help="the processes that serve it")
    parser.add_argument("--turns", type=int, default=7, help="turns of each way")
    given = parser.parse_args()
    api = API(given.url)
    own = ["retort_http_own_seconds", "retort_http_request_duration_seconds"]
    ways: dict[str, Callable[[], object]] = {
        f"one request for {COUNT}": lambda: api.generate(COUNT),
        f"{CLIENTS} at once of {COUNT // CLIENTS}": api.at_once,
        "ONNX Runtime alone": alone(given.entry),
        "PyTorch fp32": plain(given.entry),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    shares, busy = [], Busy(*given.pids)
    for turn in range(given.turns + 1):
        for name, way in ways.items():
            before, began = [api.seconds(n) for n in own], time.perf_counter()
            way()
            spent = time.perf_counter() - began
            if turn:  # the first turn warms up
                times[name].append(spent)
            if turn and name.startswith("one"):
                after = [api.seconds(n) for n in own]
                shares.append((after[0] - before[0]) / (after[1] - before[1]))
    one, many, bare, torch = (statistics.median(values) for values in times.values())
    others, own_part = busy.others(), statistics.median(shares)
    print(f"the graph: {arithmetic(given.entry / '1' / 'model.onnx')}\n")
    print("| way | seconds | range | molecules/s |\n|---|---|---|---|")
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
        f"the gateway's own part, SAFE and scoring: {own_part:.1%}; {verdict(own_part, others, most=0.15)}", flush=True
    )
    thousand(api, given.entry, max(1, given.turns // 2), given.pids)


if __name__ == "__main__":
    main()
