"""Texts to unit vectors: tokenises, sorts by length, pools by the mean (Reimers & Gurevych 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tokenizers import Tokenizer

from .bert import Encoder

# Most padded tokens in a call of the encoder: larger batches exceed the cache of a CPU.
CPU_TOKENS, GPU_TOKENS = 2048, 65536


def load_tokenizer(file: Path) -> Tokenizer:
    """Reads a tokenizer without the truncation and padding of its published file.

    ValueError, which names the file: it is missing or damaged.
    """
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # The library has no class of its own.
        raise ValueError(f"{file}: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def token_ids(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    """Returns the ids of each text with [CLS] and [SEP], truncated to `longest` tokens."""
    ids = [e.ids for e in tokenizer.encode_batch(list(texts))]
    return [row if len(row) <= longest else row[: longest - 1] + row[-1:] for row in ids]


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Pads rows of ids with 0 to (ids, mask), both [rows, longest] int64."""
    ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return ids, mask


def batches_by_length(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Returns row numbers, longest first, in batches of at most `tokens` padded tokens, or of one row."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batches: list[list[int]] = []
    for i in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def mean_pooled(hidden: Tensor, mask: Tensor) -> Tensor:
    """Pools hidden [B,L,H] with mask [B,L] to unit vectors [B,H]: the mean over tokens, including special ones."""
    weight = mask[..., None].to(hidden.dtype)
    return F.normalize((hidden * weight).sum(1) / weight.sum(1).clamp(min=1), dim=-1)


Embed = Callable[[Tensor, Tensor], Tensor]


def torch_embed(encoder: Encoder, device: torch.device) -> Embed:
    """Returns the mean-pooled vectors of an encoder."""
    return module_embed(lambda ids, mask: mean_pooled(encoder(ids, mask, torch.zeros_like(ids)).float(), mask), device)


def module_embed(module: Embed, device: torch.device) -> Embed:
    """Runs a module on a device under bfloat16 autocast: ids, mask [B,L] to float vectors [B,H] on the CPU."""

    def embed(ids: Tensor, mask: Tensor) -> Tensor:
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
            return module(ids.to(device), mask.to(device)).float().cpu()

    return embed


def encode(embed: Embed, rows: Sequence[Sequence[int]], tokens: int = CPU_TOKENS) -> np.ndarray:
    """Encodes rows of ids to vectors [rows, H] float32, in order."""
    vectors: dict[int, np.ndarray] = {}
    for batch in batches_by_length([len(r) for r in rows], tokens):
        vectors.update(zip(batch, embed(*pad([rows[i] for i in batch])).numpy()))
    return np.stack([vectors[i] for i in range(len(rows))]).astype(np.float32)
