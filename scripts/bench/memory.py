"""Measures the gateway's resident memory under constant load on four APIs.

The load is single short texts, 32 short texts at a time, texts of 10 to 120 words, lists of 100 passages, searches for
molecules and masked molecules.

    make bench PART=memory                               five minutes
    make bench PART=memory ARGS="--minutes 10"

The median of the last tenth of the time is compared with the third tenth's: before that, pools fill and code warms up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import threading
import urllib.request
from pathlib import Path

MAX_GROWTH = 1.05
"""Upper bound of the last tenth's median memory over the third's."""
MAX_MEMORY = 150.0
"""Upper bound of the resident memory at any time, MB."""
SAMPLES = 200
WORDS = (
    "aspirin blocks the enzyme cyclooxygenase so that less prostaglandin is made and pain eases "
    "while the river flows past the old town"
).split()
SEEDS = [
    "CC(=O)Nc1ccc(cc1)C(=O)NC",
    "Cc1ccc(S(=O)(=O)NCc2ccco2)cc1",
    "O=C(NCc1ccccc1)c1ccncc1",
    "COc1ccc(CN2CCOCC2)cc1",
]


def text(words: int, number: int) -> str:
    """Returns a text that is different for each number, so that no cache answers."""
    return " ".join(WORDS[(number + i) % len(WORDS)] for i in range(words)) + f" {number}"


def loads(models: dict[str, str]) -> dict[str, tuple[int, str, object]]:
    """Returns by name the number of clients, the path, and a function from a request's number to its body."""
    return {
        "single short texts": (
            16,
            "/embedding/v1/embeddings",
            lambda n: {"model": models["embedding"], "input": text(12, n)},
        ),
        "32 short texts": (
            2,
            "/embedding/v1/embeddings",
            lambda n: {"model": models["embedding"], "input": [text(12, 32 * n + i) for i in range(32)]},
        ),
        "128 texts of 10 to 120 words": (
            1,
            "/embedding/v1/embeddings",
            lambda n: {
                "model": models["embedding"],
                "input": [text(10 + (37 * i) % 110, 128 * n + i) for i in range(128)],
            },
        ),
        "a query and 100 passages": (
            1,
            "/ranking/v1/ranking",
            lambda n: {
                "model": models["ranking"],
                "query": {"text": "What eases pain?"},
                "passages": [{"text": text(40, 100 * n + i)} for i in range(100)],
            },
        ),
        "a search, 30 particles, 10 iterations": (
            2,
            "/latent/generate",
            lambda n: {
                "smi": SEEDS[n % len(SEEDS)],
                "particles": 30,
                "iterations": 10,
                "min_similarity": 0.4,
                "seed": n,
            },
        ),
        "30 masked molecules": (1, "/masked/generate", lambda n: {"num_molecules": 30, "seed": n}),
    }


def ask(url: str, body: dict | None = None) -> dict:
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=600
    ) as answer:
        return json.load(answer)


def resident(pid: int) -> float:
    """Returns the resident memory of a process in MB (10^6 bytes)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="the gateway's main address")
    parser.add_argument("--gateway-pid", type=int, required=True)
    parser.add_argument("--minutes", type=float, default=5)
    given = parser.parse_args()
    models = {
        "embedding": "sentence-transformers/all-MiniLM-L6-v2",
        "ranking": ask(f"{given.url}/ranking/v1/models")["data"][0]["id"],
    }
    stop, failed, served = threading.Event(), [], dict.fromkeys(loads(models), 0)

    def client(name: str, path: str, body, first: int, step: int) -> None:
        for number in itertools.count(first, step):
            if stop.is_set():
                return
            try:
                ask(given.url + path, body(number))
                served[name] += 1
            except OSError as error:
                failed.append(f"{name}: {error}")
                stop.set()

    clients = [
        threading.Thread(target=client, args=(name, path, body, first, count))
        for name, (count, path, body) in loads(models).items()
        for first in range(count)
    ]
    for thread in clients:
        thread.start()
    memory = []
    for _ in range(SAMPLES):
        stop.wait(given.minutes * 60 / SAMPLES)
        memory.append(resident(given.gateway_pid))
    stop.set()
    for thread in clients:
        thread.join()
    if failed:
        print(f"failed: {failed[0]}")
        return 1
    return report(memory, served, given.minutes)


def report(memory: list[float], served: dict[str, int], minutes: float) -> int:
    tenth = len(memory) // 10
    third, last = statistics.median(memory[2 * tenth : 3 * tenth]), statistics.median(memory[-tenth:])
    good = last <= MAX_GROWTH * third and max(memory) < MAX_MEMORY
    print(f"answered in {minutes:g} minutes: " + ", ".join(f"{count} of {name}" for name, count in served.items()))
    print(
        f"\nthe gateway's resident memory: {statistics.median(memory[:tenth]):.0f} MB in the first tenth of the time, "
        f"{third:.0f} in the third, {statistics.median(memory[5 * tenth : 6 * tenth]):.0f} in the sixth, "
        f"{last:.0f} in the last, at most {max(memory):.0f}; last to third "
        f"{last / third:.2f} (at most {MAX_GROWTH} wanted, and below {MAX_MEMORY:.0f} MB): "
        f"{'met' if good else 'missed'}",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
