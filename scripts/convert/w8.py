"""Int8 storage for the weights of an ONNX graph, with fp32 compute.

Every large fp32 weight is stored as int8 with one fp32 scale per output
channel, and turned back by Cast and Mul, both standard ONNX operators:

    weight[i, c] = float(int8[i, c]) * scale[c]

ONNX Runtime and TensorRT fold the two nodes into a constant when the graph is
loaded, so the file is a quarter of its size and the arithmetic stays fp32. That
is why the result of a row does not depend on the rows it is batched with, as it
does when activations are quantised too.

Run it on a file:  python3 scripts/convert/w8.py model.onnx model_w8.onnx

`store` stores weights whose rounded numbers are known already, in int8 or in fp16.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper

Known = dict[bytes, tuple[np.ndarray, np.ndarray | None]]
"""The stored numbers of a weight, int8 with its scales or fp16 without, by the bytes of its fp32 numbers."""

Rounding = Callable[[str, np.ndarray, int], tuple[np.ndarray, np.ndarray | None]]
"""Returns the stored numbers and scales of a weight, from its name, its numbers and the axis of its channels."""

# Below this many numbers a weight is not worth a scale: biases, norms, small heads.
SMALLEST = 16_384

# Clipping the largest weights of a channel a little often lowers the squared
# error of all the others; the best of these fractions of the maximum is kept.
CLIPS = np.linspace(0.80, 1.0, 11, dtype=np.float32)


def store_int8(model: onnx.ModelProto, smallest: int = SMALLEST) -> onnx.ModelProto:
    """Return a copy of the model with its large fp32 weights stored as int8.

    Weights are those initialisers of fp32 with at least two axes and `smallest`
    numbers that feed MatMul (second input), Gemm, Gather, Conv or ConvTranspose,
    in the main graph or in the bodies of Loop, If and Scan. Everything else, and
    a weight used in two ways that need different scales, stays as it is.
    """
    return _store(model, smallest, lambda name, weight, axis: quantise(weight, axis))


def store(model: onnx.ModelProto, known: Known) -> onnx.ModelProto:
    """Return a copy of the model with its large fp32 weights stored as in `known`.

    ValueError: a large weight is not among them.
    """

    def find(name: str, weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray | None]:
        if weight.tobytes() not in known:
            raise ValueError(f"the weight {name} of the graph is not among the stored ones")
        return known[weight.tobytes()]

    return _store(model, SMALLEST, find)


def quantise(weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Round a weight to int8 with one scale per index of `axis`.

    Returns the int8 array, of the weight's shape, and the fp32 scales, of the same
    rank with 1 on every other axis. The scales are those of CLIPS with the least
    squared error; a channel of zeros gets scale 1.
    """
    others = _reduced(weight, axis)
    largest = np.abs(weight).max(axis=others, keepdims=True) / 127
    largest = np.where(largest > 0, largest, 1).astype(np.float32)
    best_error = np.full(largest.shape, np.inf, np.float32)
    best_scale = largest
    for clip in CLIPS:
        scale = largest * clip
        rounded = np.clip(np.rint(weight / scale), -127, 127) * scale
        error = np.square(weight - rounded).sum(axis=others, keepdims=True)
        best_scale = np.where(error < best_error, scale, best_scale)
        best_error = np.minimum(error, best_error)
    stored = np.clip(np.rint(weight / best_scale), -127, 127).astype(np.int8)
    return stored, best_scale.astype(np.float32)


def _store(model: onnx.ModelProto, smallest: int, round_weight: Rounding) -> onnx.ModelProto:
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for graph in list(_graphs(result.graph)):
        _store_graph(graph, smallest, round_weight)
    onnx.checker.check_model(result)
    return result


def _store_graph(graph: onnx.GraphProto, smallest: int, round_weight: Rounding) -> None:
    initializers, restored = [], []
    for initializer in graph.initializer:
        axis = _channel_axis(graph, initializer, smallest)
        if axis is None:
            initializers.append(initializer)
            continue
        name = initializer.name
        stored, scale = round_weight(name, numpy_helper.to_array(initializer), axis)
        kind = stored.dtype.name
        initializers.append(numpy_helper.from_array(stored, f"{name}_{kind}"))
        cast = name if scale is None else f"{name}_cast"
        restored.append(helper.make_node("Cast", [f"{name}_{kind}"], [cast], f"{name}_Cast", to=onnx.TensorProto.FLOAT))
        if scale is not None:
            initializers.append(numpy_helper.from_array(scale, f"{name}_scale"))
            restored.append(helper.make_node("Mul", [cast, f"{name}_scale"], [name], f"{name}_Mul"))
    nodes = restored + list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(initializers)
    graph.node.extend(nodes)


def _channel_axis(graph: onnx.GraphProto, weight: onnx.TensorProto, smallest: int) -> int | None:
    """The axis that gets a scale of its own per index, None to leave the weight alone."""
    if weight.data_type != onnx.TensorProto.FLOAT or len(weight.dims) < 2 or np.prod(weight.dims) < smallest:
        return None
    if weight.name in {output.name for output in graph.output}:
        return None
    axes = set()
    for inner in _graphs(graph):
        for node in inner.node:
            for position, name in enumerate(node.input):
                if name == weight.name:
                    axes.add(_axis_of_use(node, position, len(weight.dims)))
    return axes.pop() if len(axes) == 1 else None


def _axis_of_use(node: onnx.NodeProto, position: int, rank: int) -> int | None:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "MatMul" and position == 1:
        return rank - 1
    if node.op_type == "Gemm" and position == 1:
        return 0 if attributes.get("transB") else 1
    if node.op_type == "Gather" and position == 0:
        return 0 if attributes.get("axis", 0) == 0 else None
    if node.op_type == "Conv" and position == 1:
        return 0
    if node.op_type == "ConvTranspose" and position == 1:
        return 1 if attributes.get("group", 1) == 1 else None
    return None


def _reduced(weight: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(weight.ndim) if i != axis)


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and every graph inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)
            for inner in attribute.graphs:
                yield from _graphs(inner)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    model = store_int8(onnx.load(args.source))
    onnx.save(model, args.target)


if __name__ == "__main__":
    main()
