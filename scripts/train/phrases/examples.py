"""Texts with the labels of their words: what the network learns from, and what it is measured on."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

from scripts.train.phrases import serving
from scripts.train.phrases.grammar import HEADS, LABELS, Piece, parse, sample
from scripts.train.phrases.templates import FAMILIES, NOUNS, PARTS

NAMES = list(FAMILIES)
"""The families, in the order of the labels."""

TRAIN, HELD = {}, {}
for _family, _text in FAMILIES.items():
    _train, _held = (part.strip().splitlines() for part in _text.split("\n---\n"))
    TRAIN[_family], HELD[_family] = _train, _held

WEIGHTS = {"beyond": 6, "again": 3, "count_element": 3, "has_element": 3, "count_group": 3, "has_group": 3, "smiles": 2, "style": 2}

ELSEWHERE = ("nq_gold.queries", "banking77", "medquad.queries", "pubmedqa.queries", "xquad.queries", "squadshifts_reddit.queries",
             "squadshifts_amazon.queries", "squadshifts_new_wiki.queries")
"""Questions of the retrieval data that are about anything but drawings: the family beyond."""


@dataclass
class Example:
    """Words, and for each the labels: family, whether a question begins at it, and one per head."""

    words: list[str] = field(default_factory=list)
    families: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    heads: dict[str, list[int]] = field(default_factory=lambda: {h: [] for h in HEADS})

    def add(self, pieces: list[Piece], family: str) -> None:
        """A question; its first word begins it."""
        first = True
        for piece in pieces:
            labels = dict(piece.labels)
            for word in serving.WORD.findall(piece.text):
                self.words.append(word)
                self.families.append(NAMES.index(family))
                self.begins.append(int(first))
                for head in HEADS:
                    self.heads[head].append(LABELS[head].index(labels.get(head, "none")))
                first = False


def elsewhere(data: Path, held: bool) -> list[str]:
    """English questions of other kinds; every tenth is held out."""
    texts: list[str] = []
    for name in ELSEWHERE:
        with gzip.open(data / "retrieval" / f"{name}.jsonl.gz", "rt") as file:
            rows = [json.loads(line) for line in file]
        texts += [row["text"] for row in rows if isinstance(row.get("text"), str) and row.get("lang", "en") in ("en", "")]
    texts = sorted({t for t in texts if len(t) < 300})
    return [t for i, t in enumerate(texts) if (i % 10 == 0) == held]


class Maker:
    """Makes examples; the same random numbers make the same ones."""

    def __init__(self, other: list[str]) -> None:
        self.other = other
        self.weights = [WEIGHTS.get(name, 1) for name in NAMES]

    def make(self, draw: random.Random) -> Example:
        example = Example()
        kind = draw.random()
        if kind < 0.08:
            self._list(example, draw)
        else:
            count = 1 if kind < 0.72 else 2 if kind < 0.93 else 3
            for number in range(count):
                self._question(example, draw, number)
        return rough(example, draw)

    def _question(self, example: Example, draw: random.Random, number: int) -> None:
        family = draw.choices(NAMES, self.weights)[0]
        if family == "beyond" and self.other and draw.random() < 0.5:
            pieces = [Piece(draw.choice(self.other))]
        else:
            pieces = sample(parse(draw.choice(TRAIN[family])), draw) + sample(parse(PARTS["END"]), draw)
        lead = "ALSO" if number else "LEAD"
        if number and draw.random() < 0.3 or family in ("again", "greeting", "thanks"):
            example.add(pieces, family)
        else:
            example.add([*bare(sample(parse(PARTS[lead]), draw)), *pieces], family)

    def _list(self, example: Example, draw: random.Random) -> None:
        """A list of wishes."""
        for number, family in enumerate(draw.sample(list(NOUNS), draw.choice([2, 2, 3, 3, 4]))):
            noun = sample(parse("[the|its|the|a|] " + NOUNS[family]), draw)
            before = sample(parse(PARTS["WHAT"] if number == 0 else "[,|and|, and|,|as well as|plus|&|/]"), draw)
            after = sample(parse("[of {M}|in {M}||]"), draw) if draw.random() < 0.2 else []
            example.add([*before, *noun, *after], family)


def bare(pieces: list[Piece]) -> list[Piece]:
    """Without labels: a drawing that is named before a question counts, a mode does not."""
    return [Piece(p.text, tuple(label for label in p.labels if label[0] == "drawing")) for p in pieces]


def rough(example: Example, draw: random.Random) -> Example:
    """The text as people type it: case, typing errors, lost little words."""
    case = draw.random()
    slips = draw.choice([0, 0, 0, 0.04, 0.1, 0.3])
    for i, word in enumerate(example.words):
        if len(word) > 3 and draw.random() < slips:
            word = slip(word, draw)
        if case < 0.2:
            word = word.lower()
        elif case < 0.25:
            word = word.upper()
        elif case < 0.3 or case < 0.75 and example.begins[i] and draw.random() < 0.8:
            word = word[:1].upper() + word[1:]
        example.words[i] = word
    return example


def slip(word: str, draw: random.Random) -> str:
    """One typing error, not in the first letter."""
    at, kind = draw.randrange(1, len(word) - 1), draw.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1:]
    if kind == 1:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    return word[:at] + (word[at] if kind == 2 else draw.choice("abcdefghijklmnoprstuvwy")) + word[at + (kind == 3):]
