"""Integer arithmetic for linear maps: about three times as fast as fp32 on a CPU with VNNI.

Weights become int8 with one step size per output. Inputs become uint8 with a static step size and zero point, from
observed values: with ranges from the batch, the result of a row would depend on the rest of its batch. The graph has
QuantizeLinear and DequantizeLinear around MatMul. ONNX Runtime computes that in integers on a CPU; a device without
integer kernels computes the same rounded values in floating point.

A training that starts from rounded weights and moves them by less than half a step is lost: they round back to where
they started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import nn

HELP = "compute linear maps in integers: faster on a CPU, and small changes of rounded weights are lost"
"""Help of the option --int8 of the exports."""

LARGEST = 63
"""Largest rounded weight: 7 bits, because some processors sum integer products in 16 bits and would overflow.

On the latent decoder, 7 bits measured as accurate as 8.
"""


def observe(modules: Iterable[nn.Module], run: Callable[[], object]) -> dict[nn.Module, tuple[float, float]]:
    """Returns the minimum and maximum input of each module during run()."""
    seen: dict[nn.Module, tuple[float, float]] = {}

    def note(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        low, high = seen.get(module, (0.0, 0.0))
        seen[module] = (min(low, inputs[0].min().item()), max(high, inputs[0].max().item()))

    hooks = [module.register_forward_pre_hook(note) for module in modules]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return seen


def activation_scale(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns step size (float32) and zero point (uint8) for inputs from low to high, a range that includes 0."""
    scale = max(high - low, 1e-6) / 255
    return np.array(scale, np.float32), np.array(round(-low / scale), np.uint8)


def round_weight(matrix: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Returns the step size of each output, float64 [out], and the rounded weights, int8 [out, in].

    In double precision, so that rounded weights round to the same integers and, in fp32, to the same steps.
    """
    values = matrix.detach().cpu().double().numpy()
    step = np.maximum(np.abs(values).max(1), 1e-8) / LARGEST
    return step, np.rint(values / step[:, None]).astype(np.int8)
