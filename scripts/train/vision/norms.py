"""Folds the batch norms of a network into the matrices before them, for its graph and for the entry that stores it.

A folded norm divides by the deviation of its input and multiplies by the same number, its weight: at inference it only
adds a bias. Training goes on from it as from the original norm, since its input is scaled alike.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from scripts.train.vision.model import AtomDetector, Block, Convolution, Down, Model, Up


@torch.no_grad()
def fold(model: Model) -> Model:
    """Folds the norms of a model in place, and returns it."""
    for module in model.modules():
        for norm, matrices in norms_of(module):
            scale = fold_norm(norm)
            for matrix in matrices:
                if isinstance(matrix, Convolution):
                    matrix.weight.mul_(scale)
                else:
                    matrix.weight.mul_(scale.repeat(matrix.out_features // len(scale))[:, None])
    return model


@torch.no_grad()
def fold_norm(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> torch.Tensor:
    """Folds a norm in place, and returns the factors for the outputs of the matrix before it."""
    scale = norm.weight / deviation(norm)
    norm.running_mean.mul_(scale)
    norm.running_var.mul_(scale.square())
    norm.weight.copy_(deviation(norm))
    return scale


def deviation(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> torch.Tensor:
    return torch.sqrt(norm.running_var + norm.eps)


def bias(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> torch.Tensor:
    """Returns what a folded norm adds."""
    return norm.bias - norm.running_mean


def norms_of(module: nn.Module) -> Iterator[tuple[nn.BatchNorm1d, list[Convolution | nn.Linear]]]:
    """Yields each norm that a module applies, and the matrices whose products it is applied to."""
    if isinstance(module, Block):
        yield module.norm, [module.first]
        yield module.last, [module.second]
    elif isinstance(module, Down):
        yield module.norm, [module.linear]
    elif isinstance(module, Up):
        yield module.norm, [module.linear, module.skip]
    elif isinstance(module, AtomDetector):
        yield module.stem_norm, [module.stem]
        yield module.fine_norm, [module.fine]
