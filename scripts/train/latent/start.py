"""Warm start: loads the model of the entries latent_encoder and latent_decoder from their graphs, for further training.

The weights are rounded to fp16 or integers (scripts.train.quantise); some hundred training steps recover the loss.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from scripts.train import checkpoint, graph
from scripts.train.latent.model import Decoder, Encoder, Model, Shape
from scripts.train.latent.report import load
from scripts.train.latent.tokens import UNK, Vocabulary

Tensors = dict[str, np.ndarray]


def load_model(repository: Path) -> tuple[Model, Vocabulary]:
    """Loads the model of a model repository, or the averaged weights of a run folder.

    Raises ValueError if scripts.train.latent.export did not write the graphs.
    """
    if (repository / checkpoint.WEIGHTS).exists():
        return load(repository)
    encoder, decoder = (
        graph.stored_tensors(repository / name / "1" / "model.onnx") for name in ("latent_encoder", "latent_decoder")
    )
    if "token.weight" not in encoder or "places.table.weight" not in decoder:
        raise ValueError(f"start: the graphs of {repository} do not name their weights; export them again")
    network = Model(shape(encoder, decoder))
    load_onnx(network.encoder, dequantised(encoder, network.encoder))
    load_onnx(network.decoder, split_joined(network.decoder, dequantised(decoder, network.decoder)))
    return network.eval(), Vocabulary.read(repository / "latent_encoder" / "vocab.txt")


def with_vocabulary(old: Model, old_vocabulary: Vocabulary, vocabulary: Vocabulary) -> Model:
    """Returns the model with a vocabulary that appends tokens to the old one.

    The embedding of a merged token starts as the mean of its parts, its output weights as those of its first part.
    """
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary)))
    state, shared = new.state_dict(), len(old_vocabulary)
    parts = [old_vocabulary.encode(token) for token in vocabulary.tokens[shared:]]
    for name, value in old.state_dict().items():
        if len(value) != shared or not name.endswith(("token.weight", "head.weight", "head.bias")):
            state[name] = value
            continue
        state[name][:shared] = value
        for row, ids in enumerate(parts, shared):
            if UNK not in ids:
                state[name][row] = value[ids[0]] if "head" in name else value[ids].mean(0)
    new.load_state_dict(state)
    return new


def with_slots(old: Model, slots: int) -> Model:
    """Returns the model with more slots; its results for texts with at most as many tokens as old slots hardly change.

    New slots enter the latent vector with zero weights and leave it with random ones. Tokens after the old slots attend
    to them.
    """
    new, old_slots = Model(dataclasses.replace(old.shape, slots=slots)), old.shape.slots
    state, heads = new.state_dict(), old.shape.heads
    for name, value in old.state_dict().items():
        if name.endswith("places.table.weight"):
            bias = _new_slot_bias(len(value), heads, old_slots, slots)
            value = torch.cat([value.unflatten(1, (heads, old_slots)), bias], -1).flatten(1)
        elif name == "encoder.out.weight":
            value = functional.pad(value, (0, state[name].shape[1] - value.shape[1]))
        elif value.shape != state[name].shape:  # The queries, and the decoder's memory: append rows.
            value = torch.cat([value, state[name][len(value) :]])
        state[name] = value
    new.load_state_dict(state)
    return new


def _new_slot_bias(positions: int, heads: int, old_slots: int, slots: int) -> torch.Tensor:
    """Returns the bias of each position and head on new slots.

    Positions with an old slot avoid new ones. At other positions, half of the heads prefer near slots, as in Places.
    """
    position = torch.arange(positions)[:, None]
    near = -(position - torch.arange(old_slots, slots)).abs().float().clamp(max=8)
    return torch.stack([torch.where(position < old_slots, -8.0, near * (head % 2)) for head in range(heads)], 1)


def shape(encoder: Tensors, decoder: Tensors) -> Shape:
    """Derives the sizes from the weights."""
    vocabulary, width = encoder["token.weight"].shape
    heads, slots, positions = encoder["places.table.weight"].shape
    layers = [sum(name.endswith("feed.0.weight") for name in part) for part in (encoder, decoder)]
    feeds = [part["layers.0.feed.0.weight"].shape[1] // width for part in (encoder, decoder)]
    key_heads = decoder["layers.0.cross.k.weight"].shape[1] * heads // width
    return Shape(
        vocabulary,
        width,
        heads,
        key_heads,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        encoder_feed=feeds[0],
        decoder_feed=feeds[1],
        latent=encoder["out.weight"].shape[1],
        slots=slots,
        positions=positions,
    )


def dequantised(stored: Tensors, module: nn.Module) -> Tensors:
    """Returns the stored parameters of a module as fp32."""
    parameters = dict(module.named_parameters())
    return {name: _dequantise(stored, name) for name in stored if name in parameters}


def _dequantise(stored: Tensors, name: str) -> np.ndarray:
    value = stored[name].astype(np.float32)
    owner, _, part = name.rpartition(".")
    if part == "weight" and name + graph.STEP in stored:
        return value * stored[name + graph.STEP]
    # The graph subtracts the bias of integer layers: see Graph.linear.
    return -value if part == "bias" and owner + ".weight" + graph.STEP in stored else value


def split_joined(decoder: Decoder, stored: Tensors) -> Tensors:
    """Splits the weights that the decoder's graph joins: queries, keys and values, and the relative bias."""
    out, size = dict(stored), decoder.shape.key_heads * decoder.shape.width // decoder.shape.heads
    cuts = np.cumsum([decoder.shape.width, size])
    for layer in range(decoder.shape.decoder_layers):
        for part in ("weight", "bias"):
            joined = stored[f"layers.{layer}.attention.q.{part}"]
            for name, value in zip("qkv", np.split(joined, cuts, -1)):
                out[f"layers.{layer}.attention.{name}.{part}"] = value
    reach, bias = decoder.relative.reach, stored["relative.table.weight"]
    # The half for later tokens stays zero: the decoder is causal.
    table = np.zeros(tuple(decoder.relative.table.weight.shape), np.float32)
    table[: reach + 1] = bias.reshape(-1, bias.shape[-1])[:, -reach - 1 :].T
    return {**out, "relative.table.weight": table.T}


def load_onnx(module: Encoder | Decoder, weights: Tensors) -> None:
    """Copies weights of a graph to the module, undoing the transposes and scales of the export."""
    modules = dict(module.named_modules())
    for name, parameter in module.named_parameters():
        owner, _, part = name.rpartition(".")
        value = weights[name]
        if owner == "places.table":
            value = (
                value.reshape(len(value), -1)
                if isinstance(module, Decoder)
                else value.transpose(2, 0, 1).reshape(value.shape[2], -1)
            )
        elif part == "weight" and (isinstance(modules[owner], nn.Linear) or owner == "relative.table"):
            value = value.T
        if owner.endswith(".q"):
            value = value * modules[owner.removesuffix(".q")].size ** 0.5
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)).reshape(parameter.shape))
