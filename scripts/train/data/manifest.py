"""The public data sets of the training, read from sets.toml.

set      what is downloaded, under which licence, and the files that are made of it
source   a downloaded file, or the files of a folder of which the first field of its name is a pattern
result   a file in DATA that the training or an evaluation reads
digest   SHA-256. Of a result it is that of the uncompressed content, since gzip may compress otherwise elsewhere. Of a
         folder it is that of the lines "SHA-256  path", sorted by path, as sha256sum prints them.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("sets.toml")


@dataclass(frozen=True)
class Source:
    """A file to download, or a folder of files."""

    path: str
    """Path in its repository; the last part is the name of the file. A pattern, as */*.xml, is a folder."""
    at: str
    """Address of the download."""
    sha256: str = ""
    """Digest; empty if the file could not be downloaded when the manifest was written."""
    size: int = 0
    """Bytes, of a folder those of its files; 0 if unknown."""

    def is_folder(self) -> bool:
        return "*" in self.path

    def repository(self) -> str:
        """Returns a link to the repository at the commit of the source, or nothing."""
        found = re.match(
            r"https://(?:raw\.githubusercontent|github)\.com/([^/]+/[^/]+)/(?:archive/)?([0-9a-f]{40})", self.at
        )
        return f"[{found[1]}, {found[2][:8]}](https://github.com/{found[1]}/tree/{found[2]})" if found else ""


@dataclass(frozen=True)
class Result:
    """A file that is made of the sources."""

    name: str
    """Path in DATA."""
    sha256: str = ""
    """Digest of the content; empty if nobody has made it yet."""
    rows: int = 0


@dataclass(frozen=True)
class Set:
    """A data set."""

    name: str
    what: str
    used_by: str
    licence: str
    licence_at: str
    """Address of the licence, or of the page that states it."""
    sources: tuple[Source, ...]
    results: tuple[Result, ...]
    version: str = ""
    """Release of the source; empty if its address has a commit."""
    note: str = ""
    """What a user must know: what is not exact, what was not tried."""

    def links(self) -> str:
        """Returns a link to each repository or release of the sources."""
        return "<br>".join(dict.fromkeys(s.repository() or f"[{self.version}]({s.at})" for s in self.sources))


@functools.cache
def read(file: Path = FILE) -> dict[str, Set]:
    """Returns the sets by name."""
    return {name: _set(name, values) for name, values in tomllib.loads(file.read_text("utf-8")).items()}


def _set(name: str, values: dict[str, Any]) -> Set:
    base = values.pop("base", "")
    sources = tuple(Source(**{"at": base + source["path"]} | source) for source in values.pop("source"))
    results = tuple(Result(**result) for result in values.pop("result"))
    return Set(name=name, sources=sources, results=results, **values)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def folder_digest(files: dict[str, bytes]) -> str:
    """Returns the digest of files by path."""
    return digest("".join(f"{digest(files[path])}  {path}\n" for path in sorted(files)).encode())


def content(file: Path) -> bytes:
    """Returns the uncompressed content of a file. OSError, EOFError, zlib.error: it is damaged."""
    read_bytes = file.read_bytes()
    return gzip.decompress(read_bytes) if file.suffix == ".gz" else read_bytes


def find_by_digest(sha256: str) -> Set | None:
    """Returns the set that a content of this digest belongs to."""
    for each in read().values():
        if sha256 in {result.sha256 for result in each.results}:
            return each
    return None
