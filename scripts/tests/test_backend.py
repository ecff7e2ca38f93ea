"""The onnxruntime backend of the local Triton, on a real server with tiny graphs."""

from __future__ import annotations

import threading

import graphs
import numpy as np
import pytest
import tritonclient.grpc as grpc
from servers import Triton
from tritonclient.utils import InferenceServerException
from waiting import PATIENCE, wait_for


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    repository = tmp_path_factory.mktemp("models")
    graphs.place(repository, "every_type", *graphs.every_type())
    graphs.place(repository, "lookup", graphs.lookup(), graphs.LOOKUP % "")
    graphs.place(repository, "ragged", graphs.lookup(), graphs.LOOKUP % "allow_ragged_batch: true")
    graphs.place(repository, "bare", graphs.lookup(), 'backend: "onnxruntime"\nmax_batch_size: 4\n')
    graphs.place(repository, "counting", graphs.counting(), 'backend: "onnxruntime"\ninstance_group [ { count: 1 } ]\n')
    graphs.place(repository, "wrong_name", graphs.lookup(), (graphs.LOOKUP % "").replace('"index"', '"indices"'))
    graphs.place(repository, "wrong_type", graphs.lookup(), (graphs.LOOKUP % "").replace("TYPE_INT64", "TYPE_INT32"))
    graphs.place(repository, "wrong_shape", graphs.lookup(), (graphs.LOOKUP % "").replace("[ -1 ]", "[ -1, 2 ]"))
    graphs.place(repository, "empty_version", graphs.lookup(), graphs.LOOKUP % "")
    (repository / "empty_version" / "1" / "model.onnx").unlink()
    with Triton(repository, control="explicit") as server:
        yield server.client
        assert server.stop() == 0, server.output()


def tensor(name: str, array: np.ndarray, datatype: str) -> grpc.InferInput:
    value = grpc.InferInput(name, array.shape, datatype)
    value.set_data_from_numpy(array)
    return value


def index(*rows: list[int]) -> list[grpc.InferInput]:
    return [tensor("index", np.array(rows, np.int64), "INT64")]


def together(client, model: str, requests: list[list[grpc.InferInput]]) -> list:
    """Sends requests concurrently; returns the result or the error of each, in order."""
    answers, done = [None] * len(requests), threading.Semaphore(0)

    def keep(i):
        def callback(result, error):
            answers[i] = error or result
            done.release()

        return callback

    for i, inputs in enumerate(requests):
        client.async_infer(model, inputs, keep(i))
    for _ in requests:
        assert done.acquire(timeout=PATIENCE), "not every request was answered"
    return answers


def executions(client, model: str) -> int:
    statistics = client.get_inference_statistics(model).model_stats[0]
    return statistics.execution_count


def test_every_tensor_type_passes_unchanged(served):
    values: dict[str, list] = {
        "BOOL": [True, False, True],
        "BYTES": ["plain", "", "naïve 分子 \U0001f9ea"],
        "FP16": [0.5, -2.0, 65504.0],
        "FP32": [0.1, -1e30, np.inf],
        "FP64": [0.1, -1e300, 5e-324],
    }
    inputs, sent = [], {}
    for _, wire in graphs.DATATYPES.values():
        if wire.startswith(("INT", "UINT")):
            limits = np.iinfo(wire.lower())
            array = np.array([[limits.min, limits.max, 1]], wire.lower())
        elif wire == "BYTES":
            array = np.array([[text.encode() for text in values[wire]]], object)
        else:
            array = np.array(
                [values[wire]], {"BOOL": bool, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64}[wire]
            )
        sent[wire] = array
        inputs.append(tensor(f"in_{wire}", array, wire))
    result = served.infer("every_type", inputs)
    for wire, array in sent.items():
        np.testing.assert_array_equal(result.as_numpy(f"out_{wire}"), array, err_msg=wire)


def test_requests_of_one_shape_run_as_one_batch(served):
    def shared() -> bool:
        before = executions(served, "lookup")
        answers = together(served, "lookup", [index([i, i + 1]) for i in range(8)])
        for i, answer in enumerate(answers):
            np.testing.assert_array_equal(answer.as_numpy("value"), [[10 * i, 10 * i + 10]])
        return executions(served, "lookup") - before <= 3

    wait_for("eight requests run in three executions or fewer", shared)


def test_requests_of_several_rows_get_their_rows(served):
    answers = together(served, "lookup", [index([0], [1]), index([2]), index([3], [4], [5])])
    assert [a.as_numpy("value").ravel().tolist() for a in answers] == [[0, 10], [20], [30, 40, 50]]


def test_a_failing_request_fails_alone(served):
    answers = together(served, "lookup", [index([1, 2]), index([1, 99]), index([3, 4])])
    assert isinstance(answers[1], InferenceServerException)
    assert "out of data bounds" in str(answers[1]) or "indices" in str(answers[1])
    np.testing.assert_array_equal(answers[0].as_numpy("value"), [[10, 20]])
    np.testing.assert_array_equal(answers[2].as_numpy("value"), [[30, 40]])


def test_unequal_lengths_in_one_execution_keep_their_shapes(served):
    def shared() -> bool:
        before = executions(served, "ragged")
        answers = together(served, "ragged", [index(list(range(n))) for n in (1, 3, 2, 3)])
        assert [a.as_numpy("value").shape for a in answers] == [(1, 1), (1, 3), (1, 2), (1, 3)]
        np.testing.assert_array_equal(answers[2].as_numpy("double"), [[0, 20]])
        return executions(served, "ragged") - before < 4

    wait_for("four requests run in fewer executions", shared)


def test_only_requested_outputs_are_returned(served):
    result = served.infer("lookup", index([1]), outputs=[grpc.InferRequestedOutput("double")])
    assert [output.name for output in result.get_response().outputs] == ["double"]
    assert result.as_numpy("double").tolist() == [[20]]


def test_a_configuration_without_tensors_is_completed_from_the_graph(served):
    config = served.get_model_config("bare").config
    assert [(i.name, list(i.dims)) for i in config.input] == [("index", [-1])]
    assert [o.name for o in config.output] == ["value", "double"]
    assert served.infer("bare", index([3])).as_numpy("value").tolist() == [[30]]


@pytest.mark.parametrize(
    "model, message",
    [
        ("wrong_name", "config.pbtxt names input 'indices'; the graph has ['index']"),
        ("wrong_type", "input 'index': config.pbtxt says TYPE_INT32, the graph TYPE_INT64"),
        ("wrong_shape", "input 'index': config.pbtxt gives shape [-1, -1, 2], the graph [-1, -1]"),
        ("empty_version", "has no model.onnx"),
    ],
)
def test_a_model_that_contradicts_its_configuration_fails_with_a_reason(served, model, message):
    reasons = {m.name: m.reason for m in served.get_model_repository_index().models}
    assert message in reasons[model]
    assert not served.is_model_ready(model)


def test_work_is_cancelled_when_its_client_disconnects(served):
    """The model has one instance, so a run waits for the earlier ones. The cancelled run would take a day."""
    long_run, short_run = ([tensor("turns", np.array([n], np.int64), "INT64")] for n in (2_000_000_000, 1))
    served.infer("counting", short_run)
    with pytest.raises(InferenceServerException):
        served.infer("counting", long_run, client_timeout=0.5)
    assert served.infer("counting", short_run, client_timeout=PATIENCE).as_numpy("sum") == 256
