"""Files that are written whole or not at all, and the choice of what is held out."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def replace(path: Path, content: bytes) -> None:
    """Writes a temporary file and renames it, so that a failure leaves the old file. Makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def digest(text: str) -> int:
    """Returns 64 bits of the SHA-256 of a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def is_held_out(text: str, share: float) -> bool:
    """Reports whether a text is held out: by its hash, so whatever other texts there are."""
    return digest(text) < share * 2**64
