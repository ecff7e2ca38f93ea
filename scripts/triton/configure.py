#!/usr/bin/env python3
"""Change the configuration of models that a running Triton has loaded, without touching their files.

    scripts/triton/configure.py triton:8000                       the environment's settings, for every model
    scripts/triton/configure.py triton:8000 --overrides FOLDER    what FOLDER says too: FOLDER/<model>.json, and
                                                                  FOLDER/backend-<backend>.json for all of a backend

Each model whose configuration differs is loaded again with it; Triton serves the old one until the new one is ready. So
Triton has to run with --model-control-mode=explicit; it need not be the local one. The members of a file replace those of
the configuration (as GET /v2/models/<model>/config shows it), objects member by member, lists whole; a model's own
file wins over its backend's, the environment over both. A load without a configuration, or a restart, brings back what the model's files say.

environment:
  RETORT_TRITON_CONTROL_KEY  the key with which the local Triton was started; other Tritons need none
  RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS  (or NIM_TRITON_...)
                            replaces the delay of every model that batches
  RETORT_TRITON_INSTANCES   instances of every onnxruntime model
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from environment import say  # noqa: E402
from repository import Overrides, reason  # noqa: E402
from server import Options, call  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triton", help="HOST:PORT of Triton's HTTP endpoint")
    parser.add_argument("--overrides", type=Path, help="folder of JSON files")
    args = parser.parse_args()
    host, _, port = args.triton.rpartition(":")
    if not host or not port.isdigit():
        parser.error(f"{args.triton}: HOST:PORT is wanted")
    if args.overrides and not args.overrides.is_dir():
        parser.error(f"{args.overrides} is no folder")
    try:
        overrides = Overrides.from_environment(os.environ)
        return configure(
            Options(Path(), host=host, http=int(port), control_key=os.environ.get("RETORT_TRITON_CONTROL_KEY", "")),
            args.overrides,
            overrides,
        )
    except ValueError as error:
        say(str(error))
        return 1


def configure(options: Options, folder: Path | None, overrides: Overrides) -> int:
    """The exit status: 0 where every model that should change has."""
    code, index = call(options, "POST", "/v2/repository/index", {"ready": True})
    if code != 200:
        say(f"{options.host}:{options.http}: {reason(code, index)}")
        return 1
    failed = 0
    for model in sorted({model["name"] for model in index or []}):
        code, config = call(options, "GET", f"/v2/models/{model}/config")
        if code != 200:
            continue  # unloaded in the meantime
        wanted = merged(merged(config, members(folder, f"backend-{config.get('backend')}")), members(folder, model))
        wanted = fitting(overrides.apply(wanted) or wanted)
        changed = ", ".join(sorted(key for key in wanted if not holds(config.get(key), wanted[key])))
        if not changed:
            continue
        code, answer = call(
            options, "POST", f"/v2/repository/models/{model}/load", {"parameters": {"config": json.dumps(wanted)}}
        )
        failed += code != 200
        say(f"{model}: {changed} changed" if code == 200 else f"{model}: {changed} not changed: {reason(code, answer)}")
    return 1 if failed else 0


def merged(config: dict, changes: dict) -> dict:
    """The configuration with the changes in it: objects member by member, anything else replaced."""
    both = {
        key: merged(config[key], value)
        for key, value in changes.items()
        if isinstance(value, dict) and isinstance(config.get(key), dict)
    }
    return {**config, **changes, **both}


def fitting(config: dict) -> dict:
    """The configuration without preferred batches that are larger than the largest: Triton adds the largest by itself."""
    batching = config.get("dynamic_batching") or {}
    if "preferred_batch_size" not in batching:
        return config
    sizes = [size for size in batching["preferred_batch_size"] if size <= config["max_batch_size"]]
    return {**config, "dynamic_batching": {**batching, "preferred_batch_size": sizes}}


def holds(config: object, wanted: object) -> bool:
    """Whether the configuration says what is wanted; Triton adds to each object the members that are left out."""
    if isinstance(wanted, dict) and isinstance(config, dict):
        return all(holds(config.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(config, list):
        return len(config) == len(wanted) and all(map(holds, config, wanted))
    return config == wanted


def members(folder: Path | None, name: str) -> dict:
    """What a file replaces; nothing where there is no such file. ValueError names the one that is no JSON object."""
    path = folder / f"{name}.json" if folder else None
    if path is None or not path.exists():
        return {}
    try:
        found = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path}: a JSON object is wanted")
    return found


if __name__ == "__main__":
    sys.exit(main())
