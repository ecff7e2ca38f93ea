"""Real servers for the tests: each is scripts/triton/serve.py with a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import tritonclient.grpc as grpc

ROOT = Path(__file__).resolve().parent.parent.parent
READY = re.compile(r"ready in [\d.]+ s on grpc (\S+), http (\S+), metrics")


class Triton:
    """A tritonserver of its own, started by the launcher as an operator would."""

    def __init__(self, repository: Path, control: str = "watch", **variables: str) -> None:
        self.repository = repository
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--ports", "free",
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
