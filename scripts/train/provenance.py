"""The provenance of a run, in <run>/provenance.json, for the card of the exported model.

commands   every command line that trained it
machines   every machine it ran on
data       SHA-256 and rows (lines) of the uncompressed content of each file of the data folder
"""

from __future__ import annotations

import json
import platform
import shlex
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from scripts.train import processes
from scripts.train.data import manifest
from scripts.train.training import Options

NAME = "provenance.json"


def record(
    options: Options, files: Iterable[str], command: list[str] | None = None, prepared: Path | None = None
) -> None:
    """Adds the command line, the machine and data files to the provenance of the run.

    prepared: a folder with a provenance of its own, whose commands come first. Exits if a file has changed since
    the run started or cannot be read.
    """
    if not processes.is_first():
        return
    known = read(options.folder)
    for name in files:
        try:
            facts = describe_file(Path(options.data) / name)
        except (OSError, EOFError, zlib.error) as error:  # The last two: a damaged .gz
            raise SystemExit(f"training: {options.data}/{name}: {error}") from error
        if known["data"].setdefault(name, facts) != facts:
            raise SystemExit(f"training: {name} has changed since this run started; start another run (--name)")
    earlier = read(prepared)["commands"] if prepared else []
    for key, value in (
        *(("commands", words) for words in earlier),
        ("commands", format_command(command or sys.orig_argv[1:], options)),
        ("machines", machine(options)),
    ):
        if value not in known[key]:
            known[key].append(value)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / NAME).write_text(json.dumps(known, indent=1) + "\n")


def read(run: Path) -> dict[str, Any]:
    """Returns the provenance of a run; empty if none was recorded."""
    file = run / NAME
    return json.loads(file.read_text()) if file.exists() else {"commands": [], "machines": [], "data": {}}


def describe_file(file: Path) -> dict[str, Any]:
    """Returns the SHA-256 and the number of rows of the uncompressed content of a file."""
    content = manifest.content(file)
    return {"sha256": manifest.digest(content), "rows": len(content.splitlines())}


def format_command(command: list[str], options: Options) -> str:
    """Returns a command line for a card: DATA for the data folder, and the base name of other absolute paths."""

    def shorten(word: str) -> str:
        flag, sign, value = word.rpartition("=")
        if value == options.data:
            return flag + sign + "DATA"
        return flag + sign + Path(value).name if value.startswith("/") else word

    return shlex.join(["python", *map(shorten, command)])


def machine(options: Options) -> str:
    """Returns the device, threads and versions of a training."""
    device = options.torch_device()
    if device.type == "cuda":
        place = torch.cuda.get_device_name(device)
    else:
        threads = options.threads or torch.get_num_threads()
        place = f"{processor()}, {threads} thread{'s' if threads > 1 else ''}"
    system = f"{platform.system()} {platform.machine()}"
    return f"{place}; {system}, Python {platform.python_version()}, torch {torch.__version__}"


def processor() -> str:
    """Returns the name of the processor, or its architecture if the system does not name it."""
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        if info.exists()
        else []
    )
    return names[0] if names else platform.processor() or platform.machine()
