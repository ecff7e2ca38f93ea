"""Real servers for the tests: Triton as scripts/triton/serve.py starts it, and the gateway of this checkout.

Each ends with its `with` block. If the tests are killed, Linux ends the processes that they started (setpriv
--pdeathsig).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests
import tritonclient.grpc as grpc
from waiting import PATIENCE, wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
READY = re.compile(r"ready in [\d.]+ s on grpc (\S+), http (\S+), metrics")
MAX_LINES = 20_000
"""The most lines of output of a server that are kept: the last ones."""


class Process:
    """A process whose output is collected. The end of its `with` block ends it and all that it started."""

    def __init__(self, command: list[str], variables: dict[str, str]) -> None:
        self.lines: deque[str] = deque(maxlen=MAX_LINES)
        leash = ["setpriv", "--pdeathsig", "TERM", "--"] if shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            [*leash, *command],
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            self.on_line(line)
        self.on_line("")

    def on_line(self, line: str) -> None:
        """Called with each line, and with an empty one at the end."""

    def output(self) -> str:
        """The lines so far, as one text."""
        return "\n".join(list(self.lines))

    def processes(self) -> list[int]:
        """The ids of this process and its descendants, without those of dead parents."""
        parent_of, pids = parents(), [self.process.pid]
        for pid in pids:
            pids += [child for child, parent in parent_of.items() if parent == pid]
        return pids

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Ends the process and returns its exit status. Kills it and raises an error if it ignores the signal."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(PATIENCE)
        except BaseException:
            for pid in reversed(self.processes()):
                kill(pid)
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Triton(Process):
    """A tritonserver, started by the launcher as an operator would."""

    url = http = ""

    def __init__(self, repository: Path, control: str = "watch", address: str = "", **variables: str) -> None:
        """address: the gRPC address of an earlier server that this one replaces."""
        self.repository = repository
        self.started = threading.Event()
        if address:
            variables |= {
                "RETORT_TRITON_GRPC_PORT": address.rpartition(":")[2],
                "RETORT_TRITON_HTTP_PORT": "0",
                "RETORT_TRITON_METRICS_PORT": "0",
            }
        super().__init__(
            [
                sys.executable,
                str(ROOT / "scripts/triton/serve.py"),
                "--ports",
                "set" if address else "free",
                "--repository",
                str(repository),
                "--control",
                control,
            ],
            {"RETORT_TRITON_READY_SECONDS": str(PATIENCE), **variables},
        )
        try:
            assert self.started.wait(2 * PATIENCE) and self.url, f"the launcher did not start Triton:\n{self.output()}"
        except BaseException:
            self.stop()
            raise
        self.client = grpc.InferenceServerClient(self.url)

    def on_line(self, line: str) -> None:
        match = READY.search(line)
        if match:
            self.url, self.http = match.groups()
        if match or not line:
            self.started.set()

    def states(self) -> dict[str, str]:
        """The states in the repository index, by `model/version`."""
        index = self.client.get_model_repository_index()
        return {f"{m.name}/{m.version}": m.state for m in index.models}


def add_backend(folder: Path, name: str, code: Path) -> Path:
    """Copies the backends of the local Triton into a folder, and adds one based on Python. Returns the folder."""
    subprocess.run([sys.executable, ROOT / "scripts/triton/serve.py", "--prepare"], check=True)
    shutil.copytree(ROOT / ".cache/triton/backends", folder, dirs_exist_ok=True)
    (folder / name).mkdir()
    shutil.copy(code, folder / name / "model.py")
    return folder


def parents() -> dict[int, int]:
    """The parent of every process of this machine, by process id."""
    parent_of = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent_of[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    return parent_of


def kill(pid: int) -> None:
    """Kills a process, which may have ended already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Runs an HTTP server in this process during a with block and yields its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


APIS = ("latent", "masked", "embedding", "ranking", "chat")


class Gateway(Process):
    """The program on free ports, in front of a Triton."""

    before: tuple[str, ...] = ()
    """A command that starts the program, such as one that limits it."""
    program = ROOT / "bin/retort"

    def __init__(self, triton: str, repository: Path, **variables: str) -> None:
        main, *api_ports = free_ports(1 + len(APIS))
        self.triton = triton
        self.repository = repository
        self.url = f"http://127.0.0.1:{main}"
        self.urls = {api: f"http://127.0.0.1:{port}" for api, port in zip(APIS, api_ports)}
        ports = {f"RETORT_{api.upper()}_PORT": str(port) for api, port in zip(APIS, api_ports)}
        super().__init__(
            [*self.before, str(self.program), "serve"],
            {
                "RETORT_HOST": "127.0.0.1",
                "RETORT_PORT": str(main),
                **ports,
                "RETORT_TRITON_URL": triton,
                "RETORT_MODEL_REPOSITORY": str(repository),
                "RETORT_JOBS": "false",
                **variables,
            },
        )
        try:
            wait_for(
                "the gateway answers, or has ended", lambda: self.process.poll() is not None or self.live(), self.output
            )
            assert self.process.poll() is None, f"the gateway did not start:\n{self.output()}"
        except BaseException:
            self.stop()
            raise

    def live(self) -> bool:
        return requests.get(f"{self.url}/v1/health/live", timeout=PATIENCE).ok

    def ready(self, api: str) -> bool:
        return requests.get(f"{self.url}/{api}/v1/health/ready", timeout=PATIENCE).status_code == 200

    def wait_ready(self, *apis: str) -> None:
        """Waits until the APIs can serve."""
        for api in apis:
            wait_for(f"the {api} API is ready", lambda api=api: self.ready(api), self.output)


def free_ports(count: int) -> list[int]:
    """Distinct ports that nobody listens on at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
