"""The encoder as an ONNX graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto

from scripts.train.graph import Graph
from scripts.train.latent.model import Encoder, Similarity


def build(encoder: Encoder, unit: float = 1.0, similarity: Similarity | None = None) -> Graph:
    """input_ids, attention_mask int64 [B, L] -> hiddens float [B, 1, latent].

    With similarity, also embedding float [B, latent]. unit: the number inside the model that is 1 in hiddens.
    """
    graph = Graph()
    graph.name_weights(encoder)
    ids = graph.input("input_ids", TensorProto.INT64, ["batch", "length"])
    mask = graph.input("attention_mask", TensorProto.INT64, ["batch", "length"])
    length = graph.op("Squeeze", graph.op("Shape", ids, start=1, end=2))
    present = graph.op("Cast", graph.op("Unsqueeze", mask, np.array([1, 2])), to=TensorProto.FLOAT)
    padding = graph.op("Mul", graph.op("Sub", 1.0, present), -1e4)
    bias = graph.op("Add", graph.op("Unsqueeze", graph.relative(encoder.relative, length), np.array([0])), padding)
    position = graph.op(
        "Slice",
        graph.weight(encoder.position.weight),
        np.array([0]),
        graph.op("Unsqueeze", length, np.array([0])),
        np.array([0]),
    )
    x = graph.op("Add", graph.op("Gather", graph.weight(encoder.token.weight), ids), position)
    for layer in encoder.layers:
        x = graph.transformer(x, layer, bias)
    x = graph.norm(x, encoder.norm)
    z = graph.layer(pool(graph, encoder, x, ids, padding), encoder.out)
    square = graph.op("ReduceMean", graph.op("Mul", z, z), np.array([-1]), keepdims=1)
    z = graph.op("Div", z, graph.op("Mul", graph.op("Sqrt", graph.op("Add", square, 1e-6)), float(unit)))
    graph.output(
        graph.op("Unsqueeze", z, np.array([1])), TensorProto.FLOAT, ["batch", 1, encoder.out.out_features], "hiddens"
    )
    if similarity:
        graph.output(
            embedding(graph, similarity, x, mask),
            TensorProto.FLOAT,
            ["batch", similarity.outer.out_features],
            "embedding",
        )
    return graph


def embedding(graph: Graph, head: Similarity, x: str, mask: str) -> str:
    """See Similarity.forward."""
    present = graph.op("Cast", graph.op("Unsqueeze", mask, np.array([2])), to=TensorProto.FLOAT)
    inner = graph.op("Mul", graph.op("Gelu", graph.layer(x, head.inner)), present)
    tokens = graph.op("ReduceSum", present, np.array([1]), keepdims=0)
    mean = graph.op("Div", graph.op("ReduceSum", inner, np.array([1]), keepdims=0), tokens)
    largest = graph.op("Relu", graph.op("ReduceMax", inner, np.array([1]), keepdims=0))
    vector = graph.layer(graph.op("Concat", mean, largest, axis=1), head.outer)
    return graph.op("LpNormalization", vector, axis=-1, p=2)


def pool(graph: Graph, encoder: Encoder, x: str, ids: str, padding: str) -> str:
    """Lets the learned queries attend to x; returns them concatenated, [B, slots * width]. See Encoder.forward."""
    slots, width = encoder.queries.weight.shape
    rows = graph.op("Concat", graph.op("Shape", ids, start=0, end=1), np.array([1, 1]), axis=0)
    queries = graph.op("Tile", graph.weight(encoder.queries.weight[None], encoder.queries.weight), rows)
    table = encoder.places(encoder.position.num_embeddings)[:, 0].transpose(-1, -2)
    near = graph.op(
        "Slice",
        graph.weight(table, encoder.places.table.weight),
        np.array([0]),
        graph.op("Shape", ids, start=1, end=2),
        np.array([2]),
    )
    pooled = graph.op("Add", queries, graph.attention(queries, x, encoder.pool, graph.op("Add", near, padding)))
    return graph.op("Reshape", pooled, np.array([0, slots * width]))


def write(encoder: Encoder, path: Path, unit: float = 1.0, similarity: Similarity | None = None) -> None:
    with torch.no_grad():
        build(encoder, unit, similarity).save(path, "latent_encoder")
