"""Writes the trained masked model as an entry of the model repository, after scripts.train.masked.report measured it:

    python -m scripts.train.masked.export --run runs/masked

masked   input_ids int64 [B, L], temperature, noise, gamma float [B, 1], step_size, seed int64 [B, 1] -> token_ids int64 [B, L]

The graph holds the whole unmasking loop. Beside it: vocab.txt, and lengths.txt, the token lengths of ZINC250k's strings with
their counts, from which lengths of new molecules are drawn. Its linear maps are computed in integers
(scripts.train.quantise), with ranges observed on the run's own strings; --float keeps them in fp32.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.train import entry
from scripts.train.entry import Entry, Tensor
from scripts.train.masked import unmask_graph
from scripts.train.masked.model import Shape
from scripts.train.masked.report import load, observed

CARD = """# retort/masked-v1

A bidirectional transformer that fills in masked tokens of SAFE strings (masked diffusion), after GenMol version 2
(arXiv 2501.06158): attachment numbers in angle brackets, pieces in random order, no stereo. {parameters:.1f} M parameters in
fp16 and int8: {layers} layers, width {width}, {heads} heads, learned positions and a learned bias on attention by distance.

## Data
ZINC250k: the 220,010 training molecules of the junction-tree VAE's split, cut at their BRICS bonds. Licence of these weights:
that of this repository. Cite Irwin et al., J. Chem. Inf. Model. 2012, 52, 1757 for ZINC.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {hours:.1f} h on one thread of a shared CPU, seed {seed}; {state}.
Continue with the same command and a larger budget, end with --finish 30:

    python -m scripts.train.masked --data DATA --minutes {minutes:g}

## Figures
De novo, {count:,} samples, one token a round, measured by `python -m scripts.train.masked.report --data DATA`: validity after
dropping pieces that do not read (lenient) and of the whole string (strict), uniqueness, quality (distinct with QED >= 0.6
and SA <= 4, over requested), diversity.

| | lenient | strict | uniqueness | quality | diversity |
|---|---|---|---|---|---|
{rows}
| GenMol version 1, published | 100 % | | 99.7 % | 84.6 % | 0.818 |

## Limits
Drug-like molecules of 10 to about 80 tokens, as in the training data; stereo is not modelled.
"""

ROW = "| {name} | {validity:.1%} | {strict:.1%} | {uniqueness:.1%} | {quality:.1%} | {diversity:.3f} |"


def card(run: Path, shape: Shape, parameters: int) -> str:
    figures = json.loads((run / "figures.json").read_text())
    training, options = figures["training"], figures["training"]["options"]
    rows = [ROW.format(name=f"temperature {f['temperature']:g}, noise {f['noise']:g}, {f['least']} tokens or more", **f) for f in figures["de_novo"]]
    rows.append(ROW.format(name="ZINC250k's own molecules", **figures["zinc250k"]))
    return CARD.format(**vars(shape), rows="\n".join(rows), parameters=parameters / 1e6, count=figures["samples"], samples=training["samples"],
                       steps=training["step"], batch=options["batch"], hours=training["seconds"] / 3600, seed=options["seed"], minutes=options["minutes"], state=entry.state(training))


def described(shape: Shape, created: str) -> Entry:
    settings = tuple(Tensor(name, {1: "FP32", 7: "INT64"}[kind], (1,)) for name, kind in unmask_graph.SETTINGS)
    return Entry(
        "masked", "Fills in the masked tokens of SAFE strings, the whole unmasking loop in one call.", 128,
        (Tensor("input_ids", "INT64", (-1,)), *settings), (Tensor("token_ids", "INT64", (-1,)),),
        {"retort_api": "masked", "model_id": "retort/masked-v1", "owned_by": "retort", "created": created,
         "max_model_len": str(shape.positions), "vocab": "vocab.txt", "lengths": "lengths.txt"})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.masked.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/masked"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--float", action="store_true", help="no integer arithmetic")
    given = parser.parse_args()
    model, _, _ = load(given.run)
    ranges = {} if given.float else observed(model, given.run)
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()))
    files = {name: (given.run / name).read_text() for name in ("vocab.txt", "lengths.txt")}
    unmask_graph.write(model, described(model.shape, entry.created(given.run)).write(given.repository, text, files), ranges)


if __name__ == "__main__":
    main()
