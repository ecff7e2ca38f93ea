"""Writes the trained latent model as entries of the model repository, after scripts.train.latent.report measured it:

    python -m scripts.train.latent.export --run runs/latent --repository model_repository

latent_encoder        input_ids, attention_mask int64 [B, L]                 -> hiddens float [B, 1, 512]
latent_decoder        hiddens float [B, 1, 512], temperature float [B, 1],
                      seed int64 [B, 1]                                      -> token_ids int64 [B, T], score float [B, 1]
latent_decoder_beam   hiddens float [B, 1, 512], beam_size int64 [B, 1]      -> token_ids int64 [B, K, T], score float [B, K]

Each decoder graph holds the whole loop with its key/value cache and ends when every row has ended.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from scripts.train import entry
from scripts.train.entry import Entry, Tensor
from scripts.train.latent import decoder_graph, encoder_graph
from scripts.train.latent.model import Shape
from scripts.train.latent.report import load

CARD = """# retort/latent-v1

A latent-variable model of SMILES: one vector of {latent} numbers a molecule (K = 1), root mean square 1, and back.
{parameters:.1f} M parameters in fp16: encoder {encoder_layers} layers, decoder {decoder_layers} layers, width {width}, {slots} memory vectors
made from the latent. Trained as an autoencoder under Gaussian noise of random size on the latent (standard deviation
exp(lv / 2), lv uniform in [-6, 0] per molecule), the recipe of MolMIM (arXiv 2208.09016) with asymmetric mutual information
machines (arXiv 2003.02645). A radius is in units of the largest training noise.

## Data
ZINC250k, canonical SMILES with stereo: 220,010 training molecules, in the split of the junction-tree VAE; the 5,000 test
molecules of that split, among them the starting points of the optimisation benchmarks, were not used. Licence of these
weights: that of this repository. Cite Irwin et al., J. Chem. Inf. Model. 2012, 52, 1757 for ZINC.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {hours:.1f} h on one thread of a shared CPU, seed {seed}. Continue with the same
command and a larger budget:

    python -m scripts.train.latent --data DATA --minutes {minutes:g}

## Figures
Measured by `python -m scripts.train.latent.report --data DATA` on the first {molecules:,} molecules of zinc250k_valid.

| reconstruction | exact | ignoring chirality | valid |
|---|---|---|---|
| this model | {exact:.2%} | {exact_no_stereo:.2%} | {valid:.2%} |

Samples around 200 validation molecules, 5 each: z plus normal noise of the given standard deviation, greedy decoding.

| radius | validity | uniqueness | non-identical |
|---|---|---|---|
{radii}

## Limits
Drug-like molecules of up to about 72 tokens, as in the training data; longer ones are read but seldom come back. Tokens outside
vocab.txt are unknown to the model.
"""


def card(run: Path, shape: Shape, parameters: int) -> str:
    figures = json.loads((run / "figures.json").read_text())
    training, options = figures["training"], figures["training"]["options"]
    radii = "\n".join(f"| {r} | {f['validity']:.1%} | {f['uniqueness']:.1%} | {f['non_identical']:.1%} |" for r, f in figures["radius"].items())
    return CARD.format(
        **vars(shape), **figures["reconstruction"], radii=radii, parameters=parameters / 1e6, molecules=figures["molecules"],
        samples=training["samples"], steps=training["step"], batch=options["batch"], hours=training["seconds"] / 3600,
        seed=options["seed"], minutes=options["minutes"])


def entries(shape: Shape, created: str) -> tuple[Entry, Entry, Entry]:
    """Encoder, decoder, beam decoder."""
    hiddens = Tensor("hiddens", "FP32", (1, shape.latent))

    def one(name: str, role: str, comment: str, batch: int, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Entry:
        return Entry(name, comment, batch, inputs, outputs, {
            "retort_api": "latent", "role": role, "model_id": "retort/latent-v1", "owned_by": "retort", "created": created,
            "latent_dim": str(shape.latent), "max_model_len": str(shape.positions), "vocab": "vocab.txt"})

    return (
        one("latent_encoder", "encoder", "SMILES tokens to one latent vector.", 256,
            (Tensor("input_ids", "INT64", (-1,)), Tensor("attention_mask", "INT64", (-1,))), (hiddens,)),
        one("latent_decoder", "decoder", "Latent vectors to SMILES tokens, the whole loop in one call: greedy (temperature 0) or sampled.", 256,
            (hiddens, Tensor("temperature", "FP32", (1,)), Tensor("seed", "INT64", (1,))),
            (Tensor("token_ids", "INT64", (-1,)), Tensor("score", "FP32", (1,)))),
        one("latent_decoder_beam", "beam_decoder", "Latent vectors to SMILES tokens by beam search, the whole loop in one call.", 64,
            (hiddens, Tensor("beam_size", "INT64", (1,))), (Tensor("token_ids", "INT64", (-1, -1)), Tensor("score", "FP32", (-1,)))),
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    given = parser.parse_args()
    model, _ = load(given.run)
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()))
    vocabulary = {"vocab.txt": (given.run / "vocab.txt").read_text()}
    encoder, decoder, beam = entries(model.shape, entry.created(given.run))
    encoder_graph.write(model.encoder, encoder.write(given.repository, text, {**vocabulary, "latent.json": (given.run / "latent.json").read_text()}))
    decoder_graph.write(model.decoder, decoder.write(given.repository, text, vocabulary))
    decoder_graph.write_beam(model.decoder, beam.write(given.repository, text, vocabulary))


if __name__ == "__main__":
    main()
