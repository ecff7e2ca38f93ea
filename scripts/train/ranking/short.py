"""Short questions with one-sentence passages, to train the ranker: from a dictionary, and from longer passages.

WordNet 3.0 (Fellbaum 1998; its licence allows any use; Debian's package wordnet-base) has the meanings and kinds of
words. "Which medicine is used to relieve pain?" is answered by "Aspirin is an analgesic.", not by "Aminopyrine is an
antipyretic.": a short pair needs the meaning of words more than words in common. In sets with known answers, the
sentence that contains the answer is right, and the others of its passage are wrong. SelQA (Jurczyk et al. 2016,
Apache-2.0; sentences of Wikipedia) marks the sentences of a section that answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np

from scripts.train.embedding import corpora
from scripts.train.embedding.examples import Mined
from scripts.train.ranking.pairs import QuerySet

WORDNET = Path("/usr/share/wordnet")
ANSWERED = ("nq_gold",)
"""Open sets (corpora.OPEN_SETS) whose queries have the text of their answer."""
USED = re.compile(
    r"(?:the |an? |any )?((?:[\w-]+ ){0,2}?[\w-]+) "
    r"((?:used|made|given|found|caused|obtained|worn|designed|intended|formed|composed) .+)"
)
DOES = re.compile(r"(?:the |an? |any |someone |a person )?((?:[\w-]+ ){0,2}?[\w-]+)? ?(?:that|which|who) ([a-z]+s .+)")
"""Definitions that become questions: things used, made ... for something; things that do something."""
PERSON, PLACE = 18, 15
"""Lexicographer files of people and of places (wninput(5WN))."""


@dataclass
class Meaning:
    """A synset of nouns: synonyms and their definition."""

    words: list[str]
    gloss: str
    file: int
    above: list[str] = field(default_factory=list)
    """Hypernyms, by their offsets."""
    kinds: list[str] = field(default_factory=list)
    """Hyponyms and instances, by their offsets."""
    instance: bool = False


def nouns(folder: Path = WORDNET) -> dict[str, Meaning]:
    """Reads the synsets of data.noun (wndb(5WN)), by offset."""
    found = {}
    for line in (folder / "data.noun").read_text().splitlines():
        if line.startswith("  "):
            continue
        head, _, gloss = line.partition(" | ")
        parts = head.split(" ")
        count = int(parts[3], 16)
        words = [parts[4 + 2 * i].replace("_", " ") for i in range(count)]
        pointers = parts[5 + 2 * count :]
        links = [
            (pointers[4 * i], pointers[4 * i + 1])
            for i in range(int(parts[4 + 2 * count]))
            if pointers[4 * i + 2] == "n"
        ]
        meaning = Meaning(words, definition(gloss), int(parts[1]))
        meaning.above = [to for kind, to in links if kind in ("@", "@i")]
        meaning.kinds = [to for kind, to in links if kind in ("~", "~i")]
        meaning.instance = any(kind == "@i" for kind, _ in links)
        found[parts[0]] = meaning
    return found


def definition(gloss: str) -> str:
    """Returns the definition without examples and parentheses."""
    text = re.split(r';\s*(?="|`)', gloss)[0].split("; ")[0]
    return re.sub(r"\s*\([^)]*\)\s*", " ", text).strip(' ;"')


def with_article(word: str) -> str:
    """Returns a noun with its article; a name or a plural without one."""
    if word[:1].isupper() or word.endswith("s"):
        return word
    return ("an " if word[:1] in "aeiou" else "a ") + word


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def question_for(meaning: Meaning, random: Random) -> str | None:
    """Returns a question for the thing with this meaning; None if its definition does not make one."""
    gloss = meaning.gloss
    found = USED.match(gloss)
    if found:
        head, rest = found[1], found[2]
        forms = [f"Which {head} is {rest}?", f"What is {rest}?", f"{head} {rest}"]
        if rest.startswith(("used to ", "used for ")):
            verb = "helps" if rest.startswith("used to ") else "serves"
            forms += [f"What can be {rest}?", f"What is good {rest[5:]}?", f"What {verb} {rest[5:]}?"]
        return random.choice(forms)
    found = DOES.match(gloss)
    if found:
        head, rest = found[1], found[2]
        if meaning.file == PERSON:
            return random.choice([f"Who {rest}?", f"What do you call someone who {rest}?"])
        return random.choice([f"Which {head} {rest}?" if head else f"What {rest}?", f"What {rest}?"])
    if meaning.instance and gloss.startswith(("the ", "a ", "an ")):
        start = (
            "Who was"
            if meaning.file == PERSON
            else "Where is"
            if meaning.file == PLACE and random.random() < 0.2
            else "What is"
        )
        return f"{start} {gloss}?" if gloss.startswith("the ") and start != "Where is" else None
    return (
        random.choice([f"What is {gloss}?", f"What do you call {gloss}?", f"word for {gloss}"])
        if gloss.startswith(("a ", "an ", "the "))
        else None
    )


class Dictionary:
    """Generates lists of a right sentence and similar wrong ones."""

    def __init__(self, folder: Path = WORDNET) -> None:
        self.all = nouns(folder)
        self.describable = [
            o
            for o, m in self.all.items()
            if m.above and len(m.gloss) > 12 and not m.words[0].startswith(("genus ", "family "))
        ]
        self.with_kinds = [o for o in self.describable if self.all[o].kinds]

    def sisters(self, offset: str) -> list[str]:
        """Returns the offsets of other things of the same kind."""
        return [s for above in self.all[offset].above for s in self.all[above].kinds if s != offset]

    def statement(self, offset: str, form: str, random: Random) -> str | None:
        """Returns a sentence about the thing with this meaning, in a form (example, kind or meaning); None if the form
        does not apply."""
        meaning = self.all[offset]
        word = random.choice(meaning.words)
        if form == "example":
            if not meaning.kinds:
                return None
            other = self.all[random.choice(meaning.kinds)]
            return sentence(f"{self._subject(random.choice(other.words), random)} is {with_article(word)}")
        if form == "kind":
            above = random.choice(self.all[random.choice(meaning.above)].words)
            return sentence(f"{self._subject(word, random)} is {random.choice(['', 'a kind of '])}{above}")
        verb = "was" if meaning.instance and meaning.file == PERSON else "is"
        return sentence(f"{self._subject(word, random)} {verb} {meaning.gloss}")

    @staticmethod
    def _subject(word: str, random: Random) -> str:
        return with_article(word) if random.random() < 0.5 else word

    def draw_list(self, random: Random) -> tuple[str, str, list[str]] | None:
        """Returns a question, the sentence that answers it, and wrong ones; None if the draw gives no list."""
        offset = random.choice(self.with_kinds if random.random() < 0.5 else self.describable)
        meaning, sisters = self.all[offset], self.sisters(offset)
        random.shuffle(sisters)
        query: str | None
        if random.random() < 0.35:
            word = random.choice(meaning.words)
            start = "Who was" if meaning.instance and meaning.file == PERSON else "What is"
            query = random.choice(
                [f"{start} {with_article(word)}?", f"{start} {with_article(word)}?", f"define {word}", word]
            )
            form = "meaning"
        else:
            query = question_for(meaning, random)
            form = random.choice(["example", "example", "example", "kind", "meaning"])
            if form == "example" and not meaning.kinds:
                form = "kind"
        right = self.statement(offset, form, random)
        wrong = [text for s in sisters[:8] if (text := self.statement(s, form, random))]
        if form == "meaning" and meaning.kinds:
            wrong.append(self.statement(random.choice(meaning.kinds), "meaning", random) or "")
        wrong = [w for w in dict.fromkeys(wrong) if w and w != right]
        return (query, right, wrong) if query and right and len(wrong) > 1 else None


def dictionary(count: int, seed: int, folder: Path = WORDNET) -> QuerySet:
    """Generates `count` lists from WordNet."""
    source, random = Dictionary(folder), Random(f"{seed} dictionary")
    found: list[tuple[str, str, list[str]]] = []
    while len(found) < count:
        example = source.draw_list(random)
        if example:
            found.append(example)
    return query_set_of("dictionary", found)


def sentences(data: Path, most: int, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yields questions of the training splits, the sentence with the answer, and the others of its passage."""
    for name in ANSWERED:
        collection = corpora.load(data, name, "train", 0)
        random = Random(f"{seed} sentences {name}")
        for query in random.sample(collection.queries, min(most, len(collection.queries))):
            right, wrong = corpora.split_by_answer(collection, query)
            if right and len(wrong) > 1:
                yield query.text, right[0], wrong


def selqa(folder: Path, seed: int) -> Iterator[tuple[str, str, list[str]]]:
    """Yields questions of SelQA (selqa-ass-*.json), a sentence that answers, and those of its section that do not."""
    random = Random(f"{seed} selqa")
    for file in sorted(folder.glob("selqa-ass-*.json")):
        for row in json.loads(file.read_text()):
            right = [row["candidates"][i] for i in row["answers"]]
            wrong = [text for text in dict.fromkeys(row["candidates"]) if text not in right]
            if right and wrong:
                yield row["question"], random.choice(right), wrong


def query_set_of(name: str, lists: list[tuple[str, str, list[str]]]) -> QuerySet:
    """Converts lists of a question, a right sentence and wrong ones to a training set."""
    passages: dict[str, int] = {}
    right, wrong = [], []
    for _, right_text, wrong_texts in lists:
        right.append([passages.setdefault(right_text, len(passages))])
        wrong.append([passages.setdefault(text, len(passages)) for text in wrong_texts])
    no_vectors = np.zeros((0, 0), np.float32)
    texts, queries = list(passages), [q for q, _, _ in lists]
    mined = Mined(
        name, texts, no_vectors, queries, no_vectors, [r[0] for r in right], wrong, [str(i) for i in range(len(texts))]
    )
    return QuerySet(mined, queries, no_vectors, right, wrong)
