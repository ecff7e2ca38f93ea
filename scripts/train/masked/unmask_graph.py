"""The complete unmasking loop as one ONNX graph; scripts.train.masked.sampler is the reference in PyTorch.

Each round of the Loop passes only rows with masks through the network, so a batch costs the sum of the rounds of its
rows, not the most rounds times the batch size. Rows with context guidance pass twice, the second time with some of
their given tokens masked.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto

from scripts.train.graph import Graph, Ranges
from scripts.train.masked import structure
from scripts.train.masked.model import Model
from scripts.train.masked.sampler import CONTEXT, GUIDANCE, IMPOSSIBLE, ORDER, TEMPERATURE_SCALE, TOKEN
from scripts.train.masked.vocabulary import MASK, PAD

SETTINGS = (
    ("temperature", TensorProto.FLOAT),
    ("noise", TensorProto.FLOAT),
    ("step_size", TensorProto.INT64),
    ("gamma", TensorProto.FLOAT),
    ("seed", TensorProto.INT64),
)
"""Names and types of the inputs [B, 1] besides the ids."""


def build(model: Model, ranges: Ranges | None = None, table: np.ndarray | None = None) -> Graph:
    """input_ids int64 [B, L] and SETTINGS -> token_ids int64 [B, L].

    table: from structure.balance_table, see sampler.unmask.
    """
    graph = Graph(ranges=ranges)
    graph.name_weights(model)
    ids = graph.input("input_ids", TensorProto.INT64, ["batch", "length"])
    settings = {name: graph.input(name, kind, ["batch", 1]) for name, kind in SETTINGS}
    length = graph.op("Shape", ids, start=1, end=2)
    places = graph.op("Unsqueeze", graph.op("Range", 0, graph.op("Squeeze", length), 1), np.array([0]))
    settings["step_size"] = size = graph.op("Max", settings["step_size"], 1)
    masks = graph.op(
        "ReduceSum", graph.op("Cast", graph.op("Equal", ids, MASK), to=TensorProto.INT64), np.array([1]), keepdims=1
    )
    settings["rounds"] = graph.op("Div", graph.op("Sub", graph.op("Add", masks, size), 1), size)
    settings["hidden"] = _context(graph, ids, settings, places, model.shape.reserved)
    most_rounds = graph.op("ReduceMax", settings["rounds"], keepdims=0)
    network = _Network(graph, model, length)

    body = Graph(graph)
    turn, go = body.input("turn", TensorProto.INT64, []), body.input("go", TensorProto.BOOL, [])
    current = body.input("current", TensorProto.INT64, ["batch", "length"])
    active = body.op(
        "Squeeze",
        body.op("NonZero", body.op("Squeeze", body.op("Greater", settings["rounds"], turn), np.array([1]))),
        np.array([0]),
    )
    active_settings = {name: body.op("Gather", value, active) for name, value in settings.items()}
    rows = body.op("Gather", current, active)
    filled = _round(body, network, rows, active_settings, turn, places, table)
    after = body.op("ScatterND", current, body.op("Unsqueeze", active, np.array([1])), filled)
    body.output(body.op("Identity", go), TensorProto.BOOL, [])
    body.output(after, TensorProto.INT64, [None, None])

    (final,) = graph.loop(body, most_rounds, [ids], 0)
    graph.output(final, TensorProto.INT64, ["batch", "length"], "token_ids")
    return graph


def _context(graph: Graph, ids: str, settings: dict[str, str], places: str, reserved: int) -> str:
    """Given tokens that the second pass of a guided row masks, bool [B, L]; chosen once."""
    hidden = graph.op(
        "Less",
        graph.uniform(graph.key(settings["seed"], graph.constant(np.array([[CONTEXT]])), places)),
        settings["gamma"],
    )
    return graph.op("And", hidden, graph.op("GreaterOrEqual", ids, reserved))


class _Network:
    """One pass: ids [rows, L] -> logits [rows, L, vocabulary].

    What is constant over the rounds stays outside the Loop.
    """

    def __init__(self, graph: Graph, model: Model, length: str) -> None:
        self.model = model
        self.bias = graph.op("Unsqueeze", graph.relative(model.relative, graph.op("Squeeze", length)), np.array([0]))
        self.position = graph.op("Slice", graph.weight(model.position.weight), np.array([0]), length, np.array([0]))

    def logits(self, body: Graph, ids: str) -> str:
        model = self.model
        padding = body.op("Mul", body.op("Cast", body.op("Equal", ids, PAD), to=TensorProto.FLOAT), -1e4)
        bias = body.op("Add", self.bias, body.op("Unsqueeze", padding, np.array([1, 2])))
        x = body.op("Add", body.op("Gather", body.weight(model.token.weight), ids), self.position)
        for layer in model.layers:
            x = body.transformer(x, layer, bias)
        return body.layer(body.norm(x, model.norm), model.head)


def _guided(body: Graph, network: _Network, rows: str, active_settings: dict[str, str]) -> str:
    """Logits with context guidance: L + (1 - w) (L' - L) where gamma > 0, L elsewhere."""
    guided = body.op(
        "Squeeze",
        body.op("NonZero", body.op("Squeeze", body.op("Greater", active_settings["gamma"], 0.0), np.array([1]))),
        np.array([0]),
    )
    again = body.op(
        "Where", body.op("Gather", active_settings["hidden"], guided), MASK, body.op("Gather", rows, guided)
    )
    count = body.op("Concat", body.op("Shape", rows, start=0, end=1), body.op("Shape", guided), axis=0)
    plain, blind = body.op(
        "Split", network.logits(body, body.op("Concat", rows, again, axis=0)), count, outputs=2, axis=0
    )
    change = body.op("Mul", body.op("Sub", blind, body.op("Gather", plain, guided)), 1 - GUIDANCE)
    return body.op("ScatterND", plain, body.op("Unsqueeze", guided, np.array([1])), change, reduction="add")


def _round(
    body: Graph,
    network: _Network,
    rows: str,
    active_settings: dict[str, str],
    turn: str,
    places: str,
    table: np.ndarray | None,
) -> str:
    """Draws a token for each masked position and keeps the most confident ones; int64 [active rows, L]."""
    reserved = np.zeros(network.model.shape.vocabulary, np.float32)
    reserved[: network.model.shape.reserved] = IMPOSSIBLE
    logits = body.op("Add", _guided(body, network, rows, active_settings), reserved)
    if table is not None:
        logits = _penalised(body, logits, rows, table)
    divisor = body.op("Sqrt", body.op("Mul", active_settings["temperature"], TEMPERATURE_SCALE))
    log_p = body.op("LogSoftmax", body.op("Div", logits, body.op("Unsqueeze", divisor, np.array([2]))), axis=-1)
    drawn = _draw(body, log_p, _uniform(body, active_settings, turn, TOKEN, places))
    gumbel = body.op(
        "Neg", body.op("Log", body.op("Neg", body.op("Log", _uniform(body, active_settings, turn, ORDER, places))))
    )
    last = body.op("Cast", body.op("Max", body.op("Sub", active_settings["rounds"], 1), 1), to=TensorProto.FLOAT)
    fade = body.op("Sub", 1.0, body.op("Div", body.op("Cast", turn, to=TensorProto.FLOAT), last))
    confidence = body.op(
        "Add", _negative_entropy(body, logits), body.op("Mul", body.op("Mul", active_settings["noise"], fade), gumbel)
    )
    masked = body.op("Equal", rows, MASK)
    confidence = body.op("Where", masked, confidence, -np.float32(np.inf))
    return body.op(
        "Where", body.op("And", masked, _best(body, confidence, active_settings["step_size"], rows)), drawn, rows
    )


def _penalised(body: Graph, logits: str, rows: str, table: np.ndarray) -> str:
    """Logits with the penalties of rows with one mask: see sampler._penalties."""
    masks = body.op(
        "ReduceSum", body.op("Cast", body.op("Equal", rows, MASK), to=TensorProto.INT64), np.array([1]), keepdims=0
    )
    last = body.op("Squeeze", body.op("NonZero", body.op("Equal", masks, 1)), np.array([0]))
    sums = body.op(
        "ReduceSum",
        body.op("Gather", table, body.op("Gather", rows, last)),
        np.array([1]),
        keepdims=1,
    )
    sums, pieces = body.op("Split", sums, np.array([structure.SUMS, 1]), outputs=2, axis=2)
    first = np.zeros(structure.SUMS, np.int64)
    first[0] = 2
    sums = body.op("Add", sums, body.op("Mul", body.op("Min", pieces, 1), first))
    sums = body.op("Mod", body.op("Add", sums, np.ascontiguousarray(table[:, : structure.SUMS])), structure.MODULI)
    unbalanced = body.op(
        "ReduceSum",
        body.op("Cast", body.op("Not", body.op("Equal", sums, 0)), to=TensorProto.FLOAT),
        np.array([2]),
        keepdims=0,
    )
    change = body.op("Unsqueeze", body.op("Mul", unbalanced, structure.PENALTY), np.array([1]))
    changed = body.op("Add", body.op("Gather", logits, last), change)
    return body.op("ScatterND", logits, body.op("Unsqueeze", last, np.array([1])), changed)


def _uniform(body: Graph, active_settings: dict[str, str], turn: str, purpose: int, places: str) -> str:
    return body.uniform(body.key(active_settings["seed"], body.op("Add", body.op("Mul", turn, 4), purpose), places))


def _negative_entropy(body: Graph, logits: str) -> str:
    """The sum of p log p over the tokens, [rows, L]."""
    log_p = body.op("LogSoftmax", logits, axis=-1)
    return body.op("ReduceSum", body.op("Mul", body.op("Exp", log_p), log_p), np.array([2]), keepdims=0)


def _draw(body: Graph, log_p: str, u: str) -> str:
    """Draws a token for each position: the first whose cumulative probability reaches u; int64 [rows, L]."""
    below = body.op("Less", body.op("CumSum", body.op("Exp", log_p), 2), body.op("Unsqueeze", u, np.array([2])))
    drawn = body.op("ReduceSum", body.op("Cast", below, to=TensorProto.INT64), np.array([2]), keepdims=0)
    return body.op("Min", drawn, body.op("Sub", body.op("Squeeze", body.op("Shape", log_p, start=2, end=3)), 1))


def _best(body: Graph, confidence: str, size: str, rows: str) -> str:
    """The step_size most confident positions, bool [rows, L]."""
    length = body.op("Shape", rows, start=1, end=2)
    most = body.op("Min", body.op("Reshape", body.op("ReduceMax", size, keepdims=0), np.array([1])), length)
    sorted_, _ = body.op("TopK", confidence, most, outputs=2, axis=1)
    threshold = body.op("GatherElements", sorted_, body.op("Sub", body.op("Min", size, most), 1), axis=1)
    return body.op("GreaterOrEqual", confidence, threshold)


def integer_layers(model: Model) -> list[torch.nn.Module]:
    """Returns the linear maps to compute in integers: all but the output head."""
    return [m for layer in model.layers for m in layer.modules() if isinstance(m, torch.nn.Linear)]


def write(model: Model, path: Path, ranges: Ranges | None = None, table: np.ndarray | None = None) -> None:
    with torch.no_grad():
        build(model, ranges, table).save(path, "masked")
