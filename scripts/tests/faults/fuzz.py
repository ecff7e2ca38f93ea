"""Sends mutated requests to every route of every API and judges the answers.

    .venv-tests/bin/python scripts/tests/faults/fuzz.py --requests 100000      (make soak runs it too)

A finding is a status 5xx other than a documented 503 or 504, no answer, or a wait above --patience seconds.
The same --seed sends the same requests.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from attacks import CHAT, EMBEDDING, RANKING
from servers import APIS, ROOT, Gateway, Triton

ROUTES: list[tuple[str, str, dict]] = [
    ("latent", "/embedding", {"sequences": ["CCO", "c1ccccc1"]}),
    ("latent", "/hidden", {"sequences": ["CCO"]}),
    ("latent", "/decode", {"hiddens": [[[0.1] * 512]], "mask": [[True]]}),
    ("latent", "/sampling", {"sequences": ["CCO"], "num_molecules": 1, "scaled_radius": 0.5, "beam_size": 1}),
    (
        "latent",
        "/generate",
        {
            "smi": "CCO",
            "algorithm": "CMA-ES",
            "num_molecules": 1,
            "property_name": "QED",
            "particles": 2,
            "iterations": 1,
            "min_similarity": 0.1,
            "minimize": False,
        },
    ),
    (
        "masked",
        "/generate",
        {
            "smiles": "c1ccccc1.[*{3-5}]",
            "num_molecules": 1,
            "temperature": 1,
            "noise": 0.5,
            "step_size": 1,
            "scoring": "QED",
            "unique": False,
        },
    ),
    (
        "embedding",
        "/v1/embeddings",
        {"model": EMBEDDING, "input": ["a", "b"], "encoding_format": "float", "truncate": "END", "user": "u"},
    ),
    (
        "ranking",
        "/v1/ranking",
        {"model": RANKING, "query": {"text": "q"}, "passages": [{"text": "a"}, {"text": "b"}], "truncate": "END"},
    ),
    (
        "chat",
        "/v1/chat/completions",
        {
            "model": CHAT,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            "max_tokens": 5,
            "stream": False,
        },
    ),
    (
        "chat",
        "/v1/messages",
        {
            "model": CHAT,
            "max_tokens": 5,
            "system": "brief",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "b"}]},
            ],
            "tools": [{"name": "n", "input_schema": {"type": "object"}}],
            "stop_sequences": ["x"],
            "stream": False,
        },
    ),
    (
        "chat",
        "/v1/messages/count_tokens",
        {"model": CHAT, "messages": [{"role": "user", "content": "hello"}]},
    ),
    ("chat", "/tokenize", {"model": CHAT, "prompt": "hello", "add_special_tokens": True}),
    ("chat", "/detokenize", {"model": CHAT, "tokens": [1, 2]}),
    (
        "chat",
        "/inference/chat_completion",
        {"model": CHAT, "messages": [{"role": "user", "content": "hello"}], "stream": False},
    ),
]
PATHS = [
    "/v1/models",
    "/v1/health/ready",
    "/v1/metadata",
    "/v1/version",
    "/docs",
    "/openapi.json",
    "/metrics",
    "/",
    "/none",
    "/v1//models",
    "/v1/models/%00",
]

VALUES: list[object] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    3.7,
    1e308,
    -1e308,
    10**30,
    "",
    " ",
    "x" * 5000,
    "\0",
    "é\u2028",
    "[*{1-99}]",
    "[*{9-1}]",
    "C1CC",
    "[Xx]",
    "C" * 300,
    [],
    [[]],
    {},
    [None],
    {"a": {}},
    "data:image/png;base64,AAAA",
    "../../etc/passwd",
    "{{ 7*7 }}",
    "5",
    "NaN",
    [1, "a", None],
]


def places(value: object, path: tuple = ()) -> list[tuple]:
    """The paths of all values within a body."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            found += places(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:3]):
            found += places(inner, (*path, i))
    return found


def mutate(body: dict, dice: random.Random) -> bytes:
    """A body with one to three values replaced, removed, added or duplicated, and sometimes broken bytes."""
    body = copy.deepcopy(body)
    for _ in range(dice.randint(0, 3)):
        path = dice.choice(places(body))
        if not path:
            continue
        holder: Any = body
        try:
            for step in path[:-1]:
                holder = holder[step]
            change(holder, path[-1], dice)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation removed the place
    raw = json.dumps(body, ensure_ascii=dice.random() < 0.5).encode()
    return spoil(raw, dice) if dice.random() < 0.3 else raw


def change(holder: Any, key: Any, dice: random.Random) -> None:
    kind = dice.randrange(4)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[dice.choice(["extra", "model", "", "smiles", "é" * 30])] = copy.deepcopy(dice.choice(VALUES))
    elif kind == 2 and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _ in range(dice.choice([1, 5, 100])))
    else:
        holder[key] = copy.deepcopy(dice.choice(VALUES))


def spoil(raw: bytes, dice: random.Random) -> bytes:
    """Cut, flipped, inserted or repeated bytes."""
    at = dice.randrange(len(raw) + 1)
    return dice.choice(
        [
            raw[:at],
            raw[:at] + bytes([dice.randrange(256)]) + raw[at + 1 :],
            raw[:at] + b"\xff\xfe" + raw[at:],
            raw[:at] + raw[at:] * 2,
            raw.replace(b"true", b"tru"),
            raw.replace(b'"', b"'"),
            b"[" * dice.choice([1, 2000]) + raw,
            b"",
        ]
    )


def headers(dice: random.Random) -> dict[str, str]:
    chosen = {
        "Content-Type": dice.choice(
            ["application/json"] * 8
            + ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
        )
    }
    if dice.random() < 0.2:
        name = dice.choice(["X-Request-Id", "Accept", "Authorization", "traceparent", "Origin", "Accept-Encoding"])
        chosen[name] = dice.choice(["", "x" * 3000, "a b", "Bearer", "*/*"])
    return chosen


class Fuzzer:
    """Concurrent clients that together send a number of requests."""

    def __init__(self, urls: dict[str, str], count: int, seed: int, patience: float) -> None:
        self.urls = urls
        self.left = count
        self.seed = seed
        self.patience = patience
        self.statuses: Counter[int] = Counter()
        self.findings: list[str] = []
        self.lock = threading.Lock()

    def run(self, clients: int) -> None:
        threads = [
            threading.Thread(target=self._client, args=(random.Random(self.seed * 1000 + i),), daemon=True)
            for i in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, dice: random.Random) -> None:
        session = requests.Session()
        while self._take():
            api, method, path, body = self._request(dice)
            start = time.monotonic()
            try:
                got = session.request(method, self.urls[api] + path, data=body, headers=headers(dice), timeout=120)
                self._judge(got, time.monotonic() - start, f"{method} {api}{path} {body[:300]!r}")
            except requests.RequestException as error:
                self._found(f"{error!r}: {method} {api}{path} {body[:300]!r}")

    def _take(self) -> bool:
        with self.lock:
            self.left -= 1
            return self.left >= 0

    def _request(self, dice: random.Random) -> tuple[str, str, str, bytes]:
        if dice.random() < 0.1:
            return (
                dice.choice(APIS),
                dice.choice(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
                dice.choice(PATHS),
                b"{}",
            )
        api, path, body = dice.choice(ROUTES)
        return api, "POST", path, mutate(body, dice)

    def _judge(self, got: requests.Response, took: float, what: str) -> None:
        with self.lock:
            self.statuses[got.status_code] += 1
        if got.status_code >= 500 and got.status_code not in (503, 504):
            self._found(f"status {got.status_code}: {what} -> {got.text[:300]}")
        if took > self.patience:
            self._found(f"{took:.1f} s: {what}")
        if len(got.content) > 3_000_000:
            self._found(f"an answer of {len(got.content)} bytes: {what}")

    def _found(self, text: str) -> None:
        with self.lock:
            self.findings.append(text)


def fuzz(
    urls: dict[str, str], count: int, seed: int, patience: float, clients: int = 4, tell: Callable[[str], None] = print
) -> int:
    """Prints the findings and the statuses, and returns the number of findings."""
    fuzzer = Fuzzer(urls, count, seed, patience)
    fuzzer.run(clients)
    tell(
        f"{sum(fuzzer.statuses.values())} of {count} requests answered, "
        f"statuses {dict(sorted(fuzzer.statuses.items()))}, {len(fuzzer.findings)} findings"
    )
    for finding in fuzzer.findings[:20]:
        tell("  " + finding)
    return len(fuzzer.findings)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--patience", type=float, default=5.0, help="longest wait in seconds on a machine that nothing else uses"
    )
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with Triton(ROOT / "model_repository") as server, Gateway(server.url, ROOT / "model_repository") as gateway:
        gateway.wait_ready(*APIS)
        return 1 if fuzz(gateway.urls, options.requests, options.seed, options.patience) else 0


if __name__ == "__main__":
    sys.exit(main())
