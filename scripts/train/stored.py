"""The weights of a model repository entry, of which its graph is made and with which a training can start.

ENTRY/model.safetensors   the parameters under their names in PyTorch
ENTRY/config.json         what else the export needs: the sizes of the network, the ranges of integer layers

A weight that is served in int8 is stored in int8: NAME, and NAME.step, with which it is multiplied and whose shape
broadcasts to it. The others are stored in the type in which they are served. Steps are fp32 or fp64.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import nn

from scripts.train import files

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
STEP = ".step"
"""Suffix of the name of a weight's step sizes."""


def write(entry: Path, tensors: dict[str, torch.Tensor], config: dict[str, Any]) -> None:
    """Writes weights and configuration into an entry."""
    stored = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    files.replace(entry / WEIGHTS, safetensors.torch.save(stored))
    files.replace(entry / CONFIG, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())


def read(entry: Path, kind: torch.dtype = torch.float32) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Returns the weights in the given type, and the configuration.

    ValueError, which names the file: it is missing or damaged, or a step does not fit its weight.
    """
    return dequantise(tensors(entry), entry / WEIGHTS, kind), config(entry)


def tensors(entry: Path) -> dict[str, torch.Tensor]:
    """Returns the tensors as they are stored. ValueError, which names the file: it is missing or damaged."""
    try:
        return safetensors.torch.load_file(entry / WEIGHTS)
    except (OSError, safetensors.SafetensorError) as error:
        raise ValueError(f"{entry / WEIGHTS}: {error}") from error


def config(entry: Path) -> dict[str, Any]:
    """Returns the configuration. ValueError, which names the file: it is missing, or no JSON object."""
    try:
        found = json.loads((entry / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{entry / CONFIG}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"{entry / CONFIG}: an object is expected, got {found!r:.40}")
    return found


def dequantise(
    stored: dict[str, torch.Tensor], file: Path, kind: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    """Returns the weights of stored tensors in the given type.

    ValueError, which names the file: a step does not fit its weight.
    """
    weights = {name: value.to(kind) for name, value in stored.items() if not name.endswith(STEP)}
    for key in stored.keys() - weights.keys():
        name = key.removesuffix(STEP)
        try:
            value = stored[name].double() * stored[key].double()
        except (KeyError, RuntimeError) as error:
            raise ValueError(f"{file}: {key}: step sizes without a weight of their shape") from error
        weights[name] = value.to(kind)
    return weights


def load(
    entry: Path, build: Callable[[dict[str, Any]], nn.Module], kind: torch.dtype = torch.float32
) -> tuple[nn.Module, dict[str, Any]]:
    """Returns the network that `build` makes of the configuration, with the weights, and the configuration.

    ValueError, which names the file: see read, or the network cannot be built or has other weights.
    """
    weights, found = read(entry, kind)
    try:
        network = build(found)
    except (KeyError, TypeError, ValueError, RuntimeError, ZeroDivisionError) as error:
        raise ValueError(f"{entry / CONFIG}: {type(error).__name__}: {error}") from error
    try:
        network.to(kind).load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{entry / WEIGHTS}: {' '.join(str(error).split())[:400]}") from error
    return network.eval(), found


def digest(entry: Path) -> str:
    """Returns the SHA-256 of the weights. ValueError, which names the file: it cannot be read."""
    try:
        return hashlib.sha256((entry / WEIGHTS).read_bytes()).hexdigest()
    except OSError as error:
        raise ValueError(f"{entry / WEIGHTS}: {error}") from error


def load_state(network: nn.Module, weights: dict[str, torch.Tensor], file: Path, derived: Collection[str] = ()) -> None:
    """Loads weights into a network that has just these; derived: names of buffers that no file has.

    ValueError, which names the file and the weights that are missing, unknown or of another shape.
    """
    wanted = {name: value for name, value in network.state_dict().items() if name not in derived}
    wrong = sorted(
        name
        for name in wanted.keys() | weights.keys()
        if name not in wanted or name not in weights or wanted[name].shape != weights[name].shape
    )
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(f"{file}: {', '.join(wrong[:3])}{more}: missing, unknown or of another shape")
    network.load_state_dict(weights, strict=False)
