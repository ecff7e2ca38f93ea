"""Writes the trained latent model as entries of the model repository, after scripts.train.latent.report measured it:

    python -m scripts.train.latent.export --run runs/latent

latent_encoder        input_ids, attention_mask int64 [B, L]                 -> hiddens float [B, 1, 512], embedding float [B, 512]
latent_decoder        hiddens float [B, 1, 512], temperature float [B, 1],
                      seed int64 [B, 1]                                      -> token_ids int64 [B, T], score float [B, 1]
latent_decoder_beam   hiddens float [B, 1, 512], beam_size int64 [B, 1]      -> token_ids int64 [B, K, T], score float [B, K]

Each decoder graph holds the whole loop with its key/value cache and ends when every row has ended. The linear maps inside the
loop are computed in integers (scripts.train.quantise), with ranges observed on training molecules; --float keeps them in fp32. The
hiddens of the entries are the model's numbers divided by the report's --unit.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from scripts.train import checkpoint, entry, quantise
from scripts.train.entry import Entry, Tensor
from scripts.train.graph import Ranges
from scripts.train.latent import decoder_graph, decoding, encoder_graph, evaluation
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import Model, Shape, Similarity
from scripts.train.latent.report import load, trained_on
from scripts.train.latent.tokens import BOS, SPECIALS, Vocabulary, split

CARD = """# {model_id}

A latent-variable model of SMILES: one vector of {latent} numbers a molecule (K = 1), and back. {parameters:.1f} M parameters, in fp16
and (inside the decoder's loop) int8: encoder {encoder_layers} layers, decoder {decoder_layers} layers, width {width}, {slots} memory vectors made from the
latent. {vocabulary:,} tokens: {simple} simple ones (atoms, bonds, branches, ring numbers) and {runs} frequent runs of them, so that a
molecule has {tokens:.0f} tokens on average. Trained as an autoencoder under Gaussian noise of random size on the latent, the recipe of MolMIM
(arXiv 2208.09016) with asymmetric mutual information machines (arXiv 2003.02645). Decoding is greedy. The encoder has a second
output for comparing molecules, whose cosine was trained to be the Tanimoto similarity of Morgan fingerprints (radius 2).

The code lies on a sphere: its root mean square is 1 inside the model and {rms:.3f} in the entries' tensors, which are scaled so that normal
noise of standard deviation 1 on them, the API's `scaled_radius` 1, is a useful step from a molecule: noise of {unit:g} on the code.

## Data
{rows:,} rows a pass, mixed by weight from ZINC250k's training part, bioactive and everyday molecules, natural products, salts
and mixtures, molecules with isotopes and salts with other counter-ions (`scripts/train/latent/corpus.py` and `variants.py`).
Canonical SMILES with stereo. The validation parts and the starting points of the optimisation benchmarks were not used.
Structures: ZINC250k in the split of the junction-tree VAE (Irwin et al., J. Chem. Inf. Model. 2012, 52, 1757); ChEMBL (CC BY-SA
3.0), PubChem (public domain), MoleculeNet, LOTUS, COCONUT, UNPD, USPTO, ChEBI-20, MassBank and others, through public GitHub
repositories. Licence of these weights: that of this repository.

## Training
{samples:,} samples in {steps:,} steps of {batch}, {minutes:.0f} minutes on one core of a shared CPU, seed {seed}; {state}.
{history}Train on from these weights:

    python -m scripts.train.latent --data DATA --start model_repository --merges 0 --name longer --minutes 600 --lowest -0.5 --highest 2.6
    python -m scripts.train.latent.rejection --run runs/longer --minutes 8
    python -m scripts.train.latent.similarity --run runs/longer
    python -m scripts.train.latent --data DATA --start runs/longer --merges 0 --name final --own runs/longer/own.pt --hold-encoder \\
        --minutes 40 --decay 0.7 --lowest -0.5 --highest 2.6

## Figures
Measured by `python -m scripts.train.latent.report --data DATA` in floating point; [EVALUATION.md](../latent_encoder/EVALUATION.md) has the
figures through the API, searches included.

| reconstruction | molecules | exact | ignoring chirality | valid |
|---|---|---|---|---|
{sets}

Samples around {seeds} molecules of each set, 5 each: the hidden state plus normal noise of this standard deviation, greedy decoding.

| set | noise | validity | uniqueness | non-identical |
|---|---|---|---|---|
{radii}

## Limits
The {slots} memory vectors hold about a token each, so molecules of more than {slots} tokens come back less often (large natural products,
peptides, sugars); `--slots` adds memory vectors to trained weights, which are learned quickly. Far from a molecule some texts are no
molecules; salts and mixtures were in the training data, and a text far from a molecule may have a counter-ion that its seed has not.
Simple tokens that vocab.txt lacks are unknown to the model.
"""

ROW = "| {name} | {molecules:,} | {exact:.2%} | {exact_no_stereo:.2%} | {valid:.2%} |"
AROUND = "| {name} | {radius} | {validity:.1%} | {uniqueness:.1%} | {non_identical:.1%} |"
MODEL = "retort/latent-v4"


def card(run: Path, shape: Shape, parameters: int, vocabulary: Vocabulary) -> str:
    """CARD.md out of what the report wrote."""
    figures = json.loads((run / "figures.json").read_text())
    training, options, sets = figures["training"], figures["training"]["options"], figures["sets"]
    simple = sum(len(split(token)) == 1 for token in vocabulary.tokens[len(SPECIALS) :])
    rows = Corpus.load(run / "corpus.npz")
    history = (run / "history.txt").read_text() if (run / "history.txt").exists() else ""
    return CARD.format(
        **vars(shape), model_id=MODEL, parameters=parameters / 1e6, simple=simple, runs=len(vocabulary) - len(SPECIALS) - simple,
        tokens=rows.lengths().mean(), rows=len(rows), unit=figures["unit"], rms=1 / figures["unit"], seeds=min(f["seeds"] for f in sets.values()),
        sets="\n".join(ROW.format(name=name, molecules=f["molecules"], **f["reconstruction"]) for name, f in sets.items()),
        radii="\n".join(AROUND.format(name=name, radius=radius, **around) for name, f in sets.items() for radius, around in f["radius"].items()),
        samples=training["samples"], steps=training["step"], batch=options["batch"], minutes=training["seconds"] / 60,
        seed=options["seed"], state=entry.state(training), history=history)


def entries(shape: Shape, created: str, similarity: bool) -> tuple[Entry, Entry, Entry]:
    """Encoder, decoder, beam decoder; similarity: whether the encoder has the output embedding."""
    hiddens = Tensor("hiddens", "FP32", (1, shape.latent))
    encoded = (hiddens, Tensor("embedding", "FP32", (shape.latent,))) if similarity else (hiddens,)

    def one(name: str, role: str, comment: str, batch: int, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Entry:
        return Entry(name, comment, batch, inputs, outputs, {
            "retort_api": "latent", "role": role, "model_id": MODEL, "owned_by": "retort", "created": created,
            "latent_dim": str(shape.latent), "max_model_len": str(shape.positions), "vocab": "vocab.txt"})

    return (
        one("latent_encoder", "encoder", "SMILES tokens to one latent vector.", 256,
            (Tensor("input_ids", "INT64", (-1,)), Tensor("attention_mask", "INT64", (-1,))), encoded),
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


def similarity(run: Path, shape: Shape) -> Similarity | None:
    """The head that scripts.train.latent.similarity trained on this run's encoder, if it did."""
    file = run / "similarity.pt"
    if not file.exists():
        return None
    head = Similarity(shape.width, shape.latent)
    head.load_state_dict(checkpoint.load(file))
    return head.eval()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run")
    parser.add_argument("--repository", type=Path, default=Path("model_repository"), help="the model repository")
    parser.add_argument("--float", action="store_true", help="no integer arithmetic")
    given = parser.parse_args()
    model, words = load(given.run)
    unit = json.loads((given.run / "figures.json").read_text())["unit"]
    ranges = {} if given.float else observed(model, words, trained_on(given.run, words, 1000))
    text = card(given.run, model.shape, sum(p.numel() for p in model.parameters()), words)
    vocabulary = {"vocab.txt": (given.run / "vocab.txt").read_text()}
    head = similarity(given.run, model.shape)
    encoder, decoder, beam = entries(model.shape, entry.created(given.run), head is not None)
    space = {**vocabulary, "latent.json": (given.run / "latent.json").read_text()}
    encoder_graph.write(model.encoder, encoder.write(given.repository, text, space), unit, head)
    decoder_graph.write(model.decoder, decoder.write(given.repository, text, vocabulary), ranges, unit)
    decoder_graph.write_beam(model.decoder, beam.write(given.repository, text, vocabulary), ranges, unit)


if __name__ == "__main__":
    main()
