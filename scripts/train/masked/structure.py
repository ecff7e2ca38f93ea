"""What must come out even for a string to be one molecule, and which last token makes it so.

Every piece but the first two takes an open end that an earlier one has left, branches that are opened are closed, and every
ring digit occurs twice. So once a single token of a row is missing, the others tell what it has to bring, and the sampler
bars the tokens that do not: they could not make a molecule whatever their probability. (That the order is right too, and
that every piece is a possible one, is left to the model.)
"""

from __future__ import annotations

import numpy as np

from scripts.train.masked import safe
from scripts.train.masked.vocabulary import CONDITIONS, SPECIALS

RINGS = "123456789"
SUMS = 2 + len(RINGS)
"""Sums that must come out even: open ends less pieces, branches opened less closed, each ring digit."""

MODULI = np.array([1000, 1000, *[2] * len(RINGS)], np.int64)
"""A sum is even when it is 0 modulo this: exactly, or in pairs."""

PENALTY = -1e4
"""Added to a token's logit for every sum that it leaves uneven."""


def table(tokens: list[str]) -> np.ndarray:
    """int64 [tokens, SUMS + 1]: what each token adds to the sums, and whether a piece begins with it."""
    out = np.zeros((len(tokens), SUMS + 1), np.int64)
    for row, token in zip(out, tokens):
        simple = [] if token in SPECIALS or token in CONDITIONS else safe.split(token)
        row[0] = simple.count("*") - simple.count(".")
        row[1] = simple.count("(") - simple.count(")")
        row[2:SUMS] = [simple.count(digit) for digit in RINGS]
        row[SUMS] = simple.count(".")
    return out
