"""The network that labels the words of a text: hashed word features, three convolutions over the text, linear heads."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from scripts.served_reader import intents
from scripts.train.graph import Graph
from scripts.train.phrases.grammar import LABELS
from scripts.train.phrases.templates import TRAIN


@dataclasses.dataclass
class Shape:
    """Widths of a word's features and of the layers, the words that a layer reaches on either side, and the labels by
    head, in the order of the outputs."""

    embedding: int = 32
    hidden: int = 96
    reaches: tuple[int, ...] = (1, 2, 4)
    labels: dict[str, list[str]] = dataclasses.field(
        default_factory=lambda: {head: list(LABELS.get(head, TRAIN)) for head in intents.HEADS}
    )


def shape_of(given: dict[str, Any]) -> Shape:
    """Returns the shape that dataclasses.asdict returned. TypeError: other fields."""
    return Shape(**{**given, "reaches": tuple(given["reaches"])})


class Convolution(nn.Module):
    """A residual layer over each word and the words `reach` before and after it."""

    def __init__(self, width: int, reach: int) -> None:
        super().__init__()
        self.reach, self.norm, self.inner = reach, nn.LayerNorm(width), nn.Linear(3 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """x [B, L, width]; mask [B, L, 1] is 1 for words."""
        padded = F.pad(self.norm(x) * mask, (0, 0, self.reach, self.reach))
        beside = torch.cat([padded[:, i * self.reach : i * self.reach + x.shape[1]] for i in range(3)], -1)
        return x + F.relu(self.inner(beside)) * mask


class Model(nn.Module):
    """Texts to logits: begins [B, L], and [B, L, labels] per head.

    A text is word indices, 0 for padding, into `distinct`: the buckets of the distinct words [words, WORD_FEATURES],
    whose first row is 0.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape, width = shape, shape.hidden
        self.embedding = nn.Embedding(intents.BUCKETS, shape.embedding, padding_idx=0)
        with torch.no_grad():
            self.embedding.weight.mul_(0.2)  # Small compared with a step of the optimiser.
        self.enter = nn.Linear(shape.embedding, width)
        self.layers = nn.ModuleList(Convolution(width, reach) for reach in shape.reaches)
        self.context = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.begins = nn.Linear(width, 1)
        self.heads = nn.ModuleDict({head: nn.Linear(width, len(labels)) for head, labels in shape.labels.items()})
        self.drop = nn.Dropout(0.1)

    def vectors(self, distinct: torch.Tensor) -> torch.Tensor:
        """Returns a vector for each word: the sum of the vectors of the word, of its shape, and the mean vector of its
        n-grams."""
        grams = distinct[:, 2:].gt(0).sum(1, keepdim=True).clamp(min=1)
        rows = self.embedding(distinct)
        return rows[:, 0] + rows[:, 1] + rows[:, 2:].sum(1) / grams

    def forward(self, words: torch.Tensor, distinct: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        mask = (words > 0)[..., None].float()
        x = F.embedding(words, self.enter(self.drop(self.vectors(distinct)))) * mask
        x = self.layers[0](x, mask)
        x = x + F.relu(self.context(x.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1))) * mask
        for layer in self.layers[1:]:
            x = layer(x, mask)
        x = self.drop(self.norm(x))
        return self.begins(x).squeeze(-1), [head(x) for head in self.heads.values()]


def loss(model: Model, batch: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Returns the sum of the cross entropies of all heads, averaged over words, and its parts."""
    begins, heads = model(batch["words"], batch["distinct"])
    is_word = batch["family"] >= 0
    start = F.binary_cross_entropy_with_logits(begins.float()[is_word], batch["begins"].float()[is_word])
    parts = {
        name: F.cross_entropy(logits.float()[is_word], batch[name][is_word])
        for name, logits in zip(intents.HEADS, heads)
    }
    return start + sum(parts.values()), {"begins": start.detach(), **{k: v.detach() for k, v in parts.items()}}


def quantised(table: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Returns a table rounded to int8, and the step size of each column, float32."""
    values = table.detach().cpu().numpy()
    step = np.maximum(np.abs(values).max(0), 1e-8).astype(np.float32) / 127
    return np.rint(values / step).astype(np.int8), step


def graph(model: Model) -> Graph:
    """Returns the network for one text: words int64 [L, WORD_FEATURES] to begins [L] and log-probabilities [L, labels]
    per head."""
    g = Graph()
    words = g.input("words", 7, ["words", intents.WORD_FEATURES])
    codes, step = quantised(model.embedding.weight)
    codes = g.op("Cast", g.op("Gather", codes, words), to=1)
    rows = g.op("Mul", codes, step)  # [L, WIDTH, E]; row 0 is zero
    first, second, rest = g.op("Split", rows, g.constant([1, 1, intents.WORD_FEATURES - 2]), outputs=3, axis=1)
    grams = g.op("Slice", words, [2], [intents.WORD_FEATURES], [1])
    count = g.op("ReduceSum", g.op("Cast", g.op("Greater", grams, 0), to=1), [1], keepdims=1)
    mean = g.op("Div", g.op("ReduceSum", rest, [1], keepdims=0), g.op("Max", count, 1.0))
    x = g.op("Add", g.op("Add", g.op("Squeeze", first, [1]), g.op("Squeeze", second, [1])), mean)
    x = _convolve(g, g.layer(x, model.enter), model.layers[0])
    whole = g.op("Relu", g.layer(g.op("ReduceMean", x, [0], keepdims=1), model.context))
    x = g.op("Add", x, whole)
    for layer in model.layers[1:]:
        x = _convolve(g, x, layer)
    x = g.norm(x, model.norm)
    g.output(g.op("Squeeze", g.layer(x, model.begins), [1]), 1, ["words"], "begins")
    for name, head in model.heads.items():
        g.output(g.op("LogSoftmax", g.layer(x, head), axis=1), 1, ["words", head.out_features], name)
    return g


def _convolve(g: Graph, x: str, layer: Convolution) -> str:
    padded = g.op("Pad", g.norm(x, layer.norm), np.array([layer.reach, 0, layer.reach, 0]))
    length = g.op("Shape", x, start=0, end=1)
    beside = [g.op("Slice", padded, [i * layer.reach], g.op("Add", length, i * layer.reach), [0]) for i in range(3)]
    return g.op("Add", x, g.op("Relu", g.layer(g.op("Concat", *beside, axis=1), layer.inner)))
