"""The entry of the molecule reader. It has three models: of drawings (scripts.train.vision), of labels (the label
reader, scripts.train.labels), and of questions (scripts.train.phrases).

model.safetensors   atom_detector.* and bond_classifier.* of vision.model.Model, with folded norms (vision.norms);
                    label_reader.* of labels.model.Model, with folded norms; phrases.* of phrases.model.Model
config.json         `drawings`, `labels` and `questions`: the Shape of each, with its classes

write_graphs makes the four ONNX files of these two files. An export replaces one model in a new entry, or in an
existing one, and keeps the other models and the code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import runpy
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from scripts import sections
from scripts.lint import cards, manifest
from scripts.served_reader.labels import ATOM_LABELS
from scripts.train import card, checkpoint, entry, provenance, served, stored
from scripts.train.labels import model as labels
from scripts.train.phrases import model as phrases
from scripts.train.vision import graphs, norms
from scripts.train.vision import model as vision

DRAWINGS, LABELS, QUESTIONS = "drawings", "labels", "questions"
PREFIXES = {LABELS: "label_reader.", QUESTIONS: "phrases."}
"""Start of the names of a model's weights. The model of drawings has none."""
UNCOUNTED = "num_batches_tracked"
"""Suffix of a counter of batch norms, which has no effect."""


def stored_drawings(model: vision.Model) -> dict[str, torch.Tensor]:
    """Folds the norms of a model, and returns the tensors to store."""
    return _halved(norms.fold(model))


def stored_labels(model: labels.Model) -> dict[str, torch.Tensor]:
    """Folds the norms of a model, and returns the tensors to store."""
    return {PREFIXES[LABELS] + name: value for name, value in _halved(labels.fold(model)).items()}


def _halved(model: nn.Module) -> dict[str, torch.Tensor]:
    """Returns the weights of a model in fp16, but for those of norms."""
    in_norms = {
        f"{name}.{key}"
        for name, module in model.named_modules()
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d))
        for key in module.state_dict()
    }
    return {
        name: value if name in in_norms else value.half()
        for name, value in model.state_dict().items()
        if not name.endswith(UNCOUNTED)
    }


def stored_questions(model: phrases.Model) -> dict[str, torch.Tensor]:
    """Returns the tensors of a model to store."""
    codes, step = phrases.quantised(model.embedding.weight)
    prefix = PREFIXES[QUESTIONS]
    tensors = {prefix + name: value.half() for name, value in model.state_dict().items()}
    table = prefix + "embedding.weight"
    return tensors | {table: torch.from_numpy(codes), table + stored.STEP: torch.from_numpy(step)}


def load_drawings(folder: Path, shape: vision.Shape | None = None) -> vision.Model:
    """Returns the model of drawings of an entry, in eval mode.

    A shape can have other labels, more kinds of bonds and more blocks. Labels are matched by name, kinds by number, see
    match_labels. New blocks start as the identity (a last norm of zero: Goyal et al. 2017, arXiv 1706.02677, section
    5.1).

    ValueError, which names the file: it is missing, damaged, or does not fit the shape.
    """
    weights, old = stored.read(folder)[0], read_shape(folder)
    shape = shape or old
    rows = ["no atom", *old.labels], ["no atom", *shape.labels]
    weights = of_part(weights, DRAWINGS)
    match_labels(weights, "atom_detector.atom.2", *rows, ["offset x", "offset y"])
    match_labels(weights, "bond_classifier.out", *([str(kind) for kind in range(s.kinds)] for s in (old, shape)))
    model = stored.load_network(
        folder / stored.WEIGHTS,
        folder / stored.CONFIG,
        lambda: vision.Model(shape),
        weights,
        lambda name: name.endswith(UNCOUNTED) or is_added(name, old),
    )
    detector = model.atom_detector
    for blocks, count in ((detector.at8, old.blocks[0]), (detector.at16, old.blocks[1])):
        for block in blocks[count:]:
            nn.init.zeros_(block.last.weight)
            nn.init.zeros_(block.last.bias)
    return model


def read_shape(folder: Path) -> vision.Shape:
    """Returns the shape of the model of drawings of an entry. ValueError: see load_drawings."""
    config = stored.config(folder)
    return stored.outline(
        folder / stored.CONFIG, lambda: vision.Model(vision.shape_of(config[DRAWINGS])), DRAWINGS
    ).shape


def is_added(name: str, old: vision.Shape) -> bool:
    """Reports whether a weight is of a block beyond those of a shape."""
    match = re.match(r"atom_detector\.at(8|16)\.(\d+)\.", name)
    return match is not None and int(match[2]) >= old.blocks[("8", "16").index(match[1])]


def load_labels(folder: Path) -> labels.Model:
    """Returns the model of labels of an entry, in eval mode.

    ValueError, which names the file: it is missing, damaged, or does not fit the configuration.
    """
    weights, config = stored.read(folder)
    file = folder / stored.CONFIG
    shape = stored.outline(file, lambda: labels.Model(labels.shape_of(config[LABELS])), LABELS).shape
    return stored.load_network(
        folder / stored.WEIGHTS,
        file,
        lambda: labels.Model(shape),
        of_part(weights, LABELS),
        lambda name: name.endswith(UNCOUNTED),
    )


def part_of(name: str) -> str:
    """Returns the model that a stored weight belongs to."""
    return next((part for part, prefix in PREFIXES.items() if name.startswith(prefix)), DRAWINGS)


def of_part(weights: dict[str, torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """Returns the weights of a model under their names in it."""
    return {
        name.removeprefix(PREFIXES.get(part, "")): value for name, value in weights.items() if part_of(name) == part
    }


def load_questions(folder: Path, shape: phrases.Shape | None = None) -> phrases.Model:
    """Returns the model of questions of an entry, in eval mode. A shape can have other labels.

    ValueError, which names the file: it is missing, damaged, or does not fit the shape.
    """
    weights, config = stored.read(folder)
    file = folder / stored.CONFIG
    old = stored.outline(file, lambda: phrases.Model(phrases.shape_of(config[QUESTIONS])), QUESTIONS).shape
    shape = shape or old
    weights = of_part(weights, QUESTIONS)
    for head, classes in shape.labels.items():
        match_labels(weights, f"heads.{head}", old.labels.get(head, []), classes)
    return stored.load_network(folder / stored.WEIGHTS, folder / stored.CONFIG, lambda: phrases.Model(shape), weights)


def match_labels(
    weights: dict[str, torch.Tensor], layer: str, old: Sequence[str], new: Sequence[str], last: Sequence[str] = ()
) -> None:
    """Gives an output layer the rows of new labels instead of old ones; `last` names further rows, which stay.

    A label that is not among the old ones gets the mean weight and a bias below the mean. The level of all logits is
    arbitrary, so no fixed number would do.
    """
    weight, bias = weights.get(f"{layer}.weight"), weights.get(f"{layer}.bias")
    if weight is None or bias is None or list(old) == list(new) or len(weight) != len(old) + len(last):
        return  # load_network reports what does not fit.
    rows = {name: row for row, name in enumerate([*old, *last])}
    mean, level = weight[: len(old)].mean(0), bias[: len(old)].mean() - 1
    names = [*new, *last]
    weights[f"{layer}.weight"] = torch.stack([weight[rows[name]] if name in rows else mean for name in names])
    weights[f"{layer}.bias"] = torch.stack([bias[rows[name]] if name in rows else level for name in names])


def replace(folder: Path, part: str, tensors: dict[str, torch.Tensor], shape: Any) -> None:
    """Replaces the weights and the shape of a model in an entry.

    ValueError, which names the file: the entry's weights or configuration are missing or damaged.
    """
    config = stored.config(folder)
    kept = {name: value for name, value in stored.tensors(folder).items() if part_of(name) != part}
    stored.write(folder, dict(sorted((kept | tensors).items())), config | {part: dataclasses.asdict(shape)})


def write_graphs(folder: Path) -> None:
    """Writes the ONNX files of an entry's weights."""
    version = folder / served.VERSION.name
    graphs.save(load_drawings(folder), version)
    labels.graph(load_labels(folder)).save(version / "label_reader.onnx", "label_reader")
    phrases.graph(load_questions(folder)).save(version / "phrases.onnx", "phrases")


@contextlib.contextmanager
def draft(repository: Path, name: str, run: Path) -> Iterator[Path]:
    """Yields a copy of an entry, or of the shipped one if there is none, which takes the entry's place at the end."""
    with entry.draft(repository, [name], run) as drafts:
        folder = drafts / name
        if not folder.exists():
            shutil.copytree(served.ENTRY, folder, ignore=shutil.ignore_patterns("__pycache__", "*.md"))
        check_labels(folder)
        create_card(folder / cards.CARD)
        yield folder


def check_labels(folder: Path) -> None:
    """Exits if the code of an entry has other labels than the shipped reader, with whose labels models are trained."""
    file = folder / "1" / "reader" / "labels.py"
    if runpy.run_path(str(file))["ATOM_LABELS"] != ATOM_LABELS:
        raise SystemExit(
            f"export: the code of {folder.name} has other labels than {served.ENTRY.name}; choose another entry"
        )


def name_entry(folder: Path, model_id: str, run: Path) -> None:
    """Writes the name, the id and the day of creation into config.pbtxt."""
    config = folder / "config.pbtxt"
    entry.set_parameter(config, "model_id", model_id)
    entry.set_parameter(config, "created", entry.creation_day(run))
    config.write_text(
        re.sub(r'^name: "[^"]*"', f'name: "{folder.name}"', config.read_text(), count=1, flags=re.MULTILINE)
    )


def create_card(page: Path) -> None:
    """Writes a new card, whose sections name the shipped reader. Exits if there is a card without the sections."""
    parts = (DRAWINGS, LABELS, QUESTIONS)
    names = [f"{name}-{part}" for part in parts for name in card.SECTIONS]
    if page.exists():
        try:
            return sections.check(page, *names, cards.SECTION)
        except LookupError as error:
            raise SystemExit(f"export: {error}") from error
    places = {name: [f"{name}-{part}" for part in parts] for name in card.SECTIONS}
    card.create(page, "image-text-to-text", places)
    for name in names:
        sections.write(page, name, f"The model of {name.rpartition('-')[2]} is that of {link(served.ENTRY)}.")


def link(folder: Path) -> str:
    """Returns the id of an entry beside others, as a link to its card."""
    found = manifest.ID.search((folder / "config.pbtxt").read_text())
    return f"[`{found[1] if found else folder.name}`](../{folder.name}/{cards.CARD})"


def write_card(folder: Path, part: str, run: Path, model: str, figures: str, start: str | None) -> None:
    """Writes the sections of a model into the card of an entry; start: the entry that its training started from."""
    origin = provenance.read(run)
    data = card.data_table(origin)
    if start:
        data += f"\n\nThe training started from {link(Path(start))}, so its data counts too."
    training = training_state(run)
    texts = (model, data, card.describe_training(origin, training), figures)
    for name, text in zip(card.SECTIONS, texts, strict=True):
        sections.write(folder / cards.CARD, f"{name}-{part}", card.wrap(f"**{part.capitalize()}**\n\n{text}"))
    cards.write(folder.parent, [folder.name])


def training_state(run: Path) -> dict[str, Any]:
    """Returns what a card says of the training."""
    state = checkpoint.load(run / "checkpoint.pt")
    return {key: state[key] for key in ("step", "samples", "seconds", "falling", "options")}
