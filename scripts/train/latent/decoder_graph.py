"""The complete decoding loop as ONNX graphs: one for greedy decoding and sampling, one for beam search.

A round of the Loop takes the newest token of each row, appends it to the key/value cache and picks the next token. An
outer Loop drops finished rows whenever a third of the rows has finished. The cache grows by Concat: with few key
heads it is small, and the copy costs less than attention to unused positions. Layouts: k [B, key heads, size, t],
transposed for the product; v [B, key heads, t, size].
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from onnx import TensorProto

from scripts.train.graph import Graph, Ranges
from scripts.train.latent.model import Attention, Decoder, DecoderLayer
from scripts.train.latent.tokens import BOS, EOS, PAD


class Step:
    """The parts shared by both loops: constants of the outer graph, and a pass through the layers."""

    def __init__(self, graph: Graph, decoder: Decoder, z: str) -> None:
        self.decoder, self.shape = decoder, decoder.shape
        graph.name_weights(decoder)
        self.size, self.group = self.shape.width // self.shape.heads, self.shape.heads // self.shape.key_heads
        memory = graph.op("Reshape", graph.layer(z, decoder.memory), np.array([0, self.shape.slots, self.shape.width]))
        memory = graph.norm(memory, decoder.memory_norm)
        self.cross = [
            (
                self._slots(graph, memory, layer.cross.k, [0, 2, 3, 1]),
                self._slots(graph, memory, layer.cross.v, [0, 2, 1, 3]),
            )
            for layer in decoder.layers
        ]
        # Entry i is the bias of a key i - (positions - 1) tokens from the query; round t uses the last t + 1 entries.
        distance = torch.arange(1 - self.shape.positions, 1).clamp(min=-decoder.relative.reach) + decoder.relative.reach
        table = decoder.relative.table(distance).T
        self.bias = graph.weight(table.unflatten(0, (1, self.shape.key_heads, -1)), decoder.relative.table.weight)
        self.places = graph.weight(
            decoder.places(self.shape.positions).permute(2, 0, 1, 3), decoder.places.table.weight
        )

    def _slots(self, graph: Graph, memory: str, module: torch.nn.Linear, perm: list[int]) -> str:
        return graph.op(
            "Transpose",
            graph.op("Reshape", graph.layer(memory, module), np.array([0, 0, self.shape.key_heads, self.size])),
            perm=perm,
        )

    def empty(self, graph: Graph, rows: str) -> list[str]:
        """Returns an empty cache for `rows` (int64 [1]) rows: k, v of the first layer, k, v of the second ..."""
        k = graph.op("Concat", rows, np.array([self.shape.key_heads, self.size, 0]), axis=0)
        v = graph.op("Concat", rows, np.array([self.shape.key_heads, 0, self.size]), axis=0)
        return [graph.op("ConstantOfShape", s) for _ in self.decoder.layers for s in (k, v)]

    def logits(
        self, body: Graph, turn: str, token: str, cache: list[str], cross: list[tuple[str, str]]
    ) -> tuple[str, list[str]]:
        """token int64 [B] at position `turn` -> logits [B, vocabulary] and the extended cache; cross: see
        self.cross."""
        decoder, positions = self.decoder, self.shape.positions
        start = body.op("Unsqueeze", body.op("Sub", positions - 1, turn), np.array([0]))
        bias = body.op("Slice", self.bias, start, np.array([positions]), np.array([3]))
        places = body.op("Gather", self.places, turn)
        x = body.op(
            "Add",
            body.op("Gather", body.weight(decoder.token.weight), token),
            body.op("Gather", body.weight(decoder.position.weight), turn),
        )
        extended: list[str] = []
        for number, layer in enumerate(decoder.layers):
            x, k, v = self._layer(body, layer, x, cache[2 * number], cache[2 * number + 1], cross[number], bias, places)
            extended += [k, v]
        return body.layer(body.norm(x, decoder.norm), decoder.head), extended

    def _layer(
        self, body: Graph, layer: DecoderLayer, x: str, k: str, v: str, cross: tuple[str, str], bias: str, places: str
    ) -> tuple[str, str, str]:
        attention, heads, size = layer.attention, self.shape.key_heads, self.size
        weight = torch.cat([attention.q.weight * size**-0.5, attention.k.weight, attention.v.weight])
        offset = torch.cat([attention.q.bias * size**-0.5, attention.k.bias, attention.v.bias])
        sizes = np.array([self.shape.width, heads * size, heads * size])
        q, key, value = body.op(
            "Split", body.linear(body.norm(x, layer.norm1), weight, offset, attention.q), sizes, outputs=3, axis=-1
        )
        k = body.op("Concat", k, body.op("Reshape", key, np.array([0, heads, size, 1])), axis=3)
        v = body.op("Concat", v, body.op("Reshape", value, np.array([0, heads, 1, size])), axis=2)
        x = body.op("Add", x, self._attend(body, attention, q, k, v, bias))
        cross_attention = layer.cross
        q = body.linear(
            body.norm(x, layer.norm2),
            cross_attention.q.weight * size**-0.5,
            cross_attention.q.bias * size**-0.5,
            cross_attention.q,
        )
        x = body.op("Add", x, self._attend(body, cross_attention, q, *cross, places))
        return body.op("Add", x, body.feed(body.norm(x, layer.norm3), layer.feed)), k, v

    def _attend(self, body: Graph, module: Attention, q: str, k: str, v: str, bias: str) -> str:
        scores = body.op(
            "Add",
            body.op("MatMul", body.op("Reshape", q, np.array([0, self.shape.key_heads, self.group, self.size])), k),
            bias,
        )
        mixed = body.op("MatMul", body.op("Softmax", scores, axis=-1), v)
        return body.layer(body.op("Reshape", mixed, np.array([0, self.shape.width])), module.o)


def build_sampler(decoder: Decoder, ranges: Ranges | None = None, unit: float = 1.0) -> Graph:
    """hiddens [B, 1, latent], temperature [B, 1] (0: greedy), seed [B, 1] -> token_ids [B, T], score [B, 1].

    unit: the number inside the model that is 1 in hiddens. The ids of a row are tokens, [EOS], [PAD]; score is the
    sum of their log probabilities at temperature 1.
    """
    graph, shape = Graph(ranges=ranges), decoder.shape
    hiddens = graph.input("hiddens", TensorProto.FLOAT, ["batch", 1, shape.latent])
    temperature, seed = (
        graph.input("temperature", TensorProto.FLOAT, ["batch", 1]),
        graph.input("seed", TensorProto.INT64, ["batch", 1]),
    )
    # Random numbers of all rounds at once: inside the loop, their many small operators take longer than the layers.
    settings = temperature, graph.uniform(graph.key(seed, graph.op("Range", 0, shape.positions, 1)))
    step = Step(graph, decoder, graph.op("Mul", graph.op("Squeeze", hiddens, np.array([1])), float(unit)))
    batch = graph.op("Shape", hiddens, start=0, end=1)
    token = graph.op("Expand", BOS, batch)
    rows = graph.op("Range", 0, graph.op("Squeeze", batch), 1)
    history = graph.op("Expand", PAD, graph.op("Concat", batch, np.array([0]), axis=0))
    carried = [
        rows,
        token,
        graph.op("Equal", token, EOS),
        graph.op("ConstantOfShape", batch),
        history,
        *step.empty(graph, batch),
    ]
    final = graph.loop(_segment(graph, step, settings, batch), shape.positions, carried, 0)
    graph.output(final[4], TensorProto.INT64, ["batch", "tokens"], "token_ids")
    graph.output(graph.op("Unsqueeze", final[3], np.array([1])), TensorProto.FLOAT, ["batch", 1], "score")
    return graph


def _segment(graph: Graph, step: Step, settings: tuple[str, str], batch: str) -> Graph:
    """Body of the outer Loop: drops finished rows and decodes until a third of the others has finished.

    Carried: numbers of the active rows, int64 [A]; their newest token and whether they are done, [A]; the scores [B]
    and ids [B, T] of all rows; the cache of the active rows.
    """
    body, layers = Graph(graph), len(step.decoder.layers)
    body.input("segment", TensorProto.INT64, [])
    body.input("more", TensorProto.BOOL, [])
    rows, token, done = (
        body.input(n, k, [None])
        for n, k in (("rows", TensorProto.INT64), ("newest", TensorProto.INT64), ("ended", TensorProto.BOOL))
    )
    scores, history = (
        body.input("scores", TensorProto.FLOAT, ["batch"]),
        body.input("history", TensorProto.INT64, ["batch", "tokens"]),
    )
    cache = [body.input(f"held{i}", TensorProto.FLOAT, [None] * 4) for i in range(2 * layers)]

    unfinished_rows = body.op("Squeeze", body.op("NonZero", body.op("Not", done)), np.array([0]))
    rows, token, *cache = (body.op("Gather", value, unfinished_rows) for value in (rows, token, *cache))
    row_settings = [body.op("Gather", value, rows) for value in settings]
    cross = [tuple(body.op("Gather", value, rows) for value in pair) for pair in step.cross]
    start = body.op("Squeeze", body.op("Shape", history, start=1, end=2))
    carried = [token, body.op("Equal", token, EOS), body.op("Gather", scores, rows), *cache]
    remaining = body.op("Sub", step.shape.positions, start)
    token, done, score, *cache, ids = body.loop(_round(body, step, row_settings, cross, start), remaining, carried, 1)

    place = body.op("Unsqueeze", rows, np.array([1]))
    blank = body.op("Expand", PAD, body.op("Concat", batch, body.op("Shape", ids, start=0, end=1), axis=0))
    history = body.op(
        "Concat", history, body.op("ScatterND", blank, place, body.op("Transpose", ids, perm=[1, 0])), axis=1
    )
    room = body.op("Less", body.op("Shape", history, start=1, end=2), step.shape.positions)
    unfinished = body.op("ReduceMax", body.op("Cast", body.op("Not", done), to=TensorProto.INT64), keepdims=0)
    body.output(body.op("And", body.op("Squeeze", room), body.op("Greater", unfinished, 0)), TensorProto.BOOL, [])
    scores = body.op("ScatterND", scores, place, score)
    _carry(
        body,
        [
            (rows, TensorProto.INT64, 1),
            (token, TensorProto.INT64, 1),
            (done, TensorProto.BOOL, 1),
            (scores, TensorProto.FLOAT, 1),
            (history, TensorProto.INT64, 2),
            *((c, TensorProto.FLOAT, 4) for c in cache),
        ],
    )
    return body


def _round(graph: Graph, step: Step, settings: list[str], cross: list[tuple[str, str]], start: str) -> Graph:
    """Body of the inner Loop: appends a token to each active row, until a third of them is done."""
    temperature, uniform = settings
    is_sampled, divisor = graph.op("Greater", temperature, 0.0), graph.op("Max", temperature, 1e-4)
    body = Graph(graph)
    number = body.input("round", TensorProto.INT64, [])
    body.input("go", TensorProto.BOOL, [])
    token, done, score = (
        body.input(n, k, ["rows"])
        for n, k in (("token", TensorProto.INT64), ("done", TensorProto.BOOL), ("sum", TensorProto.FLOAT))
    )
    cache = [body.input(f"cache{i}", TensorProto.FLOAT, [None] * 4) for i in range(2 * len(step.decoder.layers))]
    turn = body.op("Add", number, start)
    logits, cache = step.logits(body, turn, token, cache, cross)
    picked = _pick(
        body, logits, is_sampled, divisor, body.op("Gather", uniform, body.op("Unsqueeze", turn, np.array([0])), axis=1)
    )
    gained = body.op(
        "Squeeze", body.op("GatherElements", body.op("LogSoftmax", logits, axis=-1), picked, axis=1), np.array([1])
    )
    score = body.op("Where", done, score, body.op("Add", score, gained))
    token = body.op("Where", done, PAD, body.op("Squeeze", picked, np.array([1])))
    done = body.op("Or", done, body.op("Equal", token, EOS))
    active_share = body.op("ReduceMean", body.op("Cast", body.op("Not", done), to=TensorProto.FLOAT), keepdims=0)
    body.output(body.op("Greater", active_share, 2 / 3), TensorProto.BOOL, [])
    _carry(
        body,
        [
            (token, TensorProto.INT64, 1),
            (done, TensorProto.BOOL, 1),
            (score, TensorProto.FLOAT, 1),
            *((c, TensorProto.FLOAT, 4) for c in cache),
        ],
    )
    body.output(body.op("Identity", token), TensorProto.INT64, [None])
    return body


def _carry(body: Graph, values: list[tuple[str, int, int]]) -> None:
    """Declares carried values as (name, type, rank)."""
    for name, kind, rank in values:
        body.output(name, kind, [None] * rank)


def _pick(body: Graph, logits: str, is_sampled: str, divisor: str, uniform: str) -> str:
    """Picks a token for each row, int64 [B, 1]: the likeliest, or with is_sampled the first whose cumulative
    probability reaches `uniform`."""
    cumulative = body.op("CumSum", body.op("Softmax", body.op("Div", logits, divisor), axis=-1), 1)
    below = body.op("Cast", body.op("Less", cumulative, uniform), to=TensorProto.INT64)
    drawn = body.op("ReduceSum", below, np.array([1]), keepdims=1)
    likeliest = body.op("ArgMax", logits, axis=1, keepdims=1)
    # Rounding may leave the last cumulative probability below the uniform number.
    last = body.op("Sub", body.op("Squeeze", body.op("Shape", logits, start=1, end=2)), 1)
    return body.op("Where", is_sampled, body.op("Min", drawn, last), likeliest)


NEVER = -1e9
"""The score of an unused beam."""


def build_beam_search(decoder: Decoder, ranges: Ranges | None = None, unit: float = 1.0) -> Graph:
    """hiddens [B, 1, latent], beam_size int64 [B, 1] -> token_ids [B, K, T], score [B, K]; K is the largest beam_size.

    unit: the number inside the model that is 1 in hiddens. Beams are sorted best first; score is the sum of log
    probabilities, not corrected for length. Beams of a row beyond its beam_size have the score NEVER. The result of a
    row does not depend on the rest of its batch.
    """
    graph, shape = Graph(ranges=ranges), decoder.shape
    hiddens = graph.input("hiddens", TensorProto.FLOAT, ["batch", 1, shape.latent])
    sizes = graph.input("beam_size", TensorProto.INT64, ["batch", 1])
    rows, width = (
        graph.op("Shape", hiddens, start=0, end=1),
        graph.op("Reshape", graph.op("ReduceMax", sizes, keepdims=0), np.array([1])),
    )
    number, rank = (graph.op("Range", 0, graph.op("Squeeze", n), 1) for n in (rows, width))
    base = graph.op("Mul", graph.op("Unsqueeze", number, np.array([1])), width)
    every = graph.op("Mul", rows, width)
    unused = graph.op("GreaterOrEqual", graph.op("Unsqueeze", rank, np.array([0])), sizes)
    copies = graph.op("Div", graph.op("Range", 0, graph.op("Squeeze", every), 1), width)
    z = graph.op("Mul", graph.op("Squeeze", hiddens, np.array([1])), float(unit))
    step = Step(graph, decoder, graph.op("Gather", z, copies))
    first = graph.op("Mul", graph.op("Cast", graph.op("Greater", rank, 0), to=TensorProto.FLOAT), NEVER)
    score = graph.op("Expand", graph.op("Unsqueeze", first, np.array([0])), graph.op("Concat", rows, width, axis=0))
    token = graph.op("Expand", BOS, every)
    history = graph.op("Expand", BOS, graph.op("Concat", every, np.array([0]), axis=0))
    carried = [token, graph.op("Equal", token, EOS), score, history, *step.empty(graph, every)]

    body = Graph(graph)
    turn, _ = body.input("turn", TensorProto.INT64, []), body.input("go", TensorProto.BOOL, [])
    token, done = body.input("token", TensorProto.INT64, ["rows"]), body.input("done", TensorProto.BOOL, ["rows"])
    score, history = (
        body.input("sums", TensorProto.FLOAT, ["batch", "beams"]),
        body.input("history", TensorProto.INT64, ["rows", "tokens"]),
    )
    cache = [body.input(f"cache{i}", TensorProto.FLOAT, [None] * 4) for i in range(2 * len(decoder.layers))]
    logits, cache = step.logits(body, turn, token, cache, step.cross)
    total = body.op(
        "Add", body.op("Reshape", score, np.array([-1, 1])), _log_probabilities(body, logits, done, shape.vocabulary)
    )
    candidates = body.op("Reshape", total, body.op("Concat", rows, np.array([-1]), axis=0))
    best, at = body.op("TopK", candidates, width, outputs=2, axis=1)
    source = body.op("Reshape", body.op("Add", base, body.op("Div", at, shape.vocabulary)), np.array([-1]))
    token = body.op("Reshape", body.op("Mod", at, shape.vocabulary), np.array([-1]))
    history = body.op("Concat", body.op("Gather", history, source), body.op("Unsqueeze", token, np.array([1])), axis=1)
    done = body.op(
        "Or",
        body.op("Or", body.op("Gather", done, source), body.op("Equal", token, EOS)),
        body.op("Reshape", unused, np.array([-1])),
    )
    score = body.op("Where", unused, NEVER, best)
    cache = [body.op("Gather", c, source) for c in cache]
    unfinished = body.op("ReduceMax", body.op("Cast", body.op("Not", done), to=TensorProto.INT64), keepdims=0)
    body.output(body.op("Greater", unfinished, 0), TensorProto.BOOL, [])
    _carry(
        body,
        [
            (token, TensorProto.INT64, 1),
            (done, TensorProto.BOOL, 1),
            (score, TensorProto.FLOAT, 2),
            (history, TensorProto.INT64, 2),
            *((c, TensorProto.FLOAT, 4) for c in cache),
        ],
    )

    final = graph.loop(body, shape.positions, carried, 0)
    shape3 = graph.op("Concat", rows, width, np.array([-1]), axis=0)
    graph.output(graph.op("Reshape", final[3], shape3), TensorProto.INT64, ["batch", "beams", "tokens"], "token_ids")
    graph.output(final[2], TensorProto.FLOAT, ["batch", "beams"], "score")
    return graph


def _log_probabilities(body: Graph, logits: str, done: str, vocabulary: int) -> str:
    """Returns log probabilities [rows, vocabulary]; a finished row continues with [PAD] at no cost."""
    only = np.full((1, vocabulary), NEVER, np.float32)
    only[0, PAD] = 0
    return body.op("Where", body.op("Unsqueeze", done, np.array([1])), only, body.op("LogSoftmax", logits, axis=-1))


def integer_layers(decoder: Decoder) -> list[torch.nn.Module]:
    """Returns the linear maps inside the loop to compute in integers: all but the output head."""
    return [
        m
        for layer in decoder.layers
        for m in (*layer.attention.children(), layer.cross.q, layer.cross.o, layer.feed[0], layer.feed[2])
    ]


def write(decoder: Decoder, path: Path, ranges: Ranges | None = None, unit: float = 1.0) -> None:
    with torch.no_grad():
        build_sampler(decoder, ranges, unit).save(path, "latent_decoder")


def write_beam(decoder: Decoder, path: Path, ranges: Ranges | None = None, unit: float = 1.0) -> None:
    with torch.no_grad():
        build_beam_search(decoder, ranges, unit).save(path, "latent_decoder_beam")
