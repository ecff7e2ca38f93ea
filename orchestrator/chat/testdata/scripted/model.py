"""A chat model that answers as its prompt scripts it, under each of the contracts that the gateway speaks.

The prompt may have "script {…}", a JSON object on one line:

    say       list of pieces, one for each token
    delay_ms  pause before each piece
    finish    finish reason: stop (default) or length
    fail      fail with this text at piece fail_at (default 0)
    canceled  true: answer with the number of requests that were canceled
    started   true: answer with the number of answers with pauses that have started

Without a script the answer is a JSON object with the inputs. scripted_test.go is the same in Go.
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
        self.cumulative = config["parameters"].get("cumulative_text", {}).get("string_value") == "true"
        self.canceled = 0
        self.started = 0
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
        script = json.loads(found.group(1)) if found else {"say": [json.dumps(inputs_json(given), sort_keys=True)]}
        if script.get("canceled"):
            script["say"] = [str(self.canceled)]
        if script.get("started"):
            script["say"] = [str(self.started)]
        if script.get("delay_ms"):
            with self.lock:
                self.started += 1
        limit = self.max_tokens(given)
        pieces = script.get("say", [])
        finish = script.get("finish", "stop")
        if len(pieces) > limit:
            pieces = pieces[:limit]
            finish = "length"
        stream = bool(given.get("stream", given.get("streaming", np.array([False]))).flat[0])
        words = len(prompt.split())
        whole = ""
        unsent = []
        for i, piece in enumerate(pieces):
            time.sleep(script.get("delay_ms", 0) / 1000)
            if sender.is_cancelled():
                with self.lock:
                    self.canceled += 1
                return
            if "fail" in script and script.get("fail_at", 0) == i:
                raise RuntimeError(script["fail"])
            whole += piece
            unsent.append(piece)
            last = i == len(pieces) - 1
            if stream or last:
                new = whole if self.cumulative or not stream else piece
                reason = finish if last else "None"
                sender.send(self.response(pb_utils, new, unsent, reason, words, given))
                unsent = []
        if not pieces and "fail" in script:
            raise RuntimeError(script["fail"])

    def max_tokens(self, given):
        if self.vllm:
            return json.loads(text(given["sampling_parameters"]))["max_tokens"]
        return int(given.get("max_tokens", given.get("sampling_param_max_tokens")).flat[0])

    def response(self, pb_utils, new, pieces, finish, words, given):
        shape = (1, 1) if self.batched else (1,)
        outputs = [pb_utils.Tensor("text_output", np.array([new.encode()], dtype=object).reshape(shape))]
        if wanted(given, "return_finish_reason"):
            outputs.append(pb_utils.Tensor("finish_reason", np.array([finish.encode()], dtype=object)))
        if wanted(given, "return_num_input_tokens"):  # without dimensions, as in vLLM's backend
            outputs.append(pb_utils.Tensor("num_input_tokens", np.asarray(words, dtype=np.uint32)))
        if wanted(given, "return_num_output_tokens"):
            outputs.append(pb_utils.Tensor("num_output_tokens", np.array([len(pieces)], dtype=np.uint32)))
        if wanted(given, "return_logprobs"):
            tokens = [
                {
                    str(ord(p[0])): {"logprob": -0.5, "rank": 1, "decoded_token": p},
                    "7": {"logprob": -1.5, "rank": 2, "decoded_token": "other"},
                }
                for p in pieces
            ]
            outputs.append(pb_utils.Tensor("logprobs", np.array([json.dumps(tokens).encode()], dtype=object)))
        return pb_utils.InferenceResponse(outputs)


def wanted(given, name):
    return name in given and bool(given[name].flat[0])


def text(array):
    return array.flat[0].decode()


def inputs_json(given):
    """The inputs as JSON values, images as their sizes."""
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
            out[name] = [
                v.decode() if isinstance(v, bytes) else round(v, 4) if isinstance(v, float) else v for v in values
            ]
    return out


def size(file):
    """Width and height of a PNG file."""
    reader = io.BytesIO(file)
    if reader.read(8) != b"\x89PNG\r\n\x1a\n":
        return file[:4].hex()
    return list(struct.unpack(">II", file[16:24]))
