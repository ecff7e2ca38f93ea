"""The masked model: a bidirectional transformer that fills in the masked tokens of SAFE strings.

Masked diffusion (MDLM, Sahoo et al. 2024, arXiv 2406.07524) with a number of masked tokens instead of a masking
probability, which gives the same bound with less variance. Of a string of L tokens, n are masked, n uniform from 1 to
L. On average, L / n times the cross-entropy of the masked tokens is an upper bound on the negative log likelihood of
the string (Hoogeboom et al. 2022, arXiv 2110.02037, equation 4). The network does not receive n.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from scripts.train.layers import Layer, Outer, Relative, initialise, padding_bias
from scripts.train.masked.vocabulary import MASK, PAD, SPECIALS


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes; feed is the feed-forward width in units of width."""

    vocabulary: int
    width: int = 256
    heads: int = 8
    layers: int = 5
    feed: int = 3
    positions: int = 256
    dropout: float = 0.0
    reserved: int = len(SPECIALS)
    """Number of leading ids that never replace a mask."""


SIZES: dict[str, dict[str, Any]] = {
    "tiny": dict(width=32, heads=4, layers=2, feed=2),
    "small": dict(),
    "medium": dict(width=384, heads=12, layers=8, feed=4, dropout=0.05),
    "published": dict(width=768, heads=12, layers=12, feed=4, dropout=0.1),
}
"""published: 12 layers of width 768, as GenMol (arXiv 2501.06158, section 4)."""


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.relative = Relative(shape.heads, shape.heads)
        self.layers = nn.ModuleList(
            Layer(shape.width, shape.heads, shape.feed, shape.dropout) for _ in range(shape.layers)
        )
        self.norm = nn.LayerNorm(shape.width)
        self.head = Outer(shape.width, shape.vocabulary)
        initialise(self)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """ids int64 [B, L] -> logits [B, L, vocabulary]."""
        bias = self.relative(ids.shape[1]) + padding_bias(ids != PAD)
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.norm(x))


def loss(network: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss on a batch of (strings int64 [B, L], masked bool [B, L]).

    A row with n masks has the weight 1 / sqrt(n). The bound has 1 / n, where rows with few masks add much noise; with
    equal weights these rows would hardly count. The figures are the bound in nats a molecule ("nats") and the mean
    cross-entropy of a masked token ("masked_loss").
    """
    ids, masked = batch
    logits = network(ids.masked_fill(masked, MASK))[masked].float()
    losses = functional.cross_entropy(logits, ids[masked], reduction="none")
    row = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)[masked]
    count = masked.sum(1)
    length = ((ids != PAD).sum(1) - 2).float()
    bound = (losses.detach() * (length / count)[row]).sum() / len(ids)
    return (losses / count[row].sqrt()).sum() / count.sqrt().sum(), {
        "nats": bound,
        "masked_loss": losses.detach().mean(),
    }
