"""Real servers for the tests: each is scripts/triton/serve.py with a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import requests
import tritonclient.grpc as grpc

ROOT = Path(__file__).resolve().parent.parent.parent
READY = re.compile(r"ready in [\d.]+ s on grpc (\S+), http (\S+), metrics")


class Triton:
    """A tritonserver of its own, started by the launcher as an operator would."""

    def __init__(self, repository: Path, control: str = "watch", address: str = "", **variables: str) -> None:
        self.repository = repository
        self.lines: list[str] = []
        if address:  # gRPC where another one was
            variables |= {"RETORT_TRITON_GRPC_PORT": address.rpartition(":")[2],
                          "RETORT_TRITON_HTTP_PORT": "0", "RETORT_TRITON_METRICS_PORT": "0"}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--ports", "set" if address else "free",
             "--repository", str(repository), "--control", control],
            env={**os.environ, **variables}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.started = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        if not self.started.wait(300) or not self.url:
            self.stop()
            raise RuntimeError("the launcher did not start Triton:\n" + "\n".join(self.lines))
        self.client = grpc.InferenceServerClient(self.url)

    url = http = None

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line.rstrip())
            if found := READY.search(line):
                self.url, self.http = found.groups()
                self.started.set()
        self.started.set()

    def stop(self, how: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(60)

    def processes(self) -> list[int]:
        """The launcher and everything it started, stubs too: all that carry its process group or parent."""
        children, found = parents(), [self.process.pid]
        for pid in found:
            found += [child for child, parent in children.items() if parent == pid]
        return found

    def states(self) -> dict[str, str]:
        """State by `model/version`, of what the repository index shows."""
        index = self.client.get_model_repository_index()
        return {f"{m.name}/{m.version}": m.state for m in index.models}


def parents() -> dict[int, int]:
    """Parent of every process of this machine."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    return found


def eventually(condition, seconds: float = 20) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return bool(condition())


@pytest.fixture
def triton(tmp_path):
    """Starts servers, which end with the test: triton(repository, control=..., VARIABLE=...)."""
    servers = []

    def start(repository: Path, **options: str) -> Triton:
        servers.append(Triton(repository, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="module")
def shipped():
    """The repository of this checkout on a real server, for tests that only ask."""
    url = os.environ.get("RETORT_TEST_TRITON_URL")
    if url:
        yield grpc.InferenceServerClient(url)
        return
    server = Triton(ROOT / "model_repository", control="explicit")
    yield server.client
    server.stop()


APIS = ("latent", "masked", "embedding", "ranking", "chat")


class Gateway:
    """The program of this checkout on free ports, in front of a Triton."""

    def __init__(self, triton: str, repository: Path, **variables: str) -> None:
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(1 + len(APIS))]
        main, *own = (s.getsockname()[1] for s in sockets)
        for s in sockets:
            s.close()
        self.triton, self.repository = triton, repository
        self.url = f"http://127.0.0.1:{main}"
        self.urls = {api: f"http://127.0.0.1:{port}" for api, port in zip(APIS, own)}
        ports = {f"RETORT_{api.upper()}_PORT": str(port) for api, port in zip(APIS, own)}
        self.log: list[str] = []
        self.process = subprocess.Popen(
            [str(ROOT / "bin/retort"), "serve"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "RETORT_HOST": "127.0.0.1", "RETORT_PORT": str(main), **ports, "RETORT_TRITON_URL": triton,
                 "RETORT_MODEL_REPOSITORY": str(repository), **variables})
        threading.Thread(target=lambda: self.log.extend(self.process.stdout), daemon=True).start()
        if not eventually(self.live):
            self.stop()
            raise RuntimeError("the gateway did not start:\n" + "".join(self.log))

    def live(self) -> bool:
        try:
            return requests.get(f"{self.url}/v1/health/live", timeout=5).ok
        except requests.ConnectionError:
            return False

    def ready(self, api: str) -> bool:
        return requests.get(f"{self.url}/{api}/v1/health/ready", timeout=5).status_code == 200

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(60)


@pytest.fixture(scope="session")
def stack():
    """Gateway and Triton with the repository of this checkout, for tests that only ask."""
    url, repository, server = os.environ.get("RETORT_TEST_TRITON_URL"), ROOT / "model_repository", None
    if not url:
        server = Triton(repository)
        url = server.url
    gateway = Gateway(url, repository)
    assert eventually(lambda: gateway.ready("embedding"), 60), "".join(gateway.log)
    yield gateway
    assert gateway.stop() == 0, "".join(gateway.log)
    if server:
        server.stop()


@pytest.fixture(scope="session")
def gateway_url(stack) -> str:
    """The main port."""
    return stack.url


@pytest.fixture(scope="session")
def embedding_url(stack) -> str:
    """The embedding API's own port."""
    return stack.urls["embedding"]


@pytest.fixture(scope="session")
def ranking_url(stack) -> str:
    """The ranking API's own port."""
    return stack.urls["ranking"]


@pytest.fixture(scope="session")
def chat_url(stack) -> str:
    """The chat API's own port."""
    return stack.urls["chat"]
