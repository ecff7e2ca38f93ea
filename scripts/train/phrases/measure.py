"""Measures an exported network on held-out wordings and, with --data, on new texts and questions out of scope; prints
JSON:

    python -m scripts.train.phrases.measure [--entry model_repository/molecule_reader] [--data DATA]

Needs ONNX Runtime, NumPy and RDKit only.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scripts.served_reader import intents
from scripts.served_reader.intents import IntentParser
from scripts.train import served
from scripts.train.phrases.examples import NAMES, SETS, Example, Maker, out_of_scope, own_questions
from scripts.train.phrases.grammar import HEADS, LABELS
from scripts.train.phrases.templates import HELD_OUT

TEXTS = 2000
"""New texts to measure on."""


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


def list_misread(parser: IntentParser, held_out: dict[str, list[str]] = HELD_OUT) -> tuple[list[str], int]:
    """Returns the held-out wordings that are not parsed as exactly their family, and the number of wordings."""
    phrases = [(family, line) for family in NAMES for line in held_out[family]]
    answers = [[question.family for question in parser.parse(line).intents] for _, line in phrases]
    return [
        f"{line} ({family}, not {', '.join(answer)})"
        for (family, line), answer in zip(phrases, answers)
        if answer != [family]
    ], len(phrases)


def count_refused(parser: IntentParser, sets: dict[str, list[str]]) -> dict[str, list[int]]:
    """Returns by set the number of refused questions, and of all."""
    return {
        name: [sum(all(q.family == "beyond" for q in parser.parse(text).intents) for text in texts), len(texts)]
        for name, texts in sets.items()
    }


def measure(
    parser: IntentParser, data: Path | None, sets: Sequence[str] = SETS, held_out: dict[str, list[str]] = HELD_OUT
) -> dict[str, Any]:
    """Returns the share of held-out wordings with the right family and, with data, the share of new texts that are
    parsed completely, and the refused questions of each set."""
    wrong, phrases = list_misread(parser, held_out)
    found: dict[str, Any] = {"held_out_phrases": round(1 - len(wrong) / phrases, 4), "phrases": phrases}
    if data:
        unseen = {part: out_of_scope(data, part, sets) for part in ("held out", "outside")}
        found |= measure_new_texts(parser, unseen["held out"])
        found["refused"] = {part: count_refused(parser, texts) for part, texts in unseen.items()}
    return found


def measure_new_texts(parser: IntentParser, other: dict[str, list[str]]) -> dict[str, float]:
    """Returns the share of new texts from the shipped templates that are parsed completely."""
    draw, maker = random.Random(999), Maker(other)
    examples = [e for e in (maker.make(draw) for _ in range(TEXTS)) if 0 < len(e.words) <= intents.MAX_WORDS]
    right = 0
    for e in examples:
        begins, *heads = parser.session.run(None, {"words": intents.feature_rows(e.words)})
        right += parsed(e.words, begins, heads) == expected(e)
    return {"new_texts": round(right / len(examples), 4), "texts": len(examples)}


def main() -> None:
    arguments = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument(
        "--entry", type=Path, default=served.ENTRY, help="the reader's entry (default: the shipped one)"
    )
    arguments.add_argument("--data", type=Path, help="data folder, for new texts and questions out of scope")
    arguments.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="sets that the network was trained on")
    arguments.add_argument("--questions", metavar="FILE", help="own questions of the data folder")
    given = arguments.parse_args()
    if given.questions and not given.data:
        arguments.error("--questions needs --data")
    held_out = own_questions(given.data, given.questions).held_out
    print(json.dumps(measure(IntentParser(given.entry / "1"), given.data, given.sets, held_out)))


if __name__ == "__main__":
    main()
