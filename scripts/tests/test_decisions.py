"""Every decision has the form that orchestrator/decisions/README.md describes, and is in its index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from servers import ROOT

FOLDER = ROOT / "orchestrator" / "decisions"
INDEX = (FOLDER / "README.md").read_text()
FORM = re.compile(
    r"# (?P<number>\d{4}): (?P<title>\S.*)\n\n"
    r"\| Date \| Status \|\n\| --- \| --- \|\n"
    r"\| (?P<date>\d{4}-\d\d-\d\d) \| (?P<status>.+) \|\n\n"
    r"## Context\n\S(?s:.*)\n\n## Options\n\S(?s:.*)\n\n## Choice\n\S(?s:.*)\n\n## Consequences\n\S(?s:.*)"
)
STATUS = re.compile(r"accepted|(?:accepted; amended|superseded) by \[(\d{4})\]\((\1-[a-z0-9-]+\.md)\)")
MAX_WORDS = 400

EXPERIMENTS = re.findall(r"^\| (\d{4}) \| \[", INDEX, re.MULTILINE)
"""Numbers of former decisions that are experiments now. No decision gets them again."""
DECISIONS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")


def count_words(text: str) -> int:
    """Counts the words of a page, including tables and code."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_the_form_and_is_in_the_index(path: Path) -> None:
    text = path.read_text()
    found = FORM.fullmatch(text)
    assert found, "the parts are a title, a table of date and status, Context, Options, Choice, Consequences"
    assert len(re.findall(r"^#", text, re.MULTILINE)) == 5, "a decision has one title and four sections"
    assert path.name.startswith(f"{found['number']}-"), "the file name and the title have different numbers"
    status = STATUS.fullmatch(found["status"])
    assert status, found["status"]
    assert status[2] is None or (FOLDER / status[2]).is_file(), found["status"]
    row = "| [{number}]({name}) | {title} | {date} | {status} |\n".format(name=path.name, **found.groupdict())
    assert INDEX.count(row) == 1, f"not in the index: {row}"
    assert count_words(text) <= MAX_WORDS


def test_numbers_are_consecutive_and_unique() -> None:
    assert DECISIONS, f"{FOLDER} has no decisions"
    rows = re.findall(r"^\| \[(\d{4})\]\(", INDEX, re.MULTILINE)
    assert rows == [path.name[:4] for path in DECISIONS]
    assert sorted(rows + EXPERIMENTS) == [f"{n:04}" for n in range(1, len(rows) + len(EXPERIMENTS) + 1)]


def test_named_tests_exist() -> None:
    pages = [*DECISIONS, ROOT / "orchestrator" / "ARCHITECTURE.md"]
    named = set(re.findall(r"`(Test[A-Z]\w+|test_\w+)(?:\.py)?`", "".join(page.read_text() for page in pages)))
    files = [*ROOT.glob("orchestrator/**/*_test.go"), *(ROOT / "scripts" / "tests").rglob("test_*.py")]
    defined = {name for file in files for name in re.findall(r"^(?:func|def) (\w+)\(", file.read_text(), re.MULTILINE)}
    assert named and named <= defined | {file.stem for file in files}, named - defined
