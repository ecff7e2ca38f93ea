"""Measures files and batches through OpenAI's client, on a Triton and a gateway of their own (see run.py):

    whole         a batch of 50,000 texts to embed: whether each custom_id has exactly one answer, the counts, the time,
                  and the gateway's resident memory before, at the peak and after
    throughput    a batch against the same texts sent by 32 concurrent clients, one per request. The batch's time is
                  from its creation until the client sees it completed
    interactive   sequential requests of one client, with and without a running batch of embeddings: short texts to
                  embed, two passages to rank, a molecule's hidden state. The first second of a batch is not counted
    upload        the gateway's resident memory while a file of 200 MiB is uploaded and downloaded

The sides of a comparison take turns; figures of several turns are medians, with minimum and maximum. Needs
`make .venv-openai/stamp`. For a running gateway:

    .venv-openai/bin/python scripts/bench/jobs.py --url http://127.0.0.1:8000 \\
        --gateway-pid PID --lines 1000 --part whole
"""

from __future__ import annotations

import argparse
import functools
import http.client
import json
import random
import statistics
import sys
import threading
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from openai import OpenAI

MODEL = "retort/minilm-embedqa-v2"
RANKER = "retort/rankqa-minilm-v2"
CLIENTS = 32
PARTS = ("whole", "throughput", "interactive", "upload")
WORDS = (
    "aspirin caffeine binds inhibits the a of receptor kinase soluble in water ester amide ring at high dose "
    "which drug eases pain and fever crystal melts slowly solvent yields product under light heat acid base salt"
).split()


def texts(count: int, seed: int) -> list[str]:
    """Short texts of 5 to 25 words."""
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(5, 25))) for _ in range(count)]


def body(text: str) -> dict:
    return {"model": MODEL, "input": text, "input_type": "passage"}


class Gateway:
    """A running gateway, and OpenAI's client of it."""

    def __init__(self, url: str, pid: int) -> None:
        self.pid = pid
        self.address = urllib.parse.urlsplit(url).netloc
        self.openai = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=3600)

    def memory(self) -> float:
        """Returns the resident memory in MB, or 0 if the process is unknown."""
        if not self.pid:
            return 0
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")) / 1000

    def upload(self, inputs: list[str]) -> str:
        """Uploads the input file of a batch that embeds texts, and returns its id."""
        lines = (
            json.dumps({"custom_id": f"line-{i}", "method": "POST", "url": "/v1/embeddings", "body": body(text)})
            for i, text in enumerate(inputs)
        )
        return self.openai.files.create(file=("texts.jsonl", "\n".join(lines).encode()), purpose="batch").id

    def start_batch(self, file: str) -> str:
        return self.openai.batches.create(input_file_id=file, endpoint="/v1/embeddings", completion_window="24h").id

    def wait_ended(self, batch: str):
        while (current := self.openai.batches.retrieve(batch)).status not in (
            "completed",
            "failed",
            "expired",
            "cancelled",
        ):
            time.sleep(0.1)
        return current

    def wait_started(self, batch: str) -> None:
        while (current := self.openai.batches.retrieve(batch)).request_counts.completed == 0:
            if current.status not in ("validating", "in_progress"):
                raise RuntimeError(f"the batch is {current.status}")
            time.sleep(0.05)

    def stop(self, batch: str) -> None:
        self.openai.batches.cancel(batch)
        self.wait_ended(batch)

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address, timeout=600)


class MemoryWatch:
    """Records the gateway's resident memory before, during and after a with block."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.peak = self.before = gateway.memory()
        self.stopped = threading.Event()

    def __enter__(self) -> MemoryWatch:
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()
        return self

    def _sample(self) -> None:
        while not self.stopped.wait(0.2):
            self.peak = max(self.peak, self.gateway.memory())

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()

    def __str__(self) -> str:
        return f"{self.before:.0f} MB before, {self.peak:.0f} at most, {self.gateway.memory():.0f} after"


def post(connection: http.client.HTTPConnection, path: str, data: bytes) -> None:
    connection.request("POST", path, data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {text[:300]!r}")


def whole(gateway: Gateway, options: argparse.Namespace) -> int:
    with MemoryWatch(gateway) as memory:
        start = time.perf_counter()
        file = gateway.upload(texts(options.lines, 1))
        uploaded = time.perf_counter()
        batch = gateway.wait_ended(gateway.start_batch(file))
        completed = time.perf_counter()
        answers: Counter[str] = Counter()
        for name in filter(None, (batch.output_file_id, batch.error_file_id)):
            with gateway.openai.files.with_streaming_response.content(name) as content:
                answers.update(json.loads(line)["custom_id"] for line in content.iter_lines())
        downloaded = time.perf_counter()
    counts = batch.request_counts
    once = answers == Counter(f"line-{i}" for i in range(options.lines))
    counted = (counts.total, counts.completed, counts.failed) == (options.lines, options.lines, 0)
    print_row(
        f"{options.lines:,} lines: every custom_id exactly once; counts {counts.completed:,} of {counts.total:,}, "
        f"{counts.failed} failed; {batch.status}",
        "yes" if once and counted else "NO",
        "yes",
    )
    print_row(
        "upload; from creation to completed; reading the answers",
        f"{uploaded - start:.1f} s; {completed - uploaded:.1f} s "
        f"({options.lines / (completed - uploaded):.0f} lines/s); {downloaded - completed:.1f} s",
        "",
    )
    print_row("memory of the gateway", str(memory), "bounded")
    return 0 if once and counted else 1


def throughput(gateway: Gateway, options: argparse.Namespace) -> int:
    inputs = texts(options.round_lines, 2)
    file = gateway.upload(inputs)
    bodies = [json.dumps(body(text)).encode() for text in inputs]

    def clients() -> None:
        remaining = iter(bodies)
        lock = threading.Lock()

        def client(_: int) -> None:
            connection = gateway.connection()
            while True:
                with lock:
                    data = next(remaining, None)
                if data is None:
                    return
                post(connection, "/v1/embeddings", data)

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(client, range(CLIENTS)))

    def batch() -> None:
        counts = gateway.wait_ended(gateway.start_batch(file)).request_counts
        if counts.completed != len(inputs):
            raise RuntimeError(f"{counts.completed} of {len(inputs)} lines completed, {counts.failed} failed")

    ratios, rates = [], []
    for turn in range(options.rounds):
        sides = [clients, batch] if turn % 2 == 0 else [batch, clients]
        times = {}
        for side in sides:
            time.sleep(options.pause)
            times[side] = seconds(side)
        ratios.append(times[clients] / times[batch])
        rates.append(len(inputs) / times[batch])
        log(f"throughput {turn + 1}: 32 clients {len(inputs) / times[clients]:.0f}/s, batch {rates[-1]:.0f}/s")
    print_row(
        f"a batch of {len(inputs):,} lines against the same texts of 32 clients, {options.rounds} turns",
        f"{spread(ratios)} times; {statistics.median(rates):.0f} lines/s",
        "at least 0.95",
        statistics.median(ratios) < 0.95,
    )
    return 0


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


KINDS = {
    "a short text": ("/v1/embeddings", lambda text: {"model": MODEL, "input": text, "input_type": "query"}),
    "two passages to rank": (
        "/v1/ranking",
        lambda text: {
            "model": RANKER,
            "query": {"text": "which drug eases pain"},
            "passages": [{"text": text}, {"text": "Aspirin is an analgesic."}],
        },
    ),
    "a hidden state": ("/latent/hidden", lambda _: {"sequences": ["CC(=O)Nc1ccc(O)cc1"]}),
}


def interactive(gateway: Gateway, options: argparse.Namespace) -> int:
    file = gateway.upload(texts(options.lines, 3))
    for kind, (path, make) in KINDS.items():
        bodies = [json.dumps(make(text)).encode() for text in texts(200, 4)]
        quiet: list[list[float]] = []
        busy: list[list[float]] = []
        rates: list[float] = []  # lines/s of the batch
        for turn in range(options.rounds):
            if turn % 2 == 0:
                quiet.append(send_sequentially(gateway, path, bodies, options.seconds))
            times, rate = during_batch(gateway, file, path, bodies, options)
            busy.append(times)
            rates.append(rate)
            if turn % 2 == 1:
                quiet.append(send_sequentially(gateway, path, bodies, options.seconds))
            log(
                f"{kind} {turn + 1}: alone {percentiles(quiet[-1])}, during a batch {percentiles(times)}, "
                f"{rate:.0f} lines/s meanwhile"
            )
        print_row(
            f"{kind}, one after the other: alone; during a batch",
            f"{percentiles(sum(quiet, []))}; {percentiles(sum(busy, []))}; "
            f"{statistics.median(rates):.0f} lines/s meanwhile",
            "",
        )
        for p, most in ((50, 1.3), (99, 2)):
            ratios = [quantile(b, p) / quantile(q, p) for b, q in zip(busy, quiet)]
            print_row(
                f"the same: p{p}, {options.rounds} turns",
                f"{spread(ratios)} times",
                f"at most {most}",
                statistics.median(ratios) > most,
            )
    return 0


def during_batch(
    gateway: Gateway, file: str, path: str, bodies: list[bytes], options: argparse.Namespace
) -> tuple[list[float], float]:
    """Returns the seconds of each request during a batch of a file, and the lines per second of the batch."""
    batch = gateway.start_batch(file)
    gateway.wait_started(batch)
    send_sequentially(gateway, path, bodies, 1)
    before = gateway.openai.batches.retrieve(batch).request_counts.completed
    times = send_sequentially(gateway, path, bodies, options.seconds)
    current = gateway.openai.batches.retrieve(batch)
    if current.status != "in_progress":
        raise RuntimeError(f"the batch is {current.status} before the turn ends: use more --lines or fewer --seconds")
    gateway.stop(batch)
    time.sleep(options.pause)
    return times, (current.request_counts.completed - before) / options.seconds


def send_sequentially(gateway: Gateway, path: str, bodies: list[bytes], duration: float) -> list[float]:
    """Sends one request after the other for `duration` seconds, and returns the seconds of each."""
    connection = gateway.connection()
    times: list[float] = []
    until = time.perf_counter() + duration
    while time.perf_counter() < until:
        data = bodies[len(times) % len(bodies)]
        times.append(seconds(functools.partial(post, connection, path, data)))
    connection.close()
    return times


def quantile(values: list[float], p: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * p // 100)]


def percentiles(times: list[float]) -> str:
    return f"p50 {1000 * quantile(times, 50):.1f} ms, p99 {1000 * quantile(times, 99):.1f} ms"


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def upload(gateway: Gateway, options: argparse.Namespace) -> int:
    size = 200 << 20
    line = b'{"custom_id": "x"}' + b" " * 1005 + b"\n"
    with MemoryWatch(gateway) as memory:
        start = time.perf_counter()
        file = gateway.openai.files.create(file=("large.jsonl", line * (size // len(line))), purpose="batch")
        uploaded = time.perf_counter()
        with gateway.openai.files.with_streaming_response.content(file.id) as content:
            read = sum(len(piece) for piece in content.iter_bytes(1 << 20))
        downloaded = time.perf_counter()
        gateway.openai.files.delete(file.id)
    print_row(
        f"a file of {file.bytes / 2**20:.0f} MiB uploaded; read again",
        f"{uploaded - start:.1f} s; {downloaded - uploaded:.1f} s, {'whole' if read == file.bytes else 'NOT WHOLE'}",
        "",
    )
    print_row("memory of the gateway", str(memory), "bounded")
    return 0 if read == file.bytes else 1


def print_row(what: str, result: str, bound: str, missed: bool = False) -> None:
    print(f"| {what} | {result}{': **short of**' if missed else ''} | {bound} |", flush=True)


def log(line: str) -> None:
    print(f"bench | {line}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="main port of the gateway")
    parser.add_argument("--gateway-pid", type=int, default=0, help="process whose memory is measured")
    parser.add_argument("--part", nargs="*", choices=PARTS, default=PARTS, help="default: all")
    parser.add_argument("--lines", type=int, default=50_000, help="lines of the batches of whole and interactive")
    parser.add_argument("--round-lines", type=int, default=5_000, help="lines of the batch of throughput")
    parser.add_argument("--rounds", type=int, default=5, help="turns of throughput and interactive")
    parser.add_argument("--seconds", type=float, default=15, help="length of a turn of interactive")
    parser.add_argument("--pause", type=float, default=3, help="seconds between turns")
    options = parser.parse_args()
    gateway = Gateway(options.url, options.gateway_pid)
    for path, make in KINDS.values():  # warm-up
        post(gateway.connection(), path, json.dumps(make("warm-up")).encode())
    print("| measured | result | wanted |\n| --- | --- | --- |", flush=True)
    parts: dict[str, Callable[[Gateway, argparse.Namespace], int]] = {
        "whole": whole,
        "throughput": throughput,
        "interactive": interactive,
        "upload": upload,
    }
    return max(parts[name](gateway, options) for name in options.part)


if __name__ == "__main__":
    sys.exit(main())
