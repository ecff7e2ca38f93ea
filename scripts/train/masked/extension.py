"""Extends a trained masked model with tokens for other molecules."""

from __future__ import annotations

import dataclasses

from scripts.train.masked.model import Model
from scripts.train.masked.vocabulary import BOS, EOS, QUALITY, UNK, Vocabulary

RARE = 5.0
"""How far the logit of a new merged token starts below that of its first part."""


def with_vocabulary(old: Model, old_vocabulary: Vocabulary, vocabulary: Vocabulary) -> Model:
    """Returns the model with a vocabulary that extends the old one.

    The embedding of a new merged token starts as the mean of its parts, its output weights as those of its first part
    with the logit lowered by RARE, so the model writes at first what it wrote before. [QUALITY] starts as [BOS], a
    length as [EOS].
    """
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary), reserved=vocabulary.reserved))
    state = new.state_dict()
    for name, value in old.state_dict().items():
        if name not in ("token.weight", "head.weight", "head.bias"):
            state[name] = value
            continue
        for row, token in enumerate(vocabulary.tokens):
            if token in old_vocabulary.ids:
                state[name][row] = value[old_vocabulary.ids[token]]
            elif row < vocabulary.reserved:
                state[name][row] = value[BOS if row == QUALITY else EOS]
            elif UNK not in (parts := old_vocabulary.encode_piece(token)):
                state[name][row] = value[parts].mean(0) if name == "token.weight" else value[parts[0]]
                if name == "head.bias":
                    state[name][row] -= RARE
    new.load_state_dict(state)
    return new
