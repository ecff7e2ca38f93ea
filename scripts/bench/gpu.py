"""Measures the APIs on a GPU against the CPU of the same machine, and compares their answers.

    make bench PART=gpu

One local Triton, whose onnxruntime needs CUDA (orchestrator/docs/operate/TRITON.md), serves each model of
model_repository twice: on the CPU as shipped, and on the first GPU with larger batches. In front of it are two
gateways: one with the default settings, and one with --batch-tokens and --masked-batch-tokens for GPUs. Requests to
CPU and GPU take turns. A row has the seconds of the first request, in which a GPU allocates memory, and the median of
the later ones, with the range. One more masked model has the published form of GenMol: 12 layers of width 768, imported
by `retort model import`, with random weights, whose values do not matter for the time.

--gpu-models adds entries that are served on the GPU only, such as the masked model with weights in fp16.
--kind KIND_CPU --many 20 tries the program on a machine without a GPU.
"""

from __future__ import annotations

import argparse
import functools
import http.client
import itertools
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import published_masked
import servers
from environments import ROOT

GPU_SETTINGS = {"RETORT_BATCH_TOKENS": "16384", "RETORT_MASKED_BATCH_TOKENS": "65536"}
"""Settings of the gateway in front of the GPU."""
GPU_ROWS = 1024
"""max_batch_size of the masked models on the GPU."""
TWIN, ALONE = "gpu", "gpu-only"
"""Owners in the ids of the models on the GPU: of those that are on the CPU too, and of the others."""
GPU_OWNERS = (TWIN, ALONE)
PUBLISHED = "published"
"""Name of the model with random weights, and beginning of the names of entries made from it."""

MASKED = {"temperature": 0.5, "noise": 0.5, "min_add_len": 40}
WORDS = (
    "aspirin eases pain water dissolves salt enzyme binds iron the a of in river north flows protein cell acid".split()
)
TURNS, FEWEST, SECONDS = 7, 2, 4.0
"""Most and fewest turns after the first, and the seconds after which only the fewest turns are made."""
PERIOD = 2.0
"""Seconds for which concurrent clients send requests."""
TIMEOUT = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--kind",
        default="KIND_GPU",
        choices=("KIND_GPU", "KIND_CPU"),
        help="where the entries besides those on the CPU run",
    )
    parser.add_argument("--gpu-models", type=Path, nargs="*", default=[], help="further entries, on the GPU only")
    parser.add_argument("--no-published", action="store_true", help="leave out the model in the published form")
    parser.add_argument("--many", type=int, default=1000, help="molecules or texts of the largest requests")
    parser.add_argument("--json", type=Path, help="also write the figures into this file")
    parser.add_argument("--serving", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and end the servers
    if options.serving:
        measure(Path(os.environ["RETORT_TEST_TRITON_REPOSITORY"]), options)
        return
    with tempfile.TemporaryDirectory(prefix="retort-bench-gpu-") as folder:
        repository = Path(folder, "models")
        assemble(repository, options)
        command = [
            sys.executable,
            ROOT / "scripts/triton/serve.py",
            "--repository",
            repository,
            "--control",
            "explicit",
        ]
        command += ["--", sys.executable, __file__, "--serving", "--many", str(options.many)]
        command += ["--json", options.json] if options.json else []
        child = subprocess.Popen(command, start_new_session=True)  # a second signal would end the launcher at once
        try:
            sys.exit(child.wait())
        finally:
            child.terminate()
            child.wait()


def assemble(repository: Path, options: argparse.Namespace) -> None:
    """Writes the repository of the models on the CPU and on the GPU."""
    repository.mkdir()
    for config in sorted((ROOT / "model_repository").glob("*/config.pbtxt")):
        if 'backend: "onnxruntime"' in config.read_text():
            place(copy_entry(config.parent, repository / config.parent.name), "KIND_CPU")
            place(copy_entry(config.parent, repository / f"{config.parent.name}_gpu"), options.kind, TWIN)
    for source in options.gpu_models:
        place(copy_entry(source, repository / source.name), options.kind, ALONE)
    if not options.no_published:
        folder = published_masked.write(repository.parent / "published")
        command = [ROOT / "bin/retort", "model", "import", folder, "--api", "masked", "--id", f"any/{PUBLISHED}-v1"]
        command += ["--name", PUBLISHED, "--repository", repository]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder)
        place(repository / PUBLISHED, options.kind, ALONE)


def copy_entry(source: Path, target: Path) -> Path:
    """Copies what serves an entry: neither weights besides the graph nor training data."""
    return Path(shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.safetensors", "*.gz", "*.md")))


def place(entry: Path, kind: str, new_owner: str = "") -> None:
    """Sets the kind of an entry's instances and, for a GPU, the owner in its id and the most rows of a masked call."""
    config = entry / "config.pbtxt"
    text = re.sub(r'^name: ".*"', f'name: "{entry.name}"', config.read_text(), count=1, flags=re.M)
    text = text.replace("[ { count", f"[ {{ kind: {kind}  count")
    if new_owner:
        text = re.sub(r'("model_id"\s+value \{ string_value: ")[^"/]*/', rf"\1{new_owner}/", text)
    if new_owner and '"masked"' in text:
        text = re.sub(r"max_batch_size: \d+", f"max_batch_size: {GPU_ROWS}", text)
    config.write_text(text)


class Side:
    """The models of a gateway on the CPU or on the GPU."""

    def __init__(self, name: str, gateway: servers.Server, ids: dict[str, str]) -> None:
        self.name, self.url, self.ids = name, gateway.url, ids

    def post(self, api: str, path: str, **body: object) -> dict:
        """Sends a request to the side's model of an API, unless the body names another."""
        request = urllib.request.Request(
            f"{self.url}/{api}{path}",
            json.dumps({"model": self.ids[api], **body}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return json.load(answer)


class Table:
    """Prints rows in Markdown, and keeps their figures."""

    def __init__(self) -> None:
        self.figures: dict[str, object] = {}

    def heading(self, *cells: str) -> None:
        print(f"\n| {' | '.join(cells)} |\n|{' --- |' * len(cells)}", flush=True)

    def row(self, name: str, cells: list[str], figures: object) -> None:
        self.figures[name] = figures
        print(f"| {name} | {' | '.join(cells)} |", flush=True)

    def times(self, name: str, requests: Mapping[str, Callable[[int], object]]) -> None:
        """Times requests in turn; each receives the number of its turn."""
        times: dict[str, list[float]] = {model: [] for model in requests}
        began = time.monotonic()
        for turn in range(TURNS + 1):
            if turn > FEWEST and time.monotonic() - began > SECONDS:
                break
            for model, request in requests.items():
                start = time.perf_counter()
                request(turn)
                times[model].append(time.perf_counter() - start)
        for model, (first, *later) in times.items():
            low, median, high = min(later), statistics.median(later), max(later)
            cells = [f"{first:.3f}", f"{median:.3f}", f"{low:.3f} to {high:.3f}"]
            self.row(f"{name} | {model}", cells, {"first": first, "later": later})


def measure(repository: Path, options: argparse.Namespace) -> None:
    """Measures a running Triton and prints the tables."""
    print(f"GPU: {gpu()}")
    configs = sorted(repository.glob("*/config.pbtxt"), reverse=True)  # the first model of an API is the one measured
    check_loaded([config.parent.name for config in configs])
    models = [parameters(config.read_text()) for config in configs]
    with two_gateways(repository) as (default, large):
        cpu = Side("CPU", default, {m["retort_api"]: m["model_id"] for m in models if owner(m) not in GPU_OWNERS})
        gpu_side = Side("GPU", large, {m["retort_api"]: m["model_id"] for m in models if owner(m) == TWIN})
        masked = [m["model_id"] for m in models if owner(m) in GPU_OWNERS and m["retort_api"] == "masked"]
        for model, gateway in itertools.product(models, (default, large)):
            wait_for_model(gateway, model["retort_api"], model["model_id"])
        table = Table()
        measure_times(table, cpu, gpu_side, masked, options.many)
        compare(table, cpu, gpu_side)
        measure_clients(table, cpu, gpu_side)
    if options.json:
        options.json.write_text(json.dumps(table.figures, indent=1))


def check_loaded(entries: list[str]) -> None:
    """RuntimeError: Triton has not loaded an entry, for example because CUDA did not start."""
    for entry in entries:
        if not servers.is_ready(f"http://{os.environ['RETORT_TEST_TRITON_HTTP']}/v2/models/{entry}/ready"):
            raise RuntimeError(f"{entry} is not loaded: see the messages of Triton above")


def wait_for_model(gateway: servers.Server, api: str, model: str) -> None:
    """Waits until the gateway serves a model. The masked API would answer a request for another with its default."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        with urllib.request.urlopen(f"{gateway.url}/{api}/v1/models", timeout=TIMEOUT) as answer:
            if json.dumps(model) in answer.read().decode():
                return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the gateway does not serve {model}")
        time.sleep(0.2)


def gpu() -> str:
    """Returns name, driver and used memory of the first GPU."""
    query = ["nvidia-smi", "-i", "0", "--query-gpu=name,driver_version,memory.used", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"


def parameters(config: str) -> dict[str, str]:
    """Returns the parameters of a config.pbtxt."""
    return dict(re.findall(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', config))


def owner(model: dict[str, str]) -> str:
    return model["model_id"].partition("/")[0]


@contextmanager
def two_gateways(repository: Path) -> Iterator[tuple[servers.Server, servers.Server]]:
    """Yields the main ports of gateways with the default settings and with GPU_SETTINGS, when every API is ready."""
    triton = os.environ["RETORT_TRITON_URL"]
    with tempfile.TemporaryDirectory(prefix="retort-bench-gpu-") as folder:
        with servers.gateway(triton, jobs=f"{folder}/default", repository=repository) as default:
            os.environ.update(GPU_SETTINGS)
            with servers.gateway(triton, jobs=f"{folder}/large", repository=repository) as large:
                for gateway, api in itertools.product((default, large), ("latent", "masked", "embedding", "ranking")):
                    gateway.wait(f"{gateway.url}/{api}/v1/health/ready", TIMEOUT)
                yield default, large


def measure_times(table: Table, cpu: Side, gpu: Side, masked_on_gpu: list[str], many: int) -> None:
    table.heading("request", "model", "first, s", "median, s", "range, s")
    once = {"attempts": 1}
    for title, count, more in (("", many // 10, {}), ("", many, {}), (", each row sampled once", many, once)):
        requests = {
            f"{side.name}, {model}": functools.partial(generate, side, model=model, num_molecules=count, **more)
            for side, models in ((cpu, [cpu.ids["masked"]]), (gpu, masked_on_gpu))
            for model in models
            if PUBLISHED not in model
        }
        table.times(f"{count:,} masked molecules{title}", requests)
    for model in masked_on_gpu:
        if PUBLISHED in model:
            for count in (many // 10, many):
                send = functools.partial(generate, gpu, model=model, num_molecules=count, **once)
                table.times(f"{count:,} masked molecules, each row sampled once", {f"GPU, {model}": send})
    molecules = [m["smiles"] for m in generate(cpu, 0, num_molecules=100)["molecules"]]
    hidden = cpu.post("latent", "/hidden", sequences=molecules)
    states = {name: hidden[name] for name in ("hiddens", "mask")}
    both = (cpu, gpu)

    def row(name: str, send: Callable[[Side, int], object]) -> None:
        table.times(name, {side.name: functools.partial(send, side) for side in both})

    row("`/hidden` of 100", lambda side, _: side.post("latent", "/hidden", sequences=molecules))
    row("`/decode` of 100", lambda side, _: side.post("latent", "/decode", **states))
    row("`/sampling`, 10 around each of 30", lambda side, turn: sample(side, molecules[:30], turn))
    row("`/sampling`, 10 around one", lambda side, turn: sample(side, molecules[:1], turn))
    row("1 text embedded", lambda side, turn: embed(side, texts(1, turn)))
    row(f"{many:,} texts of 12 words embedded", lambda side, turn: embed(side, texts(many, turn)))
    row("100 texts of 150 words embedded", lambda side, turn: embed(side, texts(100, turn, words=150)))
    row("1 passage ranked", lambda side, turn: rank(side, texts(1, turn, words=40)))
    row("100 passages of 40 words ranked", lambda side, turn: rank(side, texts(100, turn, words=40)))


def generate(side: Side, turn: int, **body: object) -> dict:
    return side.post("masked", "/generate", seed=turn, **MASKED, **body)


def sample(side: Side, molecules: list[str], turn: int) -> dict:
    return side.post("latent", "/sampling", sequences=molecules, num_molecules=10, seed=turn)


def embed(side: Side, batch: list[str]) -> list[list[float]]:
    return [row["embedding"] for row in side.post("embedding", "/v1/embeddings", input=batch)["data"]]


def rank(side: Side, passages: list[str]) -> list[dict]:
    body = {"query": {"text": "Which enzyme binds iron?"}, "passages": [{"text": text} for text in passages]}
    return side.post("ranking", "/v1/ranking", **body)["rankings"]


def texts(count: int, seed: int, words: int = 12) -> list[str]:
    """Returns texts of random words, the same for a seed."""
    source = random.Random(seed)
    return [" ".join(source.choices(WORDS, k=words)) for _ in range(count)]


def measure_clients(table: Table, cpu: Side, gpu: Side) -> None:
    """Measures clients that each send their next text when they have the vector of the last one."""
    table.heading("clients, texts of 12 words", "model", "texts/s", "median, ms")
    for count in (1, 64):
        for side in (cpu, gpu):
            processes = min(count, 8)
            with ProcessPoolExecutor(processes) as pool:
                jobs = [pool.submit(send_texts, side, count // processes, seed) for seed in range(processes)]
                times = [seconds for job in jobs for seconds in job.result()]
            rate, latency = len(times) / PERIOD, 1000 * statistics.median(times)
            figures = {"texts_per_second": rate, "median_ms": latency}
            table.row(f"{count} | {side.name}", [f"{rate:.0f}", f"{latency:.2f}"], figures)


def send_texts(side: Side, clients: int, seed: int) -> list[float]:
    """Sends texts from that many threads for PERIOD, and returns the seconds of each request."""
    batch = texts(1000, seed)

    def client(number: int) -> list[float]:
        connection = http.client.HTTPConnection(side.url.removeprefix("http://"), timeout=TIMEOUT)
        times: list[float] = []
        until = time.perf_counter() + PERIOD
        while (start := time.perf_counter()) < until:
            text = batch[(number * 100 + len(times)) % len(batch)]
            body = json.dumps({"model": side.ids["embedding"], "input": text})
            connection.request("POST", "/embedding/v1/embeddings", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"/v1/embeddings answered {answer.status}: {answer.read().decode()}")
            answer.read()
            times.append(time.perf_counter() - start)
        return times

    with ThreadPoolExecutor(clients) as pool:
        return [seconds for times in pool.map(client, range(clients)) for seconds in times]


def compare(table: Table, cpu: Side, gpu: Side) -> None:
    """Compares the answers of both sides to the same requests."""
    table.heading("answers of the GPU against those of the CPU", "result")
    batch = texts(50, 1) + texts(50, 2, words=100)
    cosine = min(
        np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(embed(cpu, batch), embed(gpu, batch))
    )
    table.row("lowest cosine of the vectors of 100 texts", [f"{cosine:.6f}"], float(cosine))
    ranked = [rank(side, batch) for side in (cpu, gpu)]
    logits = [{row["index"]: row["logit"] for row in rows} for rows in ranked]
    difference = max(abs(logits[0][index] - logits[1][index]) for index in logits[0])
    order = [[row["index"] for row in rows] for rows in ranked]
    same = "the same" if order[0] == order[1] else f"{sum(a == b for a, b in zip(*order))} of {len(batch)} in place"
    table.row("100 passages: largest difference of logits; order", [f"{difference:.5f}; {same}"], [difference, same])
    sides = [generate(side, 1, num_molecules=100, attempts=1)["molecules"] for side in (cpu, gpu)]
    smiles = [{molecule["smiles"] for molecule in molecules} for molecules in sides]
    counts = f"{len(smiles[0])} and {len(smiles[1])}, {len(smiles[0] & smiles[1])} of them the same"
    table.row("distinct valid molecules of 100 masked rows, CPU and GPU", [counts], counts)
    hidden = cpu.post("latent", "/hidden", sequences=sorted(smiles[0]))
    states = {name: hidden[name] for name in ("hiddens", "mask")}
    decoded = [side.post("latent", "/decode", **states)["generated"] for side in (cpu, gpu)]
    equal = sum(a == b for a, b in zip(*decoded))
    table.row("molecules decoded alike", [f"{equal} of {len(decoded[0])}"], [equal, len(decoded[0])])


if __name__ == "__main__":
    main()
