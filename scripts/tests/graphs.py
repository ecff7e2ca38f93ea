"""Tiny ONNX models and their folders, for the tests of the backend."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# name in config.pbtxt -> ONNX element type and the name on the wire
DATATYPES = {
    "TYPE_BOOL": (TensorProto.BOOL, "BOOL"),
    "TYPE_UINT8": (TensorProto.UINT8, "UINT8"),
    "TYPE_UINT16": (TensorProto.UINT16, "UINT16"),
    "TYPE_UINT32": (TensorProto.UINT32, "UINT32"),
    "TYPE_UINT64": (TensorProto.UINT64, "UINT64"),
    "TYPE_INT8": (TensorProto.INT8, "INT8"),
    "TYPE_INT16": (TensorProto.INT16, "INT16"),
    "TYPE_INT32": (TensorProto.INT32, "INT32"),
    "TYPE_INT64": (TensorProto.INT64, "INT64"),
    "TYPE_FP16": (TensorProto.FLOAT16, "FP16"),
    "TYPE_FP32": (TensorProto.FLOAT, "FP32"),
    "TYPE_FP64": (TensorProto.DOUBLE, "FP64"),
    "TYPE_STRING": (TensorProto.STRING, "BYTES"),
}


def model(nodes, inputs, outputs, initializers=()) -> onnx.ModelProto:
    """A checked model of opset 17; inputs and outputs are (name, element type, shape)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        list(initializers),
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(built)
    return built


def every_type() -> tuple[onnx.ModelProto, str]:
    """One identity per tensor type, and its configuration."""
    nodes, inputs, outputs, config = [], [], [], 'backend: "onnxruntime"\nmax_batch_size: 8\n'
    for name, (element, wire) in DATATYPES.items():
        nodes.append(helper.make_node("Identity", [f"in_{wire}"], [f"out_{wire}"]))
        inputs.append((f"in_{wire}", element, ["batch", 3]))
        outputs.append((f"out_{wire}", element, ["batch", 3]))
        config += f'input {{ name: "in_{wire}" data_type: {name} dims: [ 3 ] }}\n'
        config += f'output {{ name: "out_{wire}" data_type: {name} dims: [ 3 ] }}\n'
    return model(nodes, inputs, outputs), config


def lookup() -> onnx.ModelProto:
    """table[index], and twice that: an index outside 0..9 fails at run time."""
    table = numpy_helper.from_array(np.arange(10, dtype=np.float32) * 10, "table")
    two = numpy_helper.from_array(np.float32(2), "two")
    return model(
        [
            helper.make_node("Gather", ["table", "index"], ["value"]),
            helper.make_node("Mul", ["value", "two"], ["double"]),
        ],
        [("index", TensorProto.INT64, ["batch", "length"])],
        [("value", TensorProto.FLOAT, ["batch", "length"]), ("double", TensorProto.FLOAT, ["batch", "length"])],
        [table, two],
    )


LOOKUP = """backend: "onnxruntime"
max_batch_size: 64
input { name: "index" data_type: TYPE_INT64 dims: [ -1 ] %s }
output { name: "value" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "double" data_type: TYPE_FP32 dims: [ -1 ] }
dynamic_batching { max_queue_delay_microseconds: 200000 }
instance_group [ { count: 1 } ]
"""


def counting(width: int = 256) -> onnx.ModelProto:
    """A Loop that multiplies matrices as often as its input says: work of any length."""
    matrix = helper.make_tensor_value_info("matrix", TensorProto.FLOAT, [width, width])
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["before", "weight"], ["matrix"]),
            helper.make_node("Identity", ["go_on"], ["again"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, [width, width]),
        ],
        [helper.make_tensor_value_info("again", TensorProto.BOOL, []), matrix],
    )
    weight = numpy_helper.from_array(np.eye(width, dtype=np.float32), "weight")
    true = numpy_helper.from_array(np.array(True), "true")
    return model(
        [
            helper.make_node("Squeeze", ["turns"], ["scalar"]),
            helper.make_node("Loop", ["scalar", "true", "weight"], ["last"], body=body),
            helper.make_node("ReduceSum", ["last"], ["sum"], keepdims=0),
        ],
        [("turns", TensorProto.INT64, [1])],
        [("sum", TensorProto.FLOAT, [])],
        [weight, true],
    )


def place(repository: Path, name: str, graph: onnx.ModelProto, config: str, version: int = 1) -> Path:
    """Write a model folder as an operator would, the configuration first."""
    folder = repository / name
    (folder / str(version)).mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(f'name: "{name}"\n{config}')
    onnx.save(graph, str(folder / str(version) / "model.onnx"))
    return folder
