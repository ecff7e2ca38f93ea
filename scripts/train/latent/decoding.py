"""Decoding in PyTorch: the reference for the exported graph, and the decoder of the evaluation."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.train.latent import decoder_graph
from scripts.train.latent.model import Decoder, DecoderLayer
from scripts.train.latent.tokens import BOS, EOS, PAD

Decode = Callable[[torch.Tensor, float], torch.Tensor]
"""Decodes z [B, latent] at a temperature (0: greedy) to ids int64 [B, T]: tokens, [EOS], [PAD]."""


def graph_decoder(decoder: Decoder, threads: int) -> Decode:
    """Returns the decoder as the exported graph in floating point, several times faster than decode_with_cache."""
    with tempfile.TemporaryDirectory() as folder:
        decoder_graph.write(decoder, Path(folder) / "model.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(Path(folder) / "model.onnx", options)

    def decode(z: torch.Tensor, temperature: float) -> torch.Tensor:
        seeds = torch.randint(2**62, (len(z), 1)).numpy()
        temperatures = np.full((len(z), 1), temperature, np.float32)
        return torch.from_numpy(
            session.run(["token_ids"], {"hiddens": z[:, None].numpy(), "temperature": temperatures, "seed": seeds})[0]
        )

    return decode


@torch.no_grad()
def decode_without_cache(decoder: Decoder, z: torch.Tensor, limit: int = 128) -> torch.Tensor:
    """Decodes greedily without a cache: the complete prefix passes the decoder for each new token. See Decode."""
    ids = torch.full((len(z), 1), BOS, device=z.device)
    done = torch.zeros(len(z), dtype=torch.bool, device=z.device)
    for _ in range(limit):
        token = decoder(ids, z)[:, -1].argmax(-1).masked_fill(done, PAD)
        ids = torch.cat([ids, token[:, None]], 1)
        done |= token == EOS
        if done.all():
            break
    return ids[:, 1:]


@torch.no_grad()
def decode_with_cache(decoder: Decoder, z: torch.Tensor, limit: int = 128, temperature: float = 0.0) -> torch.Tensor:
    """Decodes with a key/value cache; at temperature 0 it returns the same ids as `plain`, faster. See Decode."""
    memory, reach, heads = decoder.slots(z), decoder.relative.reach, decoder.shape.key_heads
    cross = [layer.cross.keys(memory) for layer in decoder.layers]
    shape = (len(z), heads, limit, decoder.shape.width // decoder.shape.heads)
    places = decoder.places(limit)
    past = [(z.new_zeros(shape), z.new_zeros(shape)) for _ in decoder.layers]
    token = torch.full((len(z),), BOS, device=z.device)
    done = torch.zeros(len(z), dtype=torch.bool, device=z.device)
    out = []
    for step in range(limit):
        distance = (torch.arange(step + 1, device=z.device) - step).clamp(min=-reach) + reach
        bias = decoder.relative.table(distance).T.unflatten(0, (heads, -1))[:, :, None]
        x = (decoder.token(token) + decoder.position.weight[step])[:, None]
        for layer, (k, v), (ck, cv) in zip(decoder.layers, past, cross):
            x = _layer(layer, x, step, k, v, ck, cv, bias, places[:, :, step : step + 1])
        logits = decoder.head(decoder.norm(x))[:, 0]
        chosen = (
            torch.multinomial((logits / temperature).softmax(-1), 1)[:, 0] if temperature > 0 else logits.argmax(-1)
        )
        token = chosen.masked_fill(done, PAD)
        out.append(token)
        done = done | (token == EOS)
        if done.all():
            break
    return torch.stack(out, 1)


def _layer(
    layer: DecoderLayer,
    x: torch.Tensor,
    step: int,
    k: torch.Tensor,
    v: torch.Tensor,
    ck: torch.Tensor,
    cv: torch.Tensor,
    bias: torch.Tensor,
    places: torch.Tensor,
) -> torch.Tensor:
    """Runs a layer on the newest token, x [B, 1, width], and caches its key and value at `step`."""
    normed = layer.norm1(x)
    k[:, :, step : step + 1], v[:, :, step : step + 1] = layer.attention.keys(normed)
    x = x + layer.attention.attend(normed, k[:, :, : step + 1], v[:, :, : step + 1], bias)
    x = x + layer.cross.attend(layer.norm2(x), ck, cv, places)
    return x + layer.feed(layer.norm3(x))
