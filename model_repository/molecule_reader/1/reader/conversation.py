"""Plans an answer from a prompt: its turns, the questions of the last one, and the drawings that each question is
about.

Terms:
question   an intent with its drawings; drawings are numbered from 0 through the conversation
topic      the drawings of the latest turn with drawings
focus      the drawings of the latest question
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .intents import COMPARING, PAIR, Intent, ParsedText

TURN = re.compile(r"<\|(system|user|assistant)\|>(.*?)(<\|end\|>|\Z)", re.DOTALL)
IMAGE = "<|image|>"

FAMILIES_WITHOUT_DRAWING = {"greeting", "thanks", "help", "style", "beyond", "again", "drawings"}
"""Families of questions that need no drawing."""
MAX_QUESTIONS = 8
"""The most questions of a turn that are answered: the first ones."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass
class Turn:
    role: str
    text: str
    drawings: list[int]
    ended: bool = True
    """Whether the prompt ends the turn. A last assistant turn without an end is the prefix of the answer."""


@dataclass
class Question:
    intent: Intent
    drawings: list[int] = field(default_factory=list)
    missing: str = ""
    """The word for a drawing that does not exist, such as "second"; "" if all exist."""


@dataclass
class TurnPlan:
    """The questions of the last turn, and what their answers need to know of the conversation."""

    questions: list[Question]
    brief: bool
    """Whether an answer is the bare value."""
    drawing_count: int
    """The number of drawings in the conversation."""
    names: dict[int, str]
    """The name of each drawing, such as "the first drawing"."""


def parse_turns(prompt: str) -> list[Turn]:
    """Returns the turns that chat_template.jinja wrote."""
    turns: list[Turn] = []
    images = 0
    for role, text, end in TURN.findall(prompt):
        count = text.count(IMAGE)
        turns.append(Turn(role, text.replace(IMAGE, " ").strip(), list(range(images, images + count)), bool(end)))
        images += count
    return turns


def plan_turn(turns: list[Turn], parse: Callable[[str], ParsedText]) -> TurnPlan:
    """Plans the last turn. "And the second one?" gets its meaning from the questions of earlier turns."""
    history = History()
    questions: list[Question] = []
    brief = always_brief = False
    for turn in turns:
        if turn.role == "system":
            always_brief = always_brief or parse(turn.text).brief
        if turn.role != "user":
            continue
        parsed = parse(turn.text)
        history.add_drawings(turn.drawings)
        questions = history.add_questions(parsed.intents, bool(turn.drawings))
        brief = parsed.brief
    topic = history.topic if len(history.topic) > 1 else history.drawings
    names = {number: f"the {ordinal(i)} drawing" for i, number in enumerate(topic)}
    names.update({number: f"drawing {number + 1}" for number in history.drawings if number not in names})
    return TurnPlan(questions[:MAX_QUESTIONS], brief or always_brief, len(history.drawings), names)


class History:
    """The drawings and questions up to a turn."""

    def __init__(self) -> None:
        self.drawings: list[int] = []
        self.topic: list[int] = []
        self.focus: list[int] = []
        self.last_intents: list[Intent] = []
        """The intents of the latest turn with a question about drawings."""

    def add_drawings(self, drawings: list[int]) -> None:
        self.drawings += drawings
        if drawings:
            self.topic = self.focus = list(drawings)

    def add_questions(self, intents: list[Intent], has_drawings: bool) -> list[Question]:
        """Returns the questions of the next turn. has_drawings: whether that turn has drawings."""
        asked = [intent for intent in intents if intent.family not in ("style", "greeting", "thanks")]
        if not asked:
            if has_drawings:  # A picture without a question, or with "here is a drawing".
                asked = [Intent("smiles", 1.0)]
            elif intents and intents[0].family != "style":
                return [Question(intents[0])]
            else:  # Only "answer with one word".
                asked = [Intent("again" if self.last_intents else "help", 1.0)]
        resolved: list[Intent] = []
        for intent in asked:
            resolved += self.repeat(intent) if intent.family == "again" else [intent]
        questions = [self.find_drawings(intent) for intent in without_repeats(resolved)]
        about_drawings = [q for q in questions if q.intent.family not in FAMILIES_WITHOUT_DRAWING and q.drawings]
        if about_drawings:
            self.last_intents = [question.intent for question in about_drawings]
            self.focus = about_drawings[-1].drawings
        return questions

    def repeat(self, intent: Intent) -> list[Intent]:
        """Returns the intents of the latest questions, with the elements, groups or drawings that this one names."""
        if intent.elements or intent.groups:
            previous = self.last_intents[-1] if self.last_intents else intent
            kind = "count" if self.last_intents and previous.family.startswith("count") else "has"
            family = f"{kind}_element" if intent.elements else f"{kind}_group"
            modes = previous.modes if previous.family.startswith(kind) else []
            return [replace(intent, family=family, modes=modes, number=previous.number)]
        if self.last_intents:
            return [replace(previous, drawings=intent.drawings) for previous in self.last_intents]
        return [replace(intent, family="smiles" if self.drawings else "help")]

    def find_drawings(self, intent: Intent) -> Question:
        """Returns the question with the drawings that it is about."""
        if intent.family in FAMILIES_WITHOUT_DRAWING:
            return Question(intent)
        named: list[int] = []
        missing = ""
        for name in intent.drawings:
            numbers, unknown_word = self.find(name)
            named += numbers
            missing = missing or unknown_word
        named = list(dict.fromkeys(named))
        if intent.molecules:
            return Question(intent, named or list(self.focus))
        if intent.family in PAIR or COMPARING & set(intent.modes):
            return Question(intent, named if len(named) > 1 else self.candidates())
        if missing and not named:
            return Question(intent, [], missing)
        return Question(intent, named or list(self.focus))

    def candidates(self) -> list[int]:
        """Returns the drawings to compare if none is named."""
        return list(self.topic) if len(self.topic) > 1 else self.drawings[-2:]

    def find(self, name: str) -> tuple[list[int], str]:
        """Returns the drawings that a word names, and "", or the word if there is no such drawing."""
        if name == "both":
            return self.candidates(), ""
        if name == "last":
            return self.drawings[-1:], "" if self.drawings else name
        if name == "other":
            others = [n for n in self.candidates() if n not in self.focus]
            return (others[-1:], "" if others else name) if len(self.drawings) > 1 else ([], name)
        place = ORDINALS.index(name)
        among = self.topic if len(self.topic) > max(1, place) else self.drawings
        return among[place : place + 1], "" if place < len(among) else name


def without_repeats(intents: list[Intent]) -> list[Intent]:
    """Returns the intents without later ones that are equal but for their probability."""
    return [
        intent
        for i, intent in enumerate(intents)
        if not any(replace(intent, probability=earlier.probability) == earlier for earlier in intents[:i])
    ]


def ordinal(i: int) -> str:
    return ORDINALS[i] if i < len(ORDINALS) else f"{i + 1}th"
