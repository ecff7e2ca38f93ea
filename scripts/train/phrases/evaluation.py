"""Measures how many held-out questions a model in training parses correctly, with the code that serves."""

from __future__ import annotations

import random

import numpy as np
import torch

from scripts.served_reader import intents
from scripts.train.phrases.examples import NAMES, Maker
from scripts.train.phrases.measure import Parsed, expected, parsed
from scripts.train.phrases.model import Model
from scripts.train.phrases.templates import HELD_OUT


def predict(model: Model, words: list[str]) -> list[Parsed]:
    """Returns the questions that a model finds in a text."""
    with torch.no_grad():
        distinct = np.concatenate([np.zeros((1, intents.WORD_FEATURES), np.int64), intents.feature_rows(words)])
        begins, heads = model(torch.arange(1, len(distinct))[None], torch.from_numpy(distinct))
    return parsed(words, begins[0].float().numpy(), [h[0].float().log_softmax(-1).numpy() for h in heads])


def quick(
    model: Model,
    unseen: dict[str, dict[str, list[str]]],
    held_out: dict[str, list[str]] = HELD_OUT,
    count: int = 400,
) -> dict[str, float]:
    """Returns shares: held-out phrases with the right family first, new texts from known templates parsed completely,
    and refused questions out of scope by part."""
    phrases = [(family, line) for family in NAMES for line in held_out[family]]
    right = sum([a[0] for a in predict(model, intents.split_words(line))[:1]] == [family] for family, line in phrases)
    draw, maker = random.Random(12345), Maker(unseen["held out"])
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= intents.MAX_WORDS]
    complete = sum(predict(model, e.words) == expected(e) for e in examples)
    figures = {"held_out_phrases": right / len(phrases), "new_texts": complete / len(examples)}
    for part, sets in unseen.items():
        texts = [text for questions in sets.values() for text in questions]
        if not texts:
            continue
        answers = [predict(model, intents.split_words(t)) for t in draw.sample(texts, min(count, len(texts)))]
        refused = sum(all(family == "beyond" for family, *_ in answer) for answer in answers)
        figures[f"{part.replace(' ', '_')}_refused"] = refused / len(answers)
    return figures
