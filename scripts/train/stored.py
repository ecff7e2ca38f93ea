"""The weights of a model repository entry, of which its graph is made and with which a training can start.

ENTRY/model.safetensors   the parameters under their names in PyTorch
ENTRY/config.json         what else the export needs: the sizes of the network, the ranges of integer layers

A weight that is served in int8 is stored in int8: NAME, and NAME.step, fp32, with which it is multiplied and whose
shape broadcasts to it. The others are stored in the type in which they are served.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from scripts.train import files

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
STEP = ".step"
"""Suffix of the name of an int8 weight's step sizes."""


def write(entry: Path, tensors: dict[str, torch.Tensor], config: dict[str, Any]) -> None:
    """Writes weights and configuration into an entry."""
    stored = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    files.replace(entry / WEIGHTS, safetensors.torch.save(stored))
    files.replace(entry / CONFIG, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())


def read(entry: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Returns the weights in fp32, and the configuration.

    ValueError, which names the file: it is missing or damaged, or a step has no weight.
    """
    try:
        stored = safetensors.torch.load_file(entry / WEIGHTS)
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"{entry / WEIGHTS}: {error}") from error
    try:
        config = json.loads((entry / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{entry / CONFIG}: {error}") from error
    steps = {name.removesuffix(STEP): value for name, value in stored.items() if name.endswith(STEP)}
    if missing := steps.keys() - stored.keys():
        raise ValueError(f"{entry / WEIGHTS}: {', '.join(sorted(missing))}: step sizes without a weight")
    weights = {name: value.float() for name, value in stored.items() if not name.endswith(STEP)}
    return weights | {name: weights[name] * step for name, step in steps.items()}, config
