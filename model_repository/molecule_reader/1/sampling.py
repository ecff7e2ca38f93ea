"""sampling_parameters of the vLLM backend's contract: what of it means something here, and how an answer is drawn."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from readings import Refused


@dataclass
class Sampling:
    """Other settings are accepted and without effect: the answers are computed, not drawn token by token."""

    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    include_stop: bool = False
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    form: dict | None = None
    """What the answer is held to: structured.py."""

    @classmethod
    def parse(cls, text: str) -> Sampling:
        """Refused says what is wrong."""
        try:
            given = json.loads(text or "{}")
        except json.JSONDecodeError as error:
            raise Refused(f"sampling_parameters is no JSON: {error}") from error
        if not isinstance(given, dict):
            raise Refused("sampling_parameters must be a JSON object")
        if number(given, "n", 1, int) != 1:
            raise Refused("n must be 1: every answer is a request of its own")
        stop = given.get("stop") or []
        stop = [stop] if isinstance(stop, str) else stop
        if not all(isinstance(s, str) for s in stop):
            raise Refused("stop must be a string or a list of strings")
        out = cls(
            number(given, "max_tokens", None, int),
            tuple(s for s in stop if s),
            bool(given.get("include_stop_str_in_output")),
            number(given, "temperature", 0.0, (int, float)),
            number(given, "top_k", 0, int),
            number(given, "top_p", 1.0, (int, float)),
            number(given, "seed", None, int),
        )
        form = given.get("structured_outputs", given.get("guided_decoding"))
        if form is not None:
            out.form = json_object(form)
        if out.max_tokens is not None and out.max_tokens < 1:
            raise Refused(f"max_tokens must be at least 1, got {out.max_tokens}.")
        return out

    def chooser(self):
        """Picks one of several phrasings: the first at temperature 0; else the i-th with weight exp(-i / temperature)."""
        draw = random.Random(self.seed)

        def choose(options: Sequence[str]) -> str:
            if self.temperature <= 0 or len(options) == 1:
                return options[0]
            weights = [math.exp(-i / self.temperature) for i in range(len(options))]
            kept, total = 0, sum(weights)
            for i in range(len(weights)):
                kept = i + 1
                if kept == self.top_k or sum(weights[:kept]) >= self.top_p * total:
                    break
            return draw.choices(options[:kept], weights[:kept])[0]

        return choose

    def cut(self, text: str) -> int:
        """Where the first stop string ends the text."""
        ends = [at + (len(s) if self.include_stop else 0) for s in self.stop if (at := text.find(s)) >= 0]
        return min(ends, default=len(text))


def json_object(value) -> dict:
    """An object, or the text of one, as the backend has it."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError as error:
        raise Refused(f"structured_outputs is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused("structured_outputs must be a JSON object")
    return value


def number(given: dict, name: str, otherwise, kind):
    value = given.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Refused(f"{name} is {value!r}, which is no number of the right kind")
    return value
