"""Writes the trained masked model as an entry of the model repository, after scripts.train.masked.report measured it:

    python -m scripts.train.masked.export --run runs/masked

masked   input_ids int64 [B, L], temperature, noise, gamma float [B, 1], step_size, seed int64 [B, 1] -> token_ids int64 [B, L]

The graph holds the whole unmasking loop. Beside it: vocab.txt, and lengths.txt, the lengths of the training strings in the model's
tokens and in those of the published tokenisation, with their counts, from which lengths of new molecules are drawn. Its linear maps are computed in integers
(scripts.train.quantise), with ranges observed on the run's own strings; --float keeps them in fp32.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from scripts.train import entry
from scripts.train.entry import Entry, Tensor
from scripts.train.masked import broad, structure, unmask_graph
from scripts.train.masked.data import WRITTEN, read
from scripts.train.masked.model import Shape
from scripts.train.masked.report import load, observed

CARD = """# retort/masked-v1

A bidirectional transformer that fills in masked tokens of SAFE strings (masked diffusion), after GenMol (arXiv 2501.06158).
{parameters:.1f} M parameters in fp16 and int8: {layers} layers, width {width}, {heads} heads, learned positions and a learned bias on
attention by distance. {tokens:,} tokens, most of them whole BRICS pieces or large parts of one, so that a molecule is {mean:.1f}
tokens on average; pieces stand in nested order (the reason, and how to read it: `scripts/train/masked/safe.py`). No stereo.

## Data
ZINC250k: of the 220,010 training molecules of the junction-tree VAE's split the {molecules:,} with QED >= {qed:g} and SA <= {sa:g}, each
written from {written} of its cut bonds. Since the training molecules are chosen by the two measures of "quality" below, that figure
says less of this model than of one trained on everything; ZINC250k's own row tells by how much. Licence of these weights: that of
this repository. Cite Irwin et al., J. Chem. Inf. Model. 2012, 52, 1757 for ZINC.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {hours:.1f} h on one thread of a shared CPU, seed {seed}; {state}.
Continue from these weights, and end with `--finish 10`:

    python -m scripts.train.masked --data DATA --start model_repository/masked --minutes 600

## Figures
De novo, {count:,} samples, one token a round, each row drawn once and nothing drawn again, measured by
`python -m scripts.train.masked.report --data DATA`: validity after dropping pieces that do not read (lenient) and of the
whole string (strict), uniqueness, quality (distinct with QED >= 0.6 and SA <= 4, over requested), diversity. Through the
API, on all tasks: EVALUATION.md.

| | lenient | strict | uniqueness | quality | diversity |
|---|---|---|---|---|---|
{rows}
| GenMol version 1, published | 100 % | | 99.7 % | 84.6 % | 0.818 |

## Limits
Drug-like molecules; stereo is not modelled. A fragment whose pieces are rare in ZINC is spelled atom by atom, which the
model has seen less of.
"""

ROW = "| {name} | {validity:.1%} | {strict:.1%} | {uniqueness:.1%} | {quality:.1%} | {diversity:.3f} |"


def card(run: Path, shape: Shape, parameters: int, lengths: np.ndarray) -> str:
    figures = json.loads((run / "figures.json").read_text())
    training, options = figures["training"], figures["training"]["options"]
    rows = [ROW.format(name=f"temperature {f['temperature']:g}, noise {f['noise']:g}", **f) for f in figures["de_novo"]]
    rows.append(ROW.format(name="ZINC250k's own molecules", **figures["zinc250k"]))
    return CARD.format(**vars(shape), rows="\n".join(rows), parameters=parameters / 1e6, count=figures["samples"], samples=training["samples"],
                       steps=training["step"], batch=options["batch"], hours=training["seconds"] / 3600, seed=options["seed"], state=entry.state(training),
                       tokens=shape.vocabulary, mean=lengths.mean(), molecules=len(lengths) // WRITTEN, written=WRITTEN,
                       **json.loads((run / "mix.json").read_text()))


def described(shape: Shape, created: str, worth: float) -> Entry:
    """worth: mask tokens of the published API that a token of the model stands for."""
    settings = tuple(Tensor(name, {1: "FP32", 7: "INT64"}[kind], (1,)) for name, kind in unmask_graph.SETTINGS)
    return Entry(
        "masked", "Fills in the masked tokens of SAFE strings, the whole unmasking loop in one call.", 128,
        (Tensor("input_ids", "INT64", (-1,)), *settings), (Tensor("token_ids", "INT64", (-1,)),),
        {"retort_api": "masked", "model_id": "retort/masked-v1", "owned_by": "retort", "created": created,
         "max_model_len": str(shape.positions), "mask_worth": f"{worth:.1f}", "vocab": "vocab.txt", "lengths": "lengths.txt"})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.masked.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/masked"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--float", action="store_true", help="no integer arithmetic")
    given = parser.parse_args()
    model, vocabulary, lengths = load(given.run)
    ranges = {} if given.float else observed(model, given.run)
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()), lengths)
    files = {name: (given.run / name).read_text() for name in ("vocab.txt", "lengths.txt")}
    worth = broad.worth(read(given.run / "strings.npz").ids, vocabulary)
    unmask_graph.write(model, described(model.shape, entry.created(given.run), worth).write(given.repository, text, files),
                       ranges, structure.table(vocabulary.tokens))


if __name__ == "__main__":
    main()
