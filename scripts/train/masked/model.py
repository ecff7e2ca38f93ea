"""The masked model: a bidirectional transformer that fills in the masked tokens of SAFE strings.

Masked diffusion (MDLM, Sahoo et al. 2024, arXiv 2406.07524) with the schedule of GenMol (arXiv 2501.06158): every token
is masked with probability t, t uniform in (0.001, 1); the loss is the cross-entropy at the masked places over t.
The network is not told t: the number of masks tells.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.nn import functional

from scripts.train.layers import Layer, Outer, Relative, initialise, padding_bias
from scripts.train.masked.data import BOS, EOS, MASK, PAD


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


PRESETS = {
    "tiny": dict(width=32, heads=4, layers=2, feed=2),
    "cpu": dict(),
    "gpu": dict(width=384, heads=12, layers=8, feed=4, dropout=0.05),
}


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.relative = Relative(shape.heads, shape.heads)
        self.layers = nn.ModuleList(Layer(shape.width, shape.heads, shape.feed, shape.dropout) for _ in range(shape.layers))
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
    """The diffusion bound in nats a token, for whole strings [B, L] and the shares t [B] to mask."""
    ids, t = batch
    free = (ids != PAD) & (ids != BOS) & (ids != EOS)
    masked = free & (torch.rand(ids.shape, device=ids.device) < t[:, None])
    logits = network(ids.masked_fill(masked, MASK)).float()
    losses = functional.cross_entropy(logits.flatten(0, 1), ids.flatten(), reduction="none").view_as(ids)
    bound = (losses * masked / t[:, None]).sum() / free.sum()
    return bound, {"masked_loss": ((losses * masked).sum() / masked.sum().clamp(min=1)).detach()}
