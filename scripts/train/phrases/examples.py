"""Makes texts with the labels of their words, to train and to measure the network on."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.served_reader import intents
from scripts.train.embedding.corpora import OPEN_SETS, sentences_of
from scripts.train.phrases import templates
from scripts.train.phrases.grammar import HEADS, LABELS, Piece, check, parse, sample
from scripts.train.phrases.templates import NOUNS, PARTS, SHIPPED, TRAIN, Questions

NAMES = list(TRAIN)
"""The families, in the order of the network's classes."""

WEIGHTS = {
    "beyond": 10,
    "again": 3,
    "count_element": 3,
    "has_element": 3,
    "count_group": 3,
    "has_group": 3,
    "smiles": 2,
    "style": 2,
}
"""How often a family is drawn, where the others have weight 1."""

QUESTION_FILES = {
    "nq_gold": "nq_gold.queries",
    "banking77": "banking77",
    "medquad": "medquad.queries",
    "pubmedqa": "pubmedqa.queries",
    "xquad": "xquad.queries",
    "squadshifts_reddit": "squadshifts_reddit.queries",
    "squadshifts_amazon": "squadshifts_amazon.queries",
    "squadshifts_new_wiki": "squadshifts_new_wiki.queries",
}
"""Files of the retrieval sets with questions. No question is about a drawing: they are examples of the family beyond.
Only sets in corpora.OPEN_SETS are trained on."""

SETS = [name for name in QUESTION_FILES if name in OPEN_SETS]
"""The sets to train on."""

PASSAGES = "nq_gold"
"""The open set whose passages give further questions, each made of an opener and a part of a sentence."""

OPENERS = (
    "what is|what was the|what did|which|who|who was|where did|where is the|when did|"
    "when was|why did|why is the|how did|how does|how many|how much|how long did|is|"
    "was|does|did the|can|are there|tell me about|according to|||"
).split("|")
"""Starts of questions made of a part of a sentence."""

SPLITS = ("train", "held out", "outside")
"""train: nine in ten questions of each set to train on; held out: the others of these; outside: all questions of the
sets that are not open."""

TEXT_FIELDS = ("query", "text")
"""Keys of the question in a row: Banking77 has `text`, the others `query`."""

MAX_QUESTION = 300
"""Texts with more letters are stories, not questions."""

SETS_SHARE = 0.6
"""Share of the questions of family beyond that come from the open sets; the others are made from templates."""


@dataclass
class Example:
    """Words with their labels: the family, whether a question begins at the word, and one label per head."""

    words: list[str] = field(default_factory=list)
    families: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    heads: dict[str, list[int]] = field(default_factory=lambda: {h: [] for h in HEADS})

    def add(self, pieces: list[Piece], family: str) -> None:
        """Appends a question."""
        first = True
        for piece in pieces:
            labels = dict(piece.labels)
            for word in intents.WORD.findall(piece.text):
                self.words.append(word)
                self.families.append(NAMES.index(family))
                self.begins.append(int(first))
                for head in HEADS:
                    self.heads[head].append(LABELS[head].index(labels.get(head, "none")))
                first = False


def own_questions(data: Path, name: str | None) -> Questions:
    """Returns the shipped questions and those of a file of the data folder, in the form of templates/questions.txt.

    Exits if the file cannot be read, or names an unknown family, part or label.
    """
    train = {family: list(texts) for family, texts in SHIPPED.train.items()}
    held_out = {family: list(texts) for family, texts in SHIPPED.held_out.items()}
    if not name:
        return SHIPPED
    try:
        own = templates.families(templates.without_comments((data / name).read_text(encoding="utf-8-sig")))
        for family in own.train:
            if family not in train:
                raise ValueError(f"unknown family {family!r}; the families are {', '.join(NAMES)}")
            for text in own.train[family]:
                check(text)
            train[family] += own.train[family]
            held_out[family] += own.held_out[family]
    except (OSError, ValueError) as error:
        raise SystemExit(f"training: --questions {name}: {error}") from error
    return Questions(train, held_out)


def out_of_scope(data: Path, part: str, sets: Sequence[str] = SETS) -> dict[str, list[str]]:
    """Returns the English questions of a part (SPLITS) by set; sets: those to train on. No question is in two parts or
    in two sets.

    A set that is not open may be missing. ValueError names a file without questions.
    """
    if part not in SPLITS:
        raise ValueError(f"no such part: {part}")
    # Open sets first: a question of two sets belongs to the first one.
    names = sorted(QUESTION_FILES, key=lambda name: name not in OPEN_SETS)
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for name in names:
        file = data / "retrieval" / f"{QUESTION_FILES[name]}.jsonl.gz"
        if name in OPEN_SETS and name not in sets or name not in OPEN_SETS and not file.exists():
            continue
        texts = questions(file)
        if not texts:
            fields = ", ".join(TEXT_FIELDS)
            raise ValueError(f"no question was found in {QUESTION_FILES[name]}: a row has its text in one of {fields}")
        texts = [text for text in texts if text not in seen]
        seen.update(texts)
        if name not in OPEN_SETS:
            chosen = texts if part == "outside" else []
        else:
            chosen = [text for number, text in enumerate(texts) if part == ("train" if number % 10 else "held out")]
        if chosen:
            found[name] = chosen
    return found


def sentences(data: Path, sets: Sequence[str] = SETS) -> list[str]:
    """Returns the sentences of the passages of PASSAGES, without passages that answer a held-out question."""
    if PASSAGES not in sets:
        return []
    folder = data / "retrieval"
    held_out = set(out_of_scope(data, "held out", sets)[PASSAGES])
    excluded = {
        pid
        for row in rows(folder / f"{QUESTION_FILES[PASSAGES]}.jsonl.gz")
        if row.get("query") in held_out
        for pid in row["pos"]
    }
    texts = [row["text"] for row in rows(folder / f"{PASSAGES}.passages.jsonl.gz") if row["pid"] not in excluded]
    return [sentence for text in texts for sentence in sentences_of(text)]


def files(sets: Sequence[str] = SETS) -> list[str]:
    """Returns the files of the data folder that training on these sets reads."""
    names = [QUESTION_FILES[name] for name in sets] + [f"{PASSAGES}.passages"] * (PASSAGES in sets)
    return [f"retrieval/{name}.jsonl.gz" for name in names]


def rows(file: Path) -> list[dict]:
    """Returns the rows of a gzip file of JSON lines."""
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def questions(file: Path) -> list[str]:
    """Returns the distinct English texts of a file that are short enough for a question, sorted."""
    english = [row for row in rows(file) if row.get("lang", "en") in ("en", "")]
    texts = {next((row[name] for name in TEXT_FIELDS if name in row), "") for row in english}
    return sorted(text for text in texts if 0 < len(text) < MAX_QUESTION)


class Maker:
    """Makes examples: a pure function of the random numbers."""

    def __init__(
        self, other: dict[str, list[str]], sentences: Sequence[str] = (), train: dict[str, list[str]] = TRAIN
    ) -> None:
        """other: questions out of scope by set; every set is drawn from equally often. sentences: give questions made
        of their parts, drawn as often as those of a set. Without either, only templates are used. train: the templates
        by family."""
        self.other = list(other.values())
        self.sentences = sentences
        self.train = train
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
        return add_noise(example, draw)

    def _question(self, example: Example, draw: random.Random, number: int) -> None:
        family = draw.choices(NAMES, self.weights)[0]
        if family == "beyond" and self.other and draw.random() < SETS_SHARE:
            pieces = [Piece(self._out_of_scope(draw))]
        else:
            pieces = sample(parse(draw.choice(self.train[family])), draw) + sample(parse(PARTS["END"]), draw)
        lead = "ALSO" if number else "LEAD"
        if number and draw.random() < 0.3 or family in ("again", "greeting", "thanks"):
            example.add(pieces, family)
        else:
            example.add([*strip_labels(sample(parse(PARTS[lead]), draw)), *pieces], family)

    def _out_of_scope(self, draw: random.Random) -> str:
        """Returns a question of a set, or an opener and 3 to 12 words of a sentence."""
        number = draw.randrange(len(self.other) + bool(self.sentences))
        if number < len(self.other):
            return draw.choice(self.other[number])
        words = draw.choice(self.sentences).split()
        length = draw.randint(3, 12)
        start = draw.randrange(max(1, len(words) - length))
        piece = " ".join(words[start : start + length]).strip(" ,.;:")
        return f"{draw.choice(OPENERS)} {piece}{draw.choice('?? ')}".strip()

    def _list(self, example: Example, draw: random.Random) -> None:
        """Appends a list of requested properties, each a question."""
        for number, family in enumerate(draw.sample(list(NOUNS), draw.choice([2, 2, 3, 3, 4]))):
            noun = sample(parse("[the|its|the|a|] " + NOUNS[family]), draw)
            before = sample(parse(PARTS["WHAT"] if number == 0 else "[,|and|, and|,|as well as|plus|&|/]"), draw)
            after = sample(parse("[of {M}|in {M}||]"), draw) if draw.random() < 0.2 else []
            example.add([*before, *noun, *after], family)


def strip_labels(pieces: list[Piece]) -> list[Piece]:
    """Removes all labels but drawings: a drawing named before a question belongs to it, a mode does not."""
    return [Piece(p.text, tuple(label for label in p.labels if label[0] == "drawing")) for p in pieces]


def add_noise(example: Example, draw: random.Random) -> Example:
    """Changes the text to what people type: case and typing errors."""
    case = draw.random()
    typo_share = draw.choice([0, 0, 0, 0.04, 0.1, 0.3])
    for i, word in enumerate(example.words):
        if len(word) > 3 and draw.random() < typo_share:
            word = typo(word, draw)
        if case < 0.2:
            word = word.lower()
        elif case < 0.25:
            word = word.upper()
        elif case < 0.3 or case < 0.75 and example.begins[i] and draw.random() < 0.8:
            word = word[:1].upper() + word[1:]
        example.words[i] = word
    return example


def typo(word: str, draw: random.Random) -> str:
    """Returns the word with one typing error, not in the first letter."""
    at, kind = draw.randrange(1, len(word) - 1), draw.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + (word[at] if kind == 2 else draw.choice("abcdefghijklmnoprstuvwy")) + word[at + (kind == 3) :]
