"""A chat model that says what its prompt tells it to, under each of the contracts that the gateway speaks.

The prompt may hold "script {…}", a JSON object on one line:

    say       list of pieces, one a token
    delay_ms  pause before each piece
    finish    reason of the end: stop (default) or length
    fail      an error with this text, at piece number fail_at (default 0)
    canceled  true: say how many callers have left before the end of their answer
    begun     true: say how many answers with a pause between their pieces have begun

Without a script the answer is one JSON object with what the model was sent. scripted_test.go has the same in Go.
"""

import base64
import io
import json
import re
import struct
import threading
import time

import numpy as np

SCRIPT = re.compile(r"script (\{.*\})")


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        names = {tensor["name"] for tensor in config["input"]}
        self.outputs = {tensor["name"]: tensor for tensor in config["output"]}
        self.vllm = "sampling_parameters" in names
        self.batched = config["max_batch_size"] > 0
        self.growing = config["parameters"].get("cumulative_text", {}).get("string_value") == "true"
        self.canceled = 0
        self.begun = 0
        self.lock = threading.Lock()

    def execute(self, requests):
        for request in requests:
            threading.Thread(target=self.answer, args=(request,)).start()

    def answer(self, request):
        import triton_python_backend_utils as pb_utils

        sender = request.get_response_sender()
        try:
            self.write(request, sender, pb_utils)
        except Exception as error:
            sender.send(pb_utils.InferenceResponse([], pb_utils.TritonError(str(error))))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def write(self, request, sender, pb_utils):
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        prompt = text(given["text_input"])
        found = SCRIPT.search(prompt)
        script = json.loads(found.group(1)) if found else {"say": [json.dumps(described(given), sort_keys=True)]}
        if script.get("canceled"):
            script["say"] = [str(self.canceled)]
        if script.get("begun"):
            script["say"] = [str(self.begun)]
        if script.get("delay_ms"):
            with self.lock:
                self.begun += 1
        most = self.max_tokens(given)
        pieces = script.get("say", [])
        finish = script.get("finish", "stop")
        if len(pieces) > most:
            pieces, finish = pieces[:most], "length"
        stream = bool(given.get("stream", given.get("streaming", np.array([False]))).flat[0])
        words = len(prompt.split())
        shown, waiting = "", []
        for i, piece in enumerate(pieces):
            time.sleep(script.get("delay_ms", 0) / 1000)
            if request_left(sender):
                with self.lock:
                    self.canceled += 1
                return
            if "fail" in script and script.get("fail_at", 0) == i:
                raise RuntimeError(script["fail"])
            shown += piece
            waiting.append(piece)
            last = i == len(pieces) - 1
            if stream or last:
                sender.send(self.response(pb_utils, shown if self.growing or not stream else piece, waiting,
                                          finish if last else "None", words, given))
                waiting = []
        if not pieces and "fail" in script:
            raise RuntimeError(script["fail"])

    def max_tokens(self, given):
        if self.vllm:
            return json.loads(text(given["sampling_parameters"]))["max_tokens"]
        return int(given.get("max_tokens", given.get("sampling_param_max_tokens")).flat[0])

    def response(self, pb_utils, shown, pieces, finish, words, given):
        shape = (1, 1) if self.batched else (1,)
        outputs = [pb_utils.Tensor("text_output", np.array([shown.encode()], dtype=object).reshape(shape))]
        if wanted(given, "return_finish_reason"):
            outputs.append(pb_utils.Tensor("finish_reason", np.array([finish.encode()], dtype=object)))
        if wanted(given, "return_num_input_tokens"):  # without dimensions, as vLLM's backend has it
            outputs.append(pb_utils.Tensor("num_input_tokens", np.asarray(words, dtype=np.uint32)))
        if wanted(given, "return_num_output_tokens"):
            outputs.append(pb_utils.Tensor("num_output_tokens", np.array([len(pieces)], dtype=np.uint32)))
        if wanted(given, "return_logprobs"):
            tokens = [{str(ord(p[0])): {"logprob": -0.5, "rank": 1, "decoded_token": p},
                       "7": {"logprob": -1.5, "rank": 2, "decoded_token": "other"}} for p in pieces]
            outputs.append(pb_utils.Tensor("logprobs", np.array([json.dumps(tokens).encode()], dtype=object)))
        return pb_utils.InferenceResponse(outputs)


def wanted(given, name):
    return name in given and bool(given[name].flat[0])


def request_left(sender):
    return sender.is_cancelled()


def text(array):
    return array.flat[0].decode()


def described(given):
    """What the gateway sent, for tests to look at."""
    out = {}
    for name, array in given.items():
        values = array.flatten().tolist()
        if name == "image":
            out[name] = [size(base64.b64decode(v)) for v in values]
        elif name in ("image_url", "image_url_input"):
            out[name] = [size(base64.b64decode(v.decode().split(",", 1)[1])) for v in values]
        elif name == "image_bytes_input":
            out[name] = {"shape": list(array.shape), "first": values[:3]}
        elif name == "sampling_parameters":
            out[name] = json.loads(values[0])
        else:
            out[name] = [v.decode() if isinstance(v, bytes) else round(v, 4) if isinstance(v, float) else v for v in values]
    return out


def size(file):
    """Width and height of a PNG file."""
    reader = io.BytesIO(file)
    if reader.read(8) != b"\x89PNG\r\n\x1a\n":
        return file[:4].hex()
    return list(struct.unpack(">II", file[16:24]))
