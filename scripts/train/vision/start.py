"""The weights of a served reader, to train on: out of atom_detector.onnx and bond_classifier.onnx, where each norm is folded into the matrix before it.

The norms of the new model are set so that on a batch they change nothing: then it begins as the served one was. Classes that the
served networks did not have begin at the mean of those that they had (by their names in the entry's own reader/labels.py); residual blocks
that they did not have begin by passing on what they get
(a last norm of zero: Goyal et al. 2017, arXiv 1706.02677, section 5.1).
"""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from torch import nn

from scripts.served_reader.labels import ATOM_LABELS
from scripts.train.vision.model import Block, Down, Model, Up


def stored(path: Path) -> list[torch.Tensor]:
    """The weights of a graph, those in fp16, in the order in which they are used."""
    graph = onnx.load(str(path)).graph
    return [
        torch.from_numpy(numpy_helper.to_array(t).astype(np.float32))
        for t in graph.initializer
        if t.data_type == TensorProto.FLOAT16
    ]


@torch.no_grad()
def fill(model: Model, folder: Path, batch: dict[str, torch.Tensor]) -> None:
    """Fills a model of the same widths, and as many blocks or more, with the networks of a folder; batch is what its norms are set on."""
    detector, tensors = model.atom_detector, stored(folder / "atom_detector.onnx")
    at8, at16 = _held(detector.at8, tensors) - 1, _held(detector.at16, tensors)  # less back8, which is as wide as at8
    weights = iter(tensors)
    _linear(detector.stem, detector.stem_norm, weights)
    _convolution(detector.fine.weight, detector.fine_norm, weights)
    _down(detector.down[0], weights)
    _block(detector.at4, weights)
    _down(detector.down[1], weights)
    for block in detector.at8[:at8]:
        _block(block, weights)
    _down(detector.down[2], weights)
    for block in detector.at16[:at16]:
        _block(block, weights)
    for layer in (detector.molecule[0], detector.molecule[2]):
        _layer(layer, weights)
    for up, block in ((detector.up8, detector.back8), (detector.up4, detector.back4)):
        _up(up, weights)
        _block(block, weights)
    _layer(detector.atom[0], weights)
    had = runpy.run_path(str(folder / "reader" / "labels.py"))["ATOM_LABELS"]
    _head(detector.atom[2], weights, had, ATOM_LABELS)
    weights = iter(stored(folder / "bond_classifier.onnx"))
    _layer(model.bond_classifier.features, weights)
    model.bond_classifier.shape.weight.copy_(next(weights).T)
    _layer(model.bond_classifier.hide, weights)
    _layer(model.bond_classifier.out, weights)
    added = [*detector.at8[at8:], *detector.at16[at16:]]
    _pass_on(added)  # so that the norms behind them are set on what they will see
    _settle(model, batch)
    _pass_on(added)


def _pass_on(blocks: list[Block]) -> None:
    """Makes blocks give what they get."""
    for block in blocks:
        block.last.weight.zero_()
        block.last.bias.zero_()


def _held(blocks: nn.ModuleList, tensors: list[torch.Tensor]) -> int:
    """How many blocks of that width there are among stored weights: two convolutions each."""
    return sum(t.shape == blocks[0].first.weight.shape for t in tensors) // 2


def _norm(norm: nn.BatchNorm1d, bias: torch.Tensor) -> None:
    """A norm that adds a bias and does nothing else."""
    norm.weight.fill_((1 + norm.eps) ** 0.5)
    norm.bias.copy_(bias)
    norm.running_mean.zero_()
    norm.running_var.fill_(1)


def _linear(layer: nn.Linear, norm: nn.BatchNorm1d, weights) -> None:
    layer.weight.copy_(next(weights).T)
    _norm(norm, next(weights))


def _convolution(weight: nn.Parameter, norm: nn.BatchNorm1d, weights) -> None:
    weight.copy_(next(weights))
    _norm(norm, next(weights))


def _block(block: Block, weights) -> None:
    _convolution(block.first.weight, block.norm, weights)
    _convolution(block.second.weight, block.last, weights)


def _down(down: Down, weights) -> None:
    _linear(down.linear, down.norm, weights)


def _up(up: Up, weights) -> None:
    up.linear.weight.copy_(next(weights).T)
    _linear(up.skip, up.norm, weights)


def _layer(layer: nn.Linear, weights) -> None:
    layer.weight.copy_(next(weights).T)
    layer.bias.copy_(next(weights))


def _head(layer: nn.Linear, weights, had: tuple[str, ...], marks: tuple[str, ...]) -> None:
    """The output layer of the atoms: nothing, the classes that the stored one had by name, and the two offsets; new classes."""
    weight, bias = next(weights).T, next(weights)
    rows = {"nothing": 0, **{name: 1 + place for place, name in enumerate(had)}, "right": -2, "down": -1}
    layer.weight.copy_(
        weight[:-2].mean(0)
    )  # Logits mean something beside each other only: a number of its own may be above them all.
    layer.bias.fill_(float(bias[:-2].mean()) - 1)
    for place, name in enumerate(("nothing", *marks, "right", "down")):
        if name in rows:
            layer.weight[place], layer.bias[place] = weight[rows[name]], bias[rows[name]]


def _settle(model: Model, batch: dict[str, torch.Tensor]) -> None:
    """Gives each norm the mean and variance of what it sees, and weights that undo them."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d)]
    seen: dict[nn.BatchNorm1d, tuple[torch.Tensor, torch.Tensor]] = {}
    hooks = [
        n.register_forward_pre_hook(lambda norm, given: seen.update({norm: (given[0].mean(0), given[0].var(0))}))
        for n in norms
    ]
    model.eval()
    model(batch)
    for hook in hooks:
        hook.remove()
    for norm, (mean, variance) in seen.items():
        norm.bias.add_(mean)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance.clamp(min=1e-4))
        norm.weight.copy_(torch.sqrt(norm.running_var + norm.eps))
    model.train()
