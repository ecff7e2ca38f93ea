"""What a run was made of, for the card that its export writes: <run>/provenance.json.

commands   every command line that trained it
machines   every machine that it ran on
data       by file of the data folder its SHA-256 and its rows (lines, of a .gz file those inside)
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
    """Adds this call: its command line, the machine, and files of the data folder by name. ValueError: a file is not the one that
    an earlier call of this run has read."""
    record = read(options.folder)
    for name in files:
        found = describe_file(Path(options.data) / name)
        if record["data"].setdefault(name, found) != found:
            raise ValueError(f"{name} has changed since this run began: start another run (--name)")
    for key, value in (("commands", format_command(command or sys.orig_argv[1:], options)), ("machines", machine(options))):
        if value not in record[key]:
            record[key].append(value)
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / NAME).write_text(json.dumps(record, indent=1) + "\n")


def read(run: Path) -> dict[str, Any]:
    """What was noted of a run; empty lists where nothing was."""
    file = run / NAME
    return json.loads(file.read_text()) if file.exists() else {"commands": [], "machines": [], "data": {}}


def describe_file(file: Path) -> dict[str, Any]:
    """SHA-256 and rows of a file."""
    held = file.read_bytes()
    text = gzip.decompress(held) if file.suffix == ".gz" else held
    return {"sha256": hashlib.sha256(held).hexdigest(), "rows": len(text.splitlines())}


def format_command(command: list[str], options: Options) -> str:
    """A command line as a card shows it: DATA for the data folder, and of other absolute paths the last part."""
    def shown(word: str) -> str:
        flag, sign, value = word.rpartition("=")
        if value == options.data:
            return flag + sign + "DATA"
        return flag + sign + Path(value).name if value.startswith("/") else word

    return shlex.join(["python", *map(shown, command)])


def machine(options: Options) -> str:
    """The device, the threads and the versions that a training ran with."""
    device = options.torch_device()
    if device.type == "cuda":
        place = torch.cuda.get_device_name(device)
    else:
        threads = options.threads or torch.get_num_threads()
        place = f"{processor()}, {threads} thread{'s' if threads > 1 else ''}"
    return f"{place}; {platform.system()} {platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = [line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()
