"""Describes the number formats of an exported graph, for comparisons with PyTorch in fp32."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

PRODUCTS = {"MatMul", "Gemm"}
INTEGER = {"MatMulInteger", "QLinearMatMul"}


def arithmetic(path: Path) -> str:
    """Returns such as "weights stored in FLOAT16; 12 of 20 matrix products in integers, the rest in fp32"."""
    model = onnx.load(str(path))
    graphs = list(with_subgraphs(model.graph))
    producers = {name: node for graph in graphs for node in graph.node for name in node.output}
    products = [node for graph in graphs for node in graph.node if node.op_type in PRODUCTS | INTEGER]
    integers = sum(is_integer(node, producers) for node in products)
    sizes: Counter[str] = Counter()
    for graph in graphs:
        for weight in graph.initializer:
            sizes[onnx.TensorProto.DataType.Name(weight.data_type)] += len(weight.raw_data)
    stored = " and ".join(name for name, size in sizes.most_common() if size > 0.05 * sum(sizes.values()))
    return f"weights stored in {stored}; {integers} of {len(products)} matrix products in integers, the rest in fp32"


def is_integer(product: onnx.NodeProto, producers: dict[str, onnx.NodeProto]) -> bool:
    """Reports whether ONNX Runtime multiplies integers: by the operator, or because the left operand is quantised."""
    if product.op_type in INTEGER:
        return True
    operand = producers.get(product.input[0])
    if operand is None or operand.op_type != "DequantizeLinear":
        return False
    quantised = producers.get(operand.input[0])
    return quantised is not None and quantised.op_type == "QuantizeLinear"


def with_subgraphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yields the graph and the graphs inside its nodes: the bodies of loops and branches."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from with_subgraphs(attribute.g)
