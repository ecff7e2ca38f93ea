"""Checks the commits of the actions in .github/workflows: each must be the commit of the tag in its comment.

    python -m scripts.lint.pins [--forge https://github.com]

Asks the forge, so it needs network: the workflow Security runs it. scripts/tests/test_workflows.py checks the form of
the pins without it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

WORKFLOWS = Path(__file__).resolve().parents[2] / ".github/workflows"
PIN = re.compile(r"uses: ([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", re.MULTILINE)


def pins(folder: Path) -> set[tuple[str, str, str]]:
    """Repository, commit and tag of each action."""
    return {pin for file in folder.glob("*.yml") for pin in PIN.findall(file.read_text())}


def commit_of(repository: str, tag: str, forge: str) -> str:
    """The commit of a tag, or "" if the repository has no such tag."""
    command = ["git", "ls-remote", f"{forge}/{repository}", f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}"]
    lines = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()
    # An annotated tag has two lines; the last is its commit.
    return lines[-1].split()[0] if lines else ""


def wrong(folder: Path, forge: str) -> list[str]:
    """The pins whose commit is not that of their tag, one line each."""
    lines = []
    for repository, commit, tag in sorted(pins(folder)):
        found = commit_of(repository, tag, forge)
        if found != commit:
            lines.append(f"{repository}: {tag} is {found or 'no tag'}, the workflows have {commit}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forge", default="https://github.com")
    if lines := wrong(WORKFLOWS, parser.parse_args().forge):
        sys.exit("\n".join(lines))


if __name__ == "__main__":
    main()
