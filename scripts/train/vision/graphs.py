"""Writes the two networks as ONNX graphs for one drawing: as in model.py, with folded batch norms (norms.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto
from torch import nn

from scripts.train.graph import Graph
from scripts.train.vision import norms
from scripts.train.vision.model import AtomDetector, Block, BondClassifier, Convolution, Down, Model, Up

F32, I64, U8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8


class Sparse(Graph):
    """Layers over rows of inked cells."""

    def pick(self, x: str, rows: str, width: int) -> str:
        """Returns rows of x; the index len(x) stands for a row of zeros."""
        return self.op("Gather", self.op("Concat", x, np.zeros((1, width), np.float32), axis=0), rows, axis=0)

    def product(self, x: str, weight: torch.Tensor, bias: torch.Tensor) -> str:
        return self.op("Add", self.op("MatMul", x, self.weight(weight)), self.weight(bias))

    def convolution(self, x: str, module: Convolution, norm: nn.BatchNorm1d, near: str) -> str:
        width = module.weight.shape[0] // 9
        columns = self.op("Reshape", self.pick(x, near, width), np.array([-1, 9 * width]))
        return self.product(columns, module.weight, norms.bias(norm))

    def block(self, x: str, module: Block, near: str) -> str:
        y = self.op("Relu", self.convolution(x, module.first, module.norm, near))
        return self.op("Relu", self.op("Add", x, self.convolution(y, module.second, module.last, near)))

    def down(self, x: str, module: Down, children: str) -> str:
        width = module.linear.in_features // 4
        columns = self.op("Reshape", self.pick(x, children, width), np.array([-1, 4 * width]))
        return self.op("Relu", self.product(columns, module.linear.weight.T, norms.bias(module.norm)))

    def up(self, x: str, skip: str, module: Up, place: str) -> str:
        fine = self.op("MatMul", x, self.weight(module.linear.weight.T))
        fine = self.op("Gather", self.op("Reshape", fine, np.array([-1, module.outputs])), place, axis=0)
        return self.op("Relu", self.op("Add", fine, self.product(skip, module.skip.weight.T, norms.bias(module.norm))))

    def perceptron(self, x: str, module: nn.Sequential) -> str:
        return self.layer(self.op("Relu", self.layer(x, module[0])), module[2])


def atom_detector(module: AtomDetector) -> Sparse:
    """Inputs: SparseCells.tensors. Outputs: features, atoms and molecule of AtomDetector.forward for one drawing."""
    g = Sparse()
    patches = g.input("patches", U8, ["n0", 36])
    near = [g.input(f"neighbours{i}", I64, [f"n{i}", 9]) for i in range(4)]
    children = {i: g.input(f"children{i}", I64, [f"n{i}", 4]) for i in range(1, 4)}
    place = [g.input(f"place{i}", I64, [f"n{i}"]) for i in range(3)]
    x = g.op("Sub", g.op("Mul", g.op("Cast", patches, to=F32), 1 / 128), 0.5)
    x = g.op("Relu", g.product(x, module.stem.weight.T, norms.bias(module.stem_norm)))
    x = g.op("Relu", g.convolution(x, module.fine, module.fine_norm, near[0]))
    four = g.block(g.down(x, module.down[0], children[1]), module.at4, near[1])
    eight = g.down(four, module.down[1], children[2])
    for block in module.at8:
        eight = g.block(eight, block, near[2])
    x = g.down(eight, module.down[2], children[3])
    for block in module.at16:
        x = g.block(x, block, near[3])
    whole = g.perceptron(g.op("ReduceMean", x, np.array([0]), keepdims=1), module.molecule)
    eight = g.block(g.up(x, eight, module.up8, place[2]), module.back8, near[2])
    four = g.block(g.up(eight, four, module.up4, place[1]), module.back4, near[1])
    g.output(four, F32, ["n1", module.up4.outputs], "features")
    g.output(g.perceptron(four, module.atom), F32, ["n1", module.atom[2].out_features], "atoms")
    g.output(g.op("Reshape", whole, np.array([-1])), F32, [1], "molecule")
    return g


def bond_classifier(module: BondClassifier) -> Sparse:
    """The inputs and the output of BondClassifier.forward."""
    g, width = Sparse(), module.features.in_features
    steps = width // module.cells
    features, line, shape = (
        g.input("features", F32, ["n1", module.cells]),
        g.input("line", I64, ["p", steps]),
        g.input("shape", F32, ["p", 4]),
    )
    x = g.op("Reshape", g.pick(features, line, module.cells), np.array([-1, width]))
    x = g.op("Add", g.layer(x, module.features), g.op("MatMul", shape, g.weight(module.shape.weight.T)))
    g.output(
        g.layer(g.op("Relu", g.layer(g.op("Relu", x), module.hide)), module.out),
        F32,
        ["p", module.out.out_features],
        "kinds",
    )
    return g


def save(model: Model, folder: Path) -> None:
    """Writes atom_detector.onnx and bond_classifier.onnx. Folds the norms of the model."""
    norms.fold(model)
    with torch.no_grad():
        atom_detector(model.atom_detector).save(folder / "atom_detector.onnx", "atom_detector")
        bond_classifier(model.bond_classifier).save(folder / "bond_classifier.onnx", "bond_classifier")
