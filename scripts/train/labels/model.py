"""The label reader: convolutions over a crop, then an attention from each slot, the place of a character, to the
crop's cells of 16 pixels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from onnx import TensorProto
from torch import nn

from scripts.served_reader.label_reader import ALPHABET, HEIGHT, SLOTS, WIDTH
from scripts.train.graph import Graph
from scripts.train.vision import norms


@dataclass
class Shape:
    """Widths of the convolutions over cells of 4, 8 and 16 pixels, and over those of 16 pixels again; heads of the
    attention; characters and slots."""

    widths: tuple[int, int, int, int] = (24, 32, 64, 112)
    heads: int = 4
    characters: tuple[str, ...] = ALPHABET
    slots: int = SLOTS


class Convolution(nn.Sequential):
    """A convolution that divides the size by its stride, and its norm."""

    def __init__(self, inputs: int, outputs: int, side: int, stride: int) -> None:
        padding = (side - stride + 1) // 2
        super().__init__(nn.Conv2d(inputs, outputs, side, stride, padding, bias=False), nn.BatchNorm2d(outputs))


class Block(nn.Module):
    """A residual block: relu(x + norm(conv(relu(norm(conv(x))))))."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = Convolution(width, width, 3, 1), Convolution(width, width, 3, 1)
        nn.init.constant_(self.second[1].weight, 0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + self.second(F.relu(self.first(x))))


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        a, b, c, d = shape.widths
        self.stem = Convolution(1, a, 6, 4)
        self.to8, self.at8 = Convolution(a, b, 4, 2), Block(b)
        self.to16, self.at16 = Convolution(b, c, 4, 2), nn.ModuleList([Block(c), Block(c)])
        self.widen, self.last = Convolution(c, d, 3, 1), Block(d)
        self.places = nn.Parameter(torch.randn((HEIGHT // 16) * (WIDTH // 16), d) * 0.02)
        self.slots = nn.Parameter(torch.randn(shape.slots, d) * 0.3)
        self.query, self.key, self.value, self.merge = (nn.Linear(d, d) for _ in range(4))
        self.hide, self.show = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
        whole = shape.slots * d
        self.mix, self.unmix = nn.Linear(whole, whole // 4), nn.Linear(whole // 4, whole)
        self.out = nn.Linear(d, len(shape.characters))
        self.out.hidden = False

    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        """Logits [crops, slots, characters] from crops uint8 [crops, HEIGHT, WIDTH]."""
        x = crops[:, None].float() / 128 - 0.5
        x = F.relu(self.stem(x.contiguous(memory_format=torch.channels_last)))
        x = self.at8(F.relu(self.to8(x)))
        x = F.relu(self.to16(x))
        for block in self.at16:
            x = block(x)
        x = self.last(F.relu(self.widen(x)))
        cells = x.flatten(2).transpose(1, 2) + self.places
        queries, keys = self.split(self.query(self.slots)[None]), self.split(self.key(cells))
        weights = (queries @ keys.transpose(2, 3) / queries.shape[3] ** 0.5).softmax(3)
        y = self.slots + self.merge((weights @ self.split(self.value(cells))).transpose(1, 2).flatten(2))
        y = y + self.show(F.relu(self.hide(y)))
        y = y + self.unmix(F.relu(self.mix(y.flatten(1)))).view(y.shape)
        return self.out(y)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        """Returns [rows, heads, cells, size] of [rows, cells, width]."""
        heads = self.shape.heads
        size = x.shape[2] // heads
        return x.view(len(x), -1, heads, size).transpose(1, 2)


def loss(model: nn.Module, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the cross entropy of the characters, summed over the slots, and the share of labels read right."""
    logits = model(batch["crops"]).float()
    characters = F.cross_entropy(logits.transpose(1, 2), batch["characters"], reduction="none").sum(1)
    right = (logits.argmax(2) == batch["characters"]).all(1).float()
    return characters.mean(), {"right": right.mean().detach()}


def norms_of(model: Model) -> Iterator[tuple[nn.Conv2d, nn.BatchNorm2d]]:
    """Yields each convolution with its norm."""
    for module in model.modules():
        if isinstance(module, Convolution):
            yield module[0], module[1]


@torch.no_grad()
def fold(model: Model) -> Model:
    """Folds the norms of a model in place (scripts.train.vision.norms), and returns it."""
    for convolution, norm in norms_of(model):
        convolution.weight.mul_(norms.fold_norm(norm)[:, None, None, None])
    return model


def graph(model: Model) -> Graph:
    """Returns the network: crops uint8 [n, HEIGHT, WIDTH] to characters float [n, slots, characters], logits. Folds the
    norms of the model."""
    fold(model)
    g = Graph()
    heads, width = model.shape.heads, model.shape.widths[-1]

    def convolve(x: str, module: Convolution) -> str:
        convolution, norm = module
        (edge, _), (stride, _) = convolution.padding, convolution.stride
        weights = g.weight(convolution.weight), g.weight(norms.bias(norm))
        return g.op("Conv", x, *weights, pads=4 * [edge], strides=2 * [stride])

    def block(x: str, module: Block) -> str:
        return g.op("Relu", g.op("Add", x, convolve(g.op("Relu", convolve(x, module.first)), module.second)))

    crops = g.input("crops", TensorProto.UINT8, ["n", HEIGHT, WIDTH])
    x = g.op("Sub", g.op("Mul", g.op("Cast", crops, to=TensorProto.FLOAT), 1 / 128), 0.5)
    x = g.op("Relu", convolve(g.op("Unsqueeze", x, np.array([1])), model.stem))
    x = block(g.op("Relu", convolve(x, model.to8)), model.at8)
    x = g.op("Relu", convolve(x, model.to16))
    for each in model.at16:
        x = block(x, each)
    x = block(g.op("Relu", convolve(x, model.widen)), model.last)
    cells = g.op("Transpose", g.op("Reshape", x, np.array([0, width, -1])), perm=[0, 2, 1])
    cells = g.op("Add", cells, g.weight(model.places))
    with torch.no_grad():
        queries = model.split(model.query(model.slots)[None]) / (width // heads) ** 0.5
    keys = g.op("Transpose", g.heads(g.layer(cells, model.key), heads, width // heads), perm=[0, 1, 3, 2])
    weights = g.op("Softmax", g.op("MatMul", g.weight(queries), keys), axis=-1)
    mixed = g.op("MatMul", weights, g.heads(g.layer(cells, model.value), heads, width // heads))
    mixed = g.op("Reshape", g.op("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, width]))
    y = g.op("Add", g.weight(model.slots), g.layer(mixed, model.merge))
    y = g.op("Add", y, g.layer(g.op("Relu", g.layer(y, model.hide)), model.show))
    whole = g.layer(g.op("Relu", g.layer(g.op("Reshape", y, np.array([0, -1])), model.mix)), model.unmix)
    y = g.op("Add", y, g.op("Reshape", whole, np.array([0, model.shape.slots, width])))
    g.output(g.layer(y, model.out), TensorProto.FLOAT, ["n", model.shape.slots, model.out.out_features], "characters")
    return g


def shape_of(given: dict[str, Any]) -> Shape:
    """Returns the shape of a JSON object with its fields. TypeError: other fields."""
    fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in given.items()}
    return Shape(**fields)
