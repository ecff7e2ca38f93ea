"""Runs a tritonserver process: its command line, output, readiness and shutdown."""

from __future__ import annotations

import collections
import ctypes
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from environment import BACKENDS, Environment, say

# Lines about absent NVIDIA hardware, which are not shown where there is none.
NOISE = re.compile(
    r"NVML|DCGM|CudaDriverHelper|CUDA memory pool|pinned memory|Unable to allocate pinned|libcuda"
    r"|Failed to get.*GPU|CUDA driver"
)

# Loaded before any fork, because a child of a process with threads must not load libraries.
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1

# APIs that no client may use. Published attacks on this release need shared memory, which newer releases disable by
# default; traces and logs are for the operator.
RESTRICTED = "shared-memory,trace,logging"

# The header with the key that HTTP requests need to load, unload or list models. Without it, a web page in a browser
# on this machine could load a model with code.
CONTROL_HEADER = "X-Retort-Control"

# Seconds that a stopping server has to finish its requests before it is killed.
GRACE_SECONDS = 15


@dataclass
class Options:
    repository: Path
    host: str = "127.0.0.1"
    grpc: int = 8701
    http: int = 8700
    metrics: int = 8702
    control: str = "explicit"
    models: tuple[str, ...] = ("*",)  # to load at the start, if control is explicit; "*": all
    verbose: bool = False
    control_key: str = field(default_factory=lambda: secrets.token_hex(16))
    extra: list[str] = field(default_factory=list)


def free_ports(count: int) -> list[int]:
    """Returns different ports that are not in use now."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """A tritonserver process, which can be started again after it has ended."""

    def __init__(self, environment: Environment, options: Options) -> None:
        self.options = options
        self.environment = environment
        self.tail: collections.deque[str] = collections.deque(maxlen=40)
        self.shared_memory = f"retort-triton-{os.getpid()}-"
        self.process: subprocess.Popen | None = None

    def command(self) -> list[str]:
        o = self.options
        command = [
            str(self.environment.server),
            f"--model-repository={o.repository}",
            f"--backend-directory={os.environ.get('RETORT_TRITON_BACKENDS') or BACKENDS}",
            f"--grpc-address={o.host}",
            f"--http-address={o.host}",
            f"--metrics-address={o.host}",
            f"--grpc-port={o.grpc}",
            f"--http-port={o.http}",
            f"--metrics-port={o.metrics}",
            f"--backend-config=python,shm-region-prefix-name={self.shared_memory}",
            "--exit-on-error=false",
            "--strict-readiness=false",
            f"--exit-timeout-secs={GRACE_SECONDS - 5}",
            *(
                f"--{option}={RESTRICTED}:retort={secrets.token_hex(16)}"
                for option in ("http-restricted-api", "grpc-restricted-protocol")
            ),
            f"--http-restricted-api=model-repository:{CONTROL_HEADER}={o.control_key}",
            "--allow-gpu-metrics=false",
            f"--log-verbose={int(o.verbose)}",
            f"--model-control-mode={o.control}",
        ]
        if o.control == "explicit":
            command += [f"--load-model={model}" for model in o.models]
        if o.control == "poll":
            command.append("--repository-poll-secs=1")
        return command + o.extra

    def start(self) -> None:
        for port in (self.options.grpc, self.options.http, self.options.metrics):
            check_port(self.options.host, port)
        sweep_shared_memory()
        process = self.process = subprocess.Popen(
            self.command(),
            env=self.environment.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        threading.Thread(target=self._pump, args=(process.stdout,), daemon=True).start()

    def _pump(self, lines: IO[str]) -> None:
        """Logs important lines of the server, and keeps the last lines for error messages."""
        for line in lines:
            line = line.rstrip()
            if line and not line.startswith(("+", "|")):
                self.tail.append(line)
            noise = NOISE.search(line) and not shutil.which("nvidia-smi")
            if line and not noise and (self.options.verbose or is_important(line)):
                say(line.partition("\\n\\nAt:")[0])

    def wait_ready(self, timeout: float) -> None:
        """Waits until the server has loaded, or failed to load, every model.

        RuntimeError, with the server's last lines: it ended, or was not ready within timeout seconds.
        """
        process = self.running()
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(self.failure(f"tritonserver ended with status {process.returncode}"))
            if status(self.options, "GET", "/v2/health/ready") == 200:
                return
            time.sleep(0.1)
        raise RuntimeError(self.failure(f"tritonserver was not ready after {timeout:.0f} s"))

    def running(self) -> subprocess.Popen:
        """Returns the process. RuntimeError: it was not started."""
        if self.process is None:
            raise RuntimeError("tritonserver was not started")
        return self.process

    def failure(self, reason: str) -> str:
        """Returns the reason, followed by the server's last lines."""
        time.sleep(0.2)
        return "\n".join([f"{reason}. Its last lines:", *(f"    {line}" for line in self.tail)])

    def stop(self) -> int:
        """Terminates the server, kills it after GRACE_SECONDS, and removes its stubs and shared memory.

        Returns its exit status.
        """
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                say(f"tritonserver did not end within {GRACE_SECONDS} s and is killed")
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        code = self.process.wait()
        remove_shared_memory(self.shared_memory)
        return code


def status(options: Options, method: str, path: str) -> int:
    """Returns the HTTP status of a call, or 0 if there is no answer."""
    return call(options, method, path)[0]


def call(options: Options, method: str, path: str, body: object = None, timeout: float = 600) -> tuple[int, Any]:
    """Calls Triton's HTTP API, and returns status and decoded body, or status 0 if there is no answer."""
    connection = http.client.HTTPConnection(options.host, options.http, timeout=timeout)
    try:
        connection.request(
            method, path, body=None if body is None else json.dumps(body), headers={CONTROL_HEADER: options.control_key}
        )
        response = connection.getresponse()
        text = response.read()
        return response.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, json.JSONDecodeError):
        return 0, None
    finally:
        connection.close()


def is_important(line: str) -> bool:
    """Reports whether a line is a warning or an error, and not a table or a line of a normal start."""
    return re.match(r"[WEF]\d{4} ", line) is not None or not re.match(r"[I]\d{4} |[+|]", line)


def check_port(host: str, port: int) -> None:
    """RuntimeError: the port is in use, or the host is not of this machine."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, port))
        except OSError as error:
            raise RuntimeError(f"{host}:{port} cannot be listened on: {error.strerror}") from error


def die_with_parent() -> None:
    """Makes Linux send SIGTERM to the server if this process is killed."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def remove_shared_memory(prefix: str) -> None:
    for file in Path("/dev/shm").glob(f"{prefix}*"):
        file.unlink(missing_ok=True)


def sweep_shared_memory() -> None:
    """Removes the shared memory of servers whose launcher was killed."""
    for file in Path("/dev/shm").glob("retort-triton-*"):
        launcher = file.name.split("-")[2]
        if launcher.isdigit() and not Path("/proc", launcher).exists():
            file.unlink(missing_ok=True)
