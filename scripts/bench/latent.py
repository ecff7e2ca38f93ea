"""Measures the latent-space molecule API through HTTP, on a Triton and a gateway of its own (see run.py):

    decode      /decode of the hidden states of 100 molecules of ZINC250k, against the same work by ONNX Runtime alone
                on the same graph, by the same Triton without the gateway (ready tensors over HTTP), and by greedy
                decoding in PyTorch in fp32 with a key/value cache. Bodies and tensors are ready before the clock starts
    noise       the same states after normal noise. If the likeliest text of a state is no molecule, /decode tries
                further ones: first beams, then drawn tokens. Their shares of the states and of the time
    sampling    /sampling of ten molecules around each of 100, and around one
    searches    molecules evaluated per second by one and by eight concurrent /generate with a cheap objective (QED)
    share       the gateway's share of the time of such a /generate: all but waiting for a batch and for Triton
    surrogate   the share of a search's processor time for the model that predicts scores
    routes      the time that the term synthesis_steps adds
    memory      peak resident memory of gateway and Triton after a /generate of 1,000 particles in one iteration
    together    ten concurrent /generate against one

What a search finds by then: scripts/bench/searches.py. Needs torch: `make .venv-train/stamp`.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from rdkit import Chem, RDLogger

from scripts.bench.arithmetic import arithmetic
from scripts.bench.busy import Busy, verdict
from scripts.train.latent import decoding, weights
from scripts.train.latent.tokens import SPECIALS, Vocabulary

ROOT = Path(__file__).resolve().parents[2]
DECODER, BEAMS = "latent_decoder", "latent_decoder_beam"
GRAPH = ROOT / "model_repository" / DECODER / "1" / "model.onnx"
MOLECULES = 100
NOISES = (0.7, 1.5)
"""Standard deviations of the noise. 0.7 is the default scaled_radius of /sampling."""
DRAWS = 8
"""Rows of a state whose tokens /decode draws: rescueDraws in orchestrator/latent/decode.go."""
PARTICLES, ITERATIONS = 30, 50


class API:
    """A client of the API."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, path: str, body: dict | bytes) -> dict:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=1200) as answer:
            return json.load(answer)

    def generate(self, smiles: str, particles: int, iterations: int, **more: object) -> dict:
        body = {"smi": smiles, "particles": particles, "iterations": iterations, "min_similarity": 0.4, "seed": 1}
        return self.post("/generate", {**body, **more})

    def hiddens(self, molecules: list[str]) -> np.ndarray:
        """Returns hidden states, [molecules, 1, coordinates]."""
        return np.array(self.post("/hidden", {"sequences": molecules})["hiddens"], np.float32)


class Triton:
    """A client of the Triton behind the API."""

    def __init__(self, http: str, metrics: str) -> None:
        self.http, self.metrics = f"http://{http}", f"http://{metrics}/metrics"

    def decode(self, tensors: dict[str, np.ndarray]) -> Callable[[], np.ndarray]:
        """Returns a function that decodes tensors, which are sent in binary, and returns the token ids."""
        inputs = [
            {
                "name": name,
                "shape": tensor.shape,
                "datatype": "FP32" if tensor.dtype == np.float32 else "INT64",
                "parameters": {"binary_data_size": tensor.nbytes},
            }
            for name, tensor in tensors.items()
        ]
        outputs = [{"name": "token_ids", "parameters": {"binary_data": True}}]
        head = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
        body = head + b"".join(tensor.tobytes() for tensor in tensors.values())

        def call() -> np.ndarray:
            request = urllib.request.Request(
                f"{self.http}/v2/models/{DECODER}/infer", body, {"Inference-Header-Content-Length": str(len(head))}
            )
            with urllib.request.urlopen(request, timeout=1200) as answer:
                size = int(answer.headers["Inference-Header-Content-Length"])
                [output] = json.loads(answer.read(size))["outputs"]
                return np.frombuffer(answer.read(), np.int64).reshape(output["shape"])

        return call

    def count(self, model: str) -> tuple[float, float]:
        """Returns the rows of a model so far, and the seconds that its requests took."""
        with urllib.request.urlopen(self.metrics, timeout=60) as answer:
            text = answer.read().decode()

        def metric(name: str) -> float:
            [value] = re.findall(rf'^{name}{{model="{model}",.*}} (\S+)$', text, re.MULTILINE)
            return float(value)

        return metric("nv_inference_count"), metric("nv_inference_request_duration_us") / 1e6


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def row(measured: str, result: str, wanted: str = "") -> None:
    print(f"| {measured} | {result} | {wanted} |", flush=True)


def milliseconds(times: list[float]) -> str:
    """Returns the median and the range."""
    return f"{1000 * statistics.median(times):.1f} ms ({1000 * min(times):.1f} to {1000 * max(times):.1f})"


def tensors_of(states: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the inputs of the decoder that decode states greedily."""
    rows = len(states)
    return {"hiddens": states, "temperature": np.zeros((rows, 1), np.float32), "seed": np.zeros((rows, 1), np.int64)}


def body_of(states: np.ndarray) -> bytes:
    """Returns a body of /decode."""
    return json.dumps({"hiddens": states.tolist(), "mask": [[True]] * len(states)}).encode()


def decoder_session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    # The setting of scripts/triton/backends/onnxruntime.
    options.add_session_config_entry("session.intra_op.spin_duration_us", "50")
    return onnxruntime.InferenceSession(str(GRAPH), options, providers=["CPUExecutionProvider"])


def decode(api: API, triton: Triton, states: np.ndarray, rounds: int, processes: dict[str, int]) -> None:
    """Compares /decode of the hidden states of molecules with other ways to decode them."""
    model, _ = weights.load(ROOT / "model_repository" / "latent_encoder")
    session, tensors, body = decoder_session(), tensors_of(states), body_of(states)
    sides: dict[str, Callable[[], object]] = {
        "/decode": lambda: api.post("/decode", body),
        "ONNX Runtime alone": lambda: session.run(["token_ids"], tensors),
        "Triton without the gateway": triton.decode(tensors),
        "PyTorch fp32 with cache": lambda: decoding.decode_with_cache(model.decoder, torch.tensor(states[:, 0])),
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    for side in sides.values():
        side()  # warms up
    busy = Busy(*processes.values())
    for _ in range(4 * rounds):
        for name, side in sides.items():
            times[name].append(seconds(side))
    others = busy.others()
    gateway = times.pop("/decode")
    row(f"`/decode` of the hidden states of {len(states)} molecules", milliseconds(gateway))
    for name, values in times.items():
        ratio = statistics.median(theirs / ours for theirs, ours in zip(values, gateway))
        wanted = verdict(ratio, others, least=0.85) if name == "ONNX Runtime alone" else ""
        row("the same work by", f"{name} {1000 * statistics.median(values):.0f} ms: {ratio:.2f} times", wanted)


def noise(api: API, triton: Triton, states: np.ndarray, deviation: float, rounds: int) -> None:
    """Measures /decode of states moved by noise, and what its fallbacks cost and bring."""
    times, greedy_times, beam_times, draw_times = [], [], [], []
    vocabulary = Vocabulary.read(GRAPH.parents[1] / "vocab.txt")
    count, no_molecule, draw_rows, invalid = 0, 0, 0.0, 0
    random = np.random.default_rng(1)
    for _ in range(rounds):
        moved = states + random.normal(0, deviation, states.shape).astype(np.float32)
        body, greedy = body_of(moved), triton.decode(tensors_of(moved))
        greedy()
        before = triton.count(DECODER), triton.count(BEAMS)
        texts = ["".join(vocabulary.tokens[i] for i in ids if i >= len(SPECIALS)) for ids in greedy()]
        between = triton.count(DECODER)
        start = time.perf_counter()
        found = api.post("/decode", body)["generated"]
        times.append(time.perf_counter() - start)
        after = triton.count(DECODER), triton.count(BEAMS)
        greedy_times.append(between[1] - before[0][1])
        drawn = (after[0][0] - between[0] - len(moved)) / DRAWS
        # Without draws, the difference is only that of two calls for the same work.
        draw_times.append(max(0.0, after[0][1] - between[1] - greedy_times[-1]) if drawn else 0.0)
        beam_times.append(after[1][1] - before[1][1])
        count += len(moved)
        no_molecule += sum(Chem.MolFromSmiles(text) is None for text in texts)
        draw_rows += drawn
        invalid += sum(Chem.MolFromSmiles(smiles) is None for smiles in found)
    total = sum(times)
    row(
        f"`/decode` after noise of {deviation}",
        f"{milliseconds(times)}; {1 - no_molecule / count:.1%} of the likeliest texts are molecules",
    )
    for name, tried, failed, taken in (
        ("beam searches", no_molecule, draw_rows, beam_times),
        (f"{DRAWS} texts of drawn tokens", draw_rows, invalid, draw_times),
    ):
        row(
            f"the same: {name}",
            f"{tried / count:.1%} of the states, {sum(taken) / total:.1%} of the time; "
            f"brings {(tried - failed) / count:.1%} of the molecules",
        )


def sampling(api: API, molecules: list[str], rounds: int) -> None:
    for seeds in (molecules, molecules[:1]):
        times = []
        for turn in range(rounds):
            body = {"sequences": seeds, "num_molecules": 10, "seed": turn}
            times.append(seconds(functools.partial(api.post, "/sampling", body)))
        rate = 10 * len(seeds) / statistics.median(times)
        row(f"`/sampling`, 10 molecules around each of {len(seeds)}", f"{milliseconds(times)}, {rate:.0f} molecules/s")


def searches(api: API, triton: Triton, molecules: list[str], rounds: int, processes: dict[str, int]) -> float:
    """Measures how many molecules searches evaluate, and returns the processor seconds of an evaluation of one."""
    count = PARTICLES * ITERATIONS
    used = 0.0
    for searches in (1, 8):
        rates, states = [], []
        with ThreadPoolExecutor(searches) as pool:
            for turn in range(rounds):
                work = [
                    functools.partial(api.generate, seed, PARTICLES, ITERATIONS)
                    for seed in molecules[turn * searches :][:searches]
                ]
                rows, cpu = triton.count(DECODER)[0], sum(map(processor_seconds, processes.values()))
                elapsed = seconds(functools.partial(run_all, pool, work))
                rates.append(searches * count / elapsed)
                states.append((triton.count(DECODER)[0] - rows) / (searches * count))
                if searches == 1:
                    used += (sum(map(processor_seconds, processes.values())) - cpu) / count / rounds
        row(
            f"`/generate` of {PARTICLES} particles and {ITERATIONS} iterations",
            f"{searches} at once: {statistics.median(rates):.0f} evaluations/s; "
            f"{statistics.median(states):.2f} states decoded for each",
        )
    return used


def run_all(pool: ThreadPoolExecutor, work: Sequence[Callable[[], object]]) -> None:
    for done in [pool.submit(call) for call in work]:
        done.result()


def processor_seconds(pid: int) -> float:
    """Returns the processor seconds of a process and its children so far."""
    ticks = 0
    for process in family(pid):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Returns a process and its children."""
    found = [pid]
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        found += [int(status.parent.name)] if int(fields[1]) == pid else []
    return found


def share(log: Path) -> None:
    """Reads the gateway's share of the searches so far from its log."""
    lines = [
        json.loads(line) for line in log.read_text().splitlines() if '"/generate"' in line and line.startswith("{")
    ]
    own = statistics.median(1 - (line["triton_ms"] + line["queued_ms"]) / line["ms"] for line in lines)
    row(f"the gateway's own part of these {len(lines)} searches, chemistry included", f"{own:.1%}")


BENCHMARK = "^BenchmarkSearch$"
SURROGATE = r"search\.\(\*surrogate\)|search\.featuresOf"


def surrogate(evaluation: float) -> None:
    """Compares the processor time of the surrogate, by a profile of a search, with that of a whole evaluation."""
    runs = 20
    with tempfile.TemporaryDirectory() as folder:
        profile, program = Path(folder, "cpu"), Path(folder, "search.test")
        options = ["-run", "^$", "-bench", BENCHMARK, "-benchtime", f"{runs}x", "-cpuprofile", profile, "-o", program]
        run(["go", "test", "-trimpath", *options, "./orchestrator/latent/search"])
        shown = run(["go", "tool", "pprof", "-top", "-unit", "ms", "-focus", SURROGATE, program, profile])
    [taken] = re.findall(r"^Showing nodes accounting for ([\d.]+)(?:ms)?,", shown, re.MULTILINE)
    each = float(taken) / 1000 / (runs * PARTICLES * ITERATIONS)
    row(
        "the model that predicts scores (surrogate)",
        f"{1000 * each:.3f} ms of a core for each evaluation, {each / evaluation:.1%} of what an evaluation takes; "
        "it has no start of its own",
    )


def run(command: list) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def routes(api: API, molecules: list[str], others: Callable[[], float]) -> None:
    """Measures what synthesis_steps adds to answers of 100 molecules."""
    body = {"algorithm": "none", "num_molecules": 100}
    added = []
    for smiles in molecules:
        plain = seconds(functools.partial(api.generate, smiles, PARTICLES, 1, **body, scores=["SA"]))
        scored = seconds(functools.partial(api.generate, smiles, PARTICLES, 1, **body, scores=["synthesis_steps"]))
        added.append(1000 * (scored - plain) / 100)
    row(
        "`synthesis_steps` of 100 molecules of an answer",
        f"adds {statistics.median(added[1:]):.1f} ms a molecule ({min(added[1:]):.1f} to {max(added[1:]):.1f}), "
        f"{added[0]:.1f} in the first request",
        verdict(statistics.median(added[1:]), others(), most=20),
    )


def memory(api: API, seed: str, processes: dict[str, int]) -> None:
    api.generate(seed, 1000, 1)
    peaks = {name: sum(map(peak, family(pid))) for name, pid in processes.items()}
    row(
        "peak resident memory, also of 1,000 particles in one iteration",
        f"{', '.join(f'{n} {v:.0f} MiB' for n, v in peaks.items())}; together {sum(peaks.values()):.0f} MiB",
        "at most 4,096 MiB",
    )


def peak(pid: int) -> float:
    """Returns the peak resident memory of a process in MiB."""
    [kilobytes] = re.findall(r"^VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(kilobytes) / 1024


def together(api: API, molecules: list[str], rounds: int) -> None:
    one, ten = [], []
    with ThreadPoolExecutor(len(molecules)) as pool:
        for _ in range(rounds):
            one.append(statistics.mean(seconds(functools.partial(api.generate, s, 30, 20)) for s in molecules[:3]))
            work = [functools.partial(api.generate, smiles, 30, 20) for smiles in molecules]
            ten.append(seconds(functools.partial(run_all, pool, work)))
    row(
        f"{len(molecules)} searches of 30 particles and 20 iterations at once, against one",
        f"{statistics.median(ten) / statistics.median(one):.1f} times its {1000 * statistics.median(one):.0f} ms",
        f"less than {len(molecules)} times",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="address of the API")
    parser.add_argument("--molecules", type=Path, required=True, help="file of molecules, a SMILES per line")
    parser.add_argument("--log", type=Path, required=True, help="the gateway's log")
    parser.add_argument("--gateway-pid", type=int, required=True)
    parser.add_argument("--triton-pid", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    api = API(given.url)
    triton = Triton(os.environ["RETORT_TEST_TRITON_HTTP"], os.environ["RETORT_TEST_TRITON_METRICS"])
    processes = {"gateway": given.gateway_pid, "Triton": given.triton_pid}
    molecules = random.Random(0).sample(given.molecules.read_text().split(), MOLECULES)
    states = api.hiddens(molecules)
    print(f"the decoder's graph: {arithmetic(GRAPH)}\n")
    print("| measured | result | wanted |\n| --- | --- | --- |")
    routes(api, molecules[:10], Busy(*processes.values()).others)
    decode(api, triton, states, given.rounds, processes)
    for deviation in NOISES:
        noise(api, triton, states, deviation, given.rounds)
    sampling(api, molecules, given.rounds)
    surrogate(searches(api, triton, molecules, given.rounds, processes))
    share(given.log)
    together(api, molecules[:10], max(1, given.rounds // 2))
    memory(api, molecules[0], processes)


if __name__ == "__main__":
    main()
