"""Runs the code of model entries like the stub of Triton's Python backend, but without Triton: under other Pythons and
NumPys.

Reads tasks from standard input and prints their answers, in JSON: see test_pythons.py. A tensor is {"type", "shape",
"values"}. The arguments are folders of packages to search before all others.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path[:0] = sys.argv[1:]

import numpy as np  # noqa: E402

PATIENCE = 120
"""Seconds that a streamed answer may take."""


class Tensor:
    def __init__(self, name: str, array: np.ndarray) -> None:
        self._name, self._array = name, array

    def name(self) -> str:
        return self._name

    def as_numpy(self) -> np.ndarray:
        return self._array


class TritonError(Exception):
    pass


class Response:
    def __init__(self, output_tensors=(), error: TritonError | None = None) -> None:
        self.tensors, self.error = list(output_tensors), error


class Request:
    """The input of a model, and the response sender of a decoupled model."""

    def __init__(self, tensors: list[Tensor], outputs: list[str]) -> None:
        self.tensors, self.outputs = tensors, outputs
        self.responses: list[Response] = []
        self.ended = threading.Event()

    def inputs(self) -> list[Tensor]:
        return self.tensors

    def requested_output_names(self) -> list[str]:
        return self.outputs

    def is_cancelled(self) -> bool:
        return False

    def get_response_sender(self) -> Request:
        return self

    def send(self, response: Response | None = None, flags: int = 0) -> None:
        if response is not None:
            self.responses.append(response)
        if flags:
            self.ended.set()


def utils() -> types.ModuleType:
    """The module that models import as triton_python_backend_utils."""
    module: Any = types.ModuleType("triton_python_backend_utils")
    module.Tensor = Tensor
    module.InferenceResponse = Response
    module.TritonError = TritonError
    module.TritonModelException = TritonError
    module.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
    module.Logger = types.SimpleNamespace(log_error=print_error, log_warn=print_error)
    module.get_input_tensor_by_name = lambda request, name: next((t for t in request.tensors if t.name() == name), None)
    return module


def print_error(text: str) -> None:
    print(text, file=sys.stderr)


def array(tensor: dict) -> np.ndarray:
    if tensor["type"] == "BYTES":
        return np.array([base64.b64decode(value) for value in tensor["values"]], object).reshape(tensor["shape"])
    return np.array(tensor["values"], tensor["type"]).reshape(tensor["shape"])


def encode(response: Response) -> dict:
    if response.error is not None:
        return {"error": str(response.error)}
    answer = {}
    for tensor in response.tensors:
        values = tensor.as_numpy()
        flat = values.ravel()
        texts = (
            [value.decode() for value in flat] if values.dtype == object else [repr(value) for value in flat.tolist()]
        )
        answer[tensor.name()] = {"type": str(values.dtype), "shape": list(values.shape), "values": texts}
    return answer


def run(task: dict) -> list[list[dict]]:
    """The responses to each request of a task."""
    sys.path.insert(0, str(Path(task["code"]).parent))
    spec = importlib.util.spec_from_file_location(f"model_{len(sys.modules)}", task["code"])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    model.initialize(
        {
            "model_config": json.dumps(task["config"]),
            "model_repository": task["folder"],
            "model_version": "1",
            "model_name": Path(task["folder"]).name,
            "model_instance_kind": "CPU",
            "model_instance_device_id": "0",
        }
    )
    outputs = [output["name"] for output in task["config"]["output"]]
    requests = [
        Request([Tensor(name, array(tensor)) for name, tensor in inputs.items()], outputs)
        for inputs in task["requests"]
    ]
    answers = model.execute(requests)
    if answers is None:
        for request in requests:
            if not request.ended.wait(PATIENCE):
                raise TimeoutError(f"{task['code']} did not end its answer")
        answers = [request.responses for request in requests]
    else:
        answers = [[answer] for answer in answers]
    if hasattr(model, "finalize"):
        model.finalize()
    return [[encode(response) for response in responses] for responses in answers]


def foreign_libraries() -> list[str]:
    """The loaded shared libraries, without version, that belong neither to the packages nor to Python."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    paths = {Path(line.split()[-1]) for line in lines if ".so" in line.split()[-1]}
    packages = tuple(folder for folder in [*sys.path, sys.prefix, sys.base_prefix] if folder and folder != "/usr")
    names = {path.name for path in paths if not str(path).startswith(packages) and ".cpython-" not in path.name}
    return sorted({re.sub(r"\.so.*", "", name) for name in names})


sys.modules["triton_python_backend_utils"] = utils()
results = [run(task) for task in json.load(sys.stdin)]
json.dump(
    {
        "python": ".".join(map(str, sys.version_info[:2])),
        "numpy": np.__version__,
        "libraries": foreign_libraries(),
        "answers": results,
    },
    sys.stdout,
)
