"""Every entry has a card, in the form of Mitchell et al. (2019) with the front matter of Hugging Face."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
import yaml
from onnx import TensorProto, helper
from servers import ROOT

from scripts import sections
from scripts.lint import cards, manifest

REPOSITORY = ROOT / "model_repository"
POINTERS = {"latent_decoder": "latent_encoder", "latent_decoder_beam": "latent_encoder"}
"""Entries whose card only links to the card of another entry, by that entry."""
EXPORTED = ("latent_encoder", "masked")
"""Entries with generated sections in their card (scripts/train/card.py)."""


@pytest.mark.parametrize("entry", sorted(manifest.load(REPOSITORY)["entries"]))
def test_a_card_names_data_and_licences(entry: str) -> None:
    text = (REPOSITORY / entry / "CARD.md").read_text()
    if entry in POINTERS:
        assert f"](../{POINTERS[entry]}/CARD.md)" in text
        return
    before, header, _ = text.split("---\n", 2)
    facts = yaml.safe_load(header)
    assert (
        before == ""
        and facts["library_name"] == "onnx"
        and facts["license"]
        and facts["pipeline_tag"]
        and facts["tags"]
    )
    tables = re.findall(r"^\| data set \|.*\| source \| licence \|\n\|[-| ]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    rows = [[cell.strip() for cell in row.strip("|\n").split(" | ")] for table in tables for row in table.splitlines()]
    assert rows and all(len(row) == 4 and row[0] and row[3] for row in rows), rows
    assert "not stated" not in text.lower()


def test_documented_exports_give_a_new_id() -> None:
    """The commands on pages that export a model (make train-…) give an ID that the manifest lacks.

    With one that it has, the export fails.
    """
    pages = [
        page for page in ROOT.rglob("*.md") if not any(part.startswith(".") for part in page.relative_to(ROOT).parts)
    ]
    exports = [line for page in pages for line in page.read_text().splitlines() if line.startswith("make train-")]
    assert len(exports) >= 6, exports
    for line in exports:
        new_id = re.search(r" ID=(\S+)", line)
        assert new_id and new_id[1] not in manifest.load(REPOSITORY)["ids"], line


@pytest.mark.parametrize("entry", EXPORTED)
def test_an_exported_card_has_its_sections(entry: str) -> None:
    sections.check(REPOSITORY / entry / "CARD.md", "card-model", "card-data", "card-training", "card-figures")


def test_the_cards_describe_their_entries() -> None:
    assert cards.find_problems(REPOSITORY) == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two entries of one model. The encoder has the card."""
    for name in ("decoder", "encoder"):
        folder = tmp_path / name / "1"
        folder.mkdir(parents=True)
        weights = helper.make_tensor("weights", TensorProto.FLOAT16, [3, 5], range(15))
        shape = helper.make_tensor("shape", TensorProto.INT64, [2], [5, 3])
        body = helper.make_graph([], "body", [], [], [helper.make_tensor("bias", TensorProto.INT8, [7], range(7))])
        nodes = [
            helper.make_node("Constant", [], ["scale"], value=helper.make_tensor("s", TensorProto.FLOAT, [], [0.5])),
            helper.make_node("If", ["on"], ["y"], then_branch=body, else_branch=body),
        ]
        onnx.save(helper.make_model(helper.make_graph(nodes, name, [], [], [weights, shape])), folder / "model.onnx")
        (tmp_path / name / "config.pbtxt").write_text(
            "".join(
                f'parameters {{ key: "{key}"  value {{ string_value: "{value}" }} }}\n'
                for key, value in (("retort_api", "latent"), ("model_id", "house/one-v1"), ("max_model_len", "1024"))
            )
        )
        (tmp_path / name / "CARD.md").write_text("See the encoder's card.\n")
    manifest.record(tmp_path, [])
    text = "".join(f"## {name}\n\nText.\n\n" for name in cards.HEADINGS)
    (tmp_path / "encoder" / "CARD.md").write_text("".join(sections.marks(cards.SECTION)) + text)
    assert cards.main(["--write", "--repository", str(tmp_path)]) == 0
    return tmp_path


def test_a_card_has_the_facts_of_all_entries_of_its_model(repository: Path) -> None:
    text = (repository / "encoder" / "CARD.md").read_text()
    size = (repository / "encoder" / "1" / "model.onnx").stat().st_size
    record = manifest.load(repository)["ids"]["house/one-v1"]
    assert "| fact | `encoder` | `decoder` |\n" in text
    assert "| API | latent | latent |\n" in text and "| `max_model_len` | 1,024 tokens | 1,024 tokens |\n" in text
    # Both branches count. The shape does not.
    assert f"| `1/model.onnx` | {size:,} bytes; 30 parameters (15 FP16, 14 INT8, 1 FP32) |" in text
    digests = [record[name][-1]["digest"] for name in ("encoder", "decoder")]
    assert f"| SHA-256 of the entry | `{digests[0]}` | `{digests[1]}` |\n" in text


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "1,024 tokens",
            "512 tokens",
            "encoder/CARD.md: the section card-details is out of date: python -m scripts.lint.cards --write",
        ),
        ("## Limits\n\nText.", "## Limits\n\n<!-- nothing -->\n", "encoder/CARD.md: the section 'Limits' is empty"),
        ("## Out of scope\n", "## Elsewhere\n", "encoder/CARD.md: the section 'Out of scope' is missing"),
        ("<!-- card-details -->\n", "", "house/one-v1: the section card-details must be in one CARD.md, and is in 0"),
    ],
)
def test_a_stale_or_incomplete_card_fails(
    old: str, new: str, problem: str, repository: Path, capsys: pytest.CaptureFixture
) -> None:
    card = repository / "encoder" / "CARD.md"
    card.write_text(card.read_text().replace(old, new))
    assert cards.find_problems(repository) == [problem]
    assert cards.main(["--repository", str(repository)]) == 1
    assert problem in capsys.readouterr().err


def test_sections_in_another_order_fail(repository: Path) -> None:
    card = repository / "encoder" / "CARD.md"
    moved = "## Training\n\nText.\n\n"
    card.write_text(card.read_text().replace(moved, "") + moved)
    assert len(cards.find_problems(repository)) == 1 and "in the order" in cards.find_problems(repository)[0]


def test_the_manifest_has_no_cards() -> None:
    """A card may change without a new id, so it is not among the hashed files of its entry."""
    recorded = json.dumps(manifest.load(REPOSITORY)["entries"])
    assert "CARD.md" not in recorded and "EVALUATION.md" not in recorded
