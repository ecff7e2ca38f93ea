"""Checks the cards of models, and writes the facts that are read from their entries.

    python -m scripts.lint.cards            check
    python -m scripts.lint.cards --write    write the section card-details of each card

A card (CARD.md) describes a model, which is the entries of one public id. The section card-details is a table with a
column for each of them: public id, API, versions, `max_model_len`, the ONNX files with their sizes and parameters, and
the digest of the entry (scripts.lint.manifest). Parameters are the floating-point and 8-bit numbers among the
constants of a graph, the scales of 8-bit weights included; indices and shapes do not count.

The package onnx is needed: run it with .venv-tests/bin/python or .venv-train/bin/python.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx

from scripts import sections
from scripts.lint import manifest

CARD = "CARD.md"
SECTION = "card-details"
HEADINGS = (
    "Model details",
    "Intended use",
    "Out of scope",
    "Data",
    "Training",
    "Evaluation",
    "Limits",
    "Licence of the weights",
)
"""The headings of a card, in order."""
PARAMETER = re.compile(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"\\]*)"')
NUMBERS = {"FLOAT": "FP32", "FLOAT16": "FP16", "BFLOAT16": "BF16", "DOUBLE": "FP64", "INT8": "INT8"}
"""The types of weights: names in ONNX, and their usual short names."""


def find_problems(repository: Path) -> list[str]:
    """Returns what is wrong with the cards of the entries in the manifest, one line each."""
    lines = []
    for model_id, names in entries_by_id(repository).items():
        try:
            names = with_card_first(repository, names)
            section = sections.read(repository / names[0] / CARD, SECTION)
        except LookupError as error:
            lines.append(f"{model_id}: {error}")
            continue
        text = (repository / names[0] / CARD).read_text()
        if section != describe(repository, names):
            lines.append(
                f"{names[0]}/{CARD}: the section {SECTION} is out of date: python -m scripts.lint.cards --write"
            )
        lines += [f"{names[0]}/{CARD}: {problem}" for problem in find_heading_problems(text)]
    return lines


def find_heading_problems(text: str) -> list[str]:
    """Returns the sections of a card that are missing, empty or out of order, one line each."""
    bodies = split_sections(text)
    lines = [f"the section '{name}' is missing" for name in HEADINGS if name not in bodies]
    lines += [f"the section '{name}' is empty" for name in HEADINGS if bodies.get(name) == ""]
    found = [name for name in bodies if name in HEADINGS]
    if found != [name for name in HEADINGS if name in bodies]:
        lines.append(f"the sections are in the order {', '.join(found)}")
    return lines


def split_sections(text: str) -> dict[str, str]:
    """Returns the text of each ## section, without comments, by heading."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    bodies = (re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL).strip() for body in parts[2::2])
    return dict(zip(parts[1::2], bodies))


def entries_by_id(repository: Path) -> dict[str, list[str]]:
    """Returns the names of the entries in the manifest by public id."""
    found: dict[str, list[str]] = {}
    for name, entry in manifest.load(repository)["entries"].items():
        found.setdefault(entry["id"], []).append(name)
    return found


def with_card_first(repository: Path, names: list[str]) -> list[str]:
    """Returns the entries of a model, first the one whose card has SECTION. LookupError: not exactly one has it."""
    start, _ = sections.marks(SECTION)
    cards = [name for name in names if start in (repository / name / CARD).read_text()]
    if len(cards) != 1:
        raise LookupError(f"the section {SECTION} must be in one {CARD}, and is in {len(cards)}")
    return sorted(names, key=lambda name: (name != cards[0], name))


def write(repository: Path, names: list[str]) -> None:
    """Writes the section in the card of a model. names: its entries, first the one that has the card."""
    sections.write(repository / names[0] / CARD, SECTION, describe(repository, names))


def describe(repository: Path, names: list[str]) -> str:
    """Returns the table of a model's entries."""
    columns = [facts(repository / name) for name in names]
    keys = list(dict.fromkeys(key for column in columns for key in column))
    rows = [["fact", *(f"`{name}`" for name in names)], ["---"] * (len(names) + 1)]
    rows += [[key, *(column.get(key, "") for column in columns)] for key in keys]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def facts(entry: Path) -> dict[str, str]:
    """Returns the facts about an entry, by name: from config.pbtxt, the folders, the ONNX files and the manifest."""
    parameters = dict(PARAMETER.findall((entry / "config.pbtxt").read_text()))
    versions = sorted((d.name for d in entry.iterdir() if d.is_dir() and d.name.isdecimal()), key=int)
    graphs = sorted(entry.glob("*/*.onnx"))
    return {
        "public id": f"`{parameters['model_id']}`",
        "API": parameters["retort_api"],
        "versions": ", ".join(versions),
        "`max_model_len`": f"{int(parameters['max_model_len']):,} tokens",
        **{f"`{graph.relative_to(entry)}`": describe_graph(graph) for graph in graphs},
        "SHA-256 of the entry": f"`{manifest.digest(manifest.hashes(entry))}`",
    }


def describe_graph(file: Path) -> str:
    """Returns the size of an ONNX file, and its parameters by type."""
    counts = count_parameters(onnx.load(file).graph)
    types = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common())
    return f"{file.stat().st_size:,} bytes; {counts.total():,} parameters ({types})"


def count_parameters(graph: onnx.GraphProto) -> Counter[str]:
    """Counts the parameters of a graph by type."""
    counts: Counter[str] = Counter()
    for tensor in constants(graph):
        kind = NUMBERS.get(onnx.TensorProto.DataType.Name(tensor.data_type))
        if kind:
            counts[kind] += math.prod(tensor.dims)
    return counts


def constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Yields the constant tensors of a graph and of its subgraphs, such as loop bodies."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t
            elif attribute.type == onnx.AttributeProto.GRAPH:
                yield from constants(attribute.g)


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.lint.cards",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write the section card-details instead of checking")
    parser.add_argument("--repository", type=Path, default=manifest.REPOSITORY)
    options = parser.parse_args(given)
    if options.write:
        for names in entries_by_id(options.repository).values():
            with contextlib.suppress(LookupError):
                write(options.repository, with_card_first(options.repository, names))
    problems = find_problems(options.repository)
    for problem in problems:
        print(f"model_repository: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
