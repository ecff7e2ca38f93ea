"""The weights of the retrieval models in int8, in safetensors and in the graph: the same integers in both."""

from __future__ import annotations

import numpy as np
import torch

from scripts.convert import w8
from scripts.train import stored

Known = dict[bytes, tuple[np.ndarray, np.ndarray]]
"""int8 numbers and step sizes of a matrix, by the bytes of its fp32 numbers."""


def quantise(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns weights with their large matrices [out, in] in int8, with one step for each row."""
    result: dict[str, torch.Tensor] = {}
    for name, value in weights.items():
        if value.ndim == 2 and value.is_floating_point() and value.numel() >= w8.SMALLEST:
            rounded, step = w8.quantise(value.detach().cpu().float().numpy(), 0)
            result |= {name: torch.from_numpy(rounded), name + stored.STEP: torch.from_numpy(step)}
        else:
            result[name] = value
    return result


def known(tensors: dict[str, torch.Tensor]) -> Known:
    """Returns the int8 matrices of stored tensors, as they are and transposed, for w8.store_int8."""
    found: Known = {}
    for name, step in tensors.items():
        if name.endswith(stored.STEP):
            rounded, steps = tensors[name.removesuffix(stored.STEP)].numpy(), step.numpy()
            matrix = rounded.astype(np.float32) * steps
            found[matrix.tobytes()] = rounded, steps
            found[np.ascontiguousarray(matrix.T).tobytes()] = np.ascontiguousarray(rounded.T), steps.T.copy()
    return found
