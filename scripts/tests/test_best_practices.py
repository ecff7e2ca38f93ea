"""BEST_PRACTICES.md answers every criterion, and names only files, commands and targets that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from servers import ROOT

FOLDER = ROOT / ".github"
PAGE = (FOLDER / "BEST_PRACTICES.md").read_text()
CRITERIA = [
    line
    for line in (Path(__file__).parent / "testdata/best_practices.txt").read_text().splitlines()
    if not line.startswith("#")
]
MAKEFILE = (ROOT / "Makefile").read_text()


def rows(page: str) -> list[list[str]]:
    """The cells of the rows about criteria."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return [row for row in cells if row[0] != "criterion" and not row[0].startswith("---")]


def problems(page: str) -> list[str]:
    """What is wrong with the page."""
    found = rows(page)
    lines = (
        [] if [row[0] for row in found] == CRITERIA else ["the criteria are not those of the passing level, in order"]
    )
    for criterion, status, evidence in found:
        if status not in ("met", "open", "n/a") or not evidence:
            lines.append(f"{criterion}: {status}, {evidence}")
    for link in re.findall(r"\]\((?!https://)([^)#]*)(?:#[^)]*)?\)", page):
        if link and not (FOLDER / link).exists():
            lines.append(f"no file {link}")
    for target in re.findall(r"`make ([\w-]+)", page):
        if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE):
            lines.append(f"no target {target}")
    return lines


def test_every_criterion_is_answered_by_what_exists() -> None:
    assert len(CRITERIA) == 67
    assert problems(PAGE) == []


@pytest.mark.parametrize(
    "before, after, problem",
    [
        ("| build | met", "| builds | met", "the criteria are not"),
        ("| test | met |", "| test | mostly |", "test: mostly"),
        ("](workflows/fuzz.yml)", "](workflows/fuzzing.yml)", "no file workflows/fuzzing.yml"),
        ("`make lint`", "`make lints`", "no target lints"),
    ],
)
def test_a_wrong_table_is_refused(before: str, after: str, problem: str) -> None:
    page = PAGE.replace(before, after)
    assert page != PAGE
    assert any(line.startswith(problem) for line in problems(page)), problems(page)
