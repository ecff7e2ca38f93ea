"""Loads the two-mode model of a model repository entry from its graph.

The weights are rounded as in the graph, so the model returns exactly the served vectors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from scripts.train.embedding import bert, twomode


def load_onnx(entry: Path) -> twomode.TwoMode:
    """Loads the model; raises ValueError if scripts.train.embedding.export did not write the graph."""
    stored = weights(onnx.load(str(entry / "1" / "model.onnx")).graph)
    if "encoder.words.weight" not in stored or "turn.weight" not in stored:
        raise ValueError(f"start: the graph of {entry} does not name the weights of a two-mode model")
    encoder = {k.removeprefix("encoder."): torch.from_numpy(v) for k, v in stored.items() if k.startswith("encoder.")}
    shape = bert.Shape(
        vocab_size=len(encoder["words.weight"]),
        hidden_size=encoder["words.weight"].shape[1],
        num_hidden_layers=sum(k.endswith(".up.weight") for k in encoder),
        intermediate_size=len(encoder["layers.0.up.weight"]),
        max_position_embeddings=len(encoder["positions.weight"]),
        type_vocab_size=len(encoder["segments.weight"]),
    )
    network = twomode.TwoMode(bert.Encoder(shape), torch.from_numpy(stored["turn.weight"]))
    network.encoder.load_state_dict(encoder)
    return network.eval()


def weights(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Returns the weights by parameter name.

    The graph stores the transposed weights of linear maps under generated names; the MatMul node has the module's name.
    """
    stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    floats = {k: v for k, v in stored.items() if v.dtype == np.float32 and not k.endswith("_scale")}
    for name in (k.removesuffix("_int8") for k in stored if k.endswith("_int8")):
        floats[name] = stored[f"{name}_int8"].astype(np.float32) * stored[f"{name}_scale"]
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in floats:
            owner = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
            floats[f"{owner}.weight"] = np.ascontiguousarray(floats[node.input[1]].T)
    return {k: v.copy() for k, v in floats.items() if ":" not in k}
