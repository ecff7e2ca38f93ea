"""Sums that must balance for a string to be one molecule.

Each piece but the first two takes an open end of an earlier piece, opened branches are closed, and each ring digit
occurs in pairs. When one mask of a row is left, the other tokens determine what it must contribute, and the sampler
penalises tokens that leave a sum unbalanced, which cannot make a molecule. The order of tokens, and the validity of
each piece, are left to the model.
"""

from __future__ import annotations

import numpy as np

from scripts.train.masked import safe
from scripts.train.masked.vocabulary import CONDITIONS, SPECIALS

RINGS = "123456789"
SUMS = 2 + len(RINGS)
"""Number of sums: open ends minus pieces, opened minus closed branches, each ring digit."""

MODULI = np.array([1000, 1000, *[2] * len(RINGS)], np.int64)
"""A sum is balanced if it is 0 modulo this: 1000 for an exact balance, 2 for pairs."""

PENALTY = -1e4
"""Added to the logit of a token for each sum that it leaves unbalanced."""


def balance_table(tokens: list[str]) -> np.ndarray:
    """Returns int64 [tokens, SUMS + 1]: what each token adds to the sums, and whether it starts a piece."""
    out = np.zeros((len(tokens), SUMS + 1), np.int64)
    for row, token in zip(out, tokens):
        smiles_tokens = [] if token in SPECIALS or token in CONDITIONS else safe.split(token)
        row[0] = smiles_tokens.count("*") - smiles_tokens.count(".")
        row[1] = smiles_tokens.count("(") - smiles_tokens.count(")")
        row[2:SUMS] = [smiles_tokens.count(digit) for digit in RINGS]
        row[SUMS] = smiles_tokens.count(".")
    return out
