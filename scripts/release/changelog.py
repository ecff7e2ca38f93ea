"""Prints the section of a version in the changelog, which becomes the notes of its release.

python -m scripts.release.changelog VERSION
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[2] / "orchestrator/CHANGELOG.md"


def section(text: str, version: str) -> str:
    """Returns the text below the heading of a version, `## [X.Y.Z] - DATE` or `## X.Y.Z`. ValueError: there is none."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2]):
        if re.match(rf"\[?v?{re.escape(version)}(?![\w.-])", heading) and body.strip():
            return body.strip() + "\n"
    raise ValueError(f"orchestrator/CHANGELOG.md has no text below a heading ## [{version}]")


if __name__ == "__main__":
    try:
        print(section(CHANGELOG.read_text(), sys.argv[1]), end="")
    except ValueError as error:
        sys.exit(str(error))
