"""Exports the trained masked model as a model repository entry, after scripts.train.masked.report measured it:

    python -m scripts.train.masked.export --run runs/masked --id retort/masked-vN

masked   input_ids int64 [B, L]; temperature, noise, gamma float [B, 1]; step_size, seed int64 [B, 1]
         -> token_ids int64 [B, L]

The weights and config.json are written first, and the graph is made of them (scripts.train.masked.weights). It contains
the complete unmasking loop. The entry also has vocab.txt and lengths.txt, from which lengths of new molecules are drawn
(the columns of data.count_lengths). Linear maps are computed in integers (scripts.train.quantise) with ranges observed
on the strings of the run; --float keeps them in fp32. The sections of scripts.train.card and scripts.lint.cards go into
CARD.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from scripts.lint import cards
from scripts.train import card, entry
from scripts.train.entry import Entry, Tensor
from scripts.train.masked import broad, unmask_graph, weights
from scripts.train.masked.data import read
from scripts.train.masked.model import Shape
from scripts.train.masked.report import load, observe_ranges

MODEL = """{parameters:.1f} M parameters: {layers} layers, width {width}, {heads} heads. {tokens:,} tokens; a
training string has {mean:.1f} tokens on average ({published:.0f} in the tokenisation of published SAFE models).
{strings:,} training strings, {good:.0%} of them with quality."""
FIGURES = """{count:,} de novo molecules, one token unmasked per step, each row sampled once, measured by
`python -m scripts.train.masked.report --data DATA`. *lenient*: share of valid molecules, after invalid fragments are
dropped; *strict*: share of strings that are one valid molecule as written; *uniqueness*: distinct over valid;
*quality*: distinct with QED >= 0.6 and SA <= 4, over requested; *diversity*: mean Tanimoto distance.

| | lenient | strict | uniqueness | quality | diversity |
|---|---|---|---|---|---|
{rows}
| GenMol version 1, published | 100 % | | 99.7 % | 84.6 % | 0.818 |"""

ROW = "| {name} | {validity:.1%} | {strict:.1%} | {uniqueness:.1%} | {quality:.1%} | {diversity:.3f} |"


def card_sections(run: Path, shape: Shape, parameters: int, length_counts: np.ndarray) -> tuple[str, str]:
    """Returns the sections card-model and card-figures; length_counts: from data.count_lengths."""
    figures = json.loads((run / "figures.json").read_text())
    rows = [
        ROW.format(
            name=f"temperature {f['temperature']:g}, noise {f['noise']:g}, "
            f"quality {'requested' if f['asked'] else 'not requested'}",
            **f,
        )
        for f in figures["de_novo"]
    ]
    rows.append(ROW.format(name=f"molecules of {figures['held_out']['file']}", **figures["held_out"]))
    strings, good = length_counts[:, 2:].sum(0)
    mean, published = length_counts[:, 2] @ length_counts[:, :2] / strings
    model = MODEL.format(
        **vars(shape),
        parameters=parameters / 1e6,
        tokens=shape.vocabulary,
        mean=mean,
        published=published,
        strings=strings,
        good=good / strings,
    )
    return model, FIGURES.format(rows="\n".join(rows), count=figures["samples"])


def describe_entry(name: str, model_id: str, shape: Shape, created: str, published_tokens_per_token: float) -> Entry:
    settings = tuple(Tensor(setting, {1: "FP32", 7: "INT64"}[kind], (1,)) for setting, kind in unmask_graph.SETTINGS)
    return Entry(
        name,
        "Fills in the masked tokens of SAFE strings, the whole unmasking loop in one call.",
        128,
        (Tensor("input_ids", "INT64", (-1,)), *settings),
        (Tensor("token_ids", "INT64", (-1,)),),
        {
            "retort_api": "masked",
            "model_id": model_id,
            "owned_by": "retort",
            "created": created,
            "max_model_len": str(shape.positions),
            "mask_worth": f"{published_tokens_per_token:.1f}",
            "vocab": "vocab.txt",
            "lengths": "lengths.txt",
        },
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.add_arguments(parser, "masked", Path("runs/masked"))
    parser.add_argument("--float", action="store_true", help="keep linear maps in fp32")
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    model, vocabulary, length_counts = load(given.run)
    ranges = {} if given.float else observe_ranges(model, given.run)
    files = {name: (given.run / name).read_text() for name in ("vocab.txt", "lengths.txt")}
    tokens_ratio = broad.published_tokens_per_token(read(given.run / "strings.npz").ids, vocabulary)
    masked_entry = describe_entry(given.entry, given.id, model.shape, entry.creation_day(given.run), tokens_ratio)
    model_section, figures_section = card_sections(
        given.run, model.shape, sum(p.numel() for p in model.parameters()), length_counts
    )
    training = json.loads((given.run / "figures.json").read_text())["training"]
    page = given.repository / masked_entry.name / "CARD.md"
    card.write(page, "fill-mask", model_section, given.run, training, figures_section)
    folder = masked_entry.write(given.repository, files)
    weights.write(folder, model, ranges)
    weights.write_graph(folder)
    cards.write(given.repository, [masked_entry.name])


if __name__ == "__main__":
    main()
