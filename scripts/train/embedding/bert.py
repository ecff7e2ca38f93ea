"""The BERT encoder of MiniLM (6 layers, 384 wide), in plain torch.

Devlin et al. 2019, https://arxiv.org/abs/1810.04805. The weights are those of all-MiniLM-L6-v2, read from a Hugging
Face folder. Not transformers' BertModel: checkpoints and resumed runs hold these parameter names, the ranker calls
single layers, and attention switches to plain operators where that is faster (see Layer.attend).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train import stored


@dataclass(frozen=True)
class Shape:
    """Sizes of an encoder, named as in a Hugging Face `config.json`."""

    vocab_size: int = 30522
    hidden_size: int = 384
    num_hidden_layers: int = 6
    num_attention_heads: int = 12
    intermediate_size: int = 1536
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12

    @classmethod
    def read(cls, config: Path) -> Shape:
        """Reads the shape from a `config.json`. ValueError, which names it: a size is not a positive number."""
        found = stored.config(config.parent)
        sizes = {k: found[k] for k in cls.__dataclass_fields__ if k in found}
        for name, size in sizes.items():
            kinds = (int, float) if name == "layer_norm_eps" else (int,)
            if not isinstance(size, kinds) or not 0 < size < 2**24:
                raise ValueError(f"{config}: {name} must be a positive number, got {size!r}")
        return cls(**sizes)


class Layer(nn.Module):
    """One transformer layer, normalised after each half (post-LN)."""

    def __init__(self, shape: Shape, dropout: float):
        super().__init__()
        width = shape.hidden_size
        self.heads = shape.num_attention_heads
        self.dropout = dropout
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.mixed = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=shape.layer_norm_eps)
        self.up = nn.Linear(width, shape.intermediate_size)
        self.down = nn.Linear(shape.intermediate_size, width)
        self.output_norm = nn.LayerNorm(width, eps=shape.layer_norm_eps)

    def forward(self, hidden: Tensor, bias: Tensor) -> Tensor:
        """hidden [B,L,H]; bias [B,1,1 or L,L] is added to the attention scores."""
        mixed = self.mixed(self.attend(hidden, bias))
        hidden = self.attention_norm(hidden + self.drop(mixed))
        deep = self.down(F.gelu(self.up(hidden)))
        return self.output_norm(hidden + self.drop(deep))

    def attend(self, hidden: Tensor, bias: Tensor) -> Tensor:
        batch, length, width = hidden.shape
        parts = (batch, length, self.heads, width // self.heads)
        q, k, v = (f(hidden).view(parts).transpose(1, 2) for f in (self.query, self.key, self.value))
        bias = bias.to(q.dtype)
        # Plain operators fuse in all runtimes; the backward pass of torch's fused ones is slow on a CPU.
        if torch.onnx.is_in_onnx_export() or (q.requires_grad and q.device.type == "cpu"):
            scores = q @ k.transpose(2, 3) * (1 / math.sqrt(parts[3])) + bias
            seen = self.drop(scores.softmax(-1)) @ v
        else:
            drop = self.dropout if self.training else 0.0
            seen = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=drop)
        return seen.transpose(1, 2).reshape(batch, length, width)

    def drop(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


class Encoder(nn.Module):
    """Token ids to one vector for each token, without a pooler."""

    def __init__(self, shape: Shape = Shape(), dropout: float = 0.0):
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.positions = nn.Embedding(shape.max_position_embeddings, shape.hidden_size)
        self.segments = nn.Embedding(shape.type_vocab_size, shape.hidden_size)
        self.norm = nn.LayerNorm(shape.hidden_size, eps=shape.layer_norm_eps)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.num_hidden_layers))

    def embed(self, ids: Tensor, segment_ids: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """ids, segment_ids [B,L] int64 to [B,L,H], before the first layer and its norm."""
        if position_ids is None:
            position_ids = torch.arange(ids.shape[1], device=ids.device)[None]
        return self.words(ids) + self.positions(position_ids) + self.segments(segment_ids)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        """ids, mask (1 = token, 0 = padding), segment_ids [B,L] int64 to hidden [B,L,H]."""
        hidden = self.norm(self.embed(ids, segment_ids))
        bias = padding_bias(mask)
        for layer in self.layers:
            hidden = layer(hidden, bias)
        return hidden


def padding_bias(mask: Tensor) -> Tensor:
    """mask [B,L] to [B,1,1,L]: 0 for a token; for padding so low that softmax gives exactly 0."""
    return (1.0 - mask[:, None, None].float()) * -1e9


# Our parameter names and those of a Hugging Face BERT checkpoint.
LAYER_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mixed": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "output_norm": "output.LayerNorm",
}
EMBEDDING_NAMES = {
    "words": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "segments": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
}


def published_name(name: str) -> str:
    """`layers.3.up.weight` to `encoder.layer.3.intermediate.dense.weight`."""
    first, *rest = name.split(".")
    if first != "layers":
        return ".".join([EMBEDDING_NAMES[first], *rest])
    number, part, kind = rest
    return f"encoder.layer.{number}.{LAYER_NAMES[part]}.{kind}"


def load_encoder(folder: Path, dropout: float = 0.0) -> Encoder:
    """The encoder of a Hugging Face style folder (config.json, model.safetensors).

    ValueError, which names the file: it is missing or damaged, or lacks a weight.
    """
    shape = Shape.read(folder / stored.CONFIG)

    def build() -> Encoder:
        return Encoder(shape, dropout)

    published, names = stored.tensors(folder), stored.outline(folder / stored.CONFIG, build).state_dict()
    weights = {k: published[n] for k in names if (n := published_name(k)) in published}
    weights = stored.dequantise(weights, folder / stored.WEIGHTS)
    return stored.load_network(folder / stored.WEIGHTS, folder / stored.CONFIG, build, weights)
