"""Generated sections of pages: programs write them and leave the text around them unchanged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from servers import ROOT

from scripts import sections
from scripts.eval import calls, chat, drawings, latent, latent_report, masked, ranking_calibration, retrieval, scanned
from scripts.eval.pmo import __main__ as pmo
from scripts.train import served

SPEED = ROOT / "scripts/bench/SPEED.md"
PAGES = {
    masked.PAGE: [masked.SECTION],
    latent.PAGE: [calls.SECTION, *(name for names in latent.SECTIONS.values() for name in names)],
    served.ENTRY / "EVALUATION.md": [drawings.SECTION, scanned.SECTION, chat.SECTION],
    pmo.PAGE: [*pmo.SECTIONS.values(), pmo.COMPARISON],
    ranking_calibration.PAGE: [ranking_calibration.SECTION],
    ROOT / "README.md": ["costs", "quality"],
    SPEED: [
        "start",
        "embedding",
        "int8",
        "large",
        "ranking",
        "latent",
        "masked",
        "chat",
        "memory",
        "jobs",
        "discovery",
        "tokenizers",
        "chem",
        "cmaes",
        "scale",
        "gpu",
    ],
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_pages_have_their_sections(page: Path) -> None:
    sections.check(page, *PAGES[page])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_hand_written_text_survives(page: Path, tmp_path: Path) -> None:
    copy = tmp_path / page.name
    copy.write_text(page.read_text())
    for name in PAGES[page]:
        sections.write(copy, name, f"the figures of {name}")

    def by_hand(text: str) -> list[str]:
        lines, inside = [], False
        for line in text.splitlines():
            inside = inside and not line.startswith("<!-- end of ")
            if not inside:
                lines.append(line)
            inside = inside or line in {sections.marks(name)[0].strip() for name in PAGES[page]}
        return lines

    assert by_hand(copy.read_text()) == by_hand(page.read_text())
    assert all(
        f"<!-- {name} -->\nthe figures of {name}\n<!-- end of {name} -->\n" in copy.read_text() for name in PAGES[page]
    )


@pytest.mark.parametrize("part", PAGES[SPEED])
def test_figures_of_speed_are_those_of_a_commit(part: str) -> None:
    heading = sections.read(SPEED, part).splitlines()[0]
    assert re.search("; commit [0-9a-f]{7,40}$", heading)


@pytest.mark.parametrize(
    "text", ["no section\n", "<!-- a -->\n", "<!-- end of a -->\n<!-- a -->\n", 2 * "<!-- a -->\n<!-- end of a -->\n"]
)
def test_a_page_without_the_section_is_left_alone(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(LookupError, match="<!-- a -->"):
        sections.write(page, "a", "figures")
    assert page.read_text() == text


def test_a_new_page_has_the_section_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    for figures in ("first", "second"):
        sections.write(page, "a", figures)
    assert page.read_text() == "<!-- a -->\nsecond\n<!-- end of a -->\n"


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (chat, ["--molecules", "3"]),
        (chat, ["--styles", "default", "--molecules", "500", "--questions", "30"]),
        (chat, ["--questions", "3"]),
        (drawings, ["--count", "3", "--drawings", "."]),
        (drawings, ["--count", "200"]),
        (scanned, ["--sets", ".", "--limit", "3"]),
        (scanned, ["--sets", ".", "--programs", "OSRA"]),
        (latent, ["--limit", "3"]),
        (latent, ["--split", "tune"]),
        (latent, ["--floors", "0.4"]),
        (latent, ["--budgets", "1500"]),
        (pmo, ["--tasks", "qed"]),
        (pmo, ["--seeds", "1"]),
        (pmo, ["--calls", "500"]),
        (calls, ["--starts", "3"]),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "__name__") else " ".join(value),
)
def test_a_partial_evaluation_is_not_written(
    program, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    data = [] if program in (scanned, pmo) else ["--data", str(tmp_path)]
    with pytest.raises(SystemExit):
        program.main([*data, "--write", *options])
    assert "--write needs" in capsys.readouterr().err


def test_the_tables_of_the_latent_model_have_sections() -> None:
    rows = {
        "qed": [
            {
                "evaluations": 1500,
                "starts": 1,
                "success": 1.0,
                "without_result": 0,
                "seconds_mean": 1.0,
                "largest_disagreement": 0.0,
            }
        ],
        "space": [{"molecules": 1, "exact": 1.0, "exact_no_stereo": 1.0, "valid": 1.0, "radii": [], "served": []}],
        "drugs": [{name: [{"molecules": 1}] for name in latent_report.DRUGS}],
        "makeable": [{"filter": "none", "starts": 1}],
    }
    found = latent_report.tables({task: {"split": "dev", "seed": 1, "rows": rows[task]} for task in rows})
    assert list(found) == [name for task in rows for name in latent.SECTIONS[task]]


def test_the_retrieval_page_is_refused_without_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "RETRIEVAL.md"
    page.write_text("by hand\n")
    monkeypatch.setattr(
        "sys.argv",
        [
            "retrieval",
            "--data",
            str(tmp_path),
            "--baseline",
            "none",
            "--ranker",
            "none",
            "--sets",
            "xquad",
            "--out",
            str(tmp_path / "RETRIEVAL.json"),
        ],
    )
    with pytest.raises(LookupError, match="eval-retrieval"):
        retrieval.main()
    assert page.read_text() == "by hand\n"
