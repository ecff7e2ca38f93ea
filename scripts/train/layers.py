"""Transformer layers that the molecule models share."""

from __future__ import annotations

import torch
from torch import nn


class Attention(nn.Module):
    """Grouped-query attention, x [B, Lq, d] to memory [B, Lk, d].

    The optional bias is added to the scores [B, key heads, group, Lq, Lk].
    """

    def __init__(self, width: int, heads: int, key_heads: int) -> None:
        super().__init__()
        self.heads, self.key_heads, self.size = heads, key_heads, width // heads
        self.q, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.k, self.v = (nn.Linear(width, key_heads * self.size) for _ in range(2))

    def keys(self, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns k and v, each [B, key heads, Lk, size]."""
        return tuple(f(memory).unflatten(-1, (self.key_heads, self.size)).transpose(1, 2) for f in (self.k, self.v))

    def forward(self, x: torch.Tensor, memory: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        return self.attend(x, *self.keys(memory), bias)

    def attend(
        self, x: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Attends with plain operators: on a CPU the backward pass of torch's fused kernel is slower."""
        rows, length = x.shape[:2]
        q = self.q(x).view(rows, length, self.key_heads, -1, self.size).permute(0, 2, 3, 1, 4)
        scores = (q.flatten(2, 3) * self.size**-0.5) @ k.transpose(-1, -2)
        scores = scores.unflatten(2, (-1, length))
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        mixed = torch.softmax(scores, -1, dtype=scores.dtype).flatten(2, 3) @ v
        return self.o(mixed.unflatten(2, (-1, length)).permute(0, 3, 1, 2, 4).flatten(2))


class Relative(nn.Module):
    """A learned bias on attention scores by head and distance (T5), clamped to `reach` tokens.

    Half of the heads start with a preference for near tokens (ALiBi), so the model sees local patterns from the start.
    """

    reach = 64

    def __init__(self, heads: int, key_heads: int) -> None:
        super().__init__()
        self.key_heads = key_heads
        self.table = nn.Embedding(2 * self.reach + 1, heads)

    def reset(self) -> None:
        distance = torch.arange(-self.reach, self.reach + 1).abs().float()
        slopes = torch.tensor([2.0 ** -(h // 2) if h % 2 else 0.0 for h in range(self.table.embedding_dim)])
        self.table.weight.data.copy_(-distance[:, None] * slopes)

    def forward(self, length: int) -> torch.Tensor:
        """Returns the bias [key heads, group, length, length] of query i and key j at [.., i, j]."""
        at = torch.arange(length, device=self.table.weight.device)
        distance = (at[None, :] - at[:, None]).clamp(-self.reach, self.reach) + self.reach
        return self.table(distance).permute(2, 0, 1).unflatten(0, (self.key_heads, -1))


class Feed(nn.Sequential):
    """A feed-forward block with `times` times the width inside."""

    def __init__(self, width: int, times: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(width, times * width), nn.GELU(), nn.Linear(times * width, width), nn.Dropout(dropout)
        )


class Layer(nn.Module):
    """Pre-norm self-attention with as many key heads as heads, and feed-forward."""

    def __init__(self, width: int, heads: int, times: int, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.feed = Attention(width, heads, heads), Feed(width, times, dropout)

    def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, bias)
        return x + self.feed(self.norm2(x))


class Outer(nn.Linear):
    """An output head, which AdamW optimises instead of Muon (see training.optimisers)."""

    hidden = False


def initialise(model: nn.Module) -> None:
    """Initialises embeddings to small values, linear maps to shrink their input slightly, and modules with reset()."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
        elif isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5 / 1.5)
            nn.init.zeros_(module.bias)
    for module in model.modules():
        if hasattr(module, "reset"):
            module.reset()


def padding_bias(present: torch.Tensor) -> torch.Tensor:
    """Converts present [B, L] (1 = token, 0 = padding) to a bias on attention scores, [B, 1, 1, 1, L]."""
    return (1.0 - present[:, None, None, None, :].to(torch.float32)) * -1e4
