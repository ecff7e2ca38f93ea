"""Writes the trained latent model as entries of the model repository, after scripts.train.latent.report measured it:

    python -m scripts.train.latent.export --run runs/latent --data DATA

latent_encoder        input_ids, attention_mask int64 [B, L]                 -> hiddens float [B, 1, 512]
latent_decoder        hiddens float [B, 1, 512], temperature float [B, 1],
                      seed int64 [B, 1]                                      -> token_ids int64 [B, T], score float [B, 1]
latent_decoder_beam   hiddens float [B, 1, 512], beam_size int64 [B, 1]      -> token_ids int64 [B, K, T], score float [B, K]

Each decoder graph holds the whole loop with its key/value cache and ends when every row has ended. The linear maps inside the
loop are computed in integers (scripts.train.quantise), with ranges observed on training molecules; --float keeps them in fp32.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import torch

from scripts.train import entry, quantise
from scripts.train.entry import Entry, Tensor
from scripts.train.graph import Ranges
from scripts.train.latent import decoder_graph, decoding, encoder_graph, evaluation
from scripts.train.latent.model import NOISE, Model, Shape
from scripts.train.latent.report import load
from scripts.train.latent.tokens import BOS, Vocabulary, read_molecules

CARD = """# retort/latent-v2

A latent-variable model of SMILES: one vector of {latent} numbers a molecule (K = 1), root mean square 1, and back.
{parameters:.1f} M parameters, in fp16 and (inside the decoder's loop) int8: encoder {encoder_layers} layers, decoder {decoder_layers} layers, width {width}, {slots} memory vectors
made from the latent. {vocabulary} tokens: the simple ones (atoms, bonds, branches, ring numbers) and 300 frequent runs of them, so that a
molecule has 11 tokens on average. Trained as an autoencoder under Gaussian noise of random size on the latent (standard deviation
exp(lv / 2), lv uniform in [{lowest:g}, {highest:g}] per molecule), the recipe of MolMIM (arXiv 2208.09016) with asymmetric mutual information
machines (arXiv 2003.02645); at the end also on texts of its own that are molecules (scripts/train/latent/rejection.py). Decoding is greedy.

## Data
ZINC250k, canonical SMILES with stereo: 220,010 training molecules, in the split of the junction-tree VAE; the 5,000 test
molecules of that split, among them the starting points of the optimisation benchmarks, were not used. Licence of these
weights: that of this repository. Cite Irwin et al., J. Chem. Inf. Model. 2012, 52, 1757 for ZINC.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {minutes:.0f} minutes on one core of a shared CPU, seed {seed}; {state}.
{history}Train on from these weights, and end with texts of the model's own (or on a GPU from nothing: --preset gpu):

    python -m scripts.train.latent --data DATA --start model_repository --name longer --minutes 600
    python -m scripts.train.latent.rejection --data DATA --run runs/longer
    python -m scripts.train.latent --data DATA --start model_repository --name longer --minutes 600 --own runs/longer/own.pt --finish 30

## Figures
Measured by `python -m scripts.train.latent.report --data DATA` on {molecules:,} molecules of zinc250k_valid, in floating point;
[EVALUATION.md](../latent_encoder/EVALUATION.md) has the figures through the API, searches included.

| reconstruction | exact | ignoring chirality | valid |
|---|---|---|---|
| this model | {exact:.2%} | {exact_no_stereo:.2%} | {valid:.2%} |

Samples around {seeds} validation molecules, 5 each: z plus normal noise of the given standard deviation, greedy decoding. `scaled_radius` 1
of the API is the standard deviation {radius:g}.

| noise | validity | uniqueness | non-identical |
|---|---|---|---|
{radii}

## Limits
Drug-like molecules of up to about 72 atoms and signs, as in the training data; longer ones are read but seldom come back. Simple tokens
that vocab.txt lacks are unknown to the model.
"""


def card(run: Path, shape: Shape, parameters: int) -> str:
    figures = json.loads((run / "figures.json").read_text())
    training, options = figures["training"], figures["training"]["options"]
    radii = "\n".join(f"| {r} | {f['validity']:.1%} | {f['uniqueness']:.1%} | {f['non_identical']:.1%} |" for r, f in figures["radius"].items())
    space = json.loads((run / "latent.json").read_text())
    history = (run / "history.txt").read_text() if (run / "history.txt").exists() else ""
    return CARD.format(
        **vars(shape), **figures["reconstruction"], radii=radii, parameters=parameters / 1e6, molecules=figures["molecules"], seeds=figures["seeds"],
        samples=training["samples"], steps=training["step"], batch=options["batch"], minutes=training["seconds"] / 60, lowest=NOISE[0], highest=NOISE[1],
        radius=space["radius"], seed=options["seed"], state=entry.state(training), history=history)


def entries(shape: Shape, created: str) -> tuple[Entry, Entry, Entry]:
    """Encoder, decoder, beam decoder."""
    hiddens = Tensor("hiddens", "FP32", (1, shape.latent))

    def one(name: str, role: str, comment: str, batch: int, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Entry:
        return Entry(name, comment, batch, inputs, outputs, {
            "retort_api": "latent", "role": role, "model_id": "retort/latent-v2", "owned_by": "retort", "created": created,
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


def observed(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> Ranges:
    """Input ranges of the decoder's linear maps: its own tokens at every level of latent noise up to the training's largest."""

    def run() -> None:
        torch.manual_seed(0)
        for start in range(0, len(molecules), 250):
            part = molecules[start : start + 250]
            z = evaluation.encode(model, vocabulary, part)
            z = z + 4 * torch.rand(len(z), 1) * torch.randn_like(z)
            ids = decoding.cached(model.decoder, z)
            model.decoder(torch.cat([torch.full((len(z), 1), BOS), ids[:, :-1]], 1), z)

    return quantise.observe(decoder_graph.integer_layers(model.decoder), run)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--float", action="store_true", help="no integer arithmetic")
    given = parser.parse_args()
    model, words = load(given.run)
    ranges = {} if given.float else observed(model, words, read_molecules(Path(given.data) / "zinc250k_train.smi.gz")[:1000])
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()))
    vocabulary = {"vocab.txt": (given.run / "vocab.txt").read_text()}
    encoder, decoder, beam = entries(model.shape, entry.created(given.run))
    encoder_graph.write(model.encoder, encoder.write(given.repository, text, {**vocabulary, "latent.json": (given.run / "latent.json").read_text()}))
    decoder_graph.write(model.decoder, decoder.write(given.repository, text, vocabulary), ranges)
    decoder_graph.write_beam(model.decoder, beam.write(given.repository, text, vocabulary), ranges)


if __name__ == "__main__":
    main()
