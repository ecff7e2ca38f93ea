"""Plans an answer from a prompt: its turns, the questions of the last one, and the drawings that each question is
about.

Terms:
question   an intent with its drawings; drawings are numbered from 0 through the conversation
page       a picture with several drawings
topic      the drawings of the latest turn with drawings
focus      the drawings of the latest question
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice

from .intents import COMPARING, PAIR, Intent, ParsedText

TURN = re.compile(r"<\|(system|user|assistant)\|>(.*?)(<\|end\|>|\Z)", re.DOTALL)
IMAGE = "<|image|>"

FAMILIES_WITHOUT_DRAWING = {"greeting", "thanks", "help", "style", "beyond", "again", "drawings"}
"""Families of questions that need no drawing."""
MAX_QUESTIONS = 8
"""The most questions of a turn that are answered: the first ones."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
THIRD_OR_LATER = re.compile(
    r"\b(?:third|fourth|fifth|sixth|seventh|eighth|(?:[3-9]|[1-9]\d)(?:st|nd|rd|th))\b", re.IGNORECASE
)
"""Ordinals from the third on. The network knows only first, second and third: it reads "third" in place of each."""

OTHER = re.compile(r"other|previous|earlier|preceding|prior|before", re.IGNORECASE)
"""Words for another drawing. The network also takes some other words, such as whole, for one."""

LIST_VERB = re.compile(
    r"\b(?:list|what|which|where|find|extract|locate|read|show|give|return|identify|detect|get)\b", re.IGNORECASE
)
LISTED = re.compile(r"\b(?:molecules|structures|compounds|drawings|(?:bounding )?box(?:es)?)\b", re.IGNORECASE)
"""Nouns for all molecules on a page."""
WHERE = re.compile(r"\bwhere are they\b", re.IGNORECASE)
OTHER_QUESTION = re.compile(
    r"\b(?:how many|groups?|formulas?|mass(?:es)?|weights?|rings?|names?|called|inchis?|atoms?|charges?|logp|have|has|"
    r"mol[ -]?(?:files?|blocks?)|v3000|contains?|same|differ\w*|more|most|less|fewer|between|first|second|third|last|"
    r"other|both)\b",
    re.IGNORECASE,
)
"""Asks for something else, which the network finds."""


@dataclass
class Turn:
    role: str
    text: str
    pictures: list[int]
    drawings: list[int] = field(default_factory=list)
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
    pictures: dict[int, int]
    """The picture of each drawing in the conversation."""
    names: dict[int, str]
    """The name of each drawing, such as "the first drawing"."""


def parse_turns(prompt: str) -> list[Turn]:
    """Returns the turns that chat_template.jinja wrote."""
    turns: list[Turn] = []
    images = 0
    for role, text, end in TURN.findall(prompt):
        count = text.count(IMAGE)
        pictures = list(range(images, images + count))
        turns.append(Turn(role, text.replace(IMAGE, " ").strip(), pictures, ended=bool(end)))
        images += count
    return turns


def number_drawings(turns: list[Turn], counts: list[int]) -> dict[int, int]:
    """Sets the drawings of each turn, and returns the picture of each. counts: the drawings in each picture."""
    pictures: dict[int, int] = {}
    for turn in turns:
        turn.drawings = []
        for picture in turn.pictures:
            for _ in range(counts[picture]):
                turn.drawings.append(len(pictures))
                pictures[len(pictures)] = picture
    return pictures


def plan_turn(turns: list[Turn], pictures: dict[int, int], parse: Callable[[str], ParsedText]) -> TurnPlan:
    """Plans the last turn. "And the second one?" gets its meaning from the questions of earlier turns."""
    history = History()
    has_page = False
    questions: list[Question] = []
    brief = always_brief = False
    for turn in turns:
        if turn.role == "system":
            always_brief = always_brief or parse(turn.text).brief
        if turn.role != "user":
            continue
        parsed = parse(turn.text)
        history.add_drawings(turn.drawings)
        has_page = has_page or len(turn.drawings) > len(turn.pictures)
        intents = [Intent("smiles", 1.0)] if has_page and asks_for_list(turn.text) else parsed.intents
        questions = history.add_questions(intents, bool(turn.drawings))
        brief = parsed.brief
    topic = history.topic if len(history.topic) > 1 else history.drawings
    names = {number: f"the {ordinal(i)} drawing" for i, number in enumerate(topic)}
    names.update({number: f"drawing {number + 1}" for number in history.drawings if number not in names})
    return TurnPlan(questions, brief or always_brief, pictures, names)


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
            for meant in self.repeat(intent) if intent.family == "again" else [intent]:
                if len(resolved) < MAX_QUESTIONS and meant not in resolved:
                    resolved.append(meant)
        questions = [self.find_drawings(intent) for intent in resolved]
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
            if name == "other" and len(self.drawings) == 1 and not OTHER.search(intent.text):
                continue
            numbers, unknown_word = self.find(name)
            named += numbers
            missing = missing or unknown_word
        named = list(dict.fromkeys(named))
        if intent.molecules:
            return Question(intent, named or list(self.focus))
        if intent.family in PAIR or COMPARING & set(intent.modes):
            if missing not in ("", "other"):
                return Question(intent, [], missing)
            return Question(intent, self.compared(named))
        if missing and not named:
            return Question(intent, [], missing)
        return Question(intent, named or list(self.focus))

    def compared(self, named: list[int]) -> list[int]:
        """Returns the drawings to compare if these are named; one if it is not clear with which."""
        among = self.candidates()
        if len(named) != 1 or (len(among) == 2 and named[0] in among):
            return named if len(named) > 1 else among
        return named if named[0] in self.focus or len(self.focus) > 1 else sorted(self.focus + named)

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
        place = ORDINALS.index(name) if name in ORDINALS else int(name[:-2]) - 1
        among = self.topic if len(self.topic) > max(1, place) else self.drawings
        return among[place : place + 1], "" if place < len(among) else name


def parse_with_ordinals(text: str, parse: Callable[[str], ParsedText]) -> ParsedText:
    """Parses a text with "third" in place of each later ordinal, and restores those in the drawings of the intents."""
    later = [word.lower() for word in THIRD_OR_LATER.findall(text)]
    if not later:
        return parse(text)
    parsed = parse(THIRD_OR_LATER.sub("third", text))
    left = iter(later)
    intents = []
    for intent in parsed.intents:
        own = list(islice(left, intent.text.count("third"))) or later
        drawings = [name for word in intent.drawings for name in (own if word == "third" else [word])]
        intents.append(replace(intent, drawings=drawings))
    return ParsedText(intents, parsed.brief)


def ordinal(i: int) -> str:
    """Returns the word or the number for the i-th, from 0."""
    if i < len(ORDINALS):
        return ORDINALS[i]
    ending = "th" if 10 <= i % 100 <= 12 else {0: "st", 1: "nd", 2: "rd"}.get(i % 10, "th")
    return f"{i + 1}{ending}"


def asks_for_list(text: str) -> bool:
    """Reports whether a text about a page asks for all molecules on it or for their boxes, and for nothing else."""
    asks = WHERE.search(text) is not None
    for sentence in re.split(r"[.?!]", text):
        verb = LIST_VERB.search(sentence)
        asks = asks or (verb is not None and LISTED.search(sentence, verb.end()) is not None)
    return asks and not OTHER_QUESTION.search(text)
