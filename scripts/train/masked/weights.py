"""Reads the masked model of a run or of its entry, and writes it into an entry: see scripts.train.entry_network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts.train import entry_network, stored
from scripts.train.graph import Ranges
from scripts.train.masked import structure, unmask_graph
from scripts.train.masked.model import Model, Shape
from scripts.train.masked.vocabulary import Vocabulary


def load(folder: Path) -> tuple[Model, Vocabulary]:
    """Returns the model of a run (averaged weights) or of an entry, in eval mode, and its vocabulary.

    ValueError or OSError, which names the file: it is missing or wrong.
    """
    if (folder / stored.SHAPE).exists():
        model = stored.load_run(folder, lambda shape: Model(Shape(**shape)))
    else:
        model, _ = stored.load(folder, build)
    return model.eval(), entry_network.read_vocabulary(folder / "vocab.txt", Vocabulary, model.shape.vocabulary)


def build(config: dict[str, Any]) -> Model:
    return Model(Shape(**config["shape"]))


def write(entry: Path, model: Model, ranges: Ranges) -> None:
    """Writes the weights into an entry."""
    entry_network.write(entry, model, model.shape, ranges)


def write_graph(entry: Path) -> None:
    """Writes the graph of an entry, with its weights and its vocabulary."""
    model, ranges, _ = entry_network.load_exactly(entry, build)
    table = structure.balance_table(Vocabulary.read(entry / "vocab.txt").tokens)
    unmask_graph.write(model, entry / "1" / "model.onnx", ranges, table)
