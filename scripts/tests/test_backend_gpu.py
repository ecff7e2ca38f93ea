"""What the onnxruntime backend asks of ONNX Runtime for an instance on a GPU.

Tests run without a GPU, where Triton refuses such an instance, so fakes of the session and of the list of providers
stand in for ONNX Runtime with CUDA. `make bench PART=gpu` runs the backend on a GPU.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import pytest
from servers import ROOT

CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"
ON_GPU = {"model_instance_kind": "GPU", "model_instance_device_id": "1", "model_name": "m"}
ON_CPU = {"model_instance_kind": "CPU", "model_instance_device_id": "0", "model_name": "m"}


class Refused(Exception):
    """The exception of Triton's Python backend."""


@pytest.fixture
def backend(monkeypatch):
    """The backend with an ONNX Runtime that has CUDA."""
    runtime: Any = types.ModuleType("onnxruntime")
    runtime.get_available_providers = lambda: [CUDA, CPU]
    runtime.preload_dlls = lambda: None
    utilities: Any = types.ModuleType("triton_python_backend_utils")
    utilities.TritonModelException = Refused
    utilities.Logger = types.SimpleNamespace(log_warn=lambda _: None)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", utilities)
    path = ROOT / "scripts/triton/backends/onnxruntime/model.py"
    spec = importlib.util.spec_from_file_location("onnxruntime_backend", path)
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def accelerated(name: str, **parameters: str) -> dict:
    accelerator = {"name": name, "parameters": parameters}
    return {"name": "m", "optimization": {"execution_accelerators": {"gpu_execution_accelerator": [accelerator]}}}


@pytest.mark.parametrize(
    ("args", "config", "wanted"),
    [
        (ON_CPU, accelerated("cuda", use_tf32="0"), [CPU]),
        (ON_GPU, {}, [(CUDA, {"device_id": 1}), CPU]),
        (ON_GPU, accelerated("cuda", use_tf32="0"), [(CUDA, {"device_id": 1, "use_tf32": "0"}), CPU]),
        (ON_GPU, accelerated("tensorrt", precision_mode="FP16"), [(CUDA, {"device_id": 1}), CPU]),
    ],
)
def test_an_instance_runs_on_its_device_with_the_options_of_its_entry(backend, args, config, wanted):
    assert backend.providers(args, config) == wanted


def test_without_cuda_an_instance_on_a_gpu_is_refused(backend):
    backend.ort.get_available_providers = lambda: [CPU]
    with pytest.raises(Refused, match="onnxruntime-gpu"):
        backend.providers(ON_GPU, {})


def test_a_session_that_lost_cuda_is_refused(backend):
    lost = types.SimpleNamespace(get_providers=lambda: [CPU])
    wanted = [(CUDA, {"device_id": 0}), CPU]
    with pytest.raises(Refused, match=CUDA):
        backend.check_provider(lost, wanted)
    backend.check_provider(lost, [CPU])
    backend.check_provider(types.SimpleNamespace(get_providers=lambda: [CUDA, CPU]), wanted)
