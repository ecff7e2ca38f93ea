"""Measures how many held-out questions are parsed correctly, with the code that serves."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import torch

from scripts.served_reader import intents
from scripts.train.phrases.examples import NAMES, Example, Maker
from scripts.train.phrases.grammar import HEADS, LABELS
from scripts.train.phrases.model import Model
from scripts.train.phrases.templates import HELD_OUT


def labels() -> dict[str, list[str]]:
    """Returns the labels by head, as in phrases.json."""
    return {"family": NAMES, **LABELS}


Parsed = tuple[str, frozenset[str], frozenset[str], frozenset[str], frozenset[str]]
"""Family, elements, groups, drawings and modes of a question."""


def expected(example: Example) -> list[Parsed]:
    """Returns the questions of an example by its labels."""
    starts = [i for i, b in enumerate(example.begins) if b] + [len(example.words)]
    out = []
    for start, end in zip(starts, starts[1:]):
        names = {h: frozenset(LABELS[h][k] for k in example.heads[h][start:end]) - {"none", "brief"} for h in HEADS}
        out.append((NAMES[example.families[start]], names["element"], names["group"], names["drawing"], names["mode"]))
    return out


def parsed(words: list[str], begins: np.ndarray, heads: Iterable[np.ndarray]) -> list[Parsed]:
    """Returns the questions that the network's outputs mean."""
    found = intents.decode(words, begins, dict(zip(("family", *HEADS), heads)), labels()).intents
    return [
        (a.family, frozenset(a.elements), frozenset(a.groups), frozenset(a.drawings), frozenset(a.modes)) for a in found
    ]


def predict(model: Model, words: list[str]) -> list[Parsed]:
    """Returns the questions that a model finds in a text."""
    with torch.no_grad():
        distinct = np.concatenate([np.zeros((1, intents.WORD_FEATURES), np.int64), intents.feature_rows(words)])
        begins, heads = model(torch.arange(1, len(distinct))[None], torch.from_numpy(distinct))
    return parsed(words, begins[0].float().numpy(), [h[0].float().log_softmax(-1).numpy() for h in heads])


def quick(model: Model, unseen: dict[str, dict[str, list[str]]], count: int = 400) -> dict[str, float]:
    """Returns shares: held-out phrases with the right family first, new texts from known templates parsed completely,
    and refused questions out of scope by part."""
    phrases = [(family, line) for family in NAMES for line in HELD_OUT[family]]
    right = sum([a[0] for a in predict(model, intents.split_words(line))[:1]] == [family] for family, line in phrases)
    draw, maker = random.Random(12345), Maker(unseen["held out"])
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= intents.MAX_WORDS]
    complete = sum(predict(model, e.words) == expected(e) for e in examples)
    figures = {"held_out_phrases": right / len(phrases), "new_texts": complete / len(examples)}
    for part, sets in unseen.items():
        texts = [text for questions in sets.values() for text in questions]
        answers = [predict(model, intents.split_words(t)) for t in draw.sample(texts, min(count, len(texts)))]
        refused = sum(all(family == "beyond" for family, *_ in answer) for answer in answers)
        figures[f"{part.replace(' ', '_')}_refused"] = refused / max(1, len(answers))
    return figures
