"""The figures of scripts.eval.drawings, from answers that are given here."""

from __future__ import annotations

import numpy as np
import pytest

from scripts.eval import drawings
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
