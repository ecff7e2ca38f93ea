"""Measures what `make run` costs in a new clone: seconds until every API is ready, memory and disk.

    make bench PART=start

The first run starts with empty caches of Go and pip, so it downloads all Go modules and Python packages. Debian's
packages are not installed by it: they must be there (`make deps`). Memory is the proportional set size, in which
processes share what they have in common, after one call of each API.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from servers import APIS, ROOT, Server, free_ports, post

SECONDS = 3600
"""Upper bound of a start."""
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
        {"model": "retort/molecule-reader-v3", "messages": [{"role": "user", "content": "What can you do?"}]},
    ),
}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory(prefix="retort-bench-start-") as scratch:
        folder, caches = Path(scratch, "retort"), Path(scratch, "caches")
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder], check=True)
        history = size(folder / ".git")
        files = size(folder) - history
        first, _ = start(folder, caches)
        second, memory = start(folder, caches)
        environment, modules = size(folder / ".venv-triton"), size(caches)
        subprocess.run(["chmod", "-R", "u+w", caches], check=True)  # Go's module cache is read-only
        shutil.rmtree(caches)
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
    with Server("start", ["make", "run"], variables, url, "/v1/health/live", SECONDS, folder) as server:
        for api in APIS:
            server.wait(f"{url}/{api}/v1/health/ready", SECONDS)
        seconds = time.monotonic() - began
        for api, (path, body) in CALLS.items():
            post(f"http://127.0.0.1:{api_ports[api]}{path}", body)
        return seconds, memory(server.process.pid)


def memory(root: int) -> dict[str, float]:
    """The proportional set sizes, in MB, of the gateway and of Triton's processes among the descendants of root."""
    parents = {int(stat.parent.name): int(stat.read_text().rpartition(")")[2].split()[1]) for stat in stats()}
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
    return found


def stats() -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]


def proportional_set_size(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6


def size(folder: Path) -> float:
    """The disk space of a folder in MB (10^6 bytes)."""
    done = subprocess.run(["du", "-sB1", folder], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0]) / 1e6


if __name__ == "__main__":
    os.umask(0o022)
    main()
