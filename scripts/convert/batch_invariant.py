"""Makes the result of a row independent of its batch, bit for bit, on ONNX Runtime's CPU kernels.

    python3 scripts/convert/batch_invariant.py model.onnx model_invariant.onnx

A product with a constant matrix adds in the same order for any number of rows, since ONNX Runtime packs such matrices
(MlasSgemmPackedOperation of onnxruntime/core/mlas/lib/sgemm.cpp); it does not pack those that a Loop in a Loop takes
from the outermost graph. Four other forms do not, and are replaced by equivalent ones:

- ReduceSum over the tokens adds in another order in a batch of one row, and for other widths. It becomes a product
  with the mask, or with ones, whose trailing zeros change nothing. The row of weights is given twice, since the kernel
  for a single row adds the last three tokens in another order.
- ReduceSum over another axis adds in an order that depends on where the row lies in memory, unless its length is a
  multiple of a vector register. Zeros are appended.
- A product of two computed matrices adds up to 128 numbers in one order, and more of them in blocks whose size depends
  on the width of the result (MlasSgemmOperation, ibid.). It becomes a sum of products of at most 128.
- A logarithm has one kernel for whole vectors and another for the numbers left over. It becomes the logarithm of a sum
  of one number, which is computed number by number. Its input must not be empty: ONNX Runtime then keeps the axis that
  is summed. This rule also applies inside Loop, If and Scan.

Inputs, outputs and weights are unchanged, and results are equal up to rounding in fp32.
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OLDEST = 13
"""The first opset whose Unsqueeze and Split take axes and sizes as inputs."""

BLOCK = 128
"""The largest inner dimension that ONNX Runtime's product of two fp32 matrices adds in one block for any width."""

LANES = 16
"""Numbers in the longest vector register."""

PREFIX = "invariant/"
TOKENS = 1
"""The axis of the tokens in [batch, tokens] and [batch, tokens, width]."""


def batch_invariant(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns a copy of the model with the replacements. A model without those forms is returned unchanged."""
    if opset(model) < OLDEST:
        raise ValueError(f"the model has opset {opset(model)}, and the replacements need {OLDEST} or later")
    result = onnx.ModelProto()
    result.CopyFrom(model)
    _Rewriter(result).run()
    replace_logarithms(result.graph, opset(result))
    remove_unused(result.graph)
    onnx.checker.check_model(result)
    return result


class _Rewriter:
    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = model.graph
        self.shapes = shapes(model)
        self.constants = constants(self.graph)
        self.made_by = {output: node for node in self.graph.node for output in node.output}
        self.nodes: list[onnx.NodeProto] = []
        self.axes: set[int] = set()

    def run(self) -> None:
        for node in list(self.graph.node):
            rules = (self.replace_sum, self.replace_product)
            is_replacement = node.output[0].startswith(PREFIX)  # a model that was rewritten before
            if is_replacement or not any(rule(node) for rule in rules):
                self.nodes.append(node)
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        for axis in sorted(self.axes):
            if self.axis(axis) not in self.constants:
                self.graph.initializer.append(numpy_helper.from_array(np.array([axis]), self.axis(axis)))

    def add(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def axis(self, axis: int) -> str:
        """Names a constant with one axis."""
        self.axes.add(axis)
        return f"{PREFIX}axis_{axis}"

    def zero(self) -> str:
        """Names a constant with the index 0."""
        name = f"{PREFIX}zero"
        if name not in self.constants:
            self.constants[name] = np.zeros((), np.int64)
            self.graph.initializer.append(numpy_helper.from_array(self.constants[name], name))
        return name

    def repeat(self, column: str, rank: int, name: str) -> str:
        """Repeats the numbers of a tensor whose last axis, the one after rank others, has the length 1."""
        shape = helper.make_tensor(f"{name}/lanes", TensorProto.INT64, [rank + 1], [1] * rank + [LANES])
        self.graph.initializer.append(shape)
        return self.add("Expand", [column, shape.name], f"{name}/repeated")

    def replace_sum(self, node: onnx.NodeProto) -> bool:
        """Replaces a sum over axis 1 of fp32 [batch, n] or [batch, tokens, width]."""
        if node.op_type != "ReduceSum" or self.reduced(node) != [TOKENS]:
            return False
        kind, shape = self.shapes.get(node.input[0], (0, []))
        if kind != TensorProto.FLOAT or len(shape) not in (2, 3):
            return False
        length = shape[TOKENS]
        if isinstance(length, int):
            return len(shape) == 2 and self.pad_sum(node, length)
        if keeps_dimensions(node):
            return False
        name = PREFIX + node.output[0]
        values, weights = self.factors(node.input[0], len(shape), name)
        twice = self.add("Concat", [weights, weights], f"{name}/twice", axis=1)
        product = self.add("MatMul", [twice, values], f"{name}/product")
        if len(shape) == 2:
            product = self.add("Gather", [product, self.zero()], f"{name}/first", axis=2)
        self.add("Gather", [product, self.zero()], node.output[0], axis=1)
        return True

    def pad_sum(self, node: onnx.NodeProto, length: int) -> bool:
        """Pads what a node sums to a multiple of LANES."""
        missing = -length % LANES
        if not missing:
            return False
        name = PREFIX + node.output[0]
        self.graph.initializer.append(helper.make_tensor(f"{name}/pads", TensorProto.INT64, [4], [0, 0, 0, missing]))
        padded = self.add("Pad", [node.input[0], f"{name}/pads"], f"{name}/padded")
        self.add("ReduceSum", [padded, node.input[1]], node.output[0])
        self.nodes[-1].attribute.extend(node.attribute)
        return True

    def factors(self, summed: str, rank: int, name: str) -> tuple[str, str]:
        """Returns values [batch, tokens, width or LANES] and weights [batch, 1, tokens] whose product is the sum."""
        values, weights = summed, ""
        product = self.made_by.get(summed)
        if product is not None and product.op_type == "Mul":
            a, b = product.input
            if rank == 3 and self.is_column(b):
                values, weights = a, b
            elif rank == 3 and self.is_column(a):
                values, weights = b, a
            elif rank == 2 and all(len(self.shapes.get(x, (0, []))[1]) == 2 for x in (a, b)):
                values, weights = a, b
        if not weights:
            one = numpy_helper.from_array(np.ones(1, np.float32))
            first = summed
            if rank == 3:
                first = self.add("Slice", [summed, self.axis(0), self.axis(1), self.axis(2)], f"{name}/first")
            size = self.add("Shape", [first], f"{name}/shape")
            weights = self.add("ConstantOfShape", [size], f"{name}/ones", value=one)
        if rank == 2:
            column = self.add("Unsqueeze", [values, self.axis(2)], f"{name}/column")
            return self.repeat(column, 2, name), self.add("Unsqueeze", [weights, self.axis(1)], f"{name}/row")
        return values, self.add("Transpose", [weights], f"{name}/row", perm=[0, 2, 1])

    def is_column(self, name: str) -> bool:
        """Reports whether a tensor has the shape [batch, tokens, 1]."""
        shape = self.shapes.get(name, (0, []))[1]
        return len(shape) == 3 and shape[2] == 1

    def replace_product(self, node: onnx.NodeProto) -> bool:
        """Replaces a product of two computed matrices with a constant inner dimension above BLOCK."""
        if node.op_type != "MatMul" or any(name in self.constants for name in node.input):
            return False
        (kind, left), (_, right) = (self.shapes.get(name, (0, [])) for name in node.input)
        if kind != TensorProto.FLOAT or len(left) < 2 or len(right) < 3:
            return False
        inner = left[-1]
        if isinstance(inner, str) or inner <= BLOCK:
            return False
        name = PREFIX + node.output[0]
        blocks = -(-inner // BLOCK)
        sizes = [BLOCK] * (blocks - 1) + [inner - BLOCK * (blocks - 1)]
        self.graph.initializer.append(numpy_helper.from_array(np.array(sizes), f"{name}/sizes"))
        parts = []
        for side, (tensor, axis) in enumerate([(node.input[0], len(left) - 1), (node.input[1], len(right) - 2)]):
            names = [f"{name}/{side}_{i}" for i in range(blocks)]
            self.nodes.append(helper.make_node("Split", [tensor, f"{name}/sizes"], names, axis=axis))
            parts.append(names)
        total = self.add("MatMul", [parts[0][0], parts[1][0]], f"{name}/product_0")
        for i in range(1, blocks):
            product = self.add("MatMul", [parts[0][i], parts[1][i]], f"{name}/product_{i}")
            total = self.add("Add", [total, product], node.output[0] if i == blocks - 1 else f"{name}/sum_{i}")
        return True

    def reduced(self, node: onnx.NodeProto) -> list[int]:
        """Returns the axes of a ReduceSum, counted from the front."""
        if len(node.input) < 2 or node.input[1] not in self.constants:
            return []
        rank = len(self.shapes.get(node.input[0], (0, []))[1])
        return [int(axis) % max(1, rank) for axis in self.constants[node.input[1]].ravel()]


def replace_logarithms(graph: onnx.GraphProto, version: int) -> None:
    """Replaces logarithms in a graph and the graphs inside it; version: of the standard opset."""
    nodes = []
    for node in graph.node:
        for inner in subgraphs(node):
            replace_logarithms(inner, version)
        if node.op_type != "Log":
            nodes.append(node)
            continue
        name = PREFIX + node.output[0]
        last = numpy_helper.from_array(np.array([-1]), f"{name}/last")
        graph.initializer.append(last)
        column = f"{name}/column"
        nodes.append(helper.make_node("Unsqueeze", [node.input[0], last.name], [column]))
        sums = helper.make_node("ReduceLogSum", [column], [node.output[0]], keepdims=0)
        if version < 18:  # the axes are an attribute
            sums.attribute.append(helper.make_attribute("axes", [-1]))
        else:
            sums.input.append(last.name)
        nodes.append(sums)
    del graph.node[:]
    graph.node.extend(nodes)


def subgraphs(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    """Returns the bodies of a Loop or Scan and the branches of an If."""
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def opset(model: onnx.ModelProto) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))


def keeps_dimensions(node: onnx.NodeProto) -> bool:
    return next((a.i for a in node.attribute if a.name == "keepdims"), 1) != 0


def shapes(model: onnx.ModelProto) -> dict[str, tuple[int, list[int | str]]]:
    """Returns the element type and the shape of each tensor, with a name for a dimension that varies."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found = {}
    for value in [*inferred.value_info, *inferred.input, *inferred.output]:
        tensor = value.type.tensor_type
        sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
        found[value.name] = (tensor.elem_type, sizes)
    return found


def constants(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Returns the tensors that do not depend on an input, by name; an empty array for one that is computed."""
    known = {t.name: numpy_helper.to_array(t) if np.prod(t.dims) < 64 else np.empty(0) for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            value = helper.get_attribute_value(node.attribute[0])  # a tensor, or numbers without one
            is_tensor = isinstance(value, onnx.TensorProto)
            known[node.output[0]] = numpy_helper.to_array(value) if is_tensor else np.asarray(value)
        elif node.input and all(name in known for name in node.input if name):
            known |= {name: np.empty(0) for name in node.output}
    return known


def remove_unused(graph: onnx.GraphProto) -> None:
    """Removes nodes whose results nothing uses, and stored tensors."""
    used = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if any(output in used for output in node.output):
            kept.append(node)
            used |= inputs(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    tensors = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(tensors)


def inputs(node: onnx.NodeProto) -> set[str]:
    """Returns what a node and the graphs inside it use of the graph around, and names of values inside it."""
    inner = [n for graph in subgraphs(node) for n in graph.node]
    outputs = {output.name for graph in subgraphs(node) for output in graph.output}
    return set(node.input).union(outputs, *map(inputs, inner))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    args = parser.parse_args()
    onnx.save(batch_invariant(onnx.load(args.source)), args.target)


if __name__ == "__main__":
    main()
