"""From a prompt to what is wanted: turns, the questions of the last one, and the drawings that each is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from phrases import Asked, Understood

TURN = re.compile(r"<\|(system|user|assistant)\|>(.*?)(<\|end\|>|\Z)", re.DOTALL)
IMAGE = "<|image|>"

TALK = {"greeting", "thanks", "help", "style", "beyond", "again", "drawings"}
"""Families that are about no drawing in particular."""

PAIR = {"same", "difference"}
COMPARING = {"more", "fewer", "equal"}
MOST = 8
"""Questions answered of one turn."""


@dataclass
class Turn:
    role: str
    text: str
    drawings: list[int]  # numbers of its images, counted through the conversation from 0
    ended: bool = True


@dataclass
class Wish:
    """One question with the drawings it is about, in order."""

    asked: Asked
    drawings: list[int] = field(default_factory=list)
    missing: str = ""  # the drawing that was named and is not there


@dataclass
class Wishes:
    """What the last turn wants."""

    wishes: list[Wish]
    brief: bool
    shown: int  # drawings in the conversation
    names: dict[int, str]  # what to call a drawing where several are answered for


def turns(prompt: str) -> list[Turn]:
    """The turns that chat_template.jinja wrote."""
    out, images = [], 0
    for role, text, end in TURN.findall(prompt):
        count = text.count(IMAGE)
        out.append(Turn(role, text.replace(IMAGE, " ").strip(), list(range(images, images + count)), bool(end)))
        images += count
    return out


def wanted(all_turns: list[Turn], understand: Callable[[str], Understood]) -> Wishes:
    """Follows the conversation, so that "and the second one?" is understood by what was asked before."""
    memory, wishes, brief, always = Memory(), [], False, False
    for turn in all_turns:
        if turn.role == "system":
            always = always or understand(turn.text).brief
        if turn.role != "user":
            continue
        said = understand(turn.text)
        memory.show(turn.drawings)
        wishes = memory.follow(said.asked, bool(turn.drawings))
        brief = said.brief
    topic = memory.topic if len(memory.topic) > 1 else memory.shown
    names = {number: f"the {ordinal(i)} drawing" for i, number in enumerate(topic)}
    names.update({number: f"drawing {number + 1}" for number in memory.shown if number not in names})
    return Wishes(wishes[:MOST], brief or always, len(memory.shown), names)


class Memory:
    """What has been shown and asked so far."""

    def __init__(self) -> None:
        self.shown: list[int] = []  # all drawings
        self.topic: list[int] = []  # those of the last turn that brought any
        self.about: list[int] = []  # those that the last question was about
        self.last: list[Asked] = []  # the last questions about drawings

    def show(self, drawings: list[int]) -> None:
        self.shown += drawings
        if drawings:
            self.topic = self.about = list(drawings)

    def follow(self, asked: list[Asked], new: bool) -> list[Wish]:
        """The wishes of a turn; `new` says that it brought drawings."""
        real = [a for a in asked if a.family not in ("style", "greeting", "thanks")]
        if not real:
            if new:  # a picture with no question, or with "here is a drawing"
                real = [Asked("smiles", 1.0)]
            elif asked and asked[0].family != "style":
                return [Wish(asked[0])]
            else:  # "answer with one word" alone
                real = [Asked("again", 1.0)] if self.last else [Asked("help", 1.0)]
        real = [done for one in real for done in (self.again(one) if one.family == "again" else [one])]
        wishes = [self.wish(a) for a in unlike(real)]
        about = [w for w in wishes if w.asked.family not in TALK and w.drawings]
        if about:
            self.last, self.about = [w.asked for w in about], about[-1].drawings
        return wishes

    def again(self, asked: Asked) -> list[Asked]:
        """The last questions once more, about what is named now."""
        if asked.elements or asked.groups:
            kind = "has"
            if self.last and self.last[-1].family.startswith("count"):
                kind = "count"
            family = f"{kind}_element" if asked.elements else f"{kind}_group"
            before = self.last[-1] if self.last else asked
            modes = before.modes if before.family.startswith(kind) else []
            return [replace(asked, family=family, modes=modes, number=before.number)]
        if self.last:
            return [replace(a, drawings=asked.drawings or []) for a in self.last]
        return [replace(asked, family="smiles" if self.shown else "help")]

    def wish(self, asked: Asked) -> Wish:
        if asked.family in TALK:
            return Wish(asked)
        if asked.references:
            named = [n for name in asked.drawings for n in self.named(name)[0]]
            return Wish(asked, list(dict.fromkeys(named)) or list(self.about))
        if asked.family in PAIR or COMPARING & set(asked.modes):
            named = [n for name in asked.drawings for n in self.named(name)[0]]
            pair = list(dict.fromkeys(named)) if len(set(named)) > 1 else self.several()
            return Wish(asked, pair)
        out, missing = [], ""
        for name in asked.drawings:
            numbers, wrong = self.named(name)
            out, missing = out + numbers, missing or wrong
        if missing and not out:
            return Wish(asked, [], missing)
        return Wish(asked, list(dict.fromkeys(out)) or list(self.about))

    def several(self) -> list[int]:
        """The drawings to compare when none is named."""
        return list(self.topic) if len(self.topic) > 1 else self.shown[-2:]

    def named(self, name: str) -> tuple[list[int], str]:
        """The drawings that a word means, and the word itself where there is none such."""
        if name == "both":
            return self.several(), ""
        if name == "last":
            return (self.shown[-1:], "" if self.shown else name)
        if name == "other":
            rest = [n for n in self.several() if n not in self.about]
            return (rest[-1:], "" if rest else name) if len(self.shown) > 1 else ([], name)
        place = ("first", "second", "third").index(name)
        among = self.topic if len(self.topic) > max(1, place) else self.shown
        return (among[place : place + 1], "" if place < len(among) else name)


def unlike(asked: list[Asked]) -> list[Asked]:
    """The questions without repeated ones."""
    return [a for i, a in enumerate(asked) if not any(replace(a, sure=b.sure) == b for b in asked[:i])]


def ordinal(i: int) -> str:
    return ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")[i] if i < 8 else f"{i + 1}th"
