"""The generated sections of a CARD.md: network, data files, samples, machines and figures.

The author writes the rest: what the model is and is for, sources and licences of the data, limits, and the licence of
the weights. A new card says "not stated" there. scripts.lint.cards writes the section card-details.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from scripts import sections
from scripts.lint import cards
from scripts.train import provenance, stored
from scripts.train.data import manifest

SECTIONS = ("card-model", "card-data", "card-training", "card-figures")
SKELETON = """---
license: unknown
library_name: onnx
pipeline_tag: {task}
tags:
- {tags}
---

# {entry}

What the model is: not stated.

## Model details

{card_model}
{card_details}
## Intended use

Not stated.

## Out of scope

Not stated.

## Data

{card_data}
Source and licence of the files marked "not known": not stated.

## Training

{card_training}
## Evaluation

{card_figures}
## Limits

Not stated.

## Licence of the weights

Not stated.
"""


def write(
    page: Path, task: str, model: str, run: Path, training: dict[str, Any], figures: str, tags: str = "chemistry"
) -> None:
    """Updates the sections of a card, or writes a new card.

    task, tags: the pipeline tag and the tag of a new card (https://huggingface.co/docs/hub/model-cards).
    training: the key of that name in the run's figures.json.
    """
    if not page.exists():
        create(page, task, {name: [name] for name in SECTIONS}, tags)
    origin = provenance.read(run)
    sections.check(page, *SECTIONS, cards.SECTION)
    for name, text in zip(
        SECTIONS, (model, data_table(origin), describe_training(origin, training), figures), strict=True
    ):
        sections.write(page, name, wrap(text))


def read_figures(run: Path) -> dict[str, Any]:
    """Returns figures.json, which the report of a run writes. ValueError, which names it: missing or damaged."""
    file = run / "figures.json"
    if not file.exists():
        raise ValueError(f"{file}: no such file; run the report first")
    return stored.read_object(file)


def create(page: Path, task: str, parts: dict[str, list[str]], tags: str = "chemistry") -> None:
    """Writes a new card. parts: the names of the generated sections in the place of each of SECTIONS."""
    empty = {
        place.replace("-", "_"): "\n".join("".join(sections.marks(name)) for name in names)
        for place, names in {**parts, cards.SECTION: [cards.SECTION]}.items()
    }
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(SKELETON.format(task=task, tags=tags, entry=page.parent.name, **empty))


def wrap(text: str) -> str:
    """Breaks the lines of paragraphs at 120 characters. Tables and code stay as they are."""
    return "\n\n".join(
        part
        if part.startswith(("|", "    "))
        else textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def data_table(origin: dict[str, Any]) -> str:
    """Returns the table of the data files, with source and licence of those of a public set (scripts.train.data)."""
    if not origin["data"]:
        return "The data files of the run were not recorded."
    rows = []
    for name, file in origin["data"].items():
        known = manifest.find_by_digest(file["sha256"])
        sources = known.links() if known else "not known"
        licence = f"[{known.licence}]({known.licence_at})" if known else "not known"
        rows.append(f"| `{name}` | {file['rows']:,} | `{file['sha256']}` | {sources} | {licence} |")
    return "\n".join(
        [
            "| file | rows | SHA-256 of the content | source | licence |",
            "| --- | ---: | --- | --- | --- |",
            *rows,
        ]
    )


def describe_training(origin: dict[str, Any], training: dict[str, Any]) -> str:
    """Returns samples, steps, time, machines and commands of the training, and which of its weights were chosen."""
    options = training["options"]
    state = (
        f"**an unfinished run, of {options['samples']:,} samples**"
        if training["samples"] < options["samples"]
        else "with a fully decayed learning rate"
    )
    machines = "; ".join(origin["machines"]) or "a machine that was not recorded"
    text = (
        f"{training['samples']:,} samples in {training['step']:,} steps of {options['batch']}, "
        f"{training['seconds'] / 60:.0f} minutes, "
        f"seed {options['seed']}, {options['precision']}; {state}. On {machines}."
    )
    if training.get("chosen") is not None:
        best = f"the best evaluation (`{options['best']}`), after {training['chosen']:,} samples"
        text += f" The weights are those of {best}."
    if origin["commands"]:
        text += "\n\n" + "\n".join(f"    {command}" for command in origin["commands"])
    return text
