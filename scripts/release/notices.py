"""Writes THIRD-PARTY-NOTICES.txt: every third-party work in the program, with its licence.

python -m scripts.release.notices BINARY     print it; the Dockerfile runs this
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.release import materials
from scripts.release.materials import Material

RULE = "=" * 78
HEADING = """\
Works of others in the program, its packages and its page, with their licences.
The source of a Go module is at https://proxy.golang.org/, that of a Debian package at https://sources.debian.org/.
"""


def text(found: list[Material]) -> str:
    """Returns the notices. Works with the same licence text stand together above it."""
    names: dict[str, list[str]] = {}
    for material in found:
        names.setdefault(material.text.strip(), []).append(f"{material.name} {material.version}".strip())
    parts = [HEADING]
    for licence, works in sorted(names.items(), key=lambda item: item[1]):
        parts.append("\n".join([RULE, *works, RULE, "", licence, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    print(text(materials.find_materials(Path(sys.argv[1]), Path.cwd())), end="")
