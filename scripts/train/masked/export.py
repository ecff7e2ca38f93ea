"""Exports the trained masked model as a model repository entry, after scripts.train.masked.report measured it:

    python -m scripts.train.masked.export --run runs/masked --id retort/masked-vN

masked   input_ids int64 [B, L]; temperature, noise, gamma float [B, 1]; step_size, seed int64 [B, 1]
         -> token_ids int64 [B, L]

The weights and config.json are written first, and the graph is made of them (scripts.train.masked.weights). It contains
the complete unmasking loop. The entry also has vocab.txt and lengths.txt, from which lengths of new molecules are drawn
(the columns of data.count_lengths). Linear maps are computed in fp32 with weights in fp16; --int8 computes them in
integers (scripts.train.quantise), with ranges observed on the strings of the run. The sections of scripts.train.card
and scripts.lint.cards go into CARD.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from scripts.lint import cards
from scripts.train import card, entry, quantise
from scripts.train.entry import Entry, Tensor
from scripts.train.masked import broad, unmask_graph, weights
from scripts.train.masked.data import read
from scripts.train.masked.model import Shape
from scripts.train.masked.report import load, observe_ranges

MODEL = """{parameters:.1f} M parameters: {layers} layers, width {width}, {heads} heads. {tokens:,} tokens; a
training string has {mean:.1f} tokens on average ({published:.0f} in the tokenisation of published SAFE models).
{strings:,} training strings, {good:.0%} of them with quality."""
FIGURES = """{count:,} de novo molecules, one token unmasked per step, each row sampled once, measured by
`python -m scripts.train.masked.report --data DATA{int8}`. *lenient*: share of valid molecules, after invalid fragments
are dropped; *strict*: share of strings that are one valid molecule as written; *uniqueness*: distinct over valid;
*quality*: distinct with QED >= 0.6 and SA <= 4, over requested; *diversity*: mean Tanimoto distance.

| | lenient | strict | uniqueness | quality | diversity |
|---|---|---|---|---|---|
{rows}
| GenMol version 1, published | 100 % | | 99.7 % | 84.6 % | 0.818 |"""

ROW = "| {name} | {validity:.1%} | {strict:.1%} | {uniqueness:.1%} | {quality:.1%} | {diversity:.3f} |"


def card_sections(figures: dict[str, Any], shape: Shape, parameters: int, length_counts: np.ndarray) -> tuple[str, str]:
    """Returns the sections card-model and card-figures. length_counts: see data.count_lengths."""
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
    return model, FIGURES.format(rows="\n".join(rows), count=figures["samples"], int8=" --int8" * figures["int8"])


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


def write_run(run: Path, repository: Path, name: str, model_id: str, is_int8: bool) -> None:
    """Writes an entry."""
    figures = card.read_figures(run)
    if figures.get("int8") != is_int8:
        raise ValueError(f"{run}: the report measured the graph {'without' if is_int8 else 'with'} --int8")
    model, vocabulary, length_counts = load(run)
    ranges = observe_ranges(model, run) if is_int8 else {}
    files = {file: (run / file).read_text() for file in ("vocab.txt", "lengths.txt")}
    tokens_ratio = broad.published_tokens_per_token(read(run / "strings.npz").ids, vocabulary)
    masked_entry = describe_entry(name, model_id, model.shape, entry.creation_day(run), tokens_ratio)
    parameters = sum(p.numel() for p in model.parameters())
    model_section, figures_section = card_sections(figures, model.shape, parameters, length_counts)
    page = repository / name / cards.CARD
    card.write(page, "fill-mask", model_section, run, figures["training"], figures_section)
    folder = masked_entry.write(repository, files)
    weights.write(folder, model, ranges)
    weights.write_graph(folder)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.masked.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    entry.add_arguments(parser, "masked", Path("runs/masked"))
    parser.add_argument("--int8", action="store_true", help=quantise.HELP)
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    with entry.report_errors(given.run), entry.draft(given.repository, [given.entry], given.run) as repository:
        write_run(given.run, repository, given.entry, given.id, given.int8)
        cards.write(repository, [given.entry])


if __name__ == "__main__":
    main()
