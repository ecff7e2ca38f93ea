"""Writes the trained network beside the reader, and measures it as it will serve:

    python -m scripts.train.phrases.export --run runs/phrases --data DATA

Writes phrases.onnx (weights in fp16, the table of word features in int8) and phrases.json (labels, and the figures) into model_repository/molecule_reader/1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from pathlib import Path

from scripts.train import checkpoint
from scripts.train.phrases import evaluation, serving
from scripts.train.phrases.examples import NAMES, Maker, elsewhere
from scripts.train.phrases.model import Model, graph
from scripts.train.phrases.templates import HELD


def figures(network: serving.Phrases, other: dict[str, list[str]], count: int) -> tuple[dict[str, float], list[str]]:
    """Shares of right answers through the exported graph, and the held-out phrases that go wrong."""
    def families(text: str) -> list[str]:
        return [asked.family for asked in network.understand(text).asked]

    phrases = [(family, line) for family in NAMES for line in HELD[family]]
    wrong = [f"{line} ({family}, not {', '.join(families(line))})" for family, line in phrases if families(line) != [family]]
    draw, maker = random.Random(999), Maker(other)
    examples = [e for e in (maker.make(draw) for _ in range(count)) if 0 < len(e.words) <= serving.MOST_WORDS]
    whole = 0
    for e in examples:
        begins, *heads = network.session.run(None, {"words": serving.rows(e.words)})
        whole += evaluation.understood(e.words, begins, heads) == evaluation.wanted(e)
    refused = {name: [all(f == "beyond" for f in families(text)) for text in texts] for name, texts in other.items()}
    every = [one for corpus in refused.values() for one in corpus]
    return {"held_out_phrases": round(1 - len(wrong) / len(phrases), 4), "phrases": len(phrases), "new_texts": round(whole / len(examples), 4),
            "texts": len(examples), "other_questions_refused": round(sum(every) / len(every), 4), "other_questions": len(every),
            "refused_by_corpus": {name: [sum(corpus), len(corpus)] for name, corpus in refused.items()}}, wrong


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.phrases.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/phrases"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--texts", type=int, default=2000, help="new texts to measure on")
    given = parser.parse_args()
    model = Model(len(NAMES))
    model.load_state_dict(checkpoint.load(given.run / "weights.pt"))
    graph(model.eval()).save(serving.ENTRY / "phrases.onnx", "phrases")
    labels = {**evaluation.labels(), "figures": {}}
    (serving.ENTRY / "phrases.json").write_text(json.dumps(labels, indent=1) + "\n")
    measured, wrong = figures(serving.Phrases(serving.ENTRY), elsewhere(Path(given.data), held=True), given.texts)
    measured["samples"] = checkpoint.load(given.run / "checkpoint.pt")["samples"]
    (serving.ENTRY / "phrases.json").write_text(json.dumps({**labels, "figures": measured}, indent=1) + "\n")
    print("\n".join(wrong))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
