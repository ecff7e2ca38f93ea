"""Exports the trained latent model as model repository entries, after scripts.train.latent.report measured it:

    python -m scripts.train.latent.export --run runs/latent --id retort/latent-vN

latent_encoder       input_ids, attention_mask int64 [B, L]
                     -> hiddens float [B, 1, 512], embedding float [B, 512]
latent_decoder       hiddens float [B, 1, 512], temperature float [B, 1], seed int64 [B, 1]
                     -> token_ids int64 [B, T], score float [B, 1]
latent_decoder_beam  hiddens float [B, 1, 512], beam_size int64 [B, 1]
                     -> token_ids int64 [B, K, T], score float [B, K]

The weights and config.json are written first, into the entry of the encoder, and the graphs are made of them
(scripts.train.latent.weights). Each decoder graph contains the complete loop with its key/value cache and ends when all
rows have finished. Linear maps are computed in fp32 with weights in fp16; --int8 computes those inside the loop in
integers (scripts.train.quantise), with ranges observed on training molecules. hiddens are the numbers inside the model
divided by the report's --unit. The sections of scripts.train.card and scripts.lint.cards go into the CARD.md of the
encoder, which is the card of all three.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

from scripts.lint import cards
from scripts.train import card, checkpoint, entry, quantise, stored
from scripts.train.entry import Entry, Tensor
from scripts.train.graph import Ranges
from scripts.train.latent import decoder_graph, decoding, evaluation, weights
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import Model, Shape, Similarity
from scripts.train.latent.report import training_molecules
from scripts.train.latent.tokens import BOS, SPECIALS, Vocabulary, split

MODEL = """{parameters:.1f} M parameters: encoder {encoder_layers} layers, decoder {decoder_layers} layers, width
{width}. The decoder attends to {slots} memory vectors, which are computed from the latent vector of {latent} numbers.
{vocabulary:,} tokens: {simple} SMILES tokens (atoms, bonds, branches, ring numbers) and {merges} merges of them; a
molecule of the data has {tokens:.0f} tokens on average. The root mean square of the latent vector is 1 inside the model
and {rms:.3f} in the tensors of the entries: noise of standard deviation 1 on them is noise of {unit:g} inside the
model. An epoch has {rows:,} rows."""
FIGURES = """Measured by `python -m scripts.train.latent.report --data DATA` in FP32, before quantisation.

| reconstruction | molecules | exact | ignoring chirality | valid |
|---|---|---|---|---|
{sets}

Samples around {seeds} molecules of each set, 5 each: the latent vector plus normal noise of this standard deviation,
decoded greedily. *uniqueness*: distinct over valid; *non-identical*: not the molecule itself, over valid.

| set | noise | validity | uniqueness | non-identical |
|---|---|---|---|---|
{radii}"""

ROW = "| {name} | {molecules:,} | {exact:.2%} | {exact_no_stereo:.2%} | {valid:.2%} |"
AROUND = "| {name} | {radius} | {validity:.1%} | {uniqueness:.1%} | {non_identical:.1%} |"


def card_sections(
    figures: dict[str, Any], rows: Corpus, shape: Shape, parameters: int, vocabulary: Vocabulary
) -> tuple[str, str]:
    """Returns the sections card-model and card-figures. rows: of the training."""
    sets = figures["sets"]
    simple = sum(len(split(token)) == 1 for token in vocabulary.tokens[len(SPECIALS) :])
    model = MODEL.format(
        **vars(shape),
        parameters=parameters / 1e6,
        simple=simple,
        merges=len(vocabulary) - len(SPECIALS) - simple,
        tokens=rows.lengths().mean(),
        rows=len(rows),
        unit=figures["unit"],
        rms=1 / figures["unit"],
    )
    return model, FIGURES.format(
        seeds=min(f["seeds"] for f in sets.values()),
        sets="\n".join(
            ROW.format(name=name, molecules=f["molecules"], **f["reconstruction"]) for name, f in sets.items()
        ),
        radii="\n".join(
            AROUND.format(name=name, radius=radius, **around)
            for name, f in sets.items()
            for radius, around in f["radius"].items()
        ),
    )


def entry_names(prefix: str) -> list[str]:
    """Returns the names of encoder, decoder and beam decoder."""
    return [f"{prefix}_{role}" for role in ("encoder", "decoder", "decoder_beam")]


def entries(prefix: str, model_id: str, shape: Shape, created: str, similarity: bool) -> tuple[Entry, Entry, Entry]:
    """Returns encoder, decoder and beam decoder; similarity: whether the encoder has the output embedding."""
    names = entry_names(prefix)
    hiddens = Tensor("hiddens", "FP32", (1, shape.latent))
    encoded = (hiddens, Tensor("embedding", "FP32", (shape.latent,))) if similarity else (hiddens,)

    def latent_entry(
        name: str, role: str, comment: str, batch: int, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]
    ) -> Entry:
        return Entry(
            name,
            comment,
            batch,
            inputs,
            outputs,
            {
                "retort_api": "latent",
                "role": role,
                "model_id": model_id,
                "owned_by": "retort",
                "created": created,
                "latent_dim": str(shape.latent),
                "max_model_len": str(shape.positions),
                "vocab": "vocab.txt",
            },
        )

    return (
        latent_entry(
            names[0],
            "encoder",
            "SMILES tokens to one latent vector.",
            256,
            (Tensor("input_ids", "INT64", (-1,)), Tensor("attention_mask", "INT64", (-1,))),
            encoded,
        ),
        latent_entry(
            names[1],
            "decoder",
            "Latent vectors to SMILES tokens, the whole loop in one call: greedy (temperature 0) or sampled.",
            256,
            (hiddens, Tensor("temperature", "FP32", (1,)), Tensor("seed", "INT64", (1,))),
            (Tensor("token_ids", "INT64", (-1,)), Tensor("score", "FP32", (1,))),
        ),
        latent_entry(
            names[2],
            "beam_decoder",
            "Latent vectors to SMILES tokens by beam search, the whole loop in one call.",
            64,
            (hiddens, Tensor("beam_size", "INT64", (1,))),
            (Tensor("token_ids", "INT64", (-1, -1)), Tensor("score", "FP32", (-1,))),
        ),
    )


def observe_ranges(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> Ranges:
    """Returns the input ranges of the decoder's linear maps while it decodes latent vectors at all noise levels of
    training."""

    def run() -> None:
        torch.manual_seed(0)
        for start in range(0, len(molecules), 250):
            part = molecules[start : start + 250]
            z = evaluation.encode(model, vocabulary, part)
            z = z + 4 * torch.rand(len(z), 1) * torch.randn_like(z)
            ids = decoding.decode_with_cache(model.decoder, z)
            model.decoder(torch.cat([torch.full((len(z), 1), BOS), ids[:, :-1]], 1), z)

    return quantise.observe(decoder_graph.integer_layers(model.decoder), run)


def similarity(run: Path, shape: Shape) -> Similarity | None:
    """Returns the head that scripts.train.latent.similarity trained for the run, or None."""
    file = run / "similarity.pt"
    if not file.exists():
        return None
    return stored.load_network(file, file, lambda: Similarity(shape.width, shape.latent), checkpoint.load(file))


def write_run(run: Path, repository: Path, prefix: str, model_id: str, is_int8: bool) -> None:
    """Writes the three entries."""
    figures = card.read_figures(run)
    model, words = weights.load(run)
    ranges = observe_ranges(model, words, training_molecules(run, words, 1000)) if is_int8 else {}
    vocabulary = {"vocab.txt": (run / "vocab.txt").read_text()}
    space = {**vocabulary, "latent.json": (run / "latent.json").read_text()}
    head = similarity(run, model.shape)
    encoder, decoder, beam = entries(prefix, model_id, model.shape, entry.creation_day(run), head is not None)
    parameters = sum(p.numel() for p in model.parameters())
    model_section, figures_section = card_sections(
        figures, Corpus.load(run / "corpus.npz"), model.shape, parameters, words
    )
    page = repository / encoder.name / cards.CARD
    card.write(page, "feature-extraction", model_section, run, figures["training"], figures_section)
    folders = [e.write(repository, files) for e, files in ((encoder, space), (decoder, vocabulary), (beam, vocabulary))]
    weights.write(folders[0], model, head, ranges, figures["unit"])
    weights.write_graphs(*folders)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    prefix = "start of the names of the three folders in the repository"
    entry.add_arguments(parser, "latent", Path("runs/latent"), prefix)
    parser.add_argument("--int8", action="store_true", help=quantise.HELP)
    given = parser.parse_args(arguments)
    entry.check_new(given.id, given.repository)
    names = entry_names(given.entry)
    with entry.report_errors(given.run), entry.draft(given.repository, names, given.run) as repository:
        write_run(given.run, repository, given.entry, given.id, given.int8)
        cards.write(repository, names)


if __name__ == "__main__":
    main()
