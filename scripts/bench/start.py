"""Measures what `make run` costs in a new clone: seconds until the APIs are ready and answer, memory and disk.

    make bench PART=start

The first run starts with empty caches of Go and pip, so it downloads all Go modules and Python packages. Debian
packages must be installed before (`make deps`). Memory is the proportional set size (PSS): a page that several
processes share counts in equal parts for each of them. The times in which Triton loads its models are from its log; it
loads all of them at once.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from servers import APIS, ROOT, Server, free_ports, post

START_TIMEOUT = 3600
"""Seconds until every API must be ready."""
CALLS = {
    "latent": ("/generate", {"smi": "CC(Cc1ccc(cc1)C(C(=O)O)C)C", "num_molecules": 5, "min_similarity": 0.4}),
    "masked": ("/generate", {"num_molecules": 30}),
    "embedding": (
        "/v1/embeddings",
        {"model": "retort/minilm-embedqa-v2", "input": ["What eases pain?"] * 32, "input_type": "query"},
    ),
    "ranking": ("/v1/ranking", {"query": {"text": "What eases pain?"}, "passages": [{"text": "Aspirin."}] * 32}),
    "chat": (
        "/v1/chat/completions",
        {"model": "retort/molecule-reader-v8", "messages": [{"role": "user", "content": "What can you do?"}]},
    ),
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory(prefix="retort-bench-start-") as scratch:
        folder, caches = Path(scratch, "retort"), Path(scratch, "caches")
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
        history = disk_size(folder / ".git")
        files = disk_size(folder) - history
        with start(folder, caches) as run:
            first = run.wait_ready()
        with start(folder, caches) as run:
            second = run.wait_ready()
            at_rest = measure_memory(run.server.process.pid)
            for api in CALLS:
                run.call(api)
            memory = measure_memory(run.server.process.pid)
        with start(folder, caches) as run, ThreadPoolExecutor() as pool:
            answered = dict(zip(CALLS, pool.map(run.wait_answer, CALLS)))
        loaded = load_times(folder)
        environment, modules = disk_size(folder / ".venv-triton"), disk_size(caches)
        subprocess.run(["chmod", "-R", "u+w", caches], check=True)  # Go's module cache is read-only
    print("| measured | result |\n| --- | --- |")
    print(f"| first `make run`, with all downloads, until every API is ready | {first:.0f} s |")
    print(f"| second | {second:.0f} s |")
    print(f"| the same, until the first answer | {seconds_of(answered)} |")
    print(f"| Triton loads, all at once | {seconds_of(loaded)} |")
    print(f"| memory before any call: gateway | {at_rest['retort']:.0f} MB |")
    print(f"| memory before any call: Triton with all models | {at_rest['triton']:.0f} MB |")
    print(f"| memory after a call of each API: gateway | {memory['retort']:.0f} MB |")
    print(f"| the same: Triton with all models | {memory['triton']:.0f} MB |")
    print(f"| disk: files of the checkout | {files:.0f} MB |")
    print(f"| disk: history of the clone | {history:.0f} MB |")
    print(f"| disk: Python packages of the local Triton | {environment:.0f} MB |")
    print(f"| disk: caches of Go and pip | {modules:.0f} MB |")


def seconds_of(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times.items())


class Run:
    """A `make run` that began at `began`."""

    def __init__(self, server: Server, api_ports: dict[str, int], began: float) -> None:
        self.server, self.api_ports, self.began = server, api_ports, began

    def wait_ready(self) -> float:
        """Waits until every API is ready, and returns the seconds since the start."""
        for api in APIS:
            self.server.wait(f"{self.server.url}/{api}/v1/health/ready", START_TIMEOUT)
        return time.monotonic() - self.began

    def call(self, api: str) -> None:
        path, body = CALLS[api]
        post(f"http://127.0.0.1:{self.api_ports[api]}{path}", body)

    def wait_answer(self, api: str) -> float:
        """Calls an API until it answers, and returns the seconds since the start."""
        while True:
            try:
                self.call(api)
                return time.monotonic() - self.began
            except OSError:
                if time.monotonic() > self.began + START_TIMEOUT:
                    raise
                time.sleep(0.05)


@contextmanager
def start(folder: Path, caches: Path) -> Iterator[Run]:
    """Runs `make run` until its ports listen, and ends it at the end of the context."""
    main_port, *ports = free_ports(1 + len(APIS) + 3)
    api_ports = dict(zip(APIS, ports))
    variables = {f"RETORT_{api.upper()}_PORT": str(port) for api, port in api_ports.items()} | {
        f"RETORT_TRITON_{name}_PORT": str(port) for name, port in zip(("GRPC", "HTTP", "METRICS"), ports[len(APIS) :])
    }
    variables |= {
        "RETORT_HOST": "127.0.0.1",
        "RETORT_PORT": str(main_port),
        "RETORT_JOBS_DATA": str(caches / "jobs"),
        "GOCACHE": str(caches / "go-build"),
        "GOMODCACHE": str(caches / "go-mod"),
        "PIP_CACHE_DIR": str(caches / "pip"),
    }
    url = f"http://127.0.0.1:{main_port}"
    began = time.monotonic()
    with Server("start", ["make", "run"], variables, url, "/v1/health/live", START_TIMEOUT, folder) as server:
        yield Run(server, api_ports, began)


LOADING = re.compile(r"I\d{4} (\S+) .*\"loading: (\w+):\d+\"", re.MULTILINE)
LOADED = re.compile(r"I\d{4} (\S+) .*\"successfully loaded '(\w+)'\"", re.MULTILINE)


def load_times(folder: Path) -> dict[str, float]:
    """Starts only the local Triton, and returns the seconds in which it loaded each model."""
    command = [sys.executable, str(folder / "scripts" / "triton" / "serve.py"), "--verbose", "--", "true"]
    log = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
    begun = {model: clock(text) for text, model in LOADING.findall(log)}
    return {model: (clock(text) - begun[model]).total_seconds() for text, model in LOADED.findall(log)}


def clock(text: str) -> datetime:
    return datetime.strptime(text, "%H:%M:%S.%f")


def measure_memory(root: int) -> dict[str, float]:
    """Returns the PSS (MB, 10^6 bytes) of the gateway and of Triton's processes among the descendants of a process.

    LookupError: one of the two is not among them.
    """
    parents = {int(stat.parent.name): int(stat.read_text().rpartition(")")[2].split()[1]) for stat in stat_files()}
    found = {"retort": 0.0, "triton": 0.0}
    for pid in parents:
        ancestors = [pid]
        while ancestors[-1] in parents:
            ancestors.append(parents[ancestors[-1]])
        if root in ancestors:
            names = {process_name(ancestor) for ancestor in ancestors if ancestor > 1}
            for name in found:
                if any(name in other for other in names):
                    found[name] += proportional_set_size(pid)
                    break
    if missing := [name for name, megabytes in found.items() if not megabytes]:
        raise LookupError(f"process {root} has no descendant named {' or '.join(missing)}")
    return found


def process_name(pid: int) -> str:
    """Returns the name of a process, or "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def stat_files() -> list[Path]:
    """Returns /proc/PID/stat of every process."""
    return [path for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]


def proportional_set_size(pid: int) -> float:
    """Returns the PSS of a process in MB (10^6 bytes)."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6


def disk_size(folder: Path) -> float:
    """Returns the disk space that a folder takes, in MB (10^6 bytes)."""
    done = subprocess.run(["du", "-sB1", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1e6


if __name__ == "__main__":
    main()
