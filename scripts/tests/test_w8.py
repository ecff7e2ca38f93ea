"""scripts.convert.w8 stores weights in int8: which ones, with which error, and without changing the original."""

from __future__ import annotations

import sys

import graphs
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from servers import ROOT

sys.path.insert(0, str(ROOT / "scripts" / "convert"))
import w8  # noqa: E402


def lookup_and_project(rng) -> onnx.ModelProto:
    """Gather of a table, then MatMul and a bias: the shapes of an embedding model."""
    weights = {
        "table": rng.normal(size=(300, 64)),
        "project": rng.normal(size=(64, 256)) * np.logspace(-3, 1, 256),
        "bias": rng.normal(size=256),
        "small": rng.normal(size=(64, 4)),
    }
    return graphs.model(
        [
            helper.make_node("Gather", ["table", "ids"], ["rows"]),
            helper.make_node("MatMul", ["rows", "project"], ["wide"]),
            helper.make_node("Add", ["wide", "bias"], ["out"]),
            helper.make_node("MatMul", ["rows", "small"], ["scores"]),
        ],
        [("ids", TensorProto.INT64, ["n"])],
        [("out", TensorProto.FLOAT, ["n", 256]), ("scores", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )


def test_large_weights_are_int8_and_outputs_are_close():
    model = lookup_and_project(np.random.default_rng(1))
    stored = w8.store_int8(model)
    kinds = {i.name: i.data_type for i in stored.graph.initializer}
    assert kinds["table_int8"] == kinds["project_int8"] == TensorProto.INT8
    assert kinds["bias"] == kinds["small"] == TensorProto.FLOAT
    assert "project" not in kinds and len(stored.SerializeToString()) < 0.32 * len(model.SerializeToString())

    ids = {"ids": np.arange(300)}
    before, after = ReferenceEvaluator(model).run(None, ids)[0], ReferenceEvaluator(stored).run(None, ids)[0]
    wide_before, wide_after = before - before.mean(0), after - after.mean(0)
    for column in range(256):  # each channel has a scale, so the smallest columns are as accurate as the largest
        a, b = wide_before[:, column], wide_after[:, column]
        assert a @ b / np.sqrt((a @ a) * (b @ b)) > 0.999


def test_the_original_is_not_changed():
    model = lookup_and_project(np.random.default_rng(2))
    text = model.SerializeToString()
    w8.store_int8(model)
    assert model.SerializeToString() == text


def test_weights_inside_a_loop_are_stored_too():
    stored = w8.store_int8(graphs.counting())
    assert "weight_int8" not in {i.name for i in stored.graph.initializer}, (
        "it starts the loop's state as well: left alone"
    )
    body = graphs.counting()
    loop = next(node for node in body.graph.node if node.op_type == "Loop")
    loop.input[2] = "start"
    body.graph.initializer.append(numpy_helper.from_array(np.ones((256, 256), np.float32), "start"))
    assert "weight_int8" in {i.name for i in w8.store_int8(body).graph.initializer}
