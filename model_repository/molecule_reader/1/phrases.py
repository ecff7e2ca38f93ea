"""Understands a question about drawings: text in, Asked out.

A small network labels the words of a text (trained by scripts/train/phrases): where a question begins, its family, and
the words that name an element, a group, a drawing, or say how to compare. What the labels are is in phrases.json, beside
the graph. Everything that follows from the labels is code, below and in conversation.py.
"""

from __future__ import annotations

import functools
import json
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
MOST_WORDS, MOST_LETTERS = 64, 18
"""Words looked at (the first half and the last half of a longer text), and letters of each."""

BUCKETS, WIDTH = 3072, 26
"""Hash buckets of word features, of which 0 is padding; features of a word at most: itself, its shape, its 3- and 4-grams."""

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


@dataclass
class Asked:
    """One question. Elements, groups and drawings are in the order of the text; modes say how it is asked:

    more, fewer, equal       compare the drawings by it
    absent                   ask for something not to be there
    more_than, less_than, at_least, at_most, exactly    a bound, which is `number`
    """

    family: str
    sure: float  # probability of the family
    elements: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    drawings: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    number: int | None = None
    references: list = field(default_factory=list)  # molecules that the text names (references.py)


@dataclass
class Understood:
    asked: list[Asked]
    brief: bool  # the text wants nothing but the value


def words(text: str) -> list[str]:
    """The words, numbers and signs of a text, as many as are looked at."""
    found = WORD.findall(text)
    half = MOST_WORDS // 2
    return found if len(found) <= MOST_WORDS else found[:half] + found[-half:]


@functools.lru_cache(20_000)
def features(word: str) -> tuple[int, ...]:
    """WIDTH buckets of a word: itself, its shape, then its n-grams, padded with 0."""
    low = word.lower()[:MOST_LETTERS]
    if word.isupper():
        shape = "A" if len(word) == 1 else "AA"
    elif word[:1].isupper():
        shape = "Aa"
    else:
        shape = "1" if word[:1].isdigit() else "a" if word[:1].isalpha() else "."
    edged = f"<{low}>"
    grams = [edged[i : i + n] for n in (3, 4) for i in range(len(edged) - n + 1)] if len(low) > 1 else []
    texts = ["w:" + low, "s:" + shape, *grams][:WIDTH]
    ids = [1 + zlib.crc32(t.encode()) % (BUCKETS - 1) for t in texts]
    return tuple(ids + [0] * (WIDTH - len(ids)))


def rows(found: list[str]) -> np.ndarray:
    """int64 [words, WIDTH]."""
    return np.array([features(w) for w in found], np.int64).reshape(-1, WIDTH)


class Phrases:
    """The network and what its labels mean. Safe for use by many threads."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.labels = json.loads((folder / "phrases.json").read_text())
        self.session = onnxruntime.InferenceSession(
            str(folder / "phrases.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.understand = functools.lru_cache(4096)(self._understand)

    def _understand(self, text: str) -> Understood:
        found = words(text)
        if not found:
            return Understood([], False)
        begins, *heads = self.session.run(None, {"words": rows(found)})
        return decode(found, begins, dict(zip(("family", "element", "group", "mode", "drawing"), heads)), self.labels)


def decode(
    found: list[str], begins: np.ndarray, heads: dict[str, np.ndarray], labels: dict[str, list[str]]
) -> Understood:
    """Questions from the labels of words: begins [words] are logits, heads log-probabilities [words, labels]."""
    starts = [0, *(i for i in range(1, len(found)) if begins[i] > 0), len(found)]
    names = {head: [labels[head][k] for k in values.argmax(1)] for head, values in heads.items() if head != "family"}
    asked = []
    for start, end in zip(starts, starts[1:]):
        if all(not w[0].isalnum() for w in found[start:end]):
            continue  # signs alone
        total = heads["family"][start:end].mean(0)
        chances = np.exp(total - total.max())
        best = int(total.argmax())

        named = {
            head: list(dict.fromkeys(n for n in values[start:end] if n != "none")) for head, values in names.items()
        }
        modes = [m for m in named["mode"] if m != "brief"]
        bound = any(m in ("more_than", "less_than", "at_least", "at_most", "exactly") for m in modes)
        asked.append(
            Asked(
                labels["family"][best],
                float(chances[best] / chances.sum()),
                named["element"],
                named["group"],
                named["drawing"],
                modes,
                number(found[start:end]) if bound else None,
            )
        )
    return Understood(asked, "brief" in names["mode"])


def number(found: list[str]) -> int | None:
    """The first number of the words; "a" and "one" only where no other is there."""
    values = [int(w) if w.isdigit() and len(w) < 5 else NUMBERS.get(w.lower()) for w in found]
    values = [v for v in values if v is not None]
    return next((v for v in values if v > 1), values[0] if values else None)
