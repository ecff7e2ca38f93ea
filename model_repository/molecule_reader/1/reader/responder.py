"""Sends the answer to a request through Triton's Python backend: token by token, or as one response."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

from .assistant import Answer, Assistant
from .request import Cancelled, InvalidRequest, Request

CANCEL_CHECK_INTERVAL = 0.002
"""Seconds between checks whether the client has disconnected. A check is a round trip to the server and as slow as
sending a token."""
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class Responder:
    """Answers requests; safe for concurrent use. max_length: the maximum number of tokens of prompt and answer
    together."""

    def __init__(self, assistant: Assistant, max_length: int) -> None:
        self.assistant = assistant
        self.max_length = max_length

    def respond(self, pb_request: Any) -> None:
        """Sends the whole answer to one request, or an error response; nothing if the client has disconnected."""
        sender = pb_request.get_response_sender()
        try:
            if sender.is_cancelled():
                raise Cancelled
            request = Request(pb_request.inputs(), self.max_length)
            answer = self.assistant.answer(request, sender.is_cancelled)
            Response(request, sender, answer).send()
        except Cancelled:
            sender.send(flags=FINAL)
        except InvalidRequest as error:
            sender.send(error_response(f"InvalidRequest: {error}"), flags=FINAL)
        except Exception as error:
            pb_utils.Logger.log_error(f"molecule_reader: {type(error).__name__}: {error}")
            sender.send(error_response(f"{type(error).__name__}: {error}"), flags=FINAL)


class Response:
    """The response to one request."""

    def __init__(self, request: Request, sender: Any, answer: Answer) -> None:
        self.request = request
        self.sender = sender
        self.answer = answer

    def send(self) -> None:
        """Sends the tokens of the answer up to the first stop string, at most max_tokens."""
        position = self.request.sampling.stop_position("".join(self.answer.tokens))
        tokens = first_characters(self.answer.tokens, position)
        finish = "stop"
        if len(tokens) > self.request.max_tokens:
            tokens, finish = tokens[: self.request.max_tokens], "length"
        if self.request.stream:
            self._stream(tokens, finish)
            return
        echo = self.request.prompt if self.request.echo else ""
        self._send(echo + "".join(tokens), tokens, finish, last=True)

    def _stream(self, tokens: list[str], finish: str) -> None:
        last_check = float("-inf")
        for i, token in enumerate(tokens or [""]):
            if time.monotonic() - last_check > CANCEL_CHECK_INTERVAL:
                if self.sender.is_cancelled():
                    self.sender.send(flags=FINAL)
                    return
                last_check = time.monotonic()
            last = i + 1 >= len(tokens)
            self._send(token, tokens[i : i + 1], finish if last else "None", last, is_first=i == 0)

    def _send(self, text: str, tokens: list[str], finish: str, last: bool, is_first: bool = True) -> None:
        """Sends a response with the text of some tokens. is_first: whether they begin the answer."""
        outputs = [pb_utils.Tensor("text_output", np.array([text.encode()], dtype=object))]
        if "finish_reason" in self.request.requested_outputs:
            outputs.append(pb_utils.Tensor("finish_reason", np.array([finish.encode()], dtype=object)))
        if "num_input_tokens" in self.request.requested_outputs:
            outputs.append(pb_utils.Tensor("num_input_tokens", np.array([self.request.input_tokens], np.uint32)))
        if "num_output_tokens" in self.request.requested_outputs:
            outputs.append(pb_utils.Tensor("num_output_tokens", np.array([len(tokens)], np.uint32)))
        if "logprobs" in self.request.requested_outputs:
            text = logprobs(tokens, self.answer.confidence if is_first else 1.0)
            outputs.append(pb_utils.Tensor("logprobs", np.array([text.encode()], dtype=object)))
        self.sender.send(pb_utils.InferenceResponse(outputs), flags=FINAL if last else 0)


def logprobs(tokens: list[str], confidence: float) -> str:
    """Returns the log probabilities of tokens in the form of the vLLM backend: null without tokens, else one object for
    each token.

    The words follow from what was read, which is settled before the first token. So the first token's is the logarithm
    of the confidence and every other one's is 0: their sum is the log probability of the answer.
    """
    values = [math.log(confidence)] + [0.0] * (len(tokens) - 1)
    return json.dumps(
        [{"0": {"logprob": v, "rank": 1, "decoded_token": t}} for v, t in zip(values, tokens)] if tokens else None
    )


def first_characters(tokens: list[str], length: int) -> list[str]:
    """Returns the tokens of the first `length` characters."""
    out: list[str] = []
    at = 0
    for token in tokens:
        if at >= length:
            break
        out.append(token[: length - at])
        at += len(token)
    return out


def error_response(message: str) -> Any:
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message))
