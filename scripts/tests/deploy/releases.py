"""Builds releases for the tests, from this checkout and from a copy of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from servers import ROOT

SLOW = 40 * 60
"""Seconds that a build without a cache may take on a busy machine."""


def run(*command: object, folder: Path = ROOT, umask: int = -1, **variables: str) -> str:
    """What a command prints. It must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SLOW,
        umask=umask,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def copy_checkout(target: Path) -> Path:
    """Copies this checkout's files, changes included, and its history."""
    run("git", "clone", "--quiet", "--no-checkout", "--shared", ROOT, target)
    run("git", "reset", "--quiet", folder=target)
    for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink() or (ROOT / name).exists():  # not deleted
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)
    return target


def build(checkout: Path, folder: Path, umask: int = -1, **variables: str) -> Path:
    """Builds a release from a checkout into a folder."""
    options = ("--tools", ROOT / ".cache", "--python-packages", ROOT / ".venv-triton", "--uncommitted")
    run(sys.executable, "-m", "scripts.release", *options, folder, folder=checkout, umask=umask, **variables)
    return folder
