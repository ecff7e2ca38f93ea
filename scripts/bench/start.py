"""Measures what `make run` costs in a new clone: seconds until every API is ready, memory and disk.

    make bench PART=start

The first run starts with empty caches of Go and pip, so it downloads all Go modules and Python packages. Debian
packages must be installed before (`make deps`). Memory is the proportional set size (PSS) after one call of each API:
a page that several processes share counts in equal parts for each of them.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
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
        {"model": "retort/molecule-reader-v5", "messages": [{"role": "user", "content": "What can you do?"}]},
    ),
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory(prefix="retort-bench-start-") as scratch:
        folder, caches = Path(scratch, "retort"), Path(scratch, "caches")
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
        history = disk_size(folder / ".git")
        files = disk_size(folder) - history
        first, _ = start(folder, caches)
        second, memory = start(folder, caches)
        environment, modules = disk_size(folder / ".venv-triton"), disk_size(caches)
        subprocess.run(["chmod", "-R", "u+w", caches], check=True)  # Go's module cache is read-only
    print("| measured | result |\n| --- | --- |")
    print(f"| first `make run`, with all downloads, until every API is ready | {first:.0f} s |")
    print(f"| second | {second:.0f} s |")
    print(f"| memory after a call of each API: gateway | {memory['retort']:.0f} MB |")
    print(f"| the same: Triton with all models | {memory['triton']:.0f} MB |")
    print(f"| disk: files of the checkout | {files:.0f} MB |")
    print(f"| disk: history of the clone | {history:.0f} MB |")
    print(f"| disk: Python packages of the local Triton | {environment:.0f} MB |")
    print(f"| disk: caches of Go and pip | {modules:.0f} MB |")


def start(folder: Path, caches: Path) -> tuple[float, dict[str, float]]:
    """Runs `make run`; returns the seconds until every API is ready, and the memory of both programs in MB."""
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
        for api in APIS:
            server.wait(f"{url}/{api}/v1/health/ready", START_TIMEOUT)
        seconds = time.monotonic() - began
        for api, (path, body) in CALLS.items():
            post(f"http://127.0.0.1:{api_ports[api]}{path}", body)
        return seconds, measure_memory(server.process.pid)


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
        names = {Path(f"/proc/{ancestor}/comm").read_text().strip() for ancestor in ancestors if ancestor > 1}
        if root in ancestors:
            for name in found:
                if any(name in other for other in names):
                    found[name] += proportional_set_size(pid)
                    break
    if missing := [name for name, megabytes in found.items() if not megabytes]:
        raise LookupError(f"process {root} has no descendant named {' or '.join(missing)}")
    return found


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
