"""A stand-in for Triton's vLLM backend, with its tensors, on the CPU: vLLM's AsyncLLM as in
https://github.com/triton-inference-server/vllm_backend. It reads the engine's arguments from the entry's model.json.

RETORT_ENGINE_VENV names the environment with vLLM. Beside model.json are two records of the requests, a JSON object a
line: prompts.jsonl has the text and the token ids of a prompt, as the engine has them, once it has written the first
token; ended.jsonl has the text, the outcome, the number of tokens written, and the error of a failed request.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import locale
import multiprocessing
import os
import sys
import threading
import uuid
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

# Arguments of small models on a CPU, which model.json replaces.
ARGUMENTS = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_num_seqs": 8,
    "disable_log_stats": True,
    "skip_mm_profiling": True,
}

SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # no pinned cores
    # The model runs in the engine's process. vLLM's two processes would wait for each other with sched_yield, which on
    # two cores leaves all other threads, Triton's too, without a processor for up to 12 seconds (Linux 6.18).
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}


class TritonPythonModel:
    def initialize(self, args: dict) -> None:
        self.folder = Path(pb_utils.get_model_dir())
        arguments = ARGUMENTS | json.loads((self.folder / "model.json").read_text())
        environment = Path(os.environ["RETORT_ENGINE_VENV"])
        os.environ.update(SETTINGS)
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")  # torch reads its files in the locale's encoding, here ASCII
        os.environ.pop("PYTHONPATH", None)  # vLLM's processes must use only the packages of the environment
        sys.executable = str(environment / "bin/python")
        multiprocessing.set_executable(sys.executable)
        sys.path.extend(str(folder) for folder in environment.glob("lib/python3*/site-packages"))
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.engine = asyncio.run_coroutine_threadsafe(self.start(arguments), self.loop).result()

    async def start(self, options: dict):
        from vllm import AsyncEngineArgs
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(AsyncEngineArgs(**options))

    def execute(self, requests: list) -> None:
        for request in requests:
            asyncio.run_coroutine_threadsafe(self.answer(request), self.loop)

    def finalize(self) -> None:
        self.engine.shutdown()

    async def answer(self, request) -> None:
        sender = request.get_response_sender()
        end = {"text": input_value(request, "text_input", b"").decode()}
        try:
            outcome, response = await self.write(request, sender)
            end |= outcome
        except Exception as error:
            end |= {"outcome": "failed", "error": str(error)}
            response = pb_utils.InferenceResponse(error=pb_utils.TritonError(f"Error generating stream: {error}"))
        self.record("ended.jsonl", end)
        sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def record(self, name: str, entry: dict) -> None:
        with (self.folder / name).open("a") as file:
            file.write(json.dumps(entry) + "\n")

    async def write(self, request, sender) -> tuple[dict, object]:
        """Sends all responses but the last, which it returns after the outcome of the request."""
        stream = input_value(request, "stream", False)
        echo = (
            ""
            if input_value(request, "exclude_input_in_output", bool(stream))
            else input_value(request, "text_input", b"").decode()
        )
        extras = {
            name
            for name in ("finish_reason", "logprobs", "num_input_tokens", "num_output_tokens")
            if input_value(request, "return_" + name, False)
        }
        written = sent_text = sent_tokens = 0
        waiting = None
        answers = self.engine.generate(prompt(request), sampling(request), uuid.uuid4().hex)
        try:
            async for output in answers:
                if not written:
                    self.record("prompts.jsonl", {"text": output.prompt, "ids": output.prompt_token_ids})
                written = len(output.outputs[0].token_ids)
                if sender.is_cancelled():
                    return {"outcome": "cancelled", "tokens": written}, cancelled()
                if stream and waiting:
                    sender.send(waiting)
                if stream or output.finished:
                    waiting = piece(output, echo, sent_text, sent_tokens, extras)
                    sent_text, sent_tokens = len(output.outputs[0].text), written
        finally:
            await answers.aclose()  # which ends it in the engine too
        return {"outcome": "finished", "tokens": written}, waiting


def input_value(request, name: str, default):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy()[0]


def prompt(request) -> dict:
    from PIL import Image

    request_prompt: dict = {"prompt": input_value(request, "text_input", b"").decode()}
    images = pb_utils.get_input_tensor_by_name(request, "image")
    if images is not None:
        request_prompt["multi_modal_data"] = {
            "image": [Image.open(io.BytesIO(base64.b64decode(one))).convert("RGB") for one in images.as_numpy()]
        }
    return request_prompt


def sampling(request):
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams

    settings = json.loads(input_value(request, "sampling_parameters", b"{}"))
    if "structured_outputs" in settings:
        settings["structured_outputs"] = StructuredOutputsParams(**json.loads(settings["structured_outputs"]))
    return SamplingParams(**settings)


def piece(output, echo: str, text: int, tokens: int, extras: set[str]):
    """The output after this many characters and tokens."""
    new = output.outputs[0]
    values = {"text_output": np.array([((echo if not text else "") + new.text[text:]).encode()], object)}
    logs = [
        {token: {"logprob": p.logprob, "rank": p.rank, "decoded_token": p.decoded_token} for token, p in place.items()}
        for place in (new.logprobs or [])[tokens:]
    ]
    extra = {
        "finish_reason": np.array([str(new.finish_reason)], object),
        "logprobs": np.array([json.dumps(logs) if new.logprobs is not None else "null"], object),
        "num_input_tokens": np.array(len(output.prompt_token_ids), np.uint32),
        "num_output_tokens": np.array([len(new.token_ids) - tokens], np.uint32),
    }
    values.update((name, value) for name, value in extra.items() if name in extras)
    return pb_utils.InferenceResponse([pb_utils.Tensor(name, value) for name, value in values.items()])


def cancelled():
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError("Request was cancelled", pb_utils.TritonError.CANCELLED)
    )
