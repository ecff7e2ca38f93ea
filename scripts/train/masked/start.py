"""Warm start: loads the model of a model repository entry from its graph, for further training.

The weights are rounded to fp16 or integers (scripts.train.quantise); some hundred training steps recover the loss.
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
"""How far the logit of a new merged token starts below that of its first part."""


def vocabulary(entry: Path) -> Vocabulary:
    return Vocabulary.read(entry / "vocab.txt")


def load_onnx(entry: Path) -> Model:
    """Loads the model; raises ValueError if scripts.train.masked.export did not write the graph."""
    stored = graph.stored_tensors(entry / "1" / "model.onnx")
    if "token.weight" not in stored:
        raise ValueError(f"start: the graph of {entry} does not name its weights; export it again")
    network = Model(dataclasses.replace(shape(stored), reserved=vocabulary(entry).reserved))
    modules = dict(network.named_modules())
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            owner, _, part = name.rpartition(".")
            value = stored[name].astype(np.float32)
            integer = owner + ".weight" + graph.STEP in stored
            if part == "weight" and integer:
                value *= stored[name + graph.STEP]
            if part == "weight" and (isinstance(modules[owner], nn.Linear) or owner == "relative.table"):
                value = value.T
            if part == "bias" and integer:
                value = -value  # The graph subtracts it: see Graph.linear.
            if owner.endswith(".q"):
                value = value * modules[owner.removesuffix(".q")].size ** 0.5
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))
    return network


def with_vocabulary(old: Model, old_vocabulary: Vocabulary, vocabulary: Vocabulary) -> Model:
    """Returns the model with a vocabulary that extends the old one.

    The embedding of a new merged token starts as the mean of its parts, its output weights as those of its first part
    with the logit lowered by RARE, so the model writes at first what it wrote before. [QUALITY] starts as [BOS], a
    length as [EOS].
    """
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary), reserved=vocabulary.reserved))
    state = new.state_dict()
    for name, value in old.state_dict().items():
        if name not in ("token.weight", "head.weight", "head.bias"):
            state[name] = value
            continue
        for row, token in enumerate(vocabulary.tokens):
            if token in old_vocabulary.ids:
                state[name][row] = value[old_vocabulary.ids[token]]
            elif row < vocabulary.reserved:
                state[name][row] = value[BOS if row == QUALITY else EOS]
            elif UNK not in (parts := old_vocabulary.encode_piece(token)):
                state[name][row] = value[parts].mean(0) if name == "token.weight" else value[parts[0]]
                if name == "head.bias":
                    state[name][row] -= RARE
    new.load_state_dict(state)
    return new


def shape(stored: dict[str, np.ndarray]) -> Shape:
    """Derives the sizes from the weights."""
    vocabulary, width = stored["token.weight"].shape
    layers = sum(name.endswith("attention.q.weight") for name in stored)
    return Shape(
        vocabulary,
        width,
        stored["relative.table.weight"].shape[0],
        layers,
        stored["layers.0.feed.0.weight"].shape[1] // width,
        len(stored["position.weight"]),
    )
