"""How many held-out questions are understood, through the very code that serves."""

from __future__ import annotations

import random

import numpy as np
import torch

from scripts.served_reader import intents
from scripts.train.phrases.examples import NAMES, Example, Maker
from scripts.train.phrases.grammar import HEADS, LABELS
from scripts.train.phrases.model import Model
from scripts.train.phrases.templates import HELD


def labels() -> dict[str, list[str]]:
    """What the numbers of the heads mean: phrases.json."""
    return {"family": NAMES, **LABELS}


def wanted(example: Example) -> list[tuple]:
    """The questions of an example as they should be understood."""
    starts = [i for i, b in enumerate(example.begins) if b] + [len(example.words)]
    out = []
    for start, end in zip(starts, starts[1:]):
        names = {h: frozenset(LABELS[h][k] for k in example.heads[h][start:end]) - {"none", "brief"} for h in HEADS}
        out.append((NAMES[example.families[start]], names["element"], names["group"], names["drawing"], names["mode"]))
    return out


def understood(words: list[str], begins, heads) -> list[tuple]:
    asked = intents.decode(words, begins, dict(zip(("family", *HEADS), heads)), labels()).intents
    return [
        (a.family, frozenset(a.elements), frozenset(a.groups), frozenset(a.drawings), frozenset(a.modes)) for a in asked
    ]


def predict(model: Model, words: list[str]) -> list[tuple]:
    with torch.no_grad():
        different = np.concatenate([np.zeros((1, intents.WORD_FEATURES), np.int64), intents.feature_rows(words)])
        begins, heads = model(torch.arange(1, len(different))[None], torch.from_numpy(different))
    return understood(words, begins[0].float().numpy(), [h[0].float().log_softmax(-1).numpy() for h in heads])


def brief(model: Model, unseen: dict[str, dict[str, list[str]]], count: int = 400) -> dict[str, float]:
    """Shares of right answers: the family of held-out phrases, everything in new texts from known templates, and the refusal of
    questions out of scope, by part."""
    phrases = [(family, line) for family in NAMES for line in HELD[family]]
    right = sum([a[0] for a in predict(model, intents.split_words(line))[:1]] == [family] for family, line in phrases)
    draw, maker = random.Random(12345), Maker(unseen["held out"])
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= intents.MAX_WORDS]
    whole = sum(predict(model, e.words) == wanted(e) for e in examples)
    figures = {"held_out_phrases": right / len(phrases), "new_texts": whole / len(examples)}
    for part, sets in unseen.items():
        texts = [text for questions in sets.values() for text in questions]
        answers = [predict(model, intents.split_words(t)) for t in draw.sample(texts, min(count, len(texts)))]
        figures[f"{part.replace(' ', '_')}_refused"] = sum(all(a[0] == "beyond" for a in b) for b in answers) / max(
            1, len(answers)
        )
    return figures
