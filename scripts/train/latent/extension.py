"""Extends a trained latent model: with tokens for other molecules, and with more memory vectors."""

from __future__ import annotations

import dataclasses

import torch
from torch.nn import functional

from scripts.train.latent.model import Model
from scripts.train.latent.tokens import UNK, Vocabulary


def with_vocabulary(old: Model, old_vocabulary: Vocabulary, vocabulary: Vocabulary) -> Model:
    """Returns the model with a vocabulary that appends tokens to the old one.

    The embedding of a merged token starts as the mean of its parts, its output weights as those of its first part.
    """
    new = Model(dataclasses.replace(old.shape, vocabulary=len(vocabulary)))
    state, shared = new.state_dict(), len(old_vocabulary)
    parts = [old_vocabulary.encode(token) for token in vocabulary.tokens[shared:]]
    for name, value in old.state_dict().items():
        if len(value) != shared or not name.endswith(("token.weight", "head.weight", "head.bias")):
            state[name] = value
            continue
        state[name][:shared] = value
        for row, ids in enumerate(parts, shared):
            if UNK not in ids:
                state[name][row] = value[ids[0]] if "head" in name else value[ids].mean(0)
    new.load_state_dict(state)
    return new


def with_slots(old: Model, slots: int) -> Model:
    """Returns the model with more slots; its results for texts with at most as many tokens as old slots hardly change.

    New slots enter the latent vector with zero weights and leave it with random ones. Tokens after the old slots attend
    to them.
    """
    new, old_slots = Model(dataclasses.replace(old.shape, slots=slots)), old.shape.slots
    state, heads = new.state_dict(), old.shape.heads
    for name, value in old.state_dict().items():
        if name.endswith("places.table.weight"):
            bias = _new_slot_bias(len(value), heads, old_slots, slots)
            value = torch.cat([value.unflatten(1, (heads, old_slots)), bias], -1).flatten(1)
        elif name == "encoder.out.weight":
            value = functional.pad(value, (0, state[name].shape[1] - value.shape[1]))
        elif value.shape != state[name].shape:  # The queries, and the decoder's memory: append rows.
            value = torch.cat([value, state[name][len(value) :]])
        state[name] = value
    new.load_state_dict(state)
    return new


def _new_slot_bias(positions: int, heads: int, old_slots: int, slots: int) -> torch.Tensor:
    """Returns the bias of each position and head on new slots.

    Positions with an old slot avoid new ones. At other positions, half of the heads prefer near slots, as in Places.
    """
    position = torch.arange(positions)[:, None]
    near = -(position - torch.arange(old_slots, slots)).abs().float().clamp(max=8)
    return torch.stack([torch.where(position < old_slots, -8.0, near * (head % 2)) for head in range(heads)], 1)
