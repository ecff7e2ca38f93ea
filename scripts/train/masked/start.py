"""The model of an entry of the model repository, to train on: its weights, out of its graph.

They come back rounded to fp16 or integers (see scripts.train.quantise), which some hundred steps of training make good.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch
from torch import nn

from scripts.train import graph
from scripts.train.masked.model import Model, Shape
from scripts.train.masked.vocabulary import BOS, EOS, QUALITY, UNK, Vocabulary

RARE = 5.0
"""What a new run's logit is below that of its first part."""


def vocabulary(entry: Path) -> Vocabulary:
    return Vocabulary.read(entry / "vocab.txt")


def model(entry: Path) -> Model:
    """ValueError if the graph is none of scripts.train.masked.export."""
    held = graph.stored(entry / "1" / "model.onnx")
    if "token.weight" not in held:
        raise ValueError(f"{entry}: its graph does not name the weights; export it again")
    network = Model(dataclasses.replace(shape(held), reserved=vocabulary(entry).reserved))
    modules = dict(network.named_modules())
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            owner, _, part = name.rpartition(".")
            value = held[name].astype(np.float32)
            integer = owner + ".weight" + graph.STEP in held
            if part == "weight" and integer:
                value *= held[name + graph.STEP]
            if part == "weight" and (isinstance(modules[owner], nn.Linear) or owner == "relative.table"):
                value = value.T
            if part == "bias" and integer:
                value = -value  # It is subtracted: see Graph.linear.
            if owner.endswith(".q"):
                value = value * modules[owner.removesuffix(".q")].size ** 0.5
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))
    return network


def grown(old: Model, words: Vocabulary, vocabulary: Vocabulary) -> Model:
    """The model with another vocabulary that has all tokens of the old one, `words`. A new run of tokens begins as the mean of what it
    is made of where it is read, and where it is written as its first part, but less likely by RARE: so at first the model writes what
    it did before. [QUALITY] begins as [BOS], a length as [EOS]."""
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary), reserved=vocabulary.reserved))
    held, given = new.state_dict(), old.state_dict()
    for name, value in given.items():
        if name not in ("token.weight", "head.weight", "head.bias"):
            held[name] = value
            continue
        for row, token in enumerate(vocabulary.tokens):
            if token in words.ids:
                held[name][row] = value[words.ids[token]]
            elif row < vocabulary.reserved:
                held[name][row] = value[BOS if row == QUALITY else EOS]
            elif UNK not in (parts := words.piece(token)):
                held[name][row] = value[parts].mean(0) if name == "token.weight" else value[parts[0]]
                if name == "head.bias":
                    held[name][row] -= RARE
    new.load_state_dict(held)
    return new


def shape(held: dict[str, np.ndarray]) -> Shape:
    """The sizes that the weights tell."""
    vocabulary, width = held["token.weight"].shape
    layers = sum(name.endswith("attention.q.weight") for name in held)
    return Shape(
        vocabulary,
        width,
        held["relative.table.weight"].shape[0],
        layers,
        held["layers.0.feed.0.weight"].shape[1] // width,
        len(held["position.weight"]),
    )
