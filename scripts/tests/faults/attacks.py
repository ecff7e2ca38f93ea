"""Requests of hostile or careless clients, and the measurement of the gateway's memory during them."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import requests
from servers import Gateway
from waiting import PATIENCE

EMBEDDING = "sentence-transformers/all-MiniLM-L6-v2"
RANKING = "retort/rankqa-minilm-v2"
CHAT = "retort/molecule-reader-v8"


def connect(url: str) -> socket.socket:
    """A connection to an address such as http://127.0.0.1:8003."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)


def head(path: str, length: int, method: str = "POST") -> bytes:
    """The request line and headers for a JSON body of this many bytes."""
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    return head.encode()


def answer(sock: socket.socket) -> bytes:
    """All bytes that the server sends until it closes or resets the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := sock.recv(1 << 16):
            received += piece
    return received


def repeated(item: str, size: int) -> str:
    """Comma-separated items of about this many bytes together."""
    return ",".join([item] * (size // (len(item) + 1)))


class Memory:
    """The resident memory of a process in MiB."""

    def __init__(self, pid: int) -> None:
        self.folder = Path(f"/proc/{pid}")

    def _field(self, name: str) -> float:
        for line in (self.folder / "status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) / 1024
        raise AssertionError(f"no {name} in {self.folder}/status")

    def now(self) -> float:
        return self._field("VmRSS:")

    @contextlib.contextmanager
    def peak(self) -> Iterator[Callable[[], float]]:
        """Yields a function that returns the peak since the start of the with block."""
        (self.folder / "clear_refs").write_text("5")  # resets the peak: proc(5)
        yield lambda: self._field("VmHWM:")


def program(gateway: Gateway) -> int:
    """The process id of the gateway, a child of the process that limits it."""
    for pid in gateway.processes():
        if Path(f"/proc/{pid}/comm").read_text().strip() == "retort":
            return pid
    raise AssertionError(f"no gateway runs:\n{gateway.output()}")


class Bystander:
    """A client that sends small requests one after the other. waits are in seconds."""

    def __init__(self, url: str, path: str, body: dict) -> None:
        self.request = (url + path, json.dumps(body))
        self.waits: list[float] = []
        self.failures: list[str] = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        session = requests.Session()
        url, body = self.request
        while not self.ended.wait(0.05):
            start = time.monotonic()
            try:
                status = session.post(
                    url, data=body, headers={"Content-Type": "application/json"}, timeout=PATIENCE
                ).status_code
                if status != 200:
                    self.failures.append(f"status {status}")
            except requests.RequestException as error:
                self.failures.append(repr(error))
            self.waits.append(time.monotonic() - start)

    def __enter__(self) -> Bystander:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join(PATIENCE)

    def p99(self) -> float:
        """The 99th percentile of the waits."""
        ordered = sorted(self.waits)
        return ordered[max(0, round(0.99 * len(ordered)) - 1)]


def single(gateway: Gateway) -> Bystander:
    """A client that embeds short texts, one after the other."""
    return Bystander(gateway.urls["embedding"], "/v1/embeddings", {"model": EMBEDDING, "input": "What eases pain?"})
