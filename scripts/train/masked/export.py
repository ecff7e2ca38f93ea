"""Writes the trained masked model as an entry of the model repository, after scripts.train.masked.report measured it:

    python -m scripts.train.masked.export --run runs/masked

masked   input_ids int64 [B, L], temperature, noise, gamma float [B, 1], step_size, seed int64 [B, 1] -> token_ids int64 [B, L]

The graph holds the whole unmasking loop. Beside it: vocab.txt, and lengths.txt, the lengths of the training strings in the model's
tokens and in those of the published tokenisation, with the number of strings and of those of quality, from which lengths of new
molecules are drawn. Its linear maps are computed in integers
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
from scripts.train.masked.data import read
from scripts.train.masked.model import Shape
from scripts.train.masked.report import load, observed

MODEL = "retort/masked-v2"
CARD = """# {model_id}

A bidirectional transformer that fills in masked tokens of SAFE strings (masked diffusion), after GenMol (arXiv 2501.06158).
{parameters:.1f} M parameters in fp16 and int8: {layers} layers, width {width}, {heads} heads, learned positions and a learned bias on
attention by distance. {tokens:,} tokens, most of them whole BRICS pieces or large parts of one, so that a molecule is {mean:.1f}
tokens on average, {published:.0f} in the tokenisation of published SAFE models; pieces stand in nested order (the reason, and how to read
it: `scripts/train/masked/safe.py`), with stereo.

A row may begin with `[QUALITY]` in place of `[BOS]`: it asks for a molecule with QED >= 0.6 and SA <= 4; and end with `[LENGTH n]` in
place of `[EOS]`: it asks for one of about n published tokens. The API asks for quality unless a request says `"quality": false`.

## Data
{strings:,} strings, two or three of a molecule: ZINC250k's training part in the junction-tree VAE's split, bioactive molecules, drugs,
natural products and everyday chemicals, weighted so that rare elements and charges count (`scripts/train/masked/broad.py` has the
shares), {good:.0%} of them of quality. Salts and isotopes are left out. The validation files were not used. Sources and licences of the
structures: those of the latent model (`model_repository/latent_encoder/CARD.md`). Licence of these weights: that of this repository.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {hours:.1f} h on one thread of a shared CPU, seed {seed}; {state}.
{history}Continue from these weights, and end with `--finish 10`:

    python -m scripts.train.masked --data DATA --start model_repository/masked --mix broad --name broad --minutes 600
    python -m scripts.train.masked.rejection --run runs/broad      # then go on with --own runs/broad/own.npz

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
A fragment whose pieces are rare in the data is spelled atom by atom, which the model has seen less of. Metals, isotopes and rare charges
have no tokens: the API shows the model a carbon in the place of such an atom of a given fragment, and the model writes none.
"""

ROW = "| {name} | {validity:.1%} | {strict:.1%} | {uniqueness:.1%} | {quality:.1%} | {diversity:.3f} |"


def card(run: Path, shape: Shape, parameters: int, table: np.ndarray) -> str:
    """CARD.md; table: of data.table."""
    figures = json.loads((run / "figures.json").read_text())
    training, options = figures["training"], figures["training"]["options"]
    rows = [ROW.format(name=f"temperature {f['temperature']:g}, noise {f['noise']:g}, quality {'asked for' if f['asked'] else 'not asked for'}", **f)
            for f in figures["de_novo"]]
    rows.append(ROW.format(name="ZINC250k's own molecules", **figures["zinc250k"]))
    history = (run / "history.txt").read_text() if (run / "history.txt").exists() else ""
    strings, good = table[:, 2:].sum(0)
    mean, published = table[:, 2] @ table[:, :2] / strings
    return CARD.format(**vars(shape), model_id=MODEL, rows="\n".join(rows), parameters=parameters / 1e6, count=figures["samples"],
                       samples=training["samples"], steps=training["step"], batch=options["batch"], hours=training["seconds"] / 3600,
                       seed=options["seed"], state=entry.state(training), tokens=shape.vocabulary, mean=mean, published=published,
                       strings=strings, good=good / strings, history=history)


def described(shape: Shape, created: str, worth: float) -> Entry:
    """worth: mask tokens of the published API that a token of the model stands for."""
    settings = tuple(Tensor(name, {1: "FP32", 7: "INT64"}[kind], (1,)) for name, kind in unmask_graph.SETTINGS)
    return Entry(
        "masked", "Fills in the masked tokens of SAFE strings, the whole unmasking loop in one call.", 128,
        (Tensor("input_ids", "INT64", (-1,)), *settings), (Tensor("token_ids", "INT64", (-1,)),),
        {"retort_api": "masked", "model_id": MODEL, "owned_by": "retort", "created": created,
         "max_model_len": str(shape.positions), "mask_worth": f"{worth:.1f}", "vocab": "vocab.txt", "lengths": "lengths.txt"})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.masked.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/masked"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--float", action="store_true", help="no integer arithmetic")
    given = parser.parse_args()
    model, vocabulary, table = load(given.run)
    ranges = {} if given.float else observed(model, given.run)
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()), table)
    files = {name: (given.run / name).read_text() for name in ("vocab.txt", "lengths.txt")}
    worth = broad.worth(read(given.run / "strings.npz").ids, vocabulary)
    unmask_graph.write(model, described(model.shape, entry.created(given.run), worth).write(given.repository, text, files),
                       ranges, structure.table(vocabulary.tokens))


if __name__ == "__main__":
    main()
