"""Checkpoints and weights, written atomically."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import safetensors.torch as safetensors
import torch
from torch import nn

from scripts.train import files

WEIGHTS = "weights.safetensors"
BEST = "best.safetensors"


def save(state: dict[str, Any], path: Path) -> None:
    """Writes a temporary file and renames it, so a crash leaves the old checkpoint."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def load(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Reads a checkpoint of tensors, numbers, strings and containers; never runs pickled code.

    ValueError, which names the file: it is damaged.
    """
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError) as error:
        raise ValueError(f"{path}: a damaged file: {str(error).splitlines()[0]}") from error


def blend(fresh: nn.Module, trained: dict[str, torch.Tensor], alpha: float) -> nn.Module:
    """Returns the module with weights interpolated from fresh (alpha 0) to trained (alpha 1)."""
    initial = fresh.state_dict()
    fresh.load_state_dict({k: torch.lerp(v.float(), trained[k].float(), alpha).to(v.dtype) for k, v in initial.items()})
    return fresh.eval()


def save_weights(weights: dict[str, torch.Tensor], path: Path) -> None:
    """Writes weights in fp32, as safetensors."""
    files.replace(path, safetensors.save({k: v.detach().cpu().contiguous() for k, v in weights.items()}))


def weights(run: Path) -> dict[str, torch.Tensor]:
    """Reads the weights of a run's best evaluation, or the last ones if the run has no figure that counts."""
    for name in (BEST, WEIGHTS):
        if (run / name).exists():
            return safetensors.load_file(run / name)
    raise FileNotFoundError(f"checkpoint: no {WEIGHTS} in {run}")
