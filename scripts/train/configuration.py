"""The configuration of a run: a TOML file with one line a flag, such as `samples = 2_000_000`.

    python -m scripts.train.masked --config cpu --samples 500_000

The order of precedence: the command line, the file of --config, run.toml of the run to be resumed, the defaults.
--config is a path, or the name of a file in scripts/train/presets/MODEL, where MODEL is the default of --name.

A run has begun once its folder has a cache of its data or weights. From then on the flags in FIXED cannot change.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from scripts.train import files

PRESETS = Path(__file__).parent / "presets"
NAME = "run.toml"
NOT_STORED = {"config", "help", "name", "runs", "call_minutes", "finish"}
"""Flags of one call."""
FIXED = (
    ("seed", "optimiser", "size", "start", "embedding", "slots", "freeze_encoder")  # the model
    + ("molecules", "mix", "count", "merges", "qed", "sa", "programs", "sets", "questions")  # its data
)
"""Flags that a run keeps."""


def parse(parser: argparse.ArgumentParser, argv: list[str] | None = None) -> argparse.Namespace:
    """Parses flags, which are those of the parser and --config. Exits with a message if a file has an error."""
    presets = PRESETS / parser.get_default("name")
    names = ", ".join(sorted(path.stem for path in presets.glob("*.toml")))
    parser.add_argument("--config", help=f"configuration of the run: a TOML file, or {names}")
    words = sys.argv[1:] if argv is None else argv
    parser.allow_abbrev = False  # `first` does not know abbreviations.
    first = argparse.ArgumentParser(prog=parser.prog, add_help=False, allow_abbrev=False)
    for flag in ("--config", "--name", "--runs"):
        first.add_argument(flag)
    known, _ = first.parse_known_args(words)
    chosen = find(parser, presets, known.config) if known.config else None
    values = read(parser, chosen) if chosen else {}
    name, runs = (
        next(v for v in (getattr(known, key), values.get(key), parser.get_default(key)) if v is not None)
        for key in ("name", "runs")
    )
    if not name or name != Path(name).name or name == "..":
        parser.error(f"--name {name}: a name of one folder is expected, without /")
    stored = read(parser, Path(runs) / name / NAME) if has_begun(Path(runs) / name) else {}
    values = stored | values
    for action in parser._actions:
        if action.dest in values:
            action.default = values[action.dest]
            action.required = False
    given = parser.parse_args(words)
    if stored:
        check_fixed(parser, given, stored)
    return given


def has_begun(run: Path) -> bool:
    """Reports whether a run has begun."""
    return (run / NAME).exists() and any(path.suffix in (".npz", ".pt") for path in run.iterdir())


def check_fixed(parser: argparse.ArgumentParser, given: argparse.Namespace, stored: dict[str, Any]) -> None:
    """Exits if a flag that a run keeps differs from the stored one."""
    for key in FIXED:
        value = getattr(given, key, None)
        if value != stored.get(key):
            old, new = ("not set" if v is None else toml(v) for v in (stored.get(key), value))
            flag = "--" + key.replace("_", "-")
            parser.error(f"{flag}: the run {given.name} has begun with {old}, got {new}; start another run (--name)")


def find(parser: argparse.ArgumentParser, presets: Path, name: str) -> Path:
    """Returns the file that --config names."""
    for path in (Path(name), presets / f"{name}.toml"):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in presets.glob("*.toml")))
    parser.error(f"--config {name}: no such file, and not one of {known}")


def read(parser: argparse.ArgumentParser, path: Path) -> dict[str, Any]:
    """Returns the values of a file, converted as on the command line."""
    try:
        lines = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        parser.error(f"{path}: {error}")
    actions = {action.dest: action for action in parser._actions}
    values = {}
    for key, value in lines.items():
        if key in NOT_STORED - {"name", "runs"} or key not in actions:
            known = ", ".join(sorted({*actions} - NOT_STORED | {"name", "runs"}))
            parser.error(f"{path}: unknown key {key!r}; the keys are {known}")
        values[key] = convert(parser, path, actions[key], value)
    return values


def load(run: Path) -> dict[str, Any]:
    """Returns the configuration of a run, as it was written."""
    path = run / NAME
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def convert(parser: argparse.ArgumentParser, path: Path, action: argparse.Action, value: Any) -> Any:
    """Converts a value of a file to the type of its flag."""
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        if not isinstance(value, bool):
            parser.error(f"{path}: {action.dest} must be true or false, got {value!r}")
        return value
    items = value if isinstance(value, list) else [value]
    if isinstance(value, list) != (action.nargs in ("+", "*")):
        parser.error(f"{path}: {action.dest} must {'be a list' if action.nargs in ('+', '*') else 'not be a list'}")
    out = []
    for item in items:
        try:
            read_as: Any = action.type or str
            out.append(read_as(item if isinstance(item, str) else repr(item)))
        except (TypeError, ValueError):
            parser.error(f"{path}: {action.dest} has an invalid value: {item!r}")
        if action.choices is not None and out[-1] not in action.choices:
            parser.error(f"{path}: {action.dest} must be one of {', '.join(map(str, action.choices))}, got {item!r}")
    return out if isinstance(value, list) else out[0]


def write(path: Path, given: argparse.Namespace) -> None:
    """Writes the flags of a run that have a value."""
    lines = []
    for key, value in sorted(vars(given).items()):
        if key not in NOT_STORED and value is not None:
            lines.append(f"{key} = {toml(value)}\n")
    files.replace(path, "".join(lines).encode())


def toml(value: Any) -> str:
    """Returns a value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
