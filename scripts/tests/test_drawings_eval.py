"""The figures of scripts.eval.drawings, from answers that are given here."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.eval import drawing_sets, drawings
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


def test_placeholders_of_a_mol_file_are_in_the_truth(tmp_path) -> None:
    (tmp_path / "drawn.mol").write_text(MOL_FILE)
    truth = drawing_sets.read_mol_file(tmp_path / "drawn.mol")
    assert truth == "*C(=O)*[C@](*)(*)N* |$;;;X;;V;_R12;;_R7$|"
    (tmp_path / "drawn.mol").write_text(MOL_FILE.replace(" O   0", " F   0"))
    assert drawing_sets.read_mol_file(tmp_path / "drawn.mol") is None


@pytest.mark.parametrize(
    ("answer", "grade"),
    [
        ("The SMILES is *c1ccccc1 |$_R1;;;;;;$|. R1 stands for any group.", "exact"),
        ("The SMILES is c1ccc(*)cc1 |$;;;;_R1;;$|. R1 stands for any group.", "exact"),
        ("The SMILES is *c1ccccc1 |$_R2;;;;;;$|. R2 stands for any group.", "wrong"),
        ("The SMILES is *c1ccccc1. * stands for any group.", "wrong"),
        (f"{drawings.UNREADABLE[-1]}.", "unreadable"),
    ],
)
def test_labels_count_in_the_grade(answer: str, grade: str) -> None:
    assert drawings.grade(answer, "*c1ccccc1 |$_R1;;;;;;$|") == grade


def test_labels_of_the_fixed_set_are_canonical() -> None:
    truths = [drawing_sets.labelled(smiles) for smiles in drawing_sets.PLACEHOLDERS]
    assert truths[0] == "*c1ccccc1" and truths[-1] == "*c1cc(*)ccn1 |$_R4;;;;_R5;;;$|"
