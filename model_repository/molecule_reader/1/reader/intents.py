"""Parses the questions in a text: text in, intents out.

A small network (trained by scripts/train/phrases) labels the words of a text: where a question begins, its family, and
the words that name an element, a group or a drawing, or say how to compare. phrases.json, beside the graph, lists the
labels. The rest is code, here and in conversation.py.

Terms:
intent   what one question asks, without the context of the conversation
family   the kind of a question: smiles, count_rings, same ...
mode     a modifier of a question, such as "absent" (Intent.modes)
head     an output of the network with one label for each word
"""

from __future__ import annotations

import functools
import json
import operator
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .networks import load_session

if TYPE_CHECKING:
    from rdkit import Chem

WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
SPACED_WORD = re.compile(rf"(?:{WORD.pattern})\s*")
MAX_WORDS = 64
"""The most words that are labelled. In a longer text these are the first 32 and the last 32."""
MAX_LETTERS = 18
"""The most letters of a word that the network sees: the first ones."""
BUCKETS = 3072
"""Hash buckets of word features; 0 is padding."""
WORD_FEATURES = 26
"""The most features of a word: itself, its shape, its 3- and 4-grams."""
HEADS = ("family", "element", "group", "mode", "drawing")
"""The heads of phrases.onnx, in the order of its outputs after the first."""
PAIR = {"same", "difference"}
"""Families that compare two drawings."""
COMPARING = {"more", "fewer", "equal"}
"""Modes that compare two drawings."""
BOUNDS: dict[str, Callable[[float, float], bool]] = {
    "more_than": operator.gt,
    "less_than": operator.lt,
    "at_least": operator.ge,
    "at_most": operator.le,
    "exactly": operator.eq,
}
"""By mode: the test of a value against Intent.number."""

NUMBER = re.compile(
    r"(?:(?<!\w)[-\u2212])?(?:(?<!\w)\.\d+|(?<!\d)(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)(?!\d|(?:st|nd|rd|th)\b)",
    re.IGNORECASE,
)
"""A number in digits, such as 2, -0.5, .5 or 1,000, and no ordinal."""
NUMBERS = {
    "no": 0,
    "zero": 0,
    "one": 1,
    "a": 1,
    "an": 1,
    "single": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "dozen": 12,
    "twenty": 20,
    "thirty": 30,
}


@dataclass(frozen=True)
class NamedMolecule:
    """A molecule that a text names or gives as SMILES: named_molecules.py finds them."""

    name: str
    """What an answer calls it."""
    molecule: Chem.Mol
    any_stereo: bool = False
    """Whether the name is used without regard to stereochemistry."""


@dataclass
class Intent:
    """One question of a text. Elements, groups and drawings are in the order of the text. Modes:

    more, fewer, equal    compare two drawings
    absent                the question is negated: "is there no ring?"
    a key of BOUNDS       compare a value with `number`
    """

    family: str
    probability: float = field(compare=False)
    """Probability of the family."""
    elements: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    """Words for drawings: first, second, third, last, other, both."""
    modes: list[str] = field(default_factory=list)
    number: float | None = None
    molecules: list[NamedMolecule] = field(default_factory=list)
    """Molecules in the text to compare with."""
    text: str = field(default="", compare=False)
    """The words of the question."""

    def is_in_bounds(self, value: float) -> bool | None:
        """Returns whether a value is within the bound of the question, None if the question has no bound."""
        bound = next((BOUNDS[mode] for mode in self.modes if mode in BOUNDS), None)
        return None if bound is None or self.number is None else bound(value, self.number)


@dataclass
class ParsedText:
    """The questions of a text."""

    intents: list[Intent]
    brief: bool
    """Whether the text asks for the bare value."""


def split_words(text: str) -> list[str]:
    """Returns the words, numbers and signs of a text, at most MAX_WORDS."""
    return [word.rstrip() for word in split_spaced(text)]


def split_spaced(text: str) -> list[str]:
    """Returns split_words with the space after each word."""
    words = SPACED_WORD.findall(text)
    half = MAX_WORDS // 2
    return words if len(words) <= MAX_WORDS else words[:half] + words[-half:]


@functools.lru_cache(20_000)
def hash_features(word: str) -> tuple[int, ...]:
    """Returns the WORD_FEATURES buckets of a word: itself, its shape, its n-grams, padded with 0."""
    low = word.lower()[:MAX_LETTERS]
    if word.isupper():
        shape = "A" if len(word) == 1 else "AA"
    elif word[:1].isupper():
        shape = "Aa"
    else:
        shape = "1" if word[:1].isdigit() else "a" if word[:1].isalpha() else "."
    edged = f"<{low}>"
    grams = [edged[i : i + n] for n in (3, 4) for i in range(len(edged) - n + 1)] if len(low) > 1 else []
    features = ["w:" + low, "s:" + shape, *grams][:WORD_FEATURES]
    buckets = [1 + zlib.crc32(feature.encode()) % (BUCKETS - 1) for feature in features]
    return tuple(buckets + [0] * (WORD_FEATURES - len(buckets)))


def feature_rows(words: list[str]) -> np.ndarray:
    """Returns the buckets of words, int64 [words, WORD_FEATURES]."""
    return np.array([hash_features(word) for word in words], np.int64).reshape(-1, WORD_FEATURES)


class IntentParser:
    """The network and its labels from a version's folder; safe for concurrent use."""

    def __init__(self, folder: Path) -> None:
        self.labels = json.loads((folder / "phrases.json").read_text())
        self.session = load_session(folder / "phrases.onnx", threads=1)
        self.parse = functools.lru_cache(4096)(self._parse)

    def _parse(self, text: str) -> ParsedText:
        words = split_spaced(text)
        if not words:
            return ParsedText([], False)
        begins, *heads = self.session.run(None, {"words": feature_rows([word.rstrip() for word in words])})
        return decode(words, begins, dict(zip(HEADS, heads)), self.labels)


def decode(
    words: list[str], begins: np.ndarray, heads: dict[str, np.ndarray], labels: dict[str, list[str]]
) -> ParsedText:
    """Returns the questions in the network's outputs.

    words may have the space after them. begins [words] are logits that a question begins at a word; heads are
    log-probabilities [words, labels]. The family of a question is averaged over its words.
    """
    starts = [0, *(i for i in range(1, len(words)) if begins[i] > 0), len(words)]
    names = {head: [labels[head][k] for k in values.argmax(1)] for head, values in heads.items() if head != "family"}
    intents = []
    for start, end in zip(starts, starts[1:]):
        if not any(word[0].isalnum() for word in words[start:end]):
            continue
        logs = heads["family"][start:end].mean(0)
        weights = np.exp(logs - logs.max())
        best = int(logs.argmax())
        found = {
            head: list(dict.fromkeys(name for name in values[start:end] if name != "none"))
            for head, values in names.items()
        }
        modes = [mode for mode in found["mode"] if mode != "brief"]
        text = "".join(words[start:end])
        intents.append(
            Intent(
                labels["family"][best],
                float(weights[best] / weights.sum()),
                found["element"],
                found["group"],
                found["drawing"],
                modes,
                number_in(text) if any(mode in BOUNDS for mode in modes) else None,
                text=text,
            )
        )
    return ParsedText(intents, "brief" in names["mode"])


def number_in(text: str) -> float | None:
    """Returns the first number of a text that is in digits and no ordinal, else the first in words; "a", "one" and "no"
    only if there is no other."""
    digits = NUMBER.search(text)
    if digits:
        return float(digits.group().replace(",", "").replace("\u2212", "-"))
    numbers = [NUMBERS[word] for word in re.findall(r"[^\W\d_]+", text.lower()) if word in NUMBERS]
    return next((n for n in numbers if n > 1), numbers[0] if numbers else None)
