"""The files of a checkout that the checks are about, and the problems that they report."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path, PurePosixPath
from typing import NamedTuple

CONFIG = "config.pbtxt"
"""The file of every entry of the model repository."""


class Problem(NamedTuple):
    page: str
    """The path of a page or of another file."""
    line: int
    """The line number; the first line is 1."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


class Tree:
    """The files of a checkout that git does not ignore. Paths are relative to its root, with slashes.

    Entries of the model repository that git does not track are left out, as in scripts.lint.manifest: models of the
    user's own, which no page here describes.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        tracked, others = (
            run(["git", "ls-files", "-z", *options], root).stdout.split("\0")
            for options in (["--cached"], ["--others", "--exclude-standard"])
        )
        own = tuple(
            path.removesuffix(CONFIG) for path in others if PurePosixPath(path).match(f"model_repository/*/{CONFIG}")
        )
        listed = tracked + [path for path in others if not path.startswith(own)]
        self.files = {path for path in listed if path and (root / path).is_file()}
        self.folders = {str(parent) for path in self.files for parent in PurePosixPath(path).parents}
        self.top = {path.partition("/")[0] for path in self.files if "/" in path}
        self.pages = sorted(path for path in self.files if path.endswith(".md"))

    @functools.cache  # noqa: B019 (a tree lives as long as the program)
    def read(self, path: str) -> str:
        """Returns the text of a file, "" for a binary one."""
        try:
            return (self.root / path).read_text()
        except UnicodeDecodeError:
            return ""

    def exists(self, path: str) -> bool:
        """Reports whether a file or folder exists, or whether a pattern with * matches a file."""
        path = normalize(path)
        if "*" in path:
            return any(PurePosixPath(file).match(path) for file in self.files)
        return path in self.files or path in self.folders


def normalize(path: str) -> str:
    """Returns a path without `.`, inner `..` and a final slash. A path that leaves the root begins with `..`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


def run(command: list[str], folder: Path, **options) -> subprocess.CompletedProcess[str]:
    """Runs a command that changes nothing, and returns its exit status and output."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, **options)
