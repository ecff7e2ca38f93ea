"""Measures an exported network on the held-out wordings and, with --data, on questions out of scope; prints JSON:

    python -m scripts.train.phrases.measure [--folder model_repository/molecule_reader/1] [--data DATA]

It needs only onnxruntime and numpy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.served_reader.intents import IntentParser
from scripts.train import served
from scripts.train.phrases.examples import NAMES, out_of_scope
from scripts.train.phrases.templates import HELD


def list_misread(network: IntentParser) -> tuple[list[str], int]:
    """The held-out wordings that are not read as exactly their family, and the number of all held-out wordings."""
    phrases = [(family, line) for family in NAMES for line in HELD[family]]
    answers = [[question.family for question in network.parse(line).intents] for _, line in phrases]
    return [
        f"{line} ({family}, not {', '.join(answer)})"
        for (family, line), answer in zip(phrases, answers)
        if answer != [family]
    ], len(phrases)


def count_refused(network: IntentParser, sets: dict[str, list[str]]) -> dict[str, list[int]]:
    """By set: the number of refused questions, and of all."""
    return {
        name: [sum(all(q.family == "beyond" for q in network.parse(text).intents) for text in texts), len(texts)]
        for name, texts in sets.items()
    }


def measure(network: IntentParser, data: Path | None) -> dict[str, object]:
    """The share of held-out wordings that are understood and, with data, the refused questions of each set."""
    wrong, phrases = list_misread(network)
    found: dict[str, object] = {"held_out_phrases": round(1 - len(wrong) / phrases, 4), "phrases": phrases}
    if data:
        found["refused"] = {part: count_refused(network, out_of_scope(data, part)) for part in ("held out", "outside")}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases.measure",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folder", type=Path, default=served.VERSION, help="folder of phrases.onnx and phrases.json")
    parser.add_argument("--data", type=Path, help="data folder, for questions out of scope")
    given = parser.parse_args()
    print(json.dumps(measure(IntentParser(given.folder), given.data)))


if __name__ == "__main__":
    main()
