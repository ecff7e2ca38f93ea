"""Every entry has a card with its data, their licences and the licence of its weights."""

from __future__ import annotations

import re

import pytest
from servers import ROOT

from scripts import sections
from scripts.lint import manifest

REPOSITORY = ROOT / "model_repository"
POINTERS = {"latent_decoder": "latent_encoder", "latent_decoder_beam": "latent_encoder"}
"""Entries whose card refers to that of another entry."""
EXPORTED = ("latent_encoder", "masked")
"""Entries with generated sections in their card (scripts/train/card.py)."""


@pytest.mark.parametrize("entry", sorted(manifest.load(REPOSITORY)["entries"]))
def test_a_card_names_data_and_licences(entry: str) -> None:
    text = (REPOSITORY / entry / "CARD.md").read_text()
    if entry in POINTERS:
        assert f"](../{POINTERS[entry]}/CARD.md)" in text
        return
    assert manifest.load(REPOSITORY)["entries"][entry]["id"] in text
    tables = re.findall(r"^\| data set \|.*\| source \| licence \|\n\|[-| ]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    rows = [[cell.strip() for cell in row.strip("|\n").split(" | ")] for table in tables for row in table.splitlines()]
    assert rows and all(len(row) == 4 and row[0] and row[3] for row in rows), rows
    assert len(re.findall(r"^## Licence of the weights\n\s*\S", text, re.MULTILINE)) == 1
    assert "ot stated" not in text


def test_documented_exports_give_a_new_id() -> None:
    """An export into the repository refuses an id that the manifest has, and to do without one."""
    pages = [
        page for page in ROOT.rglob("*.md") if not any(part.startswith(".") for part in page.relative_to(ROOT).parts)
    ]
    exports = [
        line
        for page in pages
        for line in page.read_text().splitlines()
        if re.search(r"-m scripts\.train\.\w+\.export ", line)
    ]
    assert exports
    for line in exports:
        new_id = re.search(r" --id (\S+)", line)
        assert new_id and new_id[1] not in manifest.load(REPOSITORY)["ids"] or " --to " in line, line


@pytest.mark.parametrize("entry", EXPORTED)
def test_an_exported_card_has_its_sections(entry: str) -> None:
    sections.check(REPOSITORY / entry / "CARD.md", "card-model", "card-data", "card-training", "card-figures")
