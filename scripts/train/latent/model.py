"""The latent model: SMILES tokens to one latent vector, and back.

    encoder   tokens [B, L]      -> bidirectional transformer -> 16 learned queries attend to it (Perceiver)
              -> one linear map  -> z [B, 512], scaled to root mean square 1
    decoder   z [B, 512]         -> one linear map -> 16 memory vectors
              causal transformer over the tokens so far, each layer attending to the memory -> next token

Training starts from a readable code. Query i prefers tokens near position i (Places). Its result goes to 32 separate
numbers of z, and from there to memory vector i, which tokens near position i prefer (Model._couple). All of this can
change in training. Without it, most of the training goes into any flow of information through z.

A memory vector learns to hold about one token: with 16 of them, 99 % of the texts of up to 16 tokens round-trip, and
one in seven of those with 20. Shape.slots should be the typical length of texts; extension.with_slots adds slots to a
trained model.

Queries and memory vectors are internal; the only interface of the two halves is one vector (K = 1). z lies on the
sphere of radius sqrt(512), as a standard normal variable in 512 dimensions nearly does. So the prior term of the MIM
loss is constant, and a noise level means the same for all molecules: see Model.forward.

Sources: MolMIM (Reidenbach et al. 2022, arXiv 2208.09016), A-MIM (Livne et al. 2019, arXiv 2003.02645).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from scripts.train.latent.tokens import PAD
from scripts.train.layers import Attention, Feed, Layer, Outer, Relative, initialise, padding_bias


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes. *_feed: feed-forward width in units of width.

    key_heads: key/value heads of the decoder, a divisor of heads; few keep the cache small.
    """

    vocabulary: int
    width: int = 256
    heads: int = 8
    key_heads: int = 2
    encoder_layers: int = 2
    decoder_layers: int = 3
    encoder_feed: int = 4
    decoder_feed: int = 2
    latent: int = 512
    slots: int = 16
    positions: int = 128
    dropout: float = 0.0


NOISE = 0.0, 2.6
"""Minimum and maximum log-variance of the latent noise in training: standard deviations 1 to 3.7.

What the model learns in this range also removes less noise. At the upper end a molecule is indistinguishable from its
neighbours.
"""

SIZES: dict[str, dict[str, Any]] = {
    "tiny": dict(width=32, heads=4, key_heads=2, encoder_layers=1, decoder_layers=1, latent=64, slots=4),
    "small": dict(),
    "medium": dict(
        width=384,
        heads=12,
        key_heads=3,
        encoder_layers=5,
        decoder_layers=5,
        encoder_feed=4,
        decoder_feed=3,
        dropout=0.05,
    ),
    "published": dict(
        width=640,
        heads=10,
        key_heads=5,
        encoder_layers=6,
        decoder_layers=6,
        encoder_feed=4,
        decoder_feed=3,
        dropout=0.1,
    ),
}
"""published: about as many weights as MolMIM (arXiv 2208.09016), in this model's form."""


class Places(nn.Module):
    """A learned bias on attention scores by head, token position and slot; in half of the heads, slot i starts
    near token i."""

    def __init__(self, shape: Shape, key_heads: int) -> None:
        super().__init__()
        self.shape, self.key_heads = shape, key_heads
        self.table = nn.Embedding(shape.positions, shape.heads * shape.slots)

    def reset(self) -> None:
        distance = (torch.arange(self.shape.positions)[:, None] - torch.arange(self.shape.slots)).abs().float()
        slopes = torch.tensor([1.0 if head % 2 else 0.0 for head in range(self.shape.heads)])
        self.table.weight.data.copy_((-distance.clamp(max=8)[:, None] * slopes[:, None]).flatten(1))

    def forward(self, length: int) -> torch.Tensor:
        """Returns the bias [key heads, group, length, slots]."""
        return self.table.weight[:length].unflatten(1, (self.key_heads, -1, self.shape.slots)).permute(1, 2, 0, 3)


class DecoderLayer(nn.Module):
    """Pre-norm causal self-attention, attention to the memory, feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(shape.width) for _ in range(3))
        self.attention, self.cross = (Attention(shape.width, shape.heads, shape.key_heads) for _ in range(2))
        self.feed = Feed(shape.width, shape.decoder_feed, shape.dropout)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, bias: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, bias)
        x = x + self.cross(self.norm2(x), memory, places)
        return x + self.feed(self.norm3(x))


class Encoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.relative = Relative(shape.heads, shape.heads)
        self.layers = nn.ModuleList(
            Layer(shape.width, shape.heads, shape.encoder_feed, shape.dropout) for _ in range(shape.encoder_layers)
        )
        self.norm = nn.LayerNorm(shape.width)
        self.queries = nn.Embedding(shape.slots, shape.width)
        self.pool = Attention(shape.width, shape.heads, shape.heads)
        self.places = Places(shape, shape.heads)
        self.out = Outer(shape.slots * shape.width, shape.latent)

    def states(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """ids, attention_mask (1 = token, 0 = padding) int64 [B, L] -> token states [B, L, width] and
        layers.padding_bias."""
        padding = padding_bias(attention_mask)
        bias = self.relative(ids.shape[1]) + padding
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        return self.norm(x), padding

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """ids, attention_mask as in states -> z float [B, latent] with root mean square 1."""
        x, padding = self.states(ids, attention_mask)
        queries = self.queries.weight.expand(ids.shape[0], -1, -1)
        z = self.out(
            (queries + self.pool(queries, x, self.places(ids.shape[1]).transpose(-1, -2) + padding)).flatten(1)
        ).float()
        return z * torch.rsqrt(z.square().mean(-1, keepdim=True) + 1e-6)


class Similarity(nn.Module):
    """The second output of the encoder, trained by similarity.py: unit vectors whose cosine is the similarity of
    molecules.

    Each token state is mapped to `hidden` numbers; their means and maxima over the tokens are mapped to the vector.
    """

    def __init__(self, width: int, latent: int, hidden: int = 512) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(2 * hidden, latent)

    def forward(self, states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """states [B, L, width] (Encoder.states), attention_mask int64 [B, L] -> [B, latent]."""
        present = attention_mask[:, :, None].to(states.dtype)
        inner = functional.gelu(self.inner(states)) * present
        # relu, because padding adds 0 to the maximum.
        pooled = torch.cat([inner.sum(1) / present.sum(1), inner.amax(1).relu()], 1)
        return functional.normalize(self.outer(pooled), dim=-1, eps=1e-6)


class Decoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.token = nn.Embedding(shape.vocabulary, shape.width)
        self.position = nn.Embedding(shape.positions, shape.width)
        self.relative = Relative(shape.heads, shape.key_heads)
        self.memory = Outer(shape.latent, shape.slots * shape.width)
        self.places = Places(shape, shape.key_heads)
        self.memory_norm = nn.LayerNorm(shape.width)
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.decoder_layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = Outer(shape.width, shape.vocabulary)

    def slots(self, z: torch.Tensor) -> torch.Tensor:
        """z [B, latent] -> memory [B, slots, width]."""
        return self.memory_norm(self.memory(z).unflatten(-1, (self.shape.slots, self.shape.width)))

    def forward(self, ids: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Tokens so far, starting with [BOS], int64 [B, L], and z [B, latent] -> logits [B, L, vocabulary]."""
        length = ids.shape[1]
        bias = self.relative(length) + torch.full((length, length), -1e4, device=ids.device).triu(1)
        memory, places = self.slots(z), self.places(length)
        x = self.token(ids) + self.position.weight[:length]
        for layer in self.layers:
            x = layer(x, memory, bias, places)
        return self.head(self.norm(x))


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.encoder, self.decoder = Encoder(shape), Decoder(shape)
        initialise(self)
        self._couple()

    def _couple(self) -> None:
        """Assigns each slot separate dimensions of z, the same in encoder and decoder, so that slots carry
        information from the first step."""
        slots, width, latent = self.shape.slots, self.shape.width, self.shape.latent
        maps = torch.zeros(slots, width, latent)
        for slot, dimensions in enumerate(torch.arange(latent).tensor_split(slots)):
            maps[slot][:, dimensions] = nn.init.orthogonal_(torch.empty(width, len(dimensions)))
        with torch.no_grad():
            self.encoder.out.weight.copy_(maps.flatten(0, 1).T)
            self.decoder.memory.weight.copy_(maps.flatten(0, 1))

    def forward(
        self, ids: torch.Tensor, target: torch.Tensor, lowest: torch.Tensor, highest: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """MIM-style loss of ids [B, L] (encoder) against target [B, L + 1 or more] ([BOS] tokens [EOS] padding).

        Each molecule gets one log-variance, uniform in [lowest, highest], and z = encoder + exp(log-variance / 2) *
        normal. The loss is the cross-entropy of the reconstruction per token. The prior and entropy terms of the MIM
        loss, -1/2 (log N(z; 0, 1) + log q(z | x)), have no gradient: the norm of the encoder's output and the noise
        are fixed.
        """
        z = self.encoder(ids, (ids != PAD).long())
        deviation = torch.exp(0.5 * (lowest + (highest - lowest) * torch.rand(len(z), 1, device=z.device)))
        return self.decoding_loss(z + deviation * torch.randn_like(z), target)

    def decoding_loss(self, z: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Returns the cross-entropy per token of decoding z [B, latent] to target [B, L] ([BOS] tokens [EOS]
        padding)."""
        logits, labels = self.decoder(target[:, :-1], z), target[:, 1:]
        losses = functional.cross_entropy(
            logits.float().flatten(0, 1), labels.flatten(), ignore_index=PAD, reduction="none"
        ).view_as(labels)
        tokens = (labels != PAD).sum()
        right = ((logits.argmax(-1) == labels) | (labels == PAD)).all(1).float()
        return losses.sum() / tokens, {"exact_forced": right.mean().detach()}
