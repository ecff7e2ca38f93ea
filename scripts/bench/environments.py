"""The virtual environments of the benchmarks, in the checkout, with the packages of lock files with hashes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"


def environment(name: str, lock: Path) -> Path:
    """Returns the Python of an environment with exactly the packages of a lock, and installs it if the lock changed."""
    folder = ROOT / name
    python, stamp = folder / "bin" / "python", folder / "stamp"
    wanted = hashlib.sha256(lock.read_bytes() + sys.executable.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"bench | installing {lock.relative_to(ROOT)} into {name}/ (once)", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "-r",
            lock,
        ],
        check=True,
        stdout=sys.stderr,
    )
    stamp.write_text(wanted)
    return python
