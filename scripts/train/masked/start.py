"""The model of an entry of the model repository, to train on: its weights, out of its graph.

They come back rounded to fp16 or integers (see scripts.train.quantise), which some hundred steps of training make good.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from scripts.train import graph
from scripts.train.masked.model import Model, Shape


def model(entry: Path) -> Model:
    """ValueError if the graph is none of scripts.train.masked.export."""
    held = graph.stored(entry / "1" / "model.onnx")
    if "token.weight" not in held:
        raise ValueError(f"{entry}: its graph does not name the weights; export it again")
    network = Model(shape(held))
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
                value = value * modules[owner.removesuffix(".q")].size**0.5
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(value)))
    return network


def shape(held: dict[str, np.ndarray]) -> Shape:
    """The sizes that the weights tell."""
    vocabulary, width = held["token.weight"].shape
    layers = sum(name.endswith("attention.q.weight") for name in held)
    return Shape(vocabulary, width, held["relative.table.weight"].shape[0], layers, held["layers.0.feed.0.weight"].shape[1] // width,
                 len(held["position.weight"]))
