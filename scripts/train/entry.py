"""Writes model repository entries: config.pbtxt and the files next to the graph.

`python -m scripts.train.entry ID [ENTRY]` exits with a message if the manifest already has the id, or if no entry can
have the name, so that a training need not run for hours before its export says so.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from scripts.lint import manifest
from scripts.train import checkpoint

KINDS = {"INT64", "INT32", "FP32"}

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""The names of entries, as in orchestrator/modelimport."""

CALIBRATE = {"embedding": "--texts TEXTS", "ranking": "--pairs PAIRS"}
"""Options of `retort model calibrate` by API. A calibration holds for the weights that it was fitted to."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output, without the batch dimension; -1 is a dynamic size."""

    name: str
    kind: str
    dims: tuple[int, ...]

    def text(self) -> str:
        assert self.kind in KINDS, self.kind
        return f'  {{ name: "{self.name}"  data_type: TYPE_{self.kind}  dims: [ {", ".join(map(str, self.dims))} ] }}'


@dataclasses.dataclass(frozen=True)
class Entry:
    """The content of a config.pbtxt. comment: its first line; parameters: model facts for the gateway."""

    name: str
    comment: str
    batch: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parameters: dict[str, str]

    def config(self) -> str:
        """Returns the text of config.pbtxt."""
        lines = [
            f"# {self.comment} Tensors and parameters: ../README.md; weights: CARD.md.",
            f'name: "{self.name}"',
            'backend: "onnxruntime"',
            f"max_batch_size: {self.batch}",
            "",
        ]
        for kind, tensors in (("input", self.inputs), ("output", self.outputs)):
            lines += [f"{kind} [", ",\n".join(t.text() for t in tensors), "]"]
        lines += [
            "",
            "# RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS replaces the number in the live config.",
            "dynamic_batching { max_queue_delay_microseconds: 100 }",
            "",
            "# One copy of the weights per device; on a CPU its threads follow the cores. "
            "No kind, so Triton picks the device.",
            "instance_group [ { count: 1 } ]",
            "",
        ]
        width = max(map(len, self.parameters)) + 2
        lines += [
            f"parameters {{ key: {quote(k):<{width}}  value {{ string_value: {quote(v)} }} }}"
            for k, v in self.parameters.items()
        ]
        return "\n".join(lines) + "\n"

    def write(self, repository: Path, files: dict[str, str]) -> Path:
        """Writes config.pbtxt and the text files. Returns the folder of the entry.

        An entry of the same name loses its calibration, and the command that makes a new one is printed.
        """
        folder = repository / self.name
        (folder / "1").mkdir(parents=True, exist_ok=True)
        for name, text in {"config.pbtxt": self.config(), **files}.items():
            (folder / name).write_text(text)
        if options := CALIBRATE.get(self.parameters.get("retort_api", "")):
            print(f"{self.name} has no calibration: retort model calibrate {self.name} {options}")
        return folder


def quote(text: str) -> str:
    """Quotes a string for the protobuf text format."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def creation_day(run: Path) -> str:
    """Returns the start of the day on which the weights of a run were written, else of today, in Unix seconds."""
    weights = run / checkpoint.WEIGHTS
    seconds = weights.stat().st_mtime if weights.exists() else time.time()
    return str(int(seconds) // 86400 * 86400)


def check_new(model_id: str | None, repository: Path) -> None:
    """Exits if the id is missing or already in the manifest: different outputs need a new id."""
    if not model_id:
        raise SystemExit("export: --id, the public id of the model, is required")
    if model_id in manifest.load(repository)["ids"]:
        raise SystemExit(f"export: manifest.json has {model_id} for other files; choose a new id")


@contextlib.contextmanager
def draft(repository: Path, names: list[str], run: Path) -> Iterator[Path]:
    """Yields a repository to write entries into. They take their places at the end, so no server loads half an entry.

    It is in the folder of the run, and has copies of the named entries that exist, and links to all other files.
    SIGTERM ends the export as an exception does, so that the folder is removed.
    """
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        with tempfile.TemporaryDirectory(dir=run) as folder:
            drafts, replaced = Path(folder) / "drafts", Path(folder) / "replaced"
            drafts.mkdir()
            replaced.mkdir()
            for path in repository.iterdir() if repository.exists() else ():
                if path.name in names:
                    shutil.copytree(path, drafts / path.name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    (drafts / path.name).symlink_to(path.resolve())
            yield drafts
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            repository.mkdir(parents=True, exist_ok=True)
            for name in names:
                replace(repository / name, drafts / name, replaced / name)
    finally:
        signal.signal(signal.SIGTERM, before)


def replace(entry: Path, draft: Path, replaced: Path) -> None:
    """Moves an entry away, if there is one, and a draft into its place. A failure puts the entry back."""
    if entry.exists():
        shutil.move(entry, replaced)
    try:
        shutil.move(draft, entry)
    except BaseException:
        if replaced.exists():
            shutil.rmtree(entry, ignore_errors=True)
            shutil.move(replaced, entry)
        raise


@contextlib.contextmanager
def report_errors(run: Path) -> Iterator[None]:
    """Exits with one line if a file of the run or of an entry is missing, damaged or does not fit."""
    try:
        yield
    except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
        text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        place = "" if str(run) in text else f"{run}: "
        raise SystemExit(f"export: {place}{text}") from error


def set_parameter(config: Path, key: str, value: str) -> None:
    """Replaces the value of a parameter in config.pbtxt."""
    pattern = rf'(key:\s*"{key}"\s*value\s*{{\s*string_value:\s*)"[^"]*"'
    text, count = re.subn(pattern, lambda match: match[1] + quote(value), config.read_text())
    if count != 1:
        raise SystemExit(f"export: {config} must have one parameter {key}, got {count}")
    config.write_text(text)


def entry_name(text: str) -> str:
    """Checks an argument: the name of an entry."""
    if not NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: letters, digits, _, - and . are expected")
    return text


def add_arguments(
    parser: argparse.ArgumentParser, name: str, run: Path | None = None, folder: str = "folder in the repository"
) -> None:
    """Adds the options of all exports. name, run: the defaults of --entry and --run; folder: what --entry is."""
    text = "folder of the run" if run else "folder of the run; without it only 1/model.onnx is made"
    parser.add_argument("--run", type=Path, default=run, help=text)
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--entry", type=entry_name, default=name, help=f"{folder} (default: {name})")
    parser.add_argument("--id", help="public id of the model; it must be new")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m scripts.train.entry", description=__doc__)
    parser.add_argument("id")
    parser.add_argument("entry", nargs="?", type=entry_name)
    check_new(parser.parse_args().id, manifest.REPOSITORY)
