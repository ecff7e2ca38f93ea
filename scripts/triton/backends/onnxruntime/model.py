"""A Triton backend named `onnxruntime` for machines without the native one, based on the `python` backend.

It serves the entries of the model repository with `backend: "onnxruntime"` and `<version>/model.onnx`, which the native
backend in the vendor's container serves unchanged. For a client they are the same:

- The requests of a call of `execute` run as one batch if their shapes agree. Requests of different shapes
  (allow_ragged_batch) run one after the other.
- A request that fails does not fail the others of its batch.
- Only the outputs that a request names are computed and returned.
- A long run stops when all its requests are cancelled.

The number of threads is the parameter `intra_op_thread_count` of config.pbtxt, as in the native backend, else
RETORT_TRITON_THREADS, else an equal share of the cores for each instance. RETORT_TRITON_SPIN_MICROSECONDS (default 50)
is how long a thread spins for its next work before it sleeps; 0 disables spinning.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils

# Names of tensor types in config.pbtxt, by ONNX Runtime's.
DATATYPES = {
    "tensor(bool)": "TYPE_BOOL",
    "tensor(uint8)": "TYPE_UINT8",
    "tensor(uint16)": "TYPE_UINT16",
    "tensor(uint32)": "TYPE_UINT32",
    "tensor(uint64)": "TYPE_UINT64",
    "tensor(int8)": "TYPE_INT8",
    "tensor(int16)": "TYPE_INT16",
    "tensor(int32)": "TYPE_INT32",
    "tensor(int64)": "TYPE_INT64",
    "tensor(float16)": "TYPE_FP16",
    "tensor(float)": "TYPE_FP32",
    "tensor(double)": "TYPE_FP64",
    "tensor(string)": "TYPE_STRING",
}

# Seconds between two checks of the requests of a run for cancellation. A check is a round trip to the server, so
# shorter runs, which are most, have none.
CHECK_SECONDS = 0.2

# Microseconds that a thread spins for its next work before it sleeps. The operators of a small model follow each other
# so closely that waking a thread costs more: a single short text of MiniLM took 3.3 ms on two idle cores without
# spinning, and 2.3 ms with it. The runtime's default of about ten milliseconds would take cores from other models and
# the gateway.
SPIN_MICROSECONDS = "50"


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        """Adds the tensors of the graph that config.pbtxt leaves out."""
        declared = config.as_dict()
        path = model_file(declared, version_folder_of_this_process())
        if path is None or (declared["input"] and declared["output"]):
            return config
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        batched = declared["max_batch_size"] > 0
        if not declared["input"]:
            for tensor in session.get_inputs():
                config.add_input(declaration(tensor, batched))
        if not declared["output"]:
            for tensor in session.get_outputs():
                config.add_output(declaration(tensor, batched))
        return config

    def initialize(self, args):
        """Loads the graph of the version. TritonModelException: it does not agree with config.pbtxt."""
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"], args["model_version"])
        path = model_file(config, folder)
        if path is None:
            raise pb_utils.TritonModelException(f"{folder} has no model.onnx")
        self.batched = config["max_batch_size"] > 0
        wanted = providers(args, config)
        self.session = ort.InferenceSession(str(path), session_options(config), providers=wanted)
        check_provider(self.session, wanted)
        # Optimising the graph leaves free memory with the allocator: 85 of 226 MB in the process of minilm_rank_qa.
        ctypes.CDLL(None).malloc_trim(0)
        check(config, self.session)
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.strings = {t.name for t in self.session.get_inputs() if t.type == "tensor(string)"}
        self.scalars = {t.name for t in self.session.get_inputs() if not t.shape}
        self.runner = Runner()

    def execute(self, requests):
        """Returns one response per request, in order."""
        responses = [None] * len(requests)
        groups = {}
        for index, request in enumerate(requests):
            try:
                feed = self.feed(request)
            except Exception as error:
                responses[index] = failure(error)
                continue
            groups.setdefault(self.batch_key(feed), []).append((index, request, feed))
        for group in groups.values():
            self.respond(group, responses)
        return responses

    def finalize(self):
        self.runner.stop()

    def feed(self, request):
        """Returns the request's tensors by name, in ONNX Runtime's form."""
        feed = {}
        for tensor in request.inputs():
            array, name = tensor.as_numpy(), tensor.name()
            if name in self.strings:
                array = as_text(array)
            feed[name] = array.reshape(()) if name in self.scalars else array
        return feed

    def batch_key(self, feed):
        """Returns a key that the requests of a batch share; without a batch axis, each has its own."""
        if not self.batched:
            return id(feed)
        return tuple((name, feed[name].shape[1:]) for name in sorted(feed))

    def respond(self, group, responses):
        """Runs the requests of a group as a batch or, if that fails, each alone, so that only invalid ones fail."""
        try:
            results = self.run(group)
        except Exception as error:
            if len(group) == 1:
                responses[group[0][0]] = failure(error)
                return
            for member in group:
                self.respond([member], responses)
            return
        for (index, _, _), tensors in zip(group, results):
            responses[index] = pb_utils.InferenceResponse(tensors)

    def run(self, group):
        """Returns the output tensors of each request of a group."""
        if len(group) == 1:
            feed = group[0][2]
        else:
            feed = {name: np.concatenate([member[2][name] for member in group]) for name in group[0][2]}
        requested = [set(request.requested_output_names()) for _, request, _ in group]
        union = set().union(*requested)
        names = [name for name in self.outputs if name in union]
        arrays = self.runner.run(self.session, names, feed, [request for _, request, _ in group])
        if len(group) == 1:
            return [[pb_utils.Tensor(name, as_triton(array)) for name, array in zip(names, arrays)]]
        sizes = [next(iter(member[2].values())).shape[0] for member in group]
        return split(names, arrays, sizes, requested)


class Runner:
    """Runs a session, and terminates a long run when all its requests are cancelled.

    A request must not be checked for cancellation after its response: the server has freed it then, and the check
    crashes the server. So `_watch` checks only the requests of the current run, with `lock` held, and `run`, which
    returns before any response, takes the lock to end the run.
    """

    def __init__(self):
        self.lock = threading.Condition()
        self.current = None  # the start, requests and options of the run
        self.idle = False  # the thread waits for a notification
        self.stopped = False
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def run(self, session, names, feed, requests):
        options = ort.RunOptions()
        self.current = (time.monotonic(), requests, options)
        if self.idle:
            with self.lock:
                self.lock.notify()
        try:
            return session.run(names, feed, options)
        finally:
            with self.lock:
                self.current = None

    def stop(self):
        with self.lock:
            self.stopped = True
            self.lock.notify()
        self.thread.join()

    def _watch(self):
        idle_checks, server = 0, os.getppid()
        while True:
            current = self.current
            idle_checks = 0 if current else idle_checks + 1
            with self.lock:
                if self.stopped:
                    return
                self.idle = idle_checks > 5
                self.lock.wait(10 if self.idle else CHECK_SECONDS)
                self.idle = False
            if os.getppid() != server:
                os._exit(1)  # the server was killed, and its stubs would remain
            if current is None or current is not self.current or time.monotonic() - current[0] < CHECK_SECONDS:
                continue
            if all(self._is_cancelled(current, request) for request in current[1]):
                current[2].terminate = True

    def _is_cancelled(self, current, request):
        """Reports whether a request of a run was cancelled before the run ended."""
        with self.lock:
            return current is self.current and request.is_cancelled()


def split(names, arrays, sizes, requested):
    """Splits each output of a batch into those of its requests."""
    total = sum(sizes)
    for name, array in zip(names, arrays):
        if array.ndim == 0 or array.shape[0] != total:
            raise ValueError(f"output {name} has shape {list(array.shape)} for a batch of {total}")
    results, start = [], 0
    for size, wanted in zip(sizes, requested):
        results.append(
            [
                pb_utils.Tensor(name, as_triton(array[start : start + size]))
                for name, array in zip(names, arrays)
                if name in wanted
            ]
        )
        start += size
    return results


def as_text(array):
    """Converts Triton's byte strings to the str objects of ONNX Runtime."""
    flat = [item.decode("utf-8") if isinstance(item, bytes) else str(item) for item in array.ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def as_triton(array):
    """Converts str objects to UTF-8 bytes, and a scalar to one element, because Triton has no rank 0."""
    if array.ndim == 0:
        array = array.reshape(1)
    if array.dtype != object:
        return array
    flat = [item.encode("utf-8") if isinstance(item, str) else item for item in array.ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def failure(error):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))


def declaration(tensor, batched):
    """Returns a tensor of the graph as in config.pbtxt, without the axis of the batch."""
    dims = [d if isinstance(d, int) else -1 for d in tensor.shape]
    return {"name": tensor.name, "data_type": DATATYPES[tensor.type], "dims": (dims[1:] if batched else dims) or [1]}


def model_file(config, folder):
    """Returns the path of the graph, default_model_filename or model.onnx, or None if it does not exist."""
    if folder is None:
        return None
    path = Path(folder, config.get("default_model_filename") or "model.onnx")
    return path if path.exists() else None


def version_folder_of_this_process():
    """Returns the folder of the version from the command line of the stub: auto_complete_config does not receive it."""
    for word in Path("/proc/self/cmdline").read_bytes().split(b"\0"):
        parent = Path(os.fsdecode(word)).parent
        if parent.name.isdigit() and parent.is_dir():
            return parent
    return None


def providers(args, config):
    """Returns CUDA for an instance on a GPU, else the CPU. TritonModelException: this ONNX Runtime has no CUDA."""
    if args["model_instance_kind"] != "GPU":
        return ["CPUExecutionProvider"]
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        raise pb_utils.TritonModelException(
            "an instance on a GPU needs the Python package onnxruntime-gpu in place of onnxruntime"
        )
    ort.preload_dlls()  # CUDA's libraries, if they are Python packages
    options = {"device_id": int(args["model_instance_device_id"]), **cuda_options(config)}
    return [("CUDAExecutionProvider", options), "CPUExecutionProvider"]


def cuda_options(config):
    """Returns the options of CUDA in config.pbtxt, such as use_tf32. ONNX Runtime has the same names."""
    accelerators = config.get("optimization", {}).get("execution_accelerators", {})
    for accelerator in accelerators.get("gpu_execution_accelerator", []):
        if accelerator["name"] == "cuda":
            return accelerator.get("parameters", {})
        pb_utils.Logger.log_warn(f"{config['name']}: CUDA with its defaults takes the place of {accelerator['name']}")
    return {}


def check_provider(session, wanted):
    """Raises TritonModelException if ONNX Runtime has replaced the first provider, CUDA, by the CPU."""
    first = wanted[0] if isinstance(wanted[0], str) else wanted[0][0]
    if first not in session.get_providers():
        raise pb_utils.TritonModelException(
            f"{first} did not start: see the messages of ONNX Runtime above, for example about a library of CUDA"
        )


def session_options(config):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads(config)
    options.inter_op_num_threads = int(parameter(config, "inter_op_thread_count") or 1)
    spin = os.environ.get("RETORT_TRITON_SPIN_MICROSECONDS") or SPIN_MICROSECONDS
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if spin == "0" else "1")
    if spin != "0":
        options.add_session_config_entry("session.intra_op.spin_duration_us", spin)
    options.log_severity_level = 3
    return options


def threads(config):
    count = int(parameter(config, "intra_op_thread_count") or os.environ.get("RETORT_TRITON_THREADS") or 0)
    if count > 0:
        return count
    instances = sum(group.get("count", 1) for group in config.get("instance_group", [])) or 1
    return max(1, len(os.sched_getaffinity(0)) // instances)


def parameter(config, name):
    return config.get("parameters", {}).get(name, {}).get("string_value", "")


def check(config, session):
    """Checks that config.pbtxt and the graph have the same tensors, with the same types and shapes."""
    if "sequence_batching" in config:
        raise pb_utils.TritonModelException("sequence_batching is not served by this backend")
    graph_inputs = {tensor.name: tensor for tensor in session.get_inputs()}
    graph_outputs = {tensor.name: tensor for tensor in session.get_outputs()}
    batched = config["max_batch_size"] > 0
    for kind, tensors, graph in (("input", config["input"], graph_inputs), ("output", config["output"], graph_outputs)):
        for tensor in tensors:
            found = graph.get(tensor["name"])
            if found is None:
                raise pb_utils.TritonModelException(
                    f"config.pbtxt names {kind} {tensor['name']!r}; the graph has {sorted(graph)}"
                )
            check_tensor(kind, tensor, found, batched)
    missing = set(graph_inputs) - {tensor["name"] for tensor in config["input"]}
    if missing:
        raise pb_utils.TritonModelException(
            f"the graph needs inputs that config.pbtxt does not name: {sorted(missing)}"
        )


def check_tensor(kind, wanted, found, batched):
    label = f"{kind} {wanted['name']!r}"
    datatype = DATATYPES.get(found.type)
    if datatype is None:
        raise pb_utils.TritonModelException(f"{label}: {found.type} is not served by this backend")
    if datatype != wanted["data_type"]:
        raise pb_utils.TritonModelException(f"{label}: config.pbtxt says {wanted['data_type']}, the graph {datatype}")
    if not found.shape:
        return
    dims = [int(d) for d in (wanted.get("reshape") or {}).get("shape", wanted["dims"])]
    expected = ([-1] if batched else []) + dims
    graph = [d if isinstance(d, int) else -1 for d in found.shape]
    if batched and graph[0] > 0:
        raise pb_utils.TritonModelException(
            f"{label}: max_batch_size needs a free first axis, the graph fixes it to {graph[0]}"
        )
    if len(graph) != len(expected) or any(a > 0 and b > 0 and a != b for a, b in zip(graph, expected)):
        raise pb_utils.TritonModelException(f"{label}: config.pbtxt gives shape {expected}, the graph {graph}")
