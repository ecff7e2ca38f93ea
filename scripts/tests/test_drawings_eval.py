"""The figures of scripts.eval.drawings and scripts.eval.scanned, from answers that are given here."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rdkit import Chem
from waiting import wait_for

from scripts.eval import drawing_sets, drawings, mol_files, page_sets, pages, scanned
from scripts.eval.drawings import Graded


def test_the_calibration_error_is_the_gap_between_confidence_and_exact_readings() -> None:
    confidences = np.array([0.95] * 10 + [0.55] * 10)
    exact = np.array([1.0] * 9 + [0.0] + [1.0] * 5 + [0.0] * 5)
    assert drawings.calibration_error(confidences, exact) == pytest.approx(0.05)
    assert drawings.calibration_error(np.array([1.0, 1.0]), np.array([0.0, 0.0])) == 1


def test_the_drawings_of_the_lowest_confidence_are_not_covered() -> None:
    answers = [Graded("exact", 0.9)] * 19 + [Graded("unreadable", 0.0)]
    assert drawings.confidence_row(answers) == "20 | 95.0% | 100.0% | 0.90 | 95.0% | 100.0% | 0.095 |\n"
    table = drawings.confidence_table({"indigo": answers, "pikachu, default settings": answers, "RDKit": answers})
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == ["| pikachu, default settings", "| all"]


def test_a_page_has_its_structures_where_it_says() -> None:
    drawn = page_sets.compose(["CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"], [], Random(4))
    pixels = np.asarray(Image.open(io.BytesIO(drawn.file)).convert("L"))
    assert 2 <= len(drawn.structures) <= 12
    for left, top, right, bottom in (structure.box for structure in drawn.structures):
        inked = pixels[top:bottom, left:right] < 128
        assert inked[:3].any() and inked[-3:].any() and inked[:, :3].any() and inked[:, -3:].any()


def test_a_page_is_right_only_with_exactly_its_molecules() -> None:
    structures = [page_sets.Structure(s, (100 * n, 0, 100 * n + 80, 80), "rdkit") for n, s in enumerate(("CCO", "CCN"))]
    page = page_sets.ComposedPage(b"", structures, "clean")
    right: list[dict[str, Any]] = [
        {"smiles": "CCN", "box": [100, 0, 180, 80]},
        {"smiles": "CCO", "box": [0, 10, 80, 80]},
    ]
    text: dict[str, Any] = {"smiles": "C=C", "box": [0, 200, 30, 210]}
    unread: dict[str, Any] = {"smiles": None, "box": [0, 0, 80, 80]}
    graded = [pages.grade(page, items, 1.0) for items in (right, [*right, text], right[:1], [right[0], unread])]
    assert [(len(g.found), g.exact(), g.wrong, g.is_right()) for g in graded] == [
        (2, 2, 0, True),
        (2, 2, 1, False),
        (1, 1, 0, False),
        (2, 1, 0, False),
    ]
    assert pages.table(graded).splitlines()[2].startswith("| all | 4 | 8 | 87.5% | 75.0% | 85.7% | 0.25 | 25.0% |")


def put_drawing(folder: Path, name: str, block: str) -> None:
    """Writes a drawing of a set, an empty picture, and its mol file."""
    for part in ("SET", "SET_mol_ref"):
        (folder / part).mkdir(exist_ok=True)
    Image.new("L", (40, 30), 255).save(folder / "SET" / f"{name}.png")
    (folder / "SET_mol_ref" / f"{name}.mol").write_text(block)


def test_a_set_has_the_drawings_whose_mol_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned, "TUNED_ON", 10)
    for number in range(39):
        put_drawing(tmp_path, f"drawing{number}", Chem.MolToMolBlock(Chem.MolFromSmiles("CO")))
    put_drawing(tmp_path, "damaged", "no mol file")
    drawings, unread = scanned.read_set(tmp_path, "SET")
    assert (len(drawings), unread) == (39, 1)
    assert sum(d.is_tuned_on for d in drawings) in (9, 10)
    reserved = [d for d in drawings if d.is_reserved]
    assert 3 <= len(reserved) <= 20 and not any(d.is_tuned_on for d in reserved)
    assert {(d.smiles, d.inchi) for d in drawings} == {("CO", "InChI=1S/CH4O/c1-2/h2H,1H3")}


def test_labels_of_placeholders_are_not_compared() -> None:
    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles("*c1ccccc1")).replace(" * ", label) for label in (" R ", " R1")]
    read = [scanned.reading([block], 0) for block in blocks]
    assert [one.smiles for one in read] == ["*c1ccccc1"] * 2
    assert [one.inchi for one in read] == [""] * 2


def test_a_reading_is_all_molecules_of_the_drawing() -> None:
    sodium, acetate = (Chem.MolToMolBlock(Chem.MolFromSmiles(s)) for s in ("[Na+]", "CC(=O)[O-]"))
    assert scanned.reading([sodium, acetate], 0).smiles == "CC(=O)[O-].[Na+]"
    assert scanned.reading([sodium, "damaged"], 0).smiles == ""
    assert scanned.reading([], 0).smiles == ""


def test_published_readings_are_found_by_the_name_of_the_drawing(tmp_path: Path) -> None:
    folder = tmp_path / "final_results/osra"
    folder.mkdir(parents=True)
    (folder / "one.sdf").write_text(Chem.MolToMolBlock(Chem.MolFromSmiles("CCO")) + "$$$$\n")
    program = scanned.published("OSRA", tmp_path)
    assert [program.read(Path(name)).smiles for name in ("SET/one.png", "SET/two.png")] == ["CCO", ""]


def test_the_rows_count_exact_readings_and_inchis() -> None:
    def drawing(name: str, smiles: str, is_reserved: bool = False) -> scanned.Drawing:
        molecule = Chem.MolFromSmiles(smiles)
        return scanned.Drawing("SET", Path(name), *scanned.identity(molecule), False, is_reserved)

    def read(smiles: str, has_warning: bool = False) -> scanned.Reading:
        return scanned.Reading(1, *scanned.identity(Chem.MolFromSmiles(smiles)), has_warning)

    drawings = [drawing("1", "Oc1ccccn1"), drawing("2", "*CC"), drawing("3", "CC", True), drawing("4", "CCC", True)]
    readings = [read("O=c1cccc[nH]1"), read("*CCO"), scanned.Reading(1), read("CCN", True)]
    text = scanned.table(drawings, {"a program": {d.path: r for d, r in zip(drawings, readings)}})
    assert text.splitlines()[2:] == [
        # The tautomer has the same InChI; the review counts any two molecules with placeholders as equal.
        "| SET, whole set | 4 | a program | 0.0% | – | 25.0% | 50.0% | 25.0% | 25.0% | 50.0% |",
        "| SET, without placeholders | 3 | a program | 0.0% | – | 33.3% | 33.3% | 33.3% | 33.3% | 33.3% |",
        "| SET, with placeholders | 1 | a program | 0.0% | – | 0.0% | 100.0% | 0.0% | 0.0% | 100.0% |",
        "| SET, reserved | 2 | a program | 0.0% | – | 0.0% | 0.0% | 50.0% | 50.0% | 0.0% |",
    ]


def test_labels_count_in_one_column_only() -> None:
    truth = "*c1ccccc1 |$_R1;;;;;;$|"
    drawing = scanned.Drawing("SET", Path("1"), "*c1ccccc1", "", False, False, truth)
    for label, row in (("R1", "100.0% | 100.0%"), ("R2", "100.0% | 0.0%")):
        found = scanned.Reading(1, "*c1ccccc1", labelled=truth.replace("R1", label))
        assert scanned.cells([(drawing, found)]).startswith(row)


def test_the_truth_of_a_set_has_labels_and_groups(tmp_path: Path) -> None:
    put_drawing(tmp_path, "drawn", MOL_FILE)
    put_drawing(tmp_path, "plain", MOL_FILE.replace("NHR7", "MeO").replace(" R12", " L  "))
    drawings, unread = scanned.read_set(tmp_path, "SET")
    found = {d.path.stem: (d.smiles, d.labelled) for d in drawings}
    assert unread == 0 and found["drawn"] == ("*NC(*)(*)*C(*)=O", LABELLED)
    assert found["plain"][0] == "*C(=O)*C(*)(*)OC" and ";L;" in found["plain"][1]


def test_the_inchi_of_a_set_is_that_of_the_expanded_molecule(tmp_path: Path) -> None:
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("*CC=C")).replace("M  END", "A    1\nMeO\nM  END")
    put_drawing(tmp_path, "drawn", block)
    ((drawing,), _) = scanned.read_set(tmp_path, "SET")
    assert (drawing.smiles, drawing.inchi) == scanned.identity(Chem.MolFromSmiles("C=CCOC")) and drawing.inchi


def test_a_run_is_continued(tmp_path: Path) -> None:
    drawings = [scanned.Drawing("SET", Path(name), "C", "", False, False) for name in ("1.png", "2.png")]
    asked: list[Path] = []

    def read(path: Path) -> scanned.Reading:
        asked.append(path)
        return scanned.Reading(2.5, "C")

    def program(version: str) -> scanned.Program:
        return scanned.Program("one", version, read)

    kept = tmp_path / "readings.jsonl"
    first = scanned.read_all(program("1"), drawings[:1], kept)
    both = scanned.read_all(program("1"), drawings, kept)
    assert asked == [Path("1.png"), Path("2.png")]
    assert both == first | {Path("2.png"): scanned.Reading(2.5, "C")}
    scanned.read_all(program("2"), drawings, kept)
    assert len(asked) == 4


def test_the_picture_shows_drawings_beside_readings(tmp_path: Path) -> None:
    put_drawing(tmp_path, "one", "")
    drawing = scanned.Drawing("SET", tmp_path / "SET/one.png", "C", "", False, False)
    picture = scanned.sheet([(drawing, scanned.Reading(1, "CCO"))] * 4)
    assert picture.size == (6 * scanned.CELL[0], 2 * scanned.CELL[1])
    width, height = scanned.CELL
    left, right = (picture.convert("L").crop((x + 5, 5, x + width - 5, height - 5)) for x in (0, width))
    assert left.getextrema() == (255, 255) and right.getextrema()[0] < 128


def test_clock_counts_the_work_of_child_processes() -> None:
    work = "import time\nwhile time.process_time() < 1: pass"
    shell = subprocess.Popen(["sh", "-c", f"'{sys.executable}' -c '{work}\ninput()'; true"], stdin=subprocess.PIPE)
    try:
        wait_for("a second of CPU time", lambda: scanned.cpu_seconds(scanned.family(shell.pid)) >= 1)
        assert len(scanned.family(shell.pid)) == 2
    finally:
        shell.communicate(b"\n")


MOL_FILE = """

  V2000
  8  7  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0
    1.2000    0.7000    0.0000 R12 0  0
    0.0000   -1.4000    0.0000 C   0  0
   -1.2000    0.7000    0.0000 C   0  0
   -2.4000    0.0000    0.0000 C   0  0
    0.0000    1.4000    0.0000 V   0  0
   -3.6000    0.7000    0.0000 O   0  0
   -2.4000   -1.4000    0.0000 *   0  0
  1  2  1  0
  1  3  1  1
  1  4  1  0
  4  5  1  0
  1  6  1  0
  5  7  2  0
  5  8  1  0
A    3
NHR7
A    4
X
M  END
"""


LABELLED = "*C(=O)*[C@](*)(*)N* |$;;;X;;V;_R12;;_R7$|"


def test_placeholders_of_a_mol_file_are_in_the_truth(tmp_path) -> None:
    (tmp_path / "drawn.mol").write_text(MOL_FILE)
    truth = mol_files.read_mol_file(tmp_path / "drawn.mol")
    assert truth == LABELLED
    (tmp_path / "drawn.mol").write_text(MOL_FILE.replace(" O   0", " F   0"))
    assert mol_files.read_mol_file(tmp_path / "drawn.mol") is None


@pytest.mark.parametrize(
    ("text", "smiles"),
    [
        ("MeO", "C=CCOC"),
        ("OH", "C=CCO"),
        ("H2N", "C=CCN"),
        ("NO2", "C=CC[N+](=O)[O-]"),
        ("R1O", "*OCC=C |$_R1;;;;$|"),
        ("OR11", "*OCC=C |$_R11;;;;$|"),
        ("(CH2)n", "*CC=C |$(CH2)n;;;$|"),
        ("Nr", "*CC=C |$Nr;;;$|"),
        ("?", "*CC=C |$?;;;$|"),
        ("D", "[2H]CC=C"),
    ],
)
def test_labels_of_a_mol_file_can_be_groups(tmp_path: Path, text: str, smiles: str) -> None:
    block = Chem.MolToMolBlock(Chem.MolFromSmiles("CCC=C"))
    (tmp_path / "drawn.mol").write_text(block.replace("M  END", f"A    1\n{text}\nM  END"))
    assert mol_files.read_mol_file(tmp_path / "drawn.mol") == smiles


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("The SMILES is *c1ccccc1 |$_R1;;;;;;$|. The drawing does not say what R1 stands for.", "exact"),
        ("The SMILES is c1ccc(*)cc1 |$;;;;_R1;;$|. The drawing does not say what R1 stands for.", "exact"),
        ("The SMILES is *c1ccccc1 |$_R2;;;;;;$|. The drawing does not say what R2 stands for.", "wrong"),
        ("The SMILES is *c1ccccc1. The drawing does not say what * stands for.", "wrong"),
        (f"{drawings.UNREADABLE[-1]}.", "unreadable"),
    ],
)
def test_labels_count_in_the_grade(answer: str, grade: str) -> None:
    assert drawings.grade(answer, "*c1ccccc1 |$_R1;;;;;;$|") == grade


def test_labels_of_the_fixed_set_are_canonical() -> None:
    truths = [drawing_sets.labelled(smiles) for smiles in drawing_sets.PLACEHOLDERS]
    assert truths[0] == "*c1ccccc1" and truths[-1] == "*c1cc(*)ccn1 |$_R4;;;;_R5;;;$|"
