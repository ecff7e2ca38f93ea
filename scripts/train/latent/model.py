"""The latent model: SMILES tokens to one latent vector, and back.

    encoder   tokens [B, L]      -> bidirectional transformer -> 16 learned queries attend to it (Perceiver)
              -> one linear map  -> z [B, 512], scaled to root mean square 1
    decoder   z [B, 512]         -> one linear map -> 16 memory vectors
              causal transformer over the tokens so far, each layer attending to the memory -> next token

Training begins with a code that can be read: query i prefers the tokens near place i (Places), its result goes to 32 numbers
of z of its own, and from there to memory vector i, which tokens near place i prefer (Model._couple). Everything is free to
move from there. Without it most of the training is spent on finding any way through z at all.

A memory vector comes to hold about one token: with 16 of them texts of up to 16 tokens come back in 99 of 100 cases, those of
20 in one of seven. Shape.slots should be the length that texts are to have; start.widened gives a trained model more.

The queries and memory vectors are inside the two halves; what travels between them is one vector (K = 1). Because z
lies on the sphere of radius sqrt(512), where a standard normal variable in 512 dimensions lies too, the prior term of
the MIM loss is constant, and a noise level means the same for every molecule: see `loss`.

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
    """Sizes. *_feed is the feed-forward width in units of width; key_heads (a divisor of heads) is the number of key/value
    heads of the decoder, few so that its cache stays small."""

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
"""Least and greatest log-variance of the latent noise in training: standard deviations 1 to 3.7. Noise below that range is
taken away by what is learned above; the upper end is where a molecule can no longer be told from its neighbours."""

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": dict(width=32, heads=4, key_heads=2, encoder_layers=1, decoder_layers=1, latent=64, slots=4),
    "cpu": dict(),
    "gpu": dict(
        width=384,
        heads=12,
        key_heads=3,
        encoder_layers=5,
        decoder_layers=5,
        encoder_feed=4,
        decoder_feed=3,
        dropout=0.05,
    ),
}


class Places(nn.Module):
    """A learned bias on attention scores for every head, token position and slot. Half of the heads start with slot
    i near token i, so that a slot begins with what is written near its place."""

    def __init__(self, shape: Shape, key_heads: int) -> None:
        super().__init__()
        self.shape, self.key_heads = shape, key_heads
        self.table = nn.Embedding(shape.positions, shape.heads * shape.slots)

    def reset(self) -> None:
        distance = (torch.arange(self.shape.positions)[:, None] - torch.arange(self.shape.slots)).abs().float()
        slopes = torch.tensor([1.0 if head % 2 else 0.0 for head in range(self.shape.heads)])
        self.table.weight.data.copy_((-distance.clamp(max=8)[:, None] * slopes[:, None]).flatten(1))

    def forward(self, length: int) -> torch.Tensor:
        """[key heads, group, length, slots]"""
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
        """ids, attention_mask (1 = token, 0 = padding) int64 [B, L] -> a vector for every token [B, L, width], and the padding as a
        bias on attention scores."""
        padding = padding_bias(attention_mask)
        bias = self.relative(ids.shape[1]) + padding
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, bias)
        return self.norm(x), padding

    def forward(self, ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """ids, attention_mask as of states -> z float [B, latent]."""
        x, padding = self.states(ids, attention_mask)
        queries = self.queries.weight.expand(ids.shape[0], -1, -1)
        z = self.out(
            (queries + self.pool(queries, x, self.places(ids.shape[1]).transpose(-1, -2) + padding)).flatten(1)
        ).float()
        return z * torch.rsqrt(z.square().mean(-1, keepdim=True) + 1e-6)


class Similarity(nn.Module):
    """The encoder's second output, trained by similarity.py: a vector of unit length whose cosine with another's is how alike two
    molecules are. Every token state gives `hidden` numbers, of which the means and the maxima over the tokens are mapped to it."""

    def __init__(self, width: int, latent: int, hidden: int = 512) -> None:
        super().__init__()
        self.inner = nn.Linear(width, hidden)
        self.outer = nn.Linear(2 * hidden, latent)

    def forward(self, states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """states [B, L, width] (Encoder.states), attention_mask int64 [B, L] -> [B, latent]."""
        present = attention_mask[:, :, None].to(states.dtype)
        inner = functional.gelu(self.inner(states)) * present
        # A maximum below 0 counts as 0, so that padding, which is 0, changes nothing.
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
        """Every slot starts with dimensions of z of its own, in the encoder and in the decoder the same: what the encoder
        puts into a slot is there for the decoder from the first step."""
        slots, width, latent = self.shape.slots, self.shape.width, self.shape.latent
        own = torch.zeros(slots, width, latent)
        for slot, dimensions in enumerate(torch.arange(latent).tensor_split(slots)):
            own[slot][:, dimensions] = nn.init.orthogonal_(torch.empty(width, len(dimensions)))
        with torch.no_grad():
            self.encoder.out.weight.copy_(own.flatten(0, 1).T)
            self.decoder.memory.weight.copy_(own.flatten(0, 1))

    def forward(
        self, ids: torch.Tensor, target: torch.Tensor, lowest: torch.Tensor, highest: torch.Tensor
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """MIM-style loss of ids [B, L] (encoder) against target [B, L + 1 or more] ([BOS] tokens [EOS] padding).

        Each molecule gets one log-variance, uniform in [lowest, highest], and z = encoder + exp(log-variance / 2) * normal.
        The loss is the reconstruction's cross-entropy per token; the prior and entropy terms of the MIM loss,
        -1/2 (log N(z; 0, 1) + log q(z | x)), have no gradient here because the encoder's norm and the noise are given.
        """
        z = self.encoder(ids, (ids != PAD).long())
        deviation = torch.exp(0.5 * (lowest + (highest - lowest) * torch.rand(len(z), 1, device=z.device)))
        return self.decoded(z + deviation * torch.randn_like(z), target)

    def decoded(self, z: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Cross-entropy per token of decoding z [B, latent] to target [B, L] ([BOS] tokens [EOS] padding)."""
        logits, wanted = self.decoder(target[:, :-1], z), target[:, 1:]
        losses = functional.cross_entropy(
            logits.float().flatten(0, 1), wanted.flatten(), ignore_index=PAD, reduction="none"
        ).view_as(wanted)
        tokens = (wanted != PAD).sum()
        right = ((logits.argmax(-1) == wanted) | (wanted == PAD)).all(1).float()
        return losses.sum() / tokens, {"exact_forced": right.mean().detach()}
