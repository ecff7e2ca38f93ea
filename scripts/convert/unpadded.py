"""Leaves padding out of the products of a BERT-like ONNX graph.

A batch of texts is a rectangle, as wide as its longest text, and an ordinary graph
computes every cell of it. Nearly all of the work is in linear maps, which treat each
token alone, so here they get the tokens alone, [tokens, width], and only attention,
whose own products are a small part, and the pooling see the rectangle:

    rows      = Gather(hidden as [batch * length, width], numbers of the cells that hold a token)
    rectangle = Gather(rows, number of the token in each cell)

A cell of padding is given the row of the token before it, which attention masks as
it masks padding. Inputs, outputs and weights stay as they were, and so do the
answers, up to the rounding of fp32. Only operators of the standard opset are used.
How much it saves is the part of padding: nothing where all texts are as long.
(The idea is that of NVIDIA's Effective Transformer; ByteTransformer, Zhai et al.
2023, https://arxiv.org/abs/2210.03052, section III-C.)

Run it on a file:  python3 scripts/convert/unpadded.py model.onnx model_unpadded.onnx
"""

from __future__ import annotations

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Operators for which the places of the cells matter, so that they need the rectangle.
# All others see each token alone, or are given a second tensor that is a rectangle.
PLACED = {
    "Reshape",
    "Transpose",
    "Softmax",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "Slice",
    "Squeeze",
    "Unsqueeze",
    "Gather",
    "Concat",
    "Flatten",
}

MARK = "unpadded/"


def unpadded(model: onnx.ModelProto, mask: str = "attention_mask") -> onnx.ModelProto:
    """Return a copy of the model whose linear maps leave padding out.

    mask is the int64 [batch, length] tensor that is 1 at a token and 0 at padding of
    the hidden states: an input, or one computed before them. The hidden states begin
    at the first LayerNormalization. Raises ValueError where there is none, or where
    nothing was found to leave padding out of.
    """
    result = onnx.ModelProto()
    result.CopyFrom(model)
    rewriting = _Rewriting(result.graph, mask)
    rewriting.run()
    onnx.checker.check_model(result)
    return result


class _Rewriting:
    """One pass over the nodes in their order, which is topological."""

    def __init__(self, graph: onnx.GraphProto, mask: str) -> None:
        self.graph, self.mask = graph, mask
        self.constant = {i.name for i in graph.initializer}
        self.nodes: list[onnx.NodeProto] = []
        # Tensors by their names: those of shape [tokens, ...]; the rows of a rectangle; the rectangle of rows.
        self.alone: set[str] = set()
        self.rows_of: dict[str, str] = {}
        self.rectangle_of: dict[str, str] = {}
        self.attended: set[str] = set()
        self.linear = 0

    def run(self) -> None:
        first = next((n for n in self.graph.node if n.op_type == "LayerNormalization"), None)
        if first is None:
            raise ValueError("the graph has no LayerNormalization, at which hidden states would begin")
        self.hidden = first.output[0]
        self.width = next(int(i.dims[0]) for i in self.graph.initializer if i.name == first.input[1])
        started = False
        for node in self.graph.node:
            if node.op_type == "Constant" or (node.input and all(i in self.constant for i in node.input)):
                self.constant.update(node.output)
                self.nodes.append(node)
            elif started:
                self.nodes.append(self.rewritten(node))
            else:
                self.nodes.append(node)
                if node.output[0] == self.hidden:
                    self.number_cells()
                    started = True
        if not self.linear:
            raise ValueError("no linear map of the hidden states was found")
        nodes = [_copy(n) for n in self.nodes]
        del self.graph.node[:]
        self.graph.node.extend(nodes)
        del self.graph.value_info[:]  # shapes that another program inferred

    def rewritten(self, node: onnx.NodeProto) -> onnx.NodeProto:
        """The node, with rows or rectangles as its inputs."""
        if node.op_type == "Shape":  # asked by views on heads
            inputs = [self.hidden if node.input[0] in self.alone else node.input[0]]
        elif node.op_type == "MatMul" and node.input[1] in self.constant:
            inputs = [self.rows(node.input[0]), node.input[1]]
            if inputs[0] in self.alone:
                self.linear += 1
                self.alone.update(node.output)
        else:
            inputs = [self.rows_of.get(i, i) for i in node.input]
            if any(i in self.alone for i in inputs):
                others = [i for i in inputs if i and i not in self.alone and i not in self.constant]
                if others or node.op_type in PLACED:
                    inputs = [self.rectangle(i) if i in self.alone else i for i in inputs]
                else:
                    self.alone.update(node.output)
            elif node.op_type == "Reshape":  # heads back to hidden states
                self.attended.update(node.output)
        result = _copy(node)
        del result.input[:]
        result.input.extend(inputs)
        return result

    def rows(self, name: str) -> str:
        """The rows of a rectangle that a linear map follows on attention, or what it is given already."""
        if name in self.attended and name not in self.rows_of:
            self.take_rows(name)
        return self.rows_of.get(name, name)

    def take_rows(self, name: str) -> None:
        flat = self.add("Reshape", [name, self.number("width", [-1, self.width])], f"{name}/flat")
        self.rows_of[name] = self.add("Gather", [flat, MARK + "cells"], f"{name}/rows", axis=0)
        self.alone.add(self.rows_of[name])

    def rectangle(self, name: str) -> str:
        if name not in self.rectangle_of:
            self.rectangle_of[name] = self.add("Gather", [name, MARK + "tokens"], f"{name}/rectangle", axis=0)
        return self.rectangle_of[name]

    def number_cells(self) -> None:
        """cells: int64 [tokens], the cells that hold one; tokens: int64 [batch, length], the token of each cell.

        The first cell of a text counts as a token even where the mask says padding, so that every batch has one.
        """
        one, zero, flat = self.number("one", 1), self.number("zero", 0), self.number("flat", [-1])
        shape = self.add("Shape", [self.mask], MARK + "shape")
        length = self.add("Gather", [shape, one], MARK + "length", axis=0)
        first = self.add("Equal", [self.add("Range", [zero, length, one], MARK + "places"), zero], MARK + "first")
        held = self.add(
            "Or", [self.add("Cast", [self.mask], MARK + "masked", to=TensorProto.BOOL), first], MARK + "held"
        )
        held = self.add("Reshape", [held, flat], MARK + "held_flat")
        self.add("Reshape", [self.add("NonZero", [held], MARK + "nonzero"), flat], MARK + "cells")
        counted = self.add(
            "CumSum", [self.add("Cast", [held], MARK + "counts", to=TensorProto.INT64), zero], MARK + "counted"
        )
        self.add("Reshape", [self.add("Sub", [counted, one], MARK + "before"), shape], MARK + "tokens")
        self.take_rows(self.hidden)

    def number(self, name: str, value: int | list[int]) -> str:
        """An int64 constant."""
        name = MARK + name
        if name not in self.constant:
            self.constant.add(name)
            self.graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: int) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output


def _copy(node: onnx.NodeProto) -> onnx.NodeProto:
    result = onnx.NodeProto()
    result.CopyFrom(node)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a graph with the inputs input_ids and attention_mask")
    parser.add_argument("target", help="where to write the other one")
    parser.add_argument(
        "--mask", default="attention_mask", help="the tensor that is 1 at tokens (default: attention_mask)"
    )
    args = parser.parse_args()
    onnx.save(unpadded(onnx.load(args.source), args.mask), args.target)


if __name__ == "__main__":
    main()
