"""Relevance scores and logits, by the formula of beta calibration (Kull et al. 2017)."""

from __future__ import annotations

import math
import re
from pathlib import Path

PARAMETER = re.compile(r'key:\s*"relevance_calibration"\s*value\s*\{\s*string_value:\s*"([^"]*)"')


def numbers(config: Path) -> list[float]:
    """Returns the calibration in a config.pbtxt; without one, that of the logistic function."""
    found = PARAMETER.search(config.read_text())
    return [float(x) for x in found[1].split()] if found else [1, 1, 0]


def relevance(logit: float, calibration: list[float]) -> float:
    low, high, offset = calibration
    odds = offset - low * math.log1p(math.exp(-logit)) + high * math.log1p(math.exp(logit))
    return 1 / (1 + math.exp(-odds))


def logit(score: float, calibration: list[float]) -> float:
    """Returns the logit with a relevance score, by bisection."""
    low, high = -100.0, 100.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if relevance(middle, calibration) < score:
            low = middle
        else:
            high = middle
    return low
