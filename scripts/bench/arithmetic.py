"""What an exported graph computes in, so that a figure beside PyTorch in fp32 says what it compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

PRODUCTS = {"MatMul", "Gemm"}
INTEGER = {"MatMulInteger", "QLinearMatMul"}


def arithmetic(path: Path) -> str:
    """Such as "weights stored in FLOAT16; 12 of 20 matrix products in integers, the rest in fp32"."""
    model = onnx.load(str(path))
    graphs = list(nested(model.graph))
    made_by = {name: node for graph in graphs for node in graph.node for name in node.output}
    products = [node for graph in graphs for node in graph.node if node.op_type in PRODUCTS | INTEGER]
    integers = sum(in_integers(node, made_by) for node in products)
    sizes: Counter[str] = Counter()
    for graph in graphs:
        for weight in graph.initializer:
            sizes[onnx.TensorProto.DataType.Name(weight.data_type)] += len(weight.raw_data)
    stored = " and ".join(name for name, size in sizes.most_common() if size > 0.05 * sum(sizes.values()))
    return f"weights stored in {stored}; {integers} of {len(products)} matrix products in integers, the rest in fp32"


def in_integers(product: onnx.NodeProto, made_by: dict[str, onnx.NodeProto]) -> bool:
    """Reports whether ONNX Runtime multiplies integers: by the operator, or as its left operand was just quantised."""
    if product.op_type in INTEGER:
        return True
    given = made_by.get(product.input[0])
    rounded = made_by.get(given.input[0]) if given and given.op_type == "DequantizeLinear" else None
    return rounded is not None and rounded.op_type == "QuantizeLinear"


def nested(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and those inside its nodes: the bodies of loops and branches."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nested(attribute.g)
