"""The two-mode model of a model repository entry, to build on: its weights, out of its graph.

They come back as the graph multiplies by them, rounded to int8, so that what holds them gives the very vectors that
are served.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from scripts.train.embedding import bert, twomode


def model(entry: Path) -> twomode.TwoMode:
    """ValueError if the graph is none of scripts.train.embedding.export."""
    held = weights(onnx.load(str(entry / "1" / "model.onnx")).graph)
    if "encoder.words.weight" not in held or "turn.weight" not in held:
        raise ValueError(f"{entry}: the graph does not name the weights of a two-mode model")
    encoder = {k.removeprefix("encoder."): torch.from_numpy(v) for k, v in held.items() if k.startswith("encoder.")}
    shape = bert.Shape(
        vocab_size=len(encoder["words.weight"]),
        hidden_size=encoder["words.weight"].shape[1],
        num_hidden_layers=sum(k.endswith(".up.weight") for k in encoder),
        intermediate_size=len(encoder["layers.0.up.weight"]),
        max_position_embeddings=len(encoder["positions.weight"]),
        type_vocab_size=len(encoder["segments.weight"]),
    )
    network = twomode.TwoMode(bert.Encoder(shape), torch.from_numpy(held["turn.weight"]))
    network.encoder.load_state_dict(encoder)
    return network.eval()


def weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Weights by the name of their parameter. Those of linear maps are stored turned, under a made-up name: the node
    that multiplies by one bears the name of its module."""
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    held = {k: v for k, v in stored.items() if v.dtype == np.float32 and not k.endswith("_scale")}
    for name in (k.removesuffix("_int8") for k in stored if k.endswith("_int8")):
        held[name] = stored[f"{name}_int8"].astype(np.float32) * stored[f"{name}_scale"]
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in held:
            owner = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            held[f"{owner}.weight"] = np.ascontiguousarray(held[node.input[1]].T)
    return {k: v.copy() for k, v in held.items() if ":" not in k}
