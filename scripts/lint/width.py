"""Lists lines of Go and C++ over 120 columns: `make lint` runs this. Ruff checks Python.

    python -m scripts.lint.width [FILE ...]

A tab counts 4 columns. A line may be longer if it fits without its longest string literal, struct tag or URL, which
cannot be wrapped. Generated files are skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

COLUMNS = 120
TAB = 4
SUFFIXES = (".go", ".cc", ".cpp", ".hpp", ".h")
GENERATED = re.compile(r"^// Code generated .* DO NOT EDIT\.$", re.MULTILINE)
# A string, the start of a raw string that continues on other lines, or a URL.
UNBREAKABLE = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`?|https?://\S+')


def is_too_wide(line: str) -> bool:
    """Reports whether a line without its longest unbreakable part is over COLUMNS."""
    width = len(line.expandtabs(TAB))
    longest = max((len(part) for part in UNBREAKABLE.findall(line)), default=0)
    return width - longest > COLUMNS


def too_wide(text: str) -> list[int]:
    """Returns the numbers of lines that are too wide, none for generated text."""
    if GENERATED.search(text):
        return []
    return [number for number, line in enumerate(text.splitlines(), 1) if is_too_wide(line)]


def main() -> None:
    files = (
        sys.argv[1:]
        or subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
    )
    status = 0
    for name in files:
        if not name.endswith(SUFFIXES) or not Path(name).exists():
            continue
        for number in too_wide(Path(name).read_text()):
            print(f"{name}:{number}: over {COLUMNS} columns")
            status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
