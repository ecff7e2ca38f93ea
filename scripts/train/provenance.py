"""The provenance of a run, in <run>/provenance.json, for the card that its export writes.

commands   every command line that trained it
machines   every machine that it ran on
data       by file of the data folder: its SHA-256, and its rows (lines; of a .gz file, those of its contents)
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from scripts.train.training import Options

NAME = "provenance.json"


def note(options: Options, files: Iterable[str], command: list[str] | None = None) -> None:
    """Adds the command line, the machine and files of the data folder to the run's provenance.

    ValueError: a file has changed since an earlier call for the same run.
    """
    record = read(options.folder)
    for name in files:
        found = describe_file(Path(options.data) / name)
        if record["data"].setdefault(name, found) != found:
            raise ValueError(f"{name} has changed since this run began: start another run (--name)")
    for key, value in (
        ("commands", format_command(command or sys.orig_argv[1:], options)),
        ("machines", machine(options)),
    ):
        if value not in record[key]:
            record[key].append(value)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / NAME).write_text(json.dumps(record, indent=1) + "\n")


def read(run: Path) -> dict[str, Any]:
    """The provenance of a run; empty if none was recorded."""
    file = run / NAME
    return json.loads(file.read_text()) if file.exists() else {"commands": [], "machines": [], "data": {}}


def describe_file(file: Path) -> dict[str, Any]:
    """The SHA-256 and the number of rows of a file."""
    content = file.read_bytes()
    text = gzip.decompress(content) if file.suffix == ".gz" else content
    return {"sha256": hashlib.sha256(content).hexdigest(), "rows": len(text.splitlines())}


def format_command(command: list[str], options: Options) -> str:
    """A command line as a card shows it: DATA for the data folder, and only the last part of other absolute paths."""

    def shorten(word: str) -> str:
        flag, sign, value = word.rpartition("=")
        if value == options.data:
            return flag + sign + "DATA"
        return flag + sign + Path(value).name if value.startswith("/") else word

    return shlex.join(["python", *map(shorten, command)])


def machine(options: Options) -> str:
    """The device, threads and versions of a training."""
    device = options.torch_device()
    if device.type == "cuda":
        place = torch.cuda.get_device_name(device)
    else:
        threads = options.threads or torch.get_num_threads()
        place = f"{processor()}, {threads} thread{'s' if threads > 1 else ''}"
    return f"{place}; {platform.system()} {platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"


def processor() -> str:
    """The processor's name, or its architecture if the system does not name it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()
