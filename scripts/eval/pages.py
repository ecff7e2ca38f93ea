"""Measures how well the chat API reads pages with several drawings, through HTTP:

    python -m scripts.eval.pages --data DATA --url http://127.0.0.1:8005 [--count 100 --drawings FOLDER --write]

The pages are those of page_sets.py, composed for this: there is no public set of whole pages with the structures on
them. FOLDER as in scripts.eval.drawings. A structure is found if the answer has a box that overlaps its own by at least
half of their union. --write writes the table into its section of the model's EVALUATION.md; it needs --drawings and at
least MIN_COUNT pages.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts import sections
from scripts.eval import page_sets
from scripts.eval.chat import API, MODEL
from scripts.eval.page_sets import Box, ComposedPage, Structure
from scripts.eval.service import Refused
from scripts.train import served

SECTION = "eval-pages"
MIN_COUNT = 100
MIN_OVERLAP = 0.5
"""The least overlap of two boxes of one drawing: the area of their intersection by that of their union."""
ASK = "List the molecules on this page."
ITEM = {
    "type": "object",
    "properties": {
        "smiles": {"type": ["string", "null"]},
        "box": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["smiles", "box"],
}
FORM = {"type": "json_schema", "json_schema": {"name": "molecules", "schema": {"type": "array", "items": ITEM}}}


@dataclass
class Graded:
    """The answer about one page."""

    page: ComposedPage
    found: list[tuple[Structure, str | None]]
    """The structures that were found, with the SMILES of the answer."""
    wrong: int
    """Items of the answer that are at no structure."""
    seconds: float

    def exact(self) -> int:
        return sum(smiles == structure.smiles for structure, smiles in self.found)

    def is_right(self) -> bool:
        """Reports whether the answer has exactly the molecules of the page."""
        return self.exact() == len(self.page.structures) and not self.wrong


def overlap(a: Box, b: Box) -> float:
    """Returns the area of the intersection of two boxes by the area of their union."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def grade(page: ComposedPage, items: list[dict[str, Any]], seconds: float) -> Graded:
    """Compares the items of an answer with the structures of a page. Each item counts for one structure."""
    left = list(items)
    found: list[tuple[Structure, str | None]] = []
    for structure in page.structures:
        best = max(left, key=lambda item: overlap(item["box"], structure.box), default=None)
        if best is not None and overlap(best["box"], structure.box) >= MIN_OVERLAP:
            left.remove(best)
            found.append((structure, best["smiles"]))
    return Graded(page, found, len(left), seconds)


def measure(api: API, pages: list[ComposedPage]) -> list[Graded]:
    def one(page: ComposedPage) -> Graded:
        kind = "jpeg" if page.file[:2] == b"\xff\xd8" else "png"
        url = f"data:image/{kind};base64,{base64.b64encode(page.file).decode()}"
        parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": ASK}]
        body = {"model": MODEL, "messages": [{"role": "user", "content": parts}], "response_format": FORM}
        start = time.monotonic()
        try:
            answer = api.post("/v1/chat/completions", body)
            items = json.loads(answer["choices"][0]["message"]["content"])
        except Refused:  # No drawing was read.
            items = []
        return grade(page, items, time.monotonic() - start)

    return api.each(one, pages)


def table(graded: list[Graded]) -> str:
    """Returns the rows of all pages, of each kind, and of each program's structures."""
    out = (
        "| pages | number | structures | found | exact SMILES | exact, of found | wrong structures a page | pages "
        "wholly right | seconds a page, median |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    kinds: dict[str, Callable[[Graded], bool]] = {
        "all": lambda each: True,
        "clean": lambda each: each.page.kind == "clean",
        "as from a scanner": lambda each: each.page.kind == "scanned",
        "drawn by RDKit": lambda each: {s.program for s in each.page.structures} == {"rdkit"},
        "drawn by OpenChemLib and PIKAChU": lambda each: "rdkit" not in {s.program for s in each.page.structures},
    }
    for name, belongs in kinds.items():
        rows = [each for each in graded if belongs(each)]
        if not rows:
            continue
        total, found = (
            sum(map(len, column)) for column in ((r.page.structures for r in rows), (r.found for r in rows))
        )
        exact = sum(r.exact() for r in rows)
        shares = (found / total, exact / total, exact / max(found, 1))
        right = sum(r.is_right() for r in rows) / len(rows)
        out += (
            f"| {name} | {len(rows)} | {total} | {' | '.join(f'{share:.1%}' for share in shares)} | "
            f"{sum(r.wrong for r in rows) / len(rows):.2f} | {right:.1%} | "
            f"{statistics.median(r.seconds for r in rows):.1f} |\n"
        )
    return out


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.pages",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--url", default="http://127.0.0.1:8005", help="base address of the API")
    parser.add_argument("--count", type=int, default=100, help="pages")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drawings", type=Path, help="folder of the drawings by other programs")
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.write:
        if given.count < MIN_COUNT or not given.drawings:
            parser.error(f"--write needs --drawings, and at least --count {MIN_COUNT}")
        sections.check(given.page, SECTION)
    pages = list(page_sets.pages(given.data, given.drawings, given.count, given.seed))
    text = table(measure(API(given.url, 1), pages))
    print(text)
    if given.write:
        options = f"--count {given.count} --seed {given.seed} --drawings FOLDER"
        head = f"`{MODEL}`, {datetime.now(UTC):%Y-%m-%d}, `python -m scripts.eval.pages {options} --write`:"
        sections.write(given.page, SECTION, f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
