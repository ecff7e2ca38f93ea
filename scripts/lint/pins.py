"""Checks that every action in .github/workflows is pinned to the commit of the tag in the comment beside it.

    python -m scripts.lint.pins [--forge https://github.com]

It asks the forge for the tags' commits, so it needs network access; the workflow Security runs it.
scripts/tests/test_workflows.py checks the form of the pins offline.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

WORKFLOWS = Path(__file__).resolve().parents[2] / ".github/workflows"
PIN = re.compile(r"uses: ([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", re.MULTILINE)


def find_pins(folder: Path) -> set[tuple[str, str, str]]:
    """Returns the repository, commit and tag of each pinned action. LookupError: the folder has none."""
    found = {pin for file in folder.glob("*.yml") for pin in PIN.findall(file.read_text())}
    if not found:
        raise LookupError(f"{folder}/*.yml: no action is pinned as OWNER/NAME@COMMIT # vX.Y.Z")
    return found


def find_commit(repository: str, tag: str, forge: str) -> str:
    """Asks the forge for the commit of a tag. Returns "" if the repository has no such tag."""
    command = ["git", "ls-remote", f"{forge}/{repository}", f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}"]
    lines = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    # An annotated tag has two lines: the tag object, then the commit that it points to (^{}).
    return lines[-1].split()[0] if lines else ""


def find_problems(folder: Path, forge: str) -> list[str]:
    """Returns one line for each pin whose commit is not the tag's."""
    lines = []
    for repository, commit, tag in sorted(find_pins(folder)):
        found = find_commit(repository, tag, forge)
        if found != commit:
            lines.append(f"{repository}: {tag} is {found or 'no tag'}, but the workflows pin {commit}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forge", default="https://github.com")
    if lines := find_problems(WORKFLOWS, parser.parse_args().forge):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
