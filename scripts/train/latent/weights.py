"""Reads the latent model of a run or of its entries, and writes it into an entry: see scripts.train.entry_network.

The entry of the encoder has the weights of all three entries: encoder.*, decoder.* and, if the encoder has the second
output, similarity.*

config.json: unit         the number inside the model that is 1 in the tensors of the entries
             similarity   whether the encoder has the second output
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from torch import nn

from scripts.train import entry_network, stored
from scripts.train.graph import Ranges
from scripts.train.latent import decoder_graph, encoder_graph
from scripts.train.latent.model import Model, Shape, Similarity
from scripts.train.latent.tokens import Vocabulary


def load(folder: Path) -> tuple[Model, Vocabulary]:
    """Returns the model of a run (averaged weights) or of an encoder's entry, in eval mode, and its vocabulary.

    ValueError or OSError, which names the file: it is missing or wrong.
    """
    if (folder / stored.SHAPE).exists():
        model = stored.load_run(folder, lambda shape: Model(Shape(**shape)))
    else:
        networks, config = stored.load(folder, build)
        model = Model(Shape(**config["shape"]))
        model.encoder, model.decoder = networks.encoder, networks.decoder
    return model.eval(), entry_network.read_vocabulary(folder / "vocab.txt", Vocabulary, model.shape.vocabulary)


def build(config: dict[str, Any]) -> nn.ModuleDict:
    """Returns the networks of the entries."""
    shape = Shape(**config["shape"])
    return together(Model(shape), Similarity(shape.width, shape.latent) if config["similarity"] else None)


def together(model: Model, similarity: Similarity | None) -> nn.ModuleDict:
    networks = nn.ModuleDict({"encoder": model.encoder, "decoder": model.decoder})
    return nn.ModuleDict({**networks, "similarity": similarity}) if similarity else networks


def write(entry: Path, model: Model, similarity: Similarity | None, ranges: Ranges, unit: float) -> None:
    """Writes the weights of all three entries into that of the encoder."""
    networks = together(model, similarity)
    entry_network.write(entry, networks, model.shape, ranges, unit=unit, similarity=similarity is not None)


def write_graphs(encoder: Path, decoder: Path, beam: Path) -> None:
    """Writes the graphs of all three entries, with the weights in that of the encoder."""
    networks, ranges, config = entry_network.load_exactly(encoder, build)
    unit, similarity = config.get("unit"), networks["similarity"] if config["similarity"] else None
    if isinstance(unit, bool) or not isinstance(unit, (int, float)) or not 0 < unit < math.inf:
        raise ValueError(f"{encoder / stored.CONFIG}: unit must be a finite positive number, got {unit!r}")
    encoder_graph.write(networks["encoder"], encoder / "1" / "model.onnx", unit, similarity)
    decoder_graph.write(networks["decoder"], decoder / "1" / "model.onnx", ranges, unit)
    decoder_graph.write_beam(networks["decoder"], beam / "1" / "model.onnx", ranges, unit)
