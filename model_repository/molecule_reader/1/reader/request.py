"""A request under the contract of Triton's vLLM backend: its tensors and sampling_parameters, validated."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .wording import tokens

OPTIONAL_OUTPUTS = ("finish_reason", "num_input_tokens", "num_output_tokens", "logprobs")
"""Outputs that a request asks for with return_NAME."""


class InvalidRequest(Exception):
    """The request cannot be answered; the text tells the client why."""


class Cancelled(Exception):
    """The client has disconnected."""


@dataclass
class Sampling:
    """The sampling parameters that affect an answer. Others are accepted and ignored: answers are computed, not sampled
    token by token."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    include_stop: bool = False
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    structured_outputs: dict[str, Any] | None = None
    """{"json": schema} or {"json_object": true}, filled by json_answers.py."""

    @classmethod
    def parse(cls, text: str) -> Sampling:
        """Parses the sampling_parameters of a request. Raises InvalidRequest."""
        try:
            given = json.loads(text or "{}")
        except json.JSONDecodeError as error:
            raise InvalidRequest(f"sampling_parameters is not valid JSON: {error}") from error
        if not isinstance(given, dict):
            raise InvalidRequest("sampling_parameters must be a JSON object")
        if _number(given, "n", 1, int) != 1:
            raise InvalidRequest("n must be 1: send one request for each answer")
        stop = given.get("stop") or []
        stop = [stop] if isinstance(stop, str) else stop
        if not all(isinstance(s, str) for s in stop):
            raise InvalidRequest("stop must be a string or a list of strings")
        form = given.get("structured_outputs", given.get("guided_decoding"))
        sampling = cls(
            max_tokens=_number(given, "max_tokens", None, int),
            stop=tuple(s for s in stop if s),
            include_stop=bool(given.get("include_stop_str_in_output")),
            temperature=_number(given, "temperature", 0.0, (int, float)),
            top_k=_number(given, "top_k", 0, int),
            top_p=_number(given, "top_p", 1.0, (int, float)),
            seed=_number(given, "seed", None, int),
            structured_outputs=None if form is None else _json_object(form),
        )
        if sampling.max_tokens is not None and sampling.max_tokens < 1:
            raise InvalidRequest(f"max_tokens must be at least 1, got {sampling.max_tokens}.")
        return sampling

    def chooser(self) -> Callable[[Sequence[str]], str]:
        """Returns a function that picks one of several phrasings.

        At temperature 0 it picks the first. Else the weight of the i-th is exp(-i / temperature), within top_k and
        top_p.
        """
        generator = random.Random(self.seed)

        def choose(options: Sequence[str]) -> str:
            if self.temperature <= 0 or len(options) == 1:
                return options[0]
            weights = [math.exp(-i / self.temperature) for i in range(len(options))]
            total = sum(weights)
            count = 0
            for i in range(len(weights)):
                count = i + 1
                if count == self.top_k or sum(weights[:count]) >= self.top_p * total:
                    break
            return generator.choices(options[:count], weights[:count])[0]

        return choose

    def stop_position(self, text: str) -> int:
        """Returns the length of the text up to the first stop string."""
        ends = [at + (len(s) if self.include_stop else 0) for s in self.stop if (at := text.find(s)) >= 0]
        return min(ends, default=len(text))


class Request:
    """The inputs of one request."""

    def __init__(self, tensors: Iterable[Any], max_length: int) -> None:
        """Parses pb_utils tensors. max_length: the maximum number of tokens of prompt and answer together."""
        given = {tensor.name(): tensor.as_numpy().ravel() for tensor in tensors}
        self.prompt = _text(given["text_input"][0])
        self.images = [bytes(image) for image in given.get("image", ())]
        sampling = _text(given["sampling_parameters"][0]) if "sampling_parameters" in given else ""
        self.sampling = Sampling.parse(sampling)
        self.stream = _flag(given, "stream", False)
        self.echo = not _flag(given, "exclude_input_in_output", self.stream)
        self.requested_outputs = {name for name in OPTIONAL_OUTPUTS if _flag(given, "return_" + name, False)}
        if self.echo and self.stream:
            raise InvalidRequest("exclude_input_in_output must be true when streaming")
        self.input_tokens = len(tokens([self.prompt]))
        if self.input_tokens >= max_length:
            raise InvalidRequest(
                f"This model's maximum context length is {max_length} tokens. "
                f"However, you requested {self.input_tokens} tokens in the messages."
            )
        self.max_tokens = min(self.sampling.max_tokens or max_length, max_length - self.input_tokens)


def _json_object(value: object) -> dict[str, Any]:
    """Returns structured_outputs, which the request has as an object or as its JSON text."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"structured_outputs is not valid JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest("structured_outputs must be a JSON object")
    return value


def _number(given: dict[str, Any], name: str, default: Any, kind: type | tuple[type, ...]) -> Any:
    """Returns a sampling parameter, the default if it is absent or null."""
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        allowed = "an integer" if kind is int else "a number"
        raise InvalidRequest(f"{name} must be {allowed}, got {value!r}")
    return value


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _flag(given: dict[str, Any], name: str, default: bool) -> bool:
    return bool(given[name][0]) if name in given else default
