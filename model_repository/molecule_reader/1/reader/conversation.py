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

NO_DRAWING = {"greeting", "thanks", "help", "style", "beyond", "again", "drawings"}
"""Families of questions that are not about a drawing."""
MAX_QUESTIONS = 8
"""The most questions of a turn that are answered."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass
class Turn:
    role: str
    text: str
    drawings: list[int]
    ended: bool = True


@dataclass
class Question:
    intent: Intent
    drawings: list[int] = field(default_factory=list)
    missing: str = ""
    """The word for a drawing that does not exist, such as "second"."""


@dataclass
class TurnPlan:
    """What the last turn asks."""

    questions: list[Question]
    brief: bool
    shown: int
    """The number of drawings in the conversation."""
    names: dict[int, str]
    """Names of the drawings, for answers about several."""


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
    """Follows the conversation to its last turn, so that "and the second one?" is understood from earlier questions."""
    history = History()
    questions: list[Question] = []
    brief = always_brief = False
    for turn in turns:
        if turn.role == "system":
            always_brief = always_brief or parse(turn.text).brief
        if turn.role != "user":
            continue
        parsed = parse(turn.text)
        history.show(turn.drawings)
        questions = history.follow(parsed.intents, bool(turn.drawings))
        brief = parsed.brief
    topic = history.topic if len(history.topic) > 1 else history.shown
    names = {number: f"the {ordinal(i)} drawing" for i, number in enumerate(topic)}
    names.update({number: f"drawing {number + 1}" for number in history.shown if number not in names})
    return TurnPlan(questions[:MAX_QUESTIONS], brief or always_brief, len(history.shown), names)


class History:
    """The drawings and questions of earlier turns."""

    def __init__(self) -> None:
        self.shown: list[int] = []
        self.topic: list[int] = []
        self.focus: list[int] = []
        self.last: list[Intent] = []
        """The latest questions about drawings."""

    def show(self, drawings: list[int]) -> None:
        self.shown += drawings
        if drawings:
            self.topic = self.focus = list(drawings)

    def follow(self, intents: list[Intent], has_drawings: bool) -> list[Question]:
        """Returns the questions of the next turn, which has drawings or not."""
        real = [a for a in intents if a.family not in ("style", "greeting", "thanks")]
        if not real:
            if has_drawings:  # A picture without a question, or with "here is a drawing".
                real = [Intent("smiles", 1.0)]
            elif intents and intents[0].family != "style":
                return [Question(intents[0])]
            else:  # Only "answer with one word".
                real = [Intent("again" if self.last else "help", 1.0)]
        real = [done for one in real for done in (self.repeat(one) if one.family == "again" else [one])]
        questions = [self.resolve(intent) for intent in without_repeats(real)]
        about = [q for q in questions if q.intent.family not in NO_DRAWING and q.drawings]
        if about:
            self.last, self.focus = [q.intent for q in about], about[-1].drawings
        return questions

    def repeat(self, intent: Intent) -> list[Intent]:
        """Returns the latest questions once more, about what the intent names."""
        if intent.elements or intent.groups:
            kind = "count" if self.last and self.last[-1].family.startswith("count") else "has"
            family = f"{kind}_element" if intent.elements else f"{kind}_group"
            before = self.last[-1] if self.last else intent
            modes = before.modes if before.family.startswith(kind) else []
            return [replace(intent, family=family, modes=modes, number=before.number)]
        if self.last:
            return [replace(earlier, drawings=intent.drawings or []) for earlier in self.last]
        return [replace(intent, family="smiles" if self.shown else "help")]

    def resolve(self, intent: Intent) -> Question:
        """Returns the question with the drawings that it is about."""
        if intent.family in NO_DRAWING:
            return Question(intent)
        named: list[int] = []
        missing = ""
        for name in intent.drawings:
            numbers, absent = self.find(name)
            named += numbers
            missing = missing or absent
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
        return list(self.topic) if len(self.topic) > 1 else self.shown[-2:]

    def find(self, name: str) -> tuple[list[int], str]:
        """Returns the drawings that a word means, and the word itself if there is none."""
        if name == "both":
            return self.candidates(), ""
        if name == "last":
            return self.shown[-1:], "" if self.shown else name
        if name == "other":
            others = [n for n in self.candidates() if n not in self.focus]
            return (others[-1:], "" if others else name) if len(self.shown) > 1 else ([], name)
        place = ORDINALS.index(name)
        among = self.topic if len(self.topic) > max(1, place) else self.shown
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
