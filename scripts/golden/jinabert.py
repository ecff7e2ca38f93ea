"""Computes JinaBERT for imports.py. transformers does not have this family.

jinaBert_model.py of huggingface/text-embeddings-inference has the implementation jinaai/jina-bert-v2-qk-post-norm. It
also has the embeddings and ALiBi of the older jinaai/jina-bert-implementation, whose layer is in the same repository
only in Rust (backends/candle/src/models/jina.rs): Layer follows it. For the texts of folders.py, its vectors differed
by at most 1.2e-6 from those of the crate candle-transformers 0.9.2 (models/jina_bert.rs).
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file
from torch.nn import functional

SOURCE = "huggingface/text-embeddings-inference, jinaBert_model.py of commit 0d124dc9773b"


def load_source(path: Path) -> dict[str, Any]:
    """Runs jinaBert_model.py. The server that it belongs to, and tracing, are replaced with empty modules."""
    tracer = SimpleNamespace(start_as_current_span=lambda name: lambda function: function)
    modules: dict[str, dict[str, Any]] = {
        "opentelemetry": {"trace": SimpleNamespace(get_tracer=lambda name: tracer)},
        "text_embeddings_server": {},
        "text_embeddings_server.models": {"Model": object},
        "text_embeddings_server.models.pooling": {"DefaultPooling": None},
        "text_embeddings_server.models.types": {"PaddedBatch": None, "Embedding": None, "Score": None},
    }
    for name, members in modules.items():
        sys.modules[name] = ModuleType(name)
        vars(sys.modules[name]).update(members)
    source: dict[str, Any] = {}
    exec(compile(path.read_text(), path, "exec"), source)
    return source


class Tensors:
    """The weights of a folder below a prefix, as jinaBert_model.py reads them."""

    def __init__(self, tensors: dict[str, torch.Tensor], prefix: str):
        self.tensors, self.prefix = tensors, prefix

    def get_tensor(self, name: str) -> torch.Tensor:
        return self.tensors[self.prefix + name]

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        bias = self.tensors.get(f"{self.prefix}{name}.bias")
        return functional.linear(x, self.get_tensor(f"{name}.weight"), bias)


class Layer:
    """A layer of jinaai/jina-bert-implementation: attention and a gated linear unit, each normalized after its sum."""

    def __init__(self, prefix: str, tensors: Tensors, config: SimpleNamespace):
        self.prefix, self.tensors, self.config = prefix, tensors, config

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return self.tensors.linear(x, f"{self.prefix}.{name}")

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        weight, bias = (self.tensors.get_tensor(f"{self.prefix}.{name}.{part}") for part in ("weight", "bias"))
        return functional.layer_norm(x, weight.shape, weight, bias, self.config.layer_norm_eps)

    def forward(self, x: torch.Tensor, mask: None, alibi: torch.Tensor) -> tuple[torch.Tensor]:
        heads = (self.config.num_attention_heads, -1)
        query, key, value = (
            self.linear(x, f"attention.self.{name}").unflatten(-1, heads).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1]) + alibi
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = self.norm(self.linear(mixed, "attention.output.dense") + x, "attention.output.LayerNorm")
        gate, up = self.linear(x, "mlp.gated_layers").chunk(2, -1)
        gate = {"geglu": functional.gelu, "reglu": functional.relu}[self.config.feed_forward_type](gate)
        return (self.norm(self.linear(gate * up, "mlp.wo") + x, "mlp.layernorm"),)


class JinaBert:
    """The model of a folder, called as those of transformers."""

    def __init__(self, folder: Path, api: str, source: Path):
        self.api = api
        self.tensors = load_file(folder / "model.safetensors")
        settings = json.loads((folder / "config.json").read_text())
        config = SimpleNamespace(**settings, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
        encoder = Tensors(self.tensors, "bert." if api == "ranking" else "")
        members = load_source(source)
        if any("gated_layers" in name for name in self.tensors):
            members["JinaBertLayer"] = lambda prefix, handle, device, dtype, config: Layer(prefix, handle, config)
        self.model = members["FlashJinaBertModel"](encoder, torch.device("cpu"), torch.float32, config)

    def __call__(self, input_ids, attention_mask, token_type_ids):
        positions = torch.arange(input_ids.shape[1])[None]
        states = self.model.forward(input_ids, token_type_ids, positions, input_ids.shape[1])
        if self.api == "embedding":
            return SimpleNamespace(last_hidden_state=states)
        head = Tensors(self.tensors, "")
        pooled = head.linear(states[:, 0], "bert.pooler.dense").tanh()
        return SimpleNamespace(logits=head.linear(pooled, "classifier"))
