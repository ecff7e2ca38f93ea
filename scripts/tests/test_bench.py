"""make bench UPDATE=1 writes the figures of one commit, and goes on when a part fails."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from servers import ROOT

from scripts import sections


def git(clone: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    command = ["git", *settings, *arguments]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with the program of make bench, whose part start prints a figure."""
    bench = tmp_path / "scripts" / "bench"
    bench.mkdir(parents=True)
    for name in ("bench/run.py", "bench/servers.py", "bench/environments.py", "sections.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (bench / "start.py").write_text("print('a figure')\n")
    (bench / "SPEED.md").write_text("<!-- large -->\n<!-- end of large -->\n<!-- start -->\n<!-- end of start -->\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "all")
    return tmp_path


def update(clone: Path, *parts: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "scripts/bench/run.py", "--update", *parts]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True)


def test_each_section_names_the_commit(clone: Path) -> None:
    page = clone / "scripts/bench/SPEED.md"
    for _ in range(2):  # the figures of the first run are no change
        assert update(clone, "start").returncode == 0
        text = sections.read(page, "start")
        assert re.match(rf"`make bench PART=start`, .*; commit {git(clone, 'rev-parse', '--short', 'HEAD')}\n", text)
        assert text.endswith("\n\na figure\n")


def test_a_changed_tree_is_not_measured(clone: Path) -> None:
    (clone / "scripts/bench/start.py").write_text("print('another figure')\n")
    refused = update(clone, "start")
    assert refused.returncode != 0 and "scripts/bench/start.py" in refused.stderr
    assert sections.read(clone / "scripts/bench/SPEED.md", "start") == ""


def test_a_failing_part_does_not_stop_the_others(clone: Path) -> None:
    done = update(clone, "large", "start")  # large lacks its packages
    assert done.returncode == 1 and "bench | failed: large\n" in done.stderr.splitlines(keepends=True)[-1]
    assert re.search(r"bench \| took: large \d+ s, start \d+ s\n", done.stderr)
    assert "a figure" in sections.read(clone / "scripts/bench/SPEED.md", "start")
