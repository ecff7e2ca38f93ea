"""Checkpoints, written atomically, and weights split into small files for transport."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import torch
from torch import nn

PART_BYTES = 15 * 2**20
"""Maximum size of a part file: some transports reject files above 16 MiB."""


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
    """Reads a checkpoint of tensors, numbers, strings and containers; never runs pickled code."""
    return torch.load(path, map_location=device, weights_only=True)


def blend(fresh: nn.Module, trained: dict[str, torch.Tensor], alpha: float) -> nn.Module:
    """Returns the module with weights interpolated from fresh (alpha 0) to trained (alpha 1)."""
    initial = fresh.state_dict()
    fresh.load_state_dict({k: torch.lerp(v.float(), trained[k].float(), alpha).to(v.dtype) for k, v in initial.items()})
    return fresh.eval()


def export_parts(weights: dict[str, torch.Tensor], folder: Path, limit: int = PART_BYTES) -> list[Path]:
    """Writes the weights in fp16 to weights.part00, weights.part01 ..., each of at most `limit` bytes; returns the
    paths."""
    buffer = io.BytesIO()
    torch.save({k: v.half() if v.is_floating_point() else v for k, v in weights.items()}, buffer)
    data = buffer.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("weights.part*"):
        old.unlink()
    paths = []
    for number, start in enumerate(range(0, len(data), limit)):
        paths.append(folder / f"weights.part{number:02d}")
        paths[-1].write_bytes(data[start : start + limit])
    return paths


def join_parts(folder: Path) -> dict[str, torch.Tensor]:
    """Reads the weights that export_parts wrote, as fp32."""
    parts = sorted(folder.glob("weights.part*"))
    if not parts:
        raise FileNotFoundError(f"checkpoint: no weights.part* in {folder}")
    weights = torch.load(io.BytesIO(b"".join(p.read_bytes() for p in parts)), map_location="cpu", weights_only=True)
    return {k: v.float() if v.is_floating_point() else v for k, v in weights.items()}
