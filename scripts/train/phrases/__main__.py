"""Trains the network that parses questions about drawings, in twenty minutes on one core:

    python -m scripts.train.phrases --data DATA

reads questions out of scope from the open sets of DATA/retrieval, makes the texts about molecules from templates.py,
and writes runs/phrases/. The same command resumes the run.

--questions FILE adds own wordings, and own questions out of scope, in the form of templates/questions.txt:

    == count_rings
    how many cycles [are|do you see] in {M}
    == beyond
    who won the [chess|tennis] match
    --
    when does the shop open

The lines after -- are held out. `--sets` without a name omits the open sets. With --start
model_repository/molecule_reader training starts from the served weights.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import torch

from scripts.served_reader import intents
from scripts.train import provenance, reader, training
from scripts.train.phrases import evaluation
from scripts.train.phrases.examples import (
    NAMES,
    SETS,
    Example,
    Maker,
    files,
    out_of_scope,
    own_questions,
    sentences,
)
from scripts.train.phrases.grammar import HEADS
from scripts.train.phrases.model import Model, Shape, loss

MAX_WORDS = 36
"""Longer training texts are truncated."""


def tensors(examples: list[Example]) -> dict[str, torch.Tensor]:
    """Returns a batch, padded to the longest text: word indices [B, L], 0 for padding; the buckets of the distinct
    words [words, WORD_FEATURES]; and labels [B, L], -1 for padding."""
    length = min(MAX_WORDS, max(len(e.words) for e in examples))
    indices = {word: i for i, word in enumerate(dict.fromkeys(w for e in examples for w in e.words[:length]), 1)}
    words = np.zeros((len(examples), length), np.int64)
    labels = {name: np.full((len(examples), length), -1, np.int64) for name in ("begins", "family", *HEADS)}
    for i, e in enumerate(examples):
        n = min(length, len(e.words))
        words[i, :n] = [indices[w] for w in e.words[:n]]
        for name, values in (("begins", e.begins), ("family", e.families), *e.heads.items()):
            labels[name][i, :n] = values[:n]
    buckets = np.concatenate([np.zeros((1, intents.WORD_FEATURES), np.int64), intents.feature_rows(list(indices))])
    return {
        "words": torch.from_numpy(words),
        "distinct": torch.from_numpy(buckets),
        **{k: torch.from_numpy(v) for k, v in labels.items()},
    }


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.phrases",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    training.add_arguments(
        parser,
        name="phrases",
        batch=128,
        lr=4e-3,
        warmup=10_000,
        decay=0.5,
        samples=1_000_000,
        precision="fp32",
        threads=1,
    )
    parser.add_argument("--questions", metavar="FILE", help="own questions: a file of the data folder")
    parser.add_argument(
        "--sets",
        nargs="*",
        choices=SETS,
        default=SETS,
        help="sets of DATA/retrieval with questions out of scope (default: all)",
    )
    parser.add_argument(
        "--start", type=Path, help="entry of a model repository to start from (default: random weights)"
    )
    return parser


def start(entry: Path | None) -> Model:
    """Returns the model to train: that of an entry, or a new one. Exits if the entry is wrong."""
    try:
        return reader.load_questions(entry, Shape()) if entry else Model(Shape())
    except ValueError as error:
        raise SystemExit(f"training: --start: {error}") from error


def main() -> None:
    given, options = training.parse(arguments())
    data = Path(options.data)
    own = own_questions(data, given.questions)
    provenance.record(options, [*files(given.sets), *([given.questions] if given.questions else [])])
    torch.manual_seed(options.seed)
    model = start(given.start)
    options.folder.mkdir(parents=True, exist_ok=True)  # The first process may not have made it yet.
    (options.folder / "shape.json").write_text(json.dumps(dataclasses.asdict(model.shape), indent=1) + "\n")
    maker = Maker(out_of_scope(data, "train", given.sets), sentences(data, given.sets), own.train)
    unseen = {part: out_of_scope(data, part, given.sets) for part in ("held out", "outside")}
    print(
        f"{sum(p.numel() for p in model.parameters()) / 1e3:.0f} thousand parameters, {len(NAMES)} families", flush=True
    )

    def batch(step: int) -> dict[str, torch.Tensor]:
        draw = random.Random(options.seed * 1_000_003 + step)
        examples = [maker.make(draw) for _ in range(options.batch)]
        return tensors([e for e in examples if e.words])

    training.run(options, model, batch, loss, lambda network, step: evaluation.quick(network, unseen, own.held_out))


if __name__ == "__main__":
    main()
