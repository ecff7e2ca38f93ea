"""BEST_PRACTICES.md answers every criterion of the OpenSSF passing level with links and make targets that exist."""

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


def find_rows(page: str) -> list[list[str]]:
    """Returns the cells of each row about a criterion: its name, the status, the evidence."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return [row for row in cells if row[0] != "criterion" and not row[0].startswith("---")]


def find_problems(page: str) -> list[str]:
    """Returns what is wrong with the page, one line each."""
    found = find_rows(page)
    lines = (
        [] if [row[0] for row in found] == CRITERIA else ["the criteria are not those of the passing level, in order"]
    )
    for criterion, status, evidence in found:
        if status not in ("met", "open", "n/a") or not evidence:
            lines.append(
                f"{criterion}: the status is {status!r}, not met, open or n/a, or the evidence is empty: {evidence!r}"
            )
    for link in re.findall(r"\]\((?!https://)([^)#]*)(?:#[^)]*)?\)", page):
        if link and not (FOLDER / link).exists():
            lines.append(f".github/{link}: no such file")
    for target in re.findall(r"`make ([\w-]+)", page):
        if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE):
            lines.append(f"make {target}: no such target")
    return lines


def test_every_criterion_is_answered_by_what_exists() -> None:
    assert len(CRITERIA) == 67
    assert find_problems(PAGE) == []


@pytest.mark.parametrize(
    "before, after, problem",
    [
        ("| build | met", "| builds | met", "the criteria are not"),
        ("| test | met |", "| test | mostly |", "test: the status is 'mostly'"),
        ("](workflows/fuzz.yml)", "](workflows/fuzzing.yml)", ".github/workflows/fuzzing.yml: no such file"),
        ("`make lint`", "`make lints`", "make lints: no such target"),
    ],
)
def test_a_wrong_table_is_refused(before: str, after: str, problem: str) -> None:
    page = PAGE.replace(before, after)
    assert page != PAGE
    assert any(line.startswith(problem) for line in find_problems(page)), find_problems(page)
