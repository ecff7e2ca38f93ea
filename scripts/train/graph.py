"""Writes ONNX graphs by hand: a few lines on top of onnx.helper, and the layers that the exported models share.

Complete generation loops run inside the graph, so they are built from nodes, not traced. All operators are in the
standard opset, so unmodified ONNX Runtime runs them on a CPU or GPU. Weights are stored in fp16 and cast to fp32, which
ONNX Runtime does once, when it loads the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from scripts.convert.batch_invariant import batch_invariant
from scripts.train import quantise
from scripts.train.layers import Layer, Relative
from scripts.train.stored import STEP

OPSET, IR = 20, 9
"""Supported by ONNX Runtime 1.17 and later."""

PRIME = 2**31 - 1

Ranges = dict[nn.Module, tuple[float, float]]
"""Minimum and maximum input of the linear maps to compute in integers. See quantise.observe."""


class Graph:
    """Nodes in the order they were added. A child graph, the body of a Loop, can use the names of its parent."""

    def __init__(self, parent: Graph | None = None, ranges: Ranges | None = None) -> None:
        self.parent = parent
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.ranges: Ranges = parent.ranges if parent else ranges or {}
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.counter: itertools.count[int] = parent.counter if parent else itertools.count()
        self.names: dict[torch.Tensor, str] = parent.names if parent else {}

    def name_weights(self, model: nn.Module) -> None:
        """Names the weights as the model names its parameters."""
        self.names.update({parameter: name for name, parameter in model.named_parameters()})

    def name(self, hint: str) -> str:
        return f"{hint}_{next(self.counter)}"

    def op(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Adds a node and returns the name of its output, or a tuple of names. Inputs are names, or constants."""
        names = [self.name(kind.lower()) for _ in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, [i if isinstance(i, str) else self.constant(i) for i in inputs], names, **attributes)
        )
        return names[0] if outputs == 1 else tuple(names)

    def constant(self, value: Any, name: str = "") -> str:
        """Adds a constant. Python integers become int64, floats float32, booleans bool; arrays keep their type."""
        array = value if isinstance(value, np.ndarray) else np.array(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = name or self.name("constant")
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, value: torch.Tensor, parameter: torch.Tensor | None = None) -> str:
        """Adds a weight to this graph, not to its parent, since ONNX Runtime does not pack the weights of a parent's
        parent: see scripts.convert.batch_invariant. It is stored as fp16 and used as fp32.

        parameter: the one that the value was computed from, if it is not the value itself.
        """
        name = self.names.get(value if parameter is None else parameter, "")
        return self.op(
            "Cast", self.constant(value.detach().cpu().numpy().astype(np.float16), name), to=TensorProto.FLOAT
        )

    def input(self, name: str, kind: int, shape: Sequence[Any] | None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, kind: int, shape: Sequence[Any] | None, name: str | None = None) -> None:
        """Declares value as an output, renamed to `name` if given."""
        if name:
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name or value, kind, shape))

    def proto(self, name: str) -> onnx.GraphProto:
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)

    def save(self, path: Path, name: str) -> None:
        """Checks the model and writes it, with sums in a fixed order."""
        model = helper.make_model(
            self.proto(name), opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR, producer_name="retort"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(batch_invariant(model), path)

    def linear(self, x: str, weight: torch.Tensor, bias: torch.Tensor, source: nn.Module | None = None) -> str:
        """x [..., in] times weight [out, in] transposed, plus bias; in integers if self.ranges has source."""
        parameters = (source.weight, source.bias) if isinstance(source, nn.Linear) else (None, None)
        if source not in self.ranges:
            return self.op(
                "Add", self.op("MatMul", x, self.weight(weight.T, parameters[0])), self.weight(bias, parameters[1])
            )
        scale, zero = quantise.activation_scale(*self.ranges[source])
        step, rounded = quantise.round_weight(weight)
        x = self.op("DequantizeLinear", self.op("QuantizeLinear", x, scale, zero), scale, zero)
        name = self.names.get(parameters[0], "")
        stored, steps = self.constant(np.ascontiguousarray(rounded.T), name), self.constant(step, name and name + STEP)
        matrix = self.op("DequantizeLinear", stored, steps, np.zeros(len(step), np.int8), axis=1)
        # Sub, not Add: ONNX Runtime fuses MatMul and Add into Gemm, which it does not compute in integers.
        return self.op("Sub", self.op("MatMul", x, matrix), self.weight(-bias, parameters[1]))

    def layer(self, x: str, module: nn.Linear) -> str:
        return self.linear(x, module.weight, module.bias, module)

    def norm(self, x: str, module: nn.LayerNorm) -> str:
        return self.op(
            "LayerNormalization", x, self.weight(module.weight), self.weight(module.bias), axis=-1, epsilon=module.eps
        )

    def feed(self, x: str, module: nn.Sequential) -> str:
        """Linear, GELU, Linear."""
        return self.layer(self.op("Gelu", self.layer(x, module[0])), module[2])

    def heads(self, x: str, heads: int, size: int) -> str:
        """[B, L, heads * size] -> [B, heads, L, size]."""
        return self.op("Transpose", self.op("Reshape", x, np.array([0, 0, heads, size])), perm=[0, 2, 1, 3])

    def attention(self, x: str, memory: str, module: nn.Module, bias: str) -> str:
        """Attention of x [B, Lq, d] to memory [B, Lk, d]; bias broadcasts to [B, heads, Lq, Lk].

        The module has as many key heads as heads.
        """
        heads, size = module.heads, module.size
        q = self.heads(self.linear(x, module.q.weight * size**-0.5, module.q.bias * size**-0.5, module.q), heads, size)
        k = self.op(
            "Transpose",
            self.op("Reshape", self.layer(memory, module.k), np.array([0, 0, heads, size])),
            perm=[0, 2, 3, 1],
        )
        v = self.heads(self.layer(memory, module.v), heads, size)
        mixed = self.op("MatMul", self.op("Softmax", self.op("Add", self.op("MatMul", q, k), bias), axis=-1), v)
        return self.layer(
            self.op("Reshape", self.op("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, heads * size])), module.o
        )

    def transformer(self, x: str, module: Layer, bias: str) -> str:
        """See Layer.forward."""
        normed = self.norm(x, module.norm1)
        x = self.op("Add", x, self.attention(normed, normed, module.attention, bias))
        return self.op("Add", x, self.feed(self.norm(x, module.norm2), module.feed))

    def relative(self, module: Relative, length: str) -> str:
        """Returns the bias on attention scores, [heads, length, length]: see Relative.forward."""
        at = self.op("Range", 0, length, 1)
        distance = self.op("Sub", self.op("Unsqueeze", at, np.array([0])), self.op("Unsqueeze", at, np.array([1])))
        row = self.op("Add", self.op("Clip", distance, -module.reach, module.reach), module.reach)
        return self.op("Gather", self.weight(module.table.weight.T, module.table.weight), row, axis=1)

    def loop(self, body: Graph, limit: Any, carried: Sequence[str], scanned: int) -> tuple[str, ...]:
        """Runs body at most `limit` rounds, while its first output is true; returns carried, then scanned values.

        Inputs of the body: round, condition, carried values. Outputs: condition, carried values, scanned values.
        """
        names = [self.name("loop") for _ in range(len(carried) + scanned)]
        inputs = [limit if isinstance(limit, str) else self.constant(limit), self.constant(True), *carried]
        self.nodes.append(helper.make_node("Loop", inputs, names, body=body.proto(self.name("body"))))
        return tuple(names)

    def key(self, *parts: str) -> str:
        """Hashes int64 tensors, broadcast together, into random keys, int64 in [0, PRIME).

        This is the block cipher MiMC (Albrecht et al. 2016, ePrint 2016/492) over the prime 2^31 - 1 with x -> x^5,
        a bijection there. It needs only int64 multiplication and remainder, so every device computes the same numbers;
        some devices lack bitwise operators.
        """
        state: Any = np.array(0, np.int64)
        for number, part in enumerate(parts):
            low = self.op("Mod", part, PRIME)
            high = self.op("Mod", self.op("Div", self.op("Sub", part, low), PRIME), PRIME)
            for value in (low, high):
                state = self.op("Add", state, value) if isinstance(state, str) else value
                state = self._round(self._round(state, 2 * number), 2 * number + 1)
        return state

    def _round(self, x: str, number: int) -> str:
        constant = int(np.random.default_rng((20161, number)).integers(1, PRIME))
        x = self.op("Mod", self.op("Add", x, constant), PRIME)
        square = self.op("Mod", self.op("Mul", x, x), PRIME)
        fourth = self.op("Mod", self.op("Mul", square, square), PRIME)
        return self.op("Mod", self.op("Mul", fourth, x), PRIME)

    def uniform(self, key: str) -> str:
        """Returns a float32 strictly between 0 and 1 for each key."""
        return self.op(
            "Mul",
            self.op("Add", self.op("Cast", self.op("Div", key, 2**8), to=TensorProto.FLOAT), 0.5),
            float(2.0**-23),
        )


def key(*parts: np.ndarray) -> np.ndarray:
    """Computes Graph.key in NumPy, for tests and for samplers outside a graph."""
    state = None
    for number, part in enumerate(parts):
        low = np.mod(part, PRIME)
        for value in (low, np.mod((part - low) // PRIME, PRIME)):
            state = value if state is None else state + value
            for turn in (2 * number, 2 * number + 1):
                constant = int(np.random.default_rng((20161, turn)).integers(1, PRIME))
                x = (state + constant) % PRIME
                square = x * x % PRIME
                state = square * square % PRIME * x % PRIME
    return state


def uniform(keys: np.ndarray) -> np.ndarray:
    """Computes Graph.uniform in NumPy."""
    return ((keys // 2**8).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)
