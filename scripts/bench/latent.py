"""Measures the latent-space molecule API through HTTP, on a Triton and a gateway of its own (see run.py):

    decode        100 hidden states in one /decode, against ONNX Runtime alone on the same graph, and against greedy
                  decoding in PyTorch in fp32, with and without a key/value cache, with the same weights and threads.
                  The API's time includes JSON, the gateway and Triton. The number formats of the graph are printed
    evaluations   molecules evaluated per second by one and by eight concurrent /generate with a cheap objective (QED),
                  against ONNX Runtime alone, which decodes as many states around the same seeds in the fastest batch
                  size. The states that Triton decodes per second are printed too: a search makes some molecules by
                  edits, without decoding, but also decodes states to molecules that it has already evaluated
    share         the gateway's share of the time of a /generate of 30 particles: all but waiting for a batch and for
                  Triton
    memory        peak resident memory of gateway and Triton after a /generate of 1,000 particles in one iteration
    together      ten concurrent /generate against one

Needs torch: `make .venv-train/stamp`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.bench.arithmetic import arithmetic
from scripts.bench.busy import Busy, verdict
from scripts.train.latent import decoding, weights

ROOT = Path(__file__).resolve().parents[2]
GRAPH = ROOT / "model_repository" / "latent_decoder" / "1" / "model.onnx"

STARTS = [
    "CC(=O)Nc1ccc(cc1)C(=O)NC",
    "Cc1ccc(S(=O)(=O)NCc2ccco2)cc1",
    "O=C(NCc1ccccc1)c1ccncc1",
    "COc1ccc(CN2CCOCC2)cc1",
    "CC(C)NC(=O)c1ccc(F)cc1",
    "Cc1noc(C)c1CN1CCCC1",
    "O=C(Nc1ccccc1)N1CCCCC1",
    "CCOC(=O)c1ccc(N)cc1",
    "Clc1ccc(CNc2ncccn2)cc1",
    "CN(C)C(=O)c1ccc2[nH]ccc2c1",
]


class API:
    """A client of the API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=1200) as answer:
            return json.load(answer)

    def generate(self, smiles: str, particles: int, iterations: int) -> dict:
        return self.post(
            "/generate",
            {"smi": smiles, "particles": particles, "iterations": iterations, "min_similarity": 0.4, "seed": 1},
        )


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def decode(api: API, rows: int, rounds: int) -> None:
    states = torch.tensor([s[0] for s in api.post("/hidden", {"sequences": STARTS})["hiddens"]])
    states = (
        states.repeat(rows // len(STARTS), 1)
        + torch.randn(rows, states.shape[1], generator=torch.Generator().manual_seed(1)) * 1.5
    )
    model, _ = weights.load(ROOT / "model_repository" / "latent_encoder")
    body = {"hiddens": states[:, None].tolist(), "mask": [[True]] * rows}
    variants = {
        "/decode": lambda: api.post("/decode", body),
        "ONNX Runtime alone": onnxruntime_decoder(states),
        "PyTorch fp32 with cache": lambda: decoding.decode_with_cache(model.decoder, states),
        "PyTorch fp32 without cache": lambda: decoding.decode_without_cache(model.decoder, states),
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, variant in variants.items():
            elapsed = seconds(variant)
            times[name] += [elapsed] if turn else []  # the first turn warms up
    gateway = statistics.median(times["/decode"])
    print(
        f"decode    {rows} hidden states, /decode {1000 * gateway:.0f} ms; its graph: {arithmetic(GRAPH)}", flush=True
    )
    for name, values in list(times.items())[1:]:
        target = " (target 3)" if name.endswith("without cache") else ""
        print(
            f"          {name} {1000 * statistics.median(values):.0f} ms: "
            f"{statistics.median(values) / gateway:.1f} times{target}",
            flush=True,
        )


@functools.cache
def decoder_session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    # The setting of scripts/triton/backends/onnxruntime.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "50")
    return onnxruntime.InferenceSession(str(GRAPH), options, providers=["CPUExecutionProvider"])


def onnxruntime_decoder(states: torch.Tensor) -> Callable[[], object]:
    """Returns a function that decodes states greedily in ONNX Runtime in this process, without gateway and Triton."""
    session = decoder_session()
    feed = {
        "hiddens": states[:, None].numpy(),
        "temperature": np.zeros((len(states), 1), np.float32),
        "seed": np.zeros((len(states), 1), np.int64),
    }
    return lambda: session.run(["token_ids"], feed)


PARTICLES, ITERATIONS = 30, 50
BATCHES = (16, 32, 64, 128)


def evaluations(api: API, rounds: int, processes: dict[str, int]) -> None:
    around = torch.tensor([s[0] for s in api.post("/hidden", {"sequences": STARTS[:8]})["hiddens"]])
    count = PARTICLES * ITERATIONS
    states = around.repeat(-(-count // len(around)), 1)[:count]
    states = states + torch.randn(states.shape, generator=torch.Generator().manual_seed(2))
    trials = {
        size: [onnxruntime_decoder(states[at : at + size]) for at in range(0, 4 * size, size)] for size in BATCHES
    }
    speeds = {
        size: 4 * size / min(seconds(functools.partial(run_all, calls)) for _ in range(2))
        for size, calls in trials.items()
    }
    size = max(speeds, key=speeds.__getitem__)
    calls = [onnxruntime_decoder(states[at : at + size]) for at in range(0, count, size)]
    busy = Busy(*processes.values())
    bare: list[float] = []  # states/s of ONNX Runtime alone
    measured: dict[int, list[tuple[float, float]]] = {1: [], 8: []}  # evaluations/s and states/s by concurrent searches
    with ThreadPoolExecutor(8) as pool:
        for _ in range(rounds):
            bare.append(count / seconds(lambda: run_all(calls)))
            for searches, figures in measured.items():
                before = decoded_states()
                elapsed = seconds(functools.partial(search_all, api, pool, STARTS[:searches]))
                figures.append((searches * count / elapsed, (decoded_states() - before) / elapsed))
    others = busy.others()
    print(
        f"evaluations  ONNX Runtime alone decodes {statistics.median(bare):.0f} states/s "
        f"in batches of {size} (best of {BATCHES})",
        flush=True,
    )
    for searches, least in ((1, 0.7), (8, 0.85)):
        ratio = statistics.median(e / b for (e, _), b in zip(measured[searches], bare))
        decoded = statistics.median(d / b for (_, d), b in zip(measured[searches], bare))
        print(
            f"          {searches} at once: {statistics.median(e for e, _ in measured[searches]):.0f} evaluations/s, "
            f"{ratio:.2f} times that; "
            f"{verdict(ratio, others, least=least)}; Triton decodes {decoded:.2f} times as many states/s as that",
            flush=True,
        )


def run_all(calls: list[Callable[[], object]]) -> None:
    for call in calls:
        call()


def search_all(api: API, pool: ThreadPoolExecutor, seeds: list[str]) -> None:
    """Runs one search from each seed, all concurrently."""
    list(pool.map(lambda seed: api.generate(seed, PARTICLES, ITERATIONS), seeds))


def decoded_states() -> float:
    """Returns the number of states that Triton has decoded so far."""
    with urllib.request.urlopen(f"http://{os.environ['RETORT_TEST_TRITON_METRICS']}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.split()[-1])
        for line in lines
        if line.startswith("nv_inference_count{") and 'model="latent_decoder' in line
    )


def share(api: API, log: Path) -> None:
    for smiles in STARTS[:4]:
        api.generate(smiles, 30, 50)
    lines = [
        json.loads(line) for line in log.read_text().splitlines() if '"/generate"' in line and line.startswith("{")
    ]
    shares = [1 - (line["triton_ms"] + line["queued_ms"]) / line["ms"] for line in lines]
    duration = statistics.median(line["ms"] for line in lines)
    print(
        f"share     of {len(shares)} /generate of 30 particles, 50 iterations, {duration:.0f} ms each, "
        "the gateway's own part is "
        f"{statistics.median(shares):.1%} (target: under 15 %)",
        flush=True,
    )


def memory(api: API, processes: dict[str, int]) -> None:
    api.generate(STARTS[0], 1000, 1)
    peaks = {name: peak(pid) for name, pid in processes.items()}
    print(
        "memory    after 1,000 particles in one iteration, peak resident: "
        f"{', '.join(f'{n} {v:.0f} MiB' for n, v in peaks.items())}; "
        f"together {sum(peaks.values()):.0f} MiB (target: 4,096)",
        flush=True,
    )


def peak(pid: int) -> float:
    """Returns the sum of the peak resident memory of a process and its children, in MiB."""
    family = [pid]
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        family += [int(status.parent.name)] if int(fields[1]) == pid else []
    lines = [
        line for p in family for line in Path(f"/proc/{p}/status").read_text().splitlines() if line.startswith("VmHWM")
    ]
    return sum(int(line.split()[1]) for line in lines) / 1024


def together(api: API, rounds: int) -> None:
    one, ten = [], []
    with ThreadPoolExecutor(len(STARTS)) as pool:
        for _ in range(rounds):
            one.append(statistics.mean(seconds(functools.partial(api.generate, s, 30, 20)) for s in STARTS[:3]))
            ten.append(seconds(lambda: list(pool.map(lambda smiles: api.generate(smiles, 30, 20), STARTS))))
    print(
        f"together  one /generate {1000 * statistics.median(one):.0f} ms, "
        f"ten at once {1000 * statistics.median(ten):.0f} ms: "
        f"{statistics.median(ten) / statistics.median(one):.1f} times one (target: clearly less than 10)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="address of the API")
    parser.add_argument("--log", type=Path, required=True, help="the gateway's log")
    parser.add_argument("--gateway-pid", type=int, required=True)
    parser.add_argument("--triton-pid", type=int, required=True)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    api = API(given.url)
    decode(api, given.rows, given.rounds)
    processes = {"gateway": given.gateway_pid, "Triton": given.triton_pid}
    evaluations(api, given.rounds, processes)
    share(api, given.log)
    together(api, max(1, given.rounds // 2))
    memory(api, processes)


if __name__ == "__main__":
    main()
