"""The types in which the retrieval models store their large matrices: the same numbers in safetensors and in the graph.

fp16, or int8 with one step for each row. int8 takes half the space. A training that starts from int8 weights and moves
them by less than half a step loses that in int8: each rounds back to where it started. The arithmetic is fp32 in both.
"""

from __future__ import annotations

import numpy as np
import torch

from scripts.convert import w8
from scripts.train import stored

Weights = dict[str, torch.Tensor]

HELP = "store matrices in 8 bits: half the size, and small changes of rounded weights are lost"
"""Help of the option --int8 of the exports."""


def to_int8(weights: Weights) -> Weights:
    """Returns weights with their large matrices [out, in] in int8, with one step for each row."""
    result: Weights = {}
    for name, value in weights.items():
        if is_large(value):
            rounded, step = w8.quantise(value.detach().cpu().float().numpy(), 0)
            result |= {name: torch.from_numpy(rounded), name + stored.STEP: torch.from_numpy(step)}
        else:
            result[name] = value
    return result


def to_half(weights: Weights) -> Weights:
    """Returns weights with their large matrices in fp16."""
    return {name: value.half() if is_large(value) else value for name, value in weights.items()}


def is_large(value: torch.Tensor) -> bool:
    """Reports whether a weight is a matrix that is not stored in fp32."""
    return value.ndim == 2 and value.is_floating_point() and value.numel() >= w8.SMALLEST


def known(tensors: Weights) -> w8.Known:
    """Returns the matrices of stored tensors, as they are and transposed, for w8.store."""
    found: w8.Known = {}
    for name, value in tensors.items():
        step = tensors.get(name + stored.STEP)
        if value.dtype == torch.float16:
            rounded, steps = value.numpy(), None
            matrix = rounded.astype(np.float32)
        elif step is not None:
            rounded, steps = value.numpy(), step.numpy()
            matrix = rounded.astype(np.float32) * steps
        else:
            continue
        found[matrix.tobytes()] = rounded, steps
        transposed = None if steps is None else steps.T.copy()
        found[np.ascontiguousarray(matrix.T).tobytes()] = np.ascontiguousarray(rounded.T), transposed
    return found
