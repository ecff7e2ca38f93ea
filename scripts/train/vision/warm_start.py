"""Loads the weights of a served reader to train on, from atom_detector.onnx and bond_classifier.onnx.

In the graphs each batch norm is folded into the matrix before it. The norms of the new model are set so that on a batch
they change nothing: it starts as the served one. Labels that the served networks do not have (by the names in the
entry's own reader/labels.py) start at the mean of the others. Residual blocks that they do not have start as the
identity (a last norm of zero: Goyal et al. 2017, arXiv 1706.02677, section 5.1).
"""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from torch import nn

from scripts.served_reader.labels import ATOM_LABELS
from scripts.train.vision.model import Block, Down, Model, Up

Weights = Iterator[torch.Tensor]
"""The weights of a graph in the order of their use; each loader takes the next ones."""


def labels_file(folder: Path) -> Path:
    """Returns the module with the labels of a version's networks."""
    return folder / "reader" / "labels.py"


def read_weights(path: Path) -> list[torch.Tensor]:
    """Returns the weights of a graph, stored in fp16, in the order of their use."""
    return [
        torch.from_numpy(numpy_helper.to_array(tensor).astype(np.float32))
        for tensor in onnx.load(str(path)).graph.initializer
        if tensor.data_type == TensorProto.FLOAT16
    ]


@torch.no_grad()
def load_onnx(model: Model, folder: Path, batch: dict[str, torch.Tensor]) -> None:
    """Loads the networks of a version's folder into a model with the same widths and at least as many blocks.

    The norms are recalibrated on the batch.
    """
    detector, classifier = model.atom_detector, model.bond_classifier
    stored = read_weights(folder / "atom_detector.onnx")
    at8 = _count_blocks(detector.at8, stored) - 1  # Without back8, which is as wide as at8.
    at16 = _count_blocks(detector.at16, stored)
    weights = iter(stored)
    _load_linear(detector.stem, detector.stem_norm, weights)
    _load_convolution(detector.fine.weight, detector.fine_norm, weights)
    _load_down(detector.down[0], weights)
    _load_block(detector.at4, weights)
    _load_down(detector.down[1], weights)
    for block in detector.at8[:at8]:
        _load_block(block, weights)
    _load_down(detector.down[2], weights)
    for block in detector.at16[:at16]:
        _load_block(block, weights)
    for layer in (detector.molecule[0], detector.molecule[2]):
        _load_layer(layer, weights)
    for up, block in ((detector.up8, detector.back8), (detector.up4, detector.back4)):
        _load_up(up, weights)
        _load_block(block, weights)
    _load_layer(detector.atom[0], weights)
    stored_labels = runpy.run_path(str(labels_file(folder)))["ATOM_LABELS"]
    _load_label_layer(detector.atom[2], weights, stored_labels, ATOM_LABELS)
    weights = iter(read_weights(folder / "bond_classifier.onnx"))
    _load_layer(classifier.features, weights)
    classifier.shape.weight.copy_(next(weights).T)
    _load_layer(classifier.hide, weights)
    _load_layer(classifier.out, weights)
    added = [*detector.at8[at8:], *detector.at16[at16:]]
    _make_identity(added)  # So that later norms are recalibrated on their final input.
    _recalibrate_norms(model, batch)
    _make_identity(added)


def _make_identity(blocks: Iterable[Block]) -> None:
    for block in blocks:
        block.last.weight.zero_()
        block.last.bias.zero_()


def _count_blocks(blocks: nn.ModuleList, stored: list[torch.Tensor]) -> int:
    """Returns the number of blocks of that width among stored weights, two convolutions each."""
    return sum(tensor.shape == blocks[0].first.weight.shape for tensor in stored) // 2


def _set_bias(norm: nn.BatchNorm1d, bias: torch.Tensor) -> None:
    """Makes a norm add a bias and change nothing else."""
    norm.weight.fill_((1 + norm.eps) ** 0.5)
    norm.bias.copy_(bias)
    norm.running_mean.zero_()
    norm.running_var.fill_(1)


def _load_linear(layer: nn.Linear, norm: nn.BatchNorm1d, weights: Weights) -> None:
    layer.weight.copy_(next(weights).T)
    _set_bias(norm, next(weights))


def _load_convolution(weight: nn.Parameter, norm: nn.BatchNorm1d, weights: Weights) -> None:
    weight.copy_(next(weights))
    _set_bias(norm, next(weights))


def _load_block(block: Block, weights: Weights) -> None:
    _load_convolution(block.first.weight, block.norm, weights)
    _load_convolution(block.second.weight, block.last, weights)


def _load_down(down: Down, weights: Weights) -> None:
    _load_linear(down.linear, down.norm, weights)


def _load_up(up: Up, weights: Weights) -> None:
    up.linear.weight.copy_(next(weights).T)
    _load_linear(up.skip, up.norm, weights)


def _load_layer(layer: nn.Linear, weights: Weights) -> None:
    layer.weight.copy_(next(weights).T)
    layer.bias.copy_(next(weights))


def _load_label_layer(layer: nn.Linear, weights: Weights, stored_labels: Sequence[str], labels: Sequence[str]) -> None:
    """Loads the output layer of the atoms, label by label: no atom, the labels, and the two offsets.

    New labels get the mean weight and a bias below the mean. The level of all logits is arbitrary, so no fixed number
    would do.
    """
    weight, bias = next(weights).T, next(weights)
    rows = {"no atom": 0, **{label: 1 + i for i, label in enumerate(stored_labels)}, "offset x": -2, "offset y": -1}
    layer.weight.copy_(weight[:-2].mean(0))
    layer.bias.fill_(float(bias[:-2].mean()) - 1)
    for i, name in enumerate(("no atom", *labels, "offset x", "offset y")):
        if name in rows:
            layer.weight[i], layer.bias[i] = weight[rows[name]], bias[rows[name]]


def _recalibrate_norms(model: Model, batch: dict[str, torch.Tensor]) -> None:
    """Gives each norm the mean and variance of its input, and weights that undo them."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm1d)]
    moments: dict[nn.BatchNorm1d, tuple[torch.Tensor, torch.Tensor]] = {}
    hooks = [
        n.register_forward_pre_hook(lambda norm, given: moments.update({norm: (given[0].mean(0), given[0].var(0))}))
        for n in norms
    ]
    model.eval()
    model(batch)
    for hook in hooks:
        hook.remove()
    for norm, (mean, variance) in moments.items():
        norm.bias.add_(mean)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance.clamp(min=1e-4))
        norm.weight.copy_(torch.sqrt(norm.running_var + norm.eps))
    model.train()
