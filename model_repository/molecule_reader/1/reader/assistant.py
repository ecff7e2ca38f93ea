"""Answers a request: plans the turn, has its drawings read, and writes the answer in words or JSON, as tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from .answers import AnswerWriter, without_long_molfiles
from .conversation import Turn, number_drawings, parse_turns, parse_with_ordinals, plan_turn
from .intents import IntentParser, ParsedText
from .json_answers import ASKS_FOR_EVERYTHING, ASKS_FOR_JSON, answers_as_json, fill_form, schema_in_prompt
from .named_molecules import parse_with_molecules
from .reading import Reading
from .reading_cache import ReadingCache
from .request import Cancelled, InvalidRequest, Request
from .wording import Parts, tokens


@dataclass
class Answer:
    """An answer and how sure it is."""

    tokens: list[str]
    confidence: float
    """Probability that all molecules on which the answer depends were read exactly; 1 if it depends on none."""


class Assistant:
    """Answers requests; safe for concurrent use."""

    def __init__(self, parser: IntentParser, cache: ReadingCache) -> None:
        self.parser = parser
        self.cache = cache

    def answer(self, request: Request, is_cancelled: Callable[[], bool]) -> Answer:
        """Returns the whole answer. Raises Cancelled if the client has disconnected before the pictures are read."""
        turns = parse_turns(request.prompt)
        prefix = turns[-1].text if turns and turns[-1].role == "assistant" and not turns[-1].ended else ""
        images = sum(len(turn.pictures) for turn in turns)
        if images != len(request.images):
            raise InvalidRequest(f"the prompt has {images} image markers, the request {len(request.images)} images")
        turns = turns or [Turn("user", request.prompt, [])]
        return Conversation(self, request, turns, is_cancelled).answer(prefix)

    def parse(self, text: str) -> ParsedText:
        """Returns the questions of a text with the molecules that it names; a request for JSON is no question."""
        hidden = ASKS_FOR_JSON.sub(" ", text)
        return parse_with_ordinals(hidden, lambda words: parse_with_molecules(words, self.parser.parse))


class Conversation:
    """The turns of one request. Its pictures are read in the background."""

    def __init__(
        self, assistant: Assistant, request: Request, turns: list[Turn], is_cancelled: Callable[[], bool]
    ) -> None:
        self.request = request
        self.turns = turns
        self.pictures = [assistant.cache.start(image) for image in request.images]
        counts = [count_drawings(picture) for picture in self.pictures]
        if is_cancelled():
            raise Cancelled
        self.plan = plan_turn(turns, number_drawings(turns, counts), assistant.parse)
        self.used: dict[int, Reading] = {}
        """By drawing: the readings on whose molecules the answer depends."""

    def read(self, drawing: int) -> Reading:
        """Returns the reading of a drawing. Raises InvalidRequest if its picture cannot be decoded."""
        picture = self.plan.pictures[drawing]
        first = next(n for n, other in self.plan.pictures.items() if other == picture)
        return self.pictures[picture].result()[drawing - first]

    def answer(self, prefix: str) -> Answer:
        """Returns the answer, without the client's prefix if the answer begins with it."""
        found = self.tokens(prefix)
        return Answer(found, math.prod(reading.confidence for reading in self.used.values()))

    def tokens(self, prefix: str) -> list[str]:
        if self.request.sampling.structured_outputs is not None:
            return tokens([self.as_structured_output(self.request.sampling.structured_outputs)])
        if self.asks_for_json():
            return tokens([self.as_json()])
        parts = without_long_molfiles(self.as_words(), self.request.max_tokens)
        text = "".join(parts)
        if prefix and text.startswith(prefix):
            return tokens([text[len(prefix) :]])
        return tokens(parts)

    def as_words(self) -> Parts:
        choose = self.request.sampling.chooser()
        writer = AnswerWriter(self.plan, self.read, choose)
        parts = writer.parts()
        self.used |= writer.used
        return parts

    def prose(self) -> str:
        return "".join(self.as_words())

    def asks_for_json(self) -> bool:
        """Reports whether the last user turn or a system turn asks for JSON."""
        users = [turn.text for turn in self.turns if turn.role == "user"]
        systems = [turn.text for turn in self.turns if turn.role == "system"]
        return any(ASKS_FOR_JSON.search(text) for text in [*users[-1:], *systems])

    def as_json(self) -> str:
        """Returns the JSON text for a prompt that asks for JSON."""
        schema = schema_in_prompt([turn.text for turn in self.turns])
        drawings = dict.fromkeys(n for question in self.plan.questions for n in question.drawings)
        readings = self.listed(list(drawings))
        if not readings or any(question.intent.molecules for question in self.plan.questions):
            return json.dumps({"answer": self.prose()}, ensure_ascii=False)
        if schema:
            return fill_form({"json": schema}, readings, self.prose)
        last = next((turn.text for turn in reversed(self.turns) if turn.role == "user"), "")
        families = [question.intent.family for question in self.plan.questions]
        return answers_as_json(families, readings, everything=bool(ASKS_FOR_EVERYTHING.search(last)))

    def listed(self, drawings: list[int]) -> list[Reading]:
        """Returns the readings of drawings for an answer in JSON, none if none is readable. Of pictures with one
        drawing, unreadable ones are left out."""
        readings = {n: self.read(n) for n in drawings}
        readable = {n: r for n, r in readings.items() if r.is_readable()}
        self.used |= readable
        return [r for r in readings.values() if r.is_readable() or r.drawings > 1] if readable else []

    def as_structured_output(self, form: dict) -> str:
        """Returns the JSON text for structured_outputs, filled from the drawings of the last turn with drawings."""
        last = next((turn for turn in reversed(self.turns) if turn.role == "user" and turn.drawings), None)
        drawings = last.drawings if last else []
        readings = self.listed(drawings)
        if drawings and not readings:
            raise InvalidRequest(
                "The picture shows no molecule that could be read, so there is nothing to fill_form the schema with."
            )
        if form.get("json_object"):
            schema = schema_in_prompt([turn.text for turn in self.turns])
            form = {"json": schema} if schema else form
        return fill_form(form, readings, self.prose)


def count_drawings(picture: Future[list[Reading]]) -> int:
    """Returns how many drawings a picture has; 1 if it cannot be decoded, which is an error once it is asked about."""
    return 1 if picture.exception() else len(picture.result())
