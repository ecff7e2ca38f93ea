"""A Triton backend named `onnxruntime`, written over the `python` backend.

An entry of the model repository with `backend: "onnxruntime"` and `<version>/model.onnx`
is served by this file where the native backend is not to be had, and by the native
one, unchanged, in the vendor's container. What a client sees is the same:

- the requests Triton hands over together run as one batch when their shapes agree;
  those that differ (allow_ragged_batch) run one after another, each as it came;
- a request that fails does not fail the ones it was batched with;
- only the outputs a request names are computed and returned;
- work whose callers have all left is stopped, within Triton's own limits.

Threads: the parameter `intra_op_thread_count` of config.pbtxt, as in the native
backend; else RETORT_TRITON_THREADS; else the cores shared evenly by the instances.
RETORT_TRITON_SPIN_MICROSECONDS is how long one waits awake for its next work, 50; 0 for not.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils

# ONNX Runtime's name of a tensor type -> the name in config.pbtxt.
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

# How often callers of a running batch are asked for, in seconds. A question costs a
# round trip to the server, so the many runs shorter than this are never disturbed.
ASK_EVERY = 0.2


# How long a thread that has done its part of an operator looks for the next before it sleeps, in
# microseconds. A small model's operators follow each other so closely that waking a sleeper costs more:
# a lone short text of MiniLM took 3.3 ms on two idle cores without this, and 2.3 ms with it. The
# runtime's own default, some ten milliseconds, would burn the cores that other models and the gateway share.
SPIN = "50"


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        """Fill in what config.pbtxt leaves out: tensors, and the batch size, from the graph."""
        known = config.as_dict()
        path = model_file(known, version_folder_of_this_process())
        if path is None or (known["input"] and known["output"]):
            return config
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        batched = known["max_batch_size"] > 0
        if not known["input"]:
            for tensor in session.get_inputs():
                config.add_input(described(tensor, batched))
        if not known["output"]:
            for tensor in session.get_outputs():
                config.add_output(described(tensor, batched))
        return config

    def initialize(self, args):
        """Load the version's graph; a disagreement with config.pbtxt is an error by name."""
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"], args["model_version"])
        path = model_file(config, folder)
        if path is None:
            raise pb_utils.TritonModelException(f"{folder} holds no model.onnx")
        self.batched = config["max_batch_size"] > 0
        self.session = ort.InferenceSession(str(path), session_options(config), providers=providers(args))
        check(config, self.session)
        self.inputs = [tensor["name"] for tensor in config["input"]]
        self.outputs = [tensor["name"] for tensor in config["output"]]
        self.strings = {t.name for t in self.session.get_inputs() if t.type == "tensor(string)"}
        self.scalars = {t.name for t in self.session.get_inputs() if not t.shape}
        self.watch = Watch()

    def execute(self, requests):
        """One response per request, in order."""
        answers = [None] * len(requests)
        groups = {}
        for index, request in enumerate(requests):
            try:
                feed = self.feed(request)
            except Exception as error:
                answers[index] = failure(error)
                continue
            groups.setdefault(self.key(feed), []).append((index, request, feed))
        for group in groups.values():
            self.answer(group, answers)
        return answers

    def finalize(self):
        self.watch.stop()

    def feed(self, request):
        """The request's tensors by name, as ONNX Runtime takes them."""
        feed = {}
        for tensor in request.inputs():
            array, name = tensor.as_numpy(), tensor.name()
            if name in self.strings:
                array = text(array)
            feed[name] = array.reshape(()) if name in self.scalars else array
        return feed

    def key(self, feed):
        """Requests of one key can run as one batch; without a batch axis none can."""
        if not self.batched:
            return id(feed)
        return tuple((name, feed[name].shape[1:]) for name in sorted(feed))

    def answer(self, group, answers):
        """Run the requests of a group as one; if that fails, each alone, so that only the guilty fail."""
        try:
            results = self.run(group)
        except Exception as error:
            if len(group) == 1:
                answers[group[0][0]] = failure(error)
                return
            for single in group:
                self.answer([single], answers)
            return
        for (index, _, _), tensors in zip(group, results):
            answers[index] = pb_utils.InferenceResponse(tensors)

    def run(self, group):
        """The output tensors of each request of the group."""
        if len(group) == 1:
            feed = group[0][2]
        else:
            feed = {name: np.concatenate([member[2][name] for member in group]) for name in group[0][2]}
        asked = [set(request.requested_output_names()) for _, request, _ in group]
        names = [name for name in self.outputs if any(name in wanted for wanted in asked)]
        arrays = self.watch.run(self.session, names, feed, [request for _, request, _ in group])
        if len(group) == 1:
            return [[pb_utils.Tensor(name, as_triton(array)) for name, array in zip(names, arrays)]]
        sizes = [next(iter(member[2].values())).shape[0] for member in group]
        return split(names, arrays, sizes, asked)


class Watch:
    """Runs a session, and ends a long run once everyone who asked for it has left.

    A request may be asked whether it was cancelled only while it is not answered: afterwards the server
    has freed it, and the question kills the server. So `run`, before whose end nothing is answered, ends
    only when no question is open, and `_look` asks only what still runs, each with `lock` held.
    """

    def __init__(self):
        self.lock = threading.Condition()
        self.current = None
        self.resting = False
        self.stopped = False
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def run(self, session, names, feed, requests):
        options = ort.RunOptions()
        self.current = (time.monotonic(), requests, options)
        if self.resting:
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

    def _look(self):
        idle, server = 0, os.getppid()
        while True:
            current = self.current
            idle = 0 if current else idle + 1
            with self.lock:
                if self.stopped:
                    return
                self.resting = idle > 5
                self.lock.wait(10 if self.resting else ASK_EVERY)
                self.resting = False
            if os.getppid() != server:
                os._exit(1)  # the server was killed: its stubs would stay for ever
            if current is None or current is not self.current or time.monotonic() - current[0] < ASK_EVERY:
                continue
            if all(self._cancelled(current, request) for request in current[1]):
                current[2].terminate = True

    def _cancelled(self, current, request):
        """Whether the request of a run was cancelled; a run that has ended is not asked about."""
        with self.lock:
            return current is self.current and request.is_cancelled()


def split(names, arrays, sizes, asked):
    """Cut each output along the batch axis, back into the requests it was made of."""
    total = sum(sizes)
    for name, array in zip(names, arrays):
        if array.ndim == 0 or array.shape[0] != total:
            raise ValueError(f"output {name} has shape {list(array.shape)} for a batch of {total}")
    results, start = [], 0
    for size, wanted in zip(sizes, asked):
        results.append(
            [
                pb_utils.Tensor(name, as_triton(array[start : start + size]))
                for name, array in zip(names, arrays)
                if name in wanted
            ]
        )
        start += size
    return results


def text(array):
    """BYTES as Triton hands them over -> the str objects ONNX Runtime takes."""
    flat = [item.decode("utf-8") if isinstance(item, bytes) else str(item) for item in array.ravel()]
    result = np.empty(len(flat), dtype=object)
    result[:] = flat
    return result.reshape(array.shape)


def as_triton(array):
    """Strings go back as UTF-8 bytes, a scalar as one element (Triton has no rank 0), the rest as it is."""
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


def described(tensor, batched):
    """A graph's tensor as config.pbtxt would say it; without its first axis where that is the batch."""
    dims = [d if isinstance(d, int) else -1 for d in tensor.shape]
    return {"name": tensor.name, "data_type": DATATYPES[tensor.type], "dims": (dims[1:] if batched else dims) or [1]}


def model_file(config, folder):
    """The graph's path: default_model_filename, else model.onnx. None where there is none."""
    if folder is None:
        return None
    path = Path(folder, config.get("default_model_filename") or "model.onnx")
    return path if path.exists() else None


def version_folder_of_this_process():
    """The version's folder, which auto_complete_config is not told: the stub was started with its path."""
    for word in Path("/proc/self/cmdline").read_bytes().split(b"\0"):
        parent = Path(os.fsdecode(word)).parent
        if parent.name.isdigit() and parent.is_dir():
            return parent
    return None


def providers(args):
    """CUDA for an instance Triton puts on a GPU, where this ONNX Runtime has it; the CPU otherwise."""
    if args["model_instance_kind"] == "GPU":
        if "CUDAExecutionProvider" in ort.get_available_providers():
            return [
                ("CUDAExecutionProvider", {"device_id": int(args["model_instance_device_id"])}),
                "CPUExecutionProvider",
            ]
        pb_utils.Logger.log_warn(f"{args['model_name']}: this onnxruntime has no CUDA; it runs on the CPU")
    return ["CPUExecutionProvider"]


def session_options(config):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads(config)
    options.inter_op_num_threads = int(parameter(config, "inter_op_thread_count") or 1)
    spin = os.environ.get("RETORT_TRITON_SPIN_MICROSECONDS") or SPIN
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if spin == "0" else "1")
    if spin != "0":
        options.add_session_config_entry("session.intra_op.spin_duration_us", spin)
    options.log_severity_level = 3
    return options


def threads(config):
    own = int(parameter(config, "intra_op_thread_count") or os.environ.get("RETORT_TRITON_THREADS") or 0)
    if own > 0:
        return own
    instances = sum(group.get("count", 1) for group in config.get("instance_group", [])) or 1
    return max(1, len(os.sched_getaffinity(0)) // instances)


def parameter(config, name):
    return config.get("parameters", {}).get(name, {}).get("string_value", "")


def check(config, session):
    """Config and graph must name the same tensors, of the same types and shapes."""
    if "sequence_batching" in config:
        raise pb_utils.TritonModelException("sequence_batching is not served by this backend")
    graph_inputs = {tensor.name: tensor for tensor in session.get_inputs()}
    graph_outputs = {tensor.name: tensor for tensor in session.get_outputs()}
    batched = config["max_batch_size"] > 0
    for kind, wanted, graph in (("input", config["input"], graph_inputs), ("output", config["output"], graph_outputs)):
        for tensor in wanted:
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
