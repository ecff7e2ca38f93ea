#!/usr/bin/env python3
"""Changes the configuration of the models that a running Triton has loaded, but not their files.

    scripts/triton/configure.py triton:8000                       apply the environment's settings to every model
    scripts/triton/configure.py triton:8000 --overrides FOLDER    also apply FOLDER/<model>.json, and
                                                                  FOLDER/backend-<backend>.json to the backend's models

A model whose configuration changes is reloaded; Triton serves the old one until the new one is ready. So Triton, local
or not, must run with --model-control-mode=explicit. The members of a file replace those of the configuration (as in the
answer of GET /v2/models/<model>/config): objects are merged, lists are replaced. A model's file takes precedence over
its backend's, and the environment over both. A load without a configuration, or a restart, restores the configuration
of the model's files.

environment:
  RETORT_TRITON_CONTROL_KEY  control key of the local Triton (serve.py)
  RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS  (or NIM_TRITON_...)
                            queue delay of all models with dynamic batching
  RETORT_TRITON_INSTANCES   instances of each onnxruntime model
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
        parser.error(f"{args.triton}: must be HOST:PORT")
    if args.overrides and not args.overrides.is_dir():
        parser.error(f"{args.overrides} is not a folder")
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
    """Reloads the models whose configuration changes. Returns the exit status, 1 if Triton refused one."""
    code, index = call(options, "POST", "/v2/repository/index", {"ready": True})
    if code != 200:
        say(f"{options.host}:{options.http}: {reason(code, index)}")
        return 1
    failed = 0
    for model in sorted({model["name"] for model in index or []}):
        code, config = call(options, "GET", f"/v2/models/{model}/config")
        if code != 200:
            continue  # unloaded meanwhile
        target = merge(merge(config, members(folder, f"backend-{config.get('backend')}")), members(folder, model))
        target = drop_large_batches(overrides.apply(target) or target)
        changed = ", ".join(sorted(key for key in target if not contains(config.get(key), target[key])))
        if not changed:
            continue
        code, answer = call(
            options, "POST", f"/v2/repository/models/{model}/load", {"parameters": {"config": json.dumps(target)}}
        )
        failed += code != 200
        say(f"{model}: {changed} changed" if code == 200 else f"{model}: {changed} not changed: {reason(code, answer)}")
    return 1 if failed else 0


def merge(config: dict, changes: dict) -> dict:
    """Returns the configuration with the changes: objects are merged, anything else is replaced."""
    both = {
        key: merge(config[key], value)
        for key, value in changes.items()
        if isinstance(value, dict) and isinstance(config.get(key), dict)
    }
    return {**config, **changes, **both}


def drop_large_batches(config: dict) -> dict:
    """Returns the configuration without preferred batch sizes above max_batch_size, which Triton itself adds."""
    batching = config.get("dynamic_batching") or {}
    if "preferred_batch_size" not in batching:
        return config
    sizes = [size for size in batching["preferred_batch_size"] if size <= config["max_batch_size"]]
    return {**config, "dynamic_batching": {**batching, "preferred_batch_size": sizes}}


def contains(config: object, part: object) -> bool:
    """Reports whether a configuration has the values of part. Objects may have more members: Triton adds defaults."""
    if isinstance(part, dict) and isinstance(config, dict):
        return all(contains(config.get(key), value) for key, value in part.items())
    if isinstance(part, list) and isinstance(config, list):
        return len(config) == len(part) and all(map(contains, config, part))
    return config == part


def members(folder: Path | None, name: str) -> dict:
    """Reads the object in FOLDER/NAME.json, empty if there is no such file. ValueError: it is no JSON object."""
    path = folder / f"{name}.json" if folder else None
    if path is None or not path.exists():
        return {}
    try:
        content = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: not a JSON object")
    return content


if __name__ == "__main__":
    sys.exit(main())
