"""The model of the entries latent_encoder and latent_decoder of a model repository, to train on: its weights, out of its graphs.

They come back rounded to fp16 or integers (see scripts.train.quantise), which some hundred steps of training make good.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from scripts.train import graph
from scripts.train.latent.model import Decoder, Encoder, Model, Shape
from scripts.train.latent.report import load
from scripts.train.latent.tokens import UNK, Vocabulary

Held = dict[str, np.ndarray]


def model(repository: Path) -> tuple[Model, Vocabulary]:
    """Of a model repository, or the averaged weights of the folder of a run. ValueError if the graphs are none of
    scripts.train.latent.export."""
    if (repository / "weights.pt").exists():
        return load(repository)
    encoder, decoder = (
        graph.stored(repository / name / "1" / "model.onnx") for name in ("latent_encoder", "latent_decoder")
    )
    if "token.weight" not in encoder or "places.table.weight" not in decoder:
        raise ValueError(f"{repository}: the graphs do not name the weights; export them again")
    network = Model(shape(encoder, decoder))
    fill(
        network.encoder,
        {name: plain(encoder, name) for name in encoder if name in dict(network.encoder.named_parameters())},
    )
    fill(
        network.decoder,
        apart(
            network.decoder,
            {name: plain(decoder, name) for name in decoder if name in dict(network.decoder.named_parameters())},
        ),
    )
    return network.eval(), Vocabulary.read(repository / "latent_encoder" / "vocab.txt")


def grown(old: Model, words: Vocabulary, vocabulary: Vocabulary) -> Model:
    """The model with rows for the tokens that `vocabulary` has after those of `words`. A run of tokens begins as the mean of
    what it is made of where it is read, and as its first part where it is written."""
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary)))
    held, shared = new.state_dict(), len(words)
    parts = [words.encode(token) for token in vocabulary.tokens[shared:]]
    for name, value in old.state_dict().items():
        if len(value) != shared or not name.endswith(("token.weight", "head.weight", "head.bias")):
            held[name] = value
            continue
        held[name][:shared] = value
        for row, ids in enumerate(parts, shared):
            if UNK not in ids:
                held[name][row] = value[ids[0]] if "head" in name else value[ids].mean(0)
    new.load_state_dict(held)
    return new


def widened(old: Model, slots: int) -> Model:
    """The model with more slots: what it does for texts of no more tokens than it had slots hardly changes. The new ones reach the
    latent through weights of zero, are read from it at random, and are looked at by tokens after the old ones."""
    new, had = Model(dataclasses.replace(old.shape, slots=slots)), old.shape.slots
    held, heads = new.state_dict(), old.shape.heads
    for name, value in old.state_dict().items():
        if name.endswith("places.table.weight"):
            value = torch.cat([value.unflatten(1, (heads, had)), _apart(len(value), heads, had, slots)], -1).flatten(1)
        elif name == "encoder.out.weight":
            value = functional.pad(value, (0, held[name].shape[1] - value.shape[1]))
        elif (
            value.shape != held[name].shape
        ):  # The queries, and the decoder's memory: rows after those that were there.
            value = torch.cat([value, held[name][len(value) :]])
        held[name] = value
    new.load_state_dict(held)
    return new


def _apart(positions: int, heads: int, had: int, slots: int) -> torch.Tensor:
    """The bias of every position and head on the slots after `had`. Positions that have an old slot keep to the old ones; of the
    others half of the heads look at what is near, as in Places, and half everywhere."""
    place = torch.arange(positions)[:, None]
    near = -(place - torch.arange(had, slots)).abs().float().clamp(max=8)
    return torch.stack([torch.where(place < had, -8.0, near * (head % 2)) for head in range(heads)], 1)


def shape(encoder: Held, decoder: Held) -> Shape:
    """The sizes that the weights tell."""
    vocabulary, width = encoder["token.weight"].shape
    heads, slots, positions = encoder["places.table.weight"].shape
    layers = [sum(name.endswith("feed.0.weight") for name in held) for held in (encoder, decoder)]
    feeds = [held["layers.0.feed.0.weight"].shape[1] // width for held in (encoder, decoder)]
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


def plain(held: Held, name: str) -> np.ndarray:
    """A stored weight in floating point, as the graph multiplies by it."""
    value = held[name].astype(np.float32)
    owner, _, part = name.rpartition(".")
    if part == "weight" and name + graph.STEP in held:
        return value * held[name + graph.STEP]
    # The bias after integers is subtracted: see Graph.linear.
    return -value if part == "bias" and owner + ".weight" + graph.STEP in held else value


def apart(decoder: Decoder, held: Held) -> Held:
    """The decoder's weights, of which the graph joins some to one."""
    out, size = dict(held), decoder.shape.key_heads * decoder.shape.width // decoder.shape.heads
    cuts = np.cumsum([decoder.shape.width, size])
    for layer in range(decoder.shape.decoder_layers):
        for part in ("weight", "bias"):
            joined = held[f"layers.{layer}.attention.q.{part}"]
            for name, value in zip("qkv", np.split(joined, cuts, -1)):
                out[f"layers.{layer}.attention.{name}.{part}"] = value
    reach, bias = decoder.relative.reach, held["relative.table.weight"]
    table = np.zeros(
        tuple(decoder.relative.table.weight.shape), np.float32
    )  # The decoder never looks ahead: that half stays zero.
    table[: reach + 1] = bias.reshape(-1, bias.shape[-1])[:, -reach - 1 :].T
    return {**out, "relative.table.weight": table.T}


def fill(module: Encoder | Decoder, held: Held) -> None:
    """Copies the weights in, turned and scaled back."""
    modules = dict(module.named_modules())
    for name, parameter in module.named_parameters():
        owner, _, part = name.rpartition(".")
        value = held[name]
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
