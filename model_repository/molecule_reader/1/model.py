"""Chat about drawings of molecules, under the tensor contract of Triton's vLLM backend.

A request's prompt (chat_template.jinja) is read back into turns, the questions of the last turn are understood (phrases.py,
conversation.py), the drawings they are about are read (reader.py), and the answer is computed (answers.py) and streamed token by
token. Tensors: model_repository/README.md.

Several conversations at once: each answer has a thread, and as many drawings are read at once as there are cores, with one
thread each. What was read before is not read again.
"""

from __future__ import annotations

import json
import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import references
import triton_python_backend_utils as pb_utils

from answers import Answers, is_read
from conversation import Turn, turns, wanted
from phrases import Phrases
from pieces import tokens
from reader import Reader
from readings import Readings, Refused
from sampling import Sampling
from structured import ASKED, EVERYTHING, filled, in_words, written_out

AT_ONCE = 64
"""Answers under way; more wait."""

ASK_EVERY = 0.002
"""Seconds between two questions whether the caller has left: each is a round trip to the server, as long as that of a token."""

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        folder = Path(args["model_repository"], args["model_version"])
        self.longest = int(config["parameters"]["max_model_len"]["string_value"])
        self.phrases = Phrases(folder)
        self.readings = Readings(Reader(folder, threads=1), len(os.sched_getaffinity(0)))
        self.pool = ThreadPoolExecutor(AT_ONCE, "answer")

    def execute(self, requests):
        for request in requests:
            self.pool.submit(self.answer, request)

    def finalize(self):
        self.pool.shutdown(wait=True)
        self.readings.close()

    def answer(self, request):
        """One request to its end; what goes wrong is told in-band."""
        sender = request.get_response_sender()
        try:
            Answer(self, request, sender).write()
        except Refused as error:
            sender.send(failure(f"InvalidRequest: {error}"), flags=FINAL)
        except Exception as error:
            pb_utils.Logger.log_error(f"molecule_reader: {type(error).__name__}: {error}")
            sender.send(failure(f"{type(error).__name__}: {error}"), flags=FINAL)


class Answer:
    """One answer under way."""

    def __init__(self, model: TritonPythonModel, request, sender) -> None:
        given = {tensor.name(): tensor.as_numpy().ravel() for tensor in request.inputs()}
        self.model, self.sender = model, sender
        self.prompt = text(given["text_input"][0])
        self.images = [bytes(image) for image in given.get("image", ())]
        self.sampling = Sampling.parse(text(given["sampling_parameters"][0]) if "sampling_parameters" in given else "")
        self.stream = flag(given, "stream", False)
        self.echo = not flag(given, "exclude_input_in_output", self.stream)
        self.wants = {
            name
            for name in ("finish_reason", "num_input_tokens", "num_output_tokens")
            if flag(given, "return_" + name, False)
        }
        if self.echo and self.stream:
            raise Refused("exclude_input_in_output must be true when streaming")
        self.asked = len(tokens([self.prompt]))
        if self.asked >= model.longest:
            raise Refused(
                f"This model's maximum context length is {model.longest} tokens. However, you requested {self.asked} tokens in the messages."
            )

    def write(self) -> None:
        """Computes the answer and sends it: a token a response, or all in one."""
        words = self.words()
        whole = "".join(words)
        cut = self.sampling.cut(whole)
        most = min(self.sampling.max_tokens or self.model.longest, self.model.longest - self.asked)
        shown, finish = until(words, cut), "stop"
        if len(shown) > most:
            shown, finish = shown[:most], "length"
        if not self.stream:
            self.send((self.prompt if self.echo else "") + "".join(shown), len(shown), finish)
            return
        asked = -math.inf
        for i, word in enumerate(shown or [""]):
            if time.monotonic() - asked > ASK_EVERY:
                if self.sender.is_cancelled():
                    self.sender.send(flags=FINAL)
                    return
                asked = time.monotonic()
            last = i + 1 >= len(shown)
            self.send(word, 1 if shown else 0, finish if last else "None", last)

    def words(self) -> list[str]:
        """The tokens of the whole answer."""
        said = turns(self.prompt)
        begun = said[-1].text if said and said[-1].role == "assistant" and not said[-1].ended else ""
        if sum(len(turn.drawings) for turn in said) != len(self.images):
            raise Refused(
                f"the prompt has {sum(len(turn.drawings) for turn in said)} marks for {len(self.images)} images"
            )
        said = said or [Turn("user", self.prompt, [])]
        wishes = wanted(said, self.understand)
        readings = {n: self.model.readings.start(self.images[n]) for wish in wishes.wishes for n in wish.drawings}
        if self.sampling.form is not None:
            return tokens([self.structured(said, wishes, readings)])
        if asks_for_json(said):
            return tokens([self.json(said, wishes, readings)])
        parts = self.spoken(wishes, readings)
        out = tokens(parts)
        if begun and "".join(parts).startswith(begun):  # the client began the answer itself
            return tokens(["".join(parts)[len(begun) :]])
        return out

    def understand(self, text: str):
        """What a text asks, without its wish for JSON, and with the molecules that it names."""
        return references.understood(ASKED.sub(" ", text), self.model.phrases.understand)

    def json(self, said: list[Turn], wishes, readings) -> str:
        """The answer as JSON, which was asked for in words."""
        schema = written_out([turn.text for turn in said])
        about = [n for wish in wishes.wishes for n in wish.drawings]
        read = [r for r in (readings[n].result() for n in dict.fromkeys(about)) if is_read(r)]
        if not read or any(wish.asked.references for wish in wishes.wishes):
            return json.dumps({"answer": "".join(self.spoken(wishes, readings))}, ensure_ascii=False)
        if schema:
            return filled({"json": schema}, read, lambda: "".join(self.spoken(wishes, readings)))
        everything = EVERYTHING.search(next((turn.text for turn in reversed(said) if turn.role == "user"), ""))
        return in_words([] if everything else [wish.asked.family for wish in wishes.wishes], read)

    def spoken(self, wishes, readings) -> list[str]:
        """The parts of the answer in words."""
        return Answers(wishes, lambda n: readings[n].result(), self.sampling.chooser()).parts()

    def structured(self, said: list[Turn], wishes, readings) -> str:
        """The answer in the form that is asked for, from the drawings of the last turn that brought any."""
        last = next((turn for turn in reversed(said) if turn.role == "user" and turn.drawings), None)
        shown = [self.model.readings.start(self.images[n]).result() for n in last.drawings] if last else []
        read = [reading for reading in shown if is_read(reading)]
        if shown and not read:
            raise Refused(
                "The picture shows no molecule that could be read, so there is nothing to fill the schema with."
            )
        form = self.sampling.form
        if form.get("json_object"):
            schema = written_out([turn.text for turn in said])
            form = {"json": schema} if schema else form
        return filled(form, read, lambda: "".join(self.spoken(wishes, readings)))

    def send(self, word: str, count: int, finish: str, last: bool = True) -> None:
        outputs = [pb_utils.Tensor("text_output", np.array([word.encode()], dtype=object))]
        if "finish_reason" in self.wants:
            outputs.append(pb_utils.Tensor("finish_reason", np.array([finish.encode()], dtype=object)))
        if "num_input_tokens" in self.wants:
            outputs.append(pb_utils.Tensor("num_input_tokens", np.array([self.asked], np.uint32)))
        if "num_output_tokens" in self.wants:
            outputs.append(pb_utils.Tensor("num_output_tokens", np.array([count], np.uint32)))
        self.sender.send(pb_utils.InferenceResponse(outputs), flags=FINAL if last else 0)


def asks_for_json(said: list[Turn]) -> bool:
    """Whether the last user turn or a system turn asks for JSON."""
    users = [turn.text for turn in said if turn.role == "user"]
    return any(ASKED.search(text) for text in [*users[-1:], *(turn.text for turn in said if turn.role == "system")])


def until(words: list[str], cut: int) -> list[str]:
    """The tokens of the first `cut` characters."""
    out, at = [], 0
    for word in words:
        if at >= cut:
            break
        out.append(word[: cut - at])
        at += len(word)
    return out


def text(value) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def flag(given, name: str, otherwise: bool) -> bool:
    return bool(given[name][0]) if name in given else otherwise


def failure(message: str):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message))
