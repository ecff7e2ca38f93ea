"""Measures the served network on held-out wordings and, with --data, on questions out of scope; prints JSON:

    python -m scripts.train.phrases.measure [--folder model_repository/molecule_reader/1] [--data DATA]

Needs ONNX Runtime, NumPy and RDKit only.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.served_reader.intents import IntentParser
from scripts.train import served
from scripts.train.phrases.examples import NAMES, out_of_scope
from scripts.train.phrases.templates import HELD_OUT


def list_misread(parser: IntentParser) -> tuple[list[str], int]:
    """Returns the held-out wordings that are not parsed as exactly their family, and the number of all."""
    phrases = [(family, line) for family in NAMES for line in HELD_OUT[family]]
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


def measure(parser: IntentParser, data: Path | None) -> dict[str, object]:
    """Returns the share of held-out wordings with the right family and, with data, the refused questions of each
    set."""
    wrong, phrases = list_misread(parser)
    found: dict[str, object] = {"held_out_phrases": round(1 - len(wrong) / phrases, 4), "phrases": phrases}
    if data:
        found["refused"] = {part: count_refused(parser, out_of_scope(data, part)) for part in ("held out", "outside")}
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    arguments.add_argument(
        "--folder", type=Path, default=served.VERSION, help="folder of phrases.onnx and phrases.json"
    )
    arguments.add_argument("--data", type=Path, help="data folder, for questions out of scope")
    given = arguments.parse_args()
    print(json.dumps(measure(IntentParser(given.folder), given.data)))


if __name__ == "__main__":
    main()
