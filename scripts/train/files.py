"""Files that are written whole or not at all, the lines of files, and the choice of what is held out."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

LONGEST_LINE = 1 << 24
"""Characters of the longest line of a file that is read, so that a damaged file does not fill the memory."""


def replace(path: Path, content: bytes) -> None:
    """Writes a temporary file and renames it, so that a failure leaves the old file. Makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_lines(path: Path, errors: str = "strict") -> Iterator[str]:
    """Yields the lines of a text file, .gz or not, without a byte order mark. errors: those of the encoding, UTF-8.

    OSError, which names the file: it cannot be read, or has a line of more than LONGEST_LINE characters.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors=errors) as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise OSError(f"{path}:{number}: a line of more than {LONGEST_LINE:,} characters")
                yield line
    except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
        raise OSError(f"{path}: {error}") from error


def digest(text: str) -> int:
    """Returns 64 bits of the SHA-256 of a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def is_held_out(text: str, share: float) -> bool:
    """Reports whether a text is held out: by its hash, so whatever other texts there are."""
    return digest(text) < share * 2**64
