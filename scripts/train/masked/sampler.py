"""Unmasking in PyTorch: the reference for the exported graph.

In each round, every masked position draws a token from softmax(logits / sqrt(0.3 temperature)). Its confidence is minus
the entropy of softmax(logits), in nats, plus noise * (1 - round / (rounds - 1)) * Gumbel. The step_size most confident
positions keep their tokens. Rounds are counted per row: a row with k masks takes ceil(k / step_size), whatever else is
in its batch.

The confidence does not depend on the drawn tokens. If it did, frequent tokens would be kept more often than they are
drawn, which sharpens the distribution at any temperature. The square root translates the temperature of a published
token to a token of this model, which stands for several of them. The factor 0.3 gives molecules at temperature 1
about the quality that GenMol version 2 has there. All three were measured:
scripts/train/experiments/2026-11-26-masked-order-by-entropy.md and 2026-11-26-masked-public-data.md.

Molecular context guidance (GenMol, section 4.3) uses w * L(x) + (1 - w) * L(x with a share gamma of the given tokens
masked too), w = 2. For the last mask, tokens that cannot make a molecule are penalised
(scripts.train.masked.structure). Random numbers are scripts.train.graph.key over (seed of the row, round, purpose,
position).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from scripts.train import graph
from scripts.train.masked import structure
from scripts.train.masked.model import Model
from scripts.train.masked.vocabulary import MASK

TOKEN, ORDER, CONTEXT = range(3)
"""Purposes of random numbers, part of their key."""

GUIDANCE = 2.0

TEMPERATURE_SCALE = 0.3
"""Factor of the temperature under the square root."""

IMPOSSIBLE = -1e9
"""Logit of tokens that never replace a mask. Finite, so that it times its probability of 0 is 0."""


@dataclasses.dataclass
class Rows:
    """Templates, ids int64 [B, L] padded after [EOS], and the settings of each, float32 and int64 [B]."""

    ids: np.ndarray
    temperature: np.ndarray
    noise: np.ndarray
    step_size: np.ndarray
    gamma: np.ndarray
    seed: np.ndarray


def uniform(seed: np.ndarray, turn: int, purpose: int, length: int) -> torch.Tensor:
    """Returns the random numbers [B, length] of a round and purpose."""
    places = np.arange(length, dtype=np.int64)[None]
    return torch.from_numpy(
        graph.uniform(graph.key(seed[:, None].astype(np.int64), np.array([[4 * turn + purpose]]), places))
    )


@torch.no_grad()
def unmask(model: Model, rows: Rows, table: np.ndarray | None = None) -> torch.Tensor:
    """Replaces all masks and returns int64 [B, L].

    table: from structure.balance_table, to penalise tokens that cannot replace the last mask.
    """
    device = next(model.parameters()).device
    ids = torch.from_numpy(rows.ids).to(device)
    temperature, noise, gamma = (
        torch.from_numpy(a.astype(np.float32))[:, None].to(device) for a in (rows.temperature, rows.noise, rows.gamma)
    )
    size = torch.from_numpy(rows.step_size)[:, None].to(device)
    rounds = ((ids == MASK).sum(1, keepdim=True) + size - 1) // size
    context = _context(ids, gamma, rows.seed, model.shape.reserved)
    for turn in range(int(rounds.max())):
        masked = ids == MASK
        logits = _logits(model, ids, context, bool((gamma > 0).any()))
        if table is not None:
            logits = logits + _penalties(ids, torch.from_numpy(table).to(device))[:, None]
        log_p = torch.log_softmax(logits / (TEMPERATURE_SCALE * temperature).sqrt()[..., None], -1)
        drawn = _draw(log_p, uniform(rows.seed, turn, TOKEN, ids.shape[1]).to(device))
        gumbel = -torch.log(-torch.log(uniform(rows.seed, turn, ORDER, ids.shape[1]).to(device)))
        fade = 1 - turn / (rounds - 1).clamp(min=1).float()
        confidence = (_negative_entropy(logits) + noise * fade * gumbel).masked_fill(~masked, -torch.inf)
        best = confidence.sort(1, descending=True).values.gather(1, (size - 1).clamp(max=ids.shape[1] - 1))
        ids = torch.where(masked & (confidence >= best), drawn, ids)
    return ids


def _context(ids: torch.Tensor, gamma: torch.Tensor, seed: np.ndarray, reserved: int) -> torch.Tensor:
    """Returns which given tokens the second pass of guidance masks, chosen once a row."""
    return (ids >= reserved) & (uniform(seed, 0, CONTEXT, ids.shape[1]).to(ids.device) < gamma)


def _logits(model: Model, ids: torch.Tensor, context: torch.Tensor, guided: bool) -> torch.Tensor:
    logits = model(ids).float()
    if guided:
        logits = GUIDANCE * logits + (1 - GUIDANCE) * model(ids.masked_fill(context, MASK)).float()
    logits[..., : model.shape.reserved] = IMPOSSIBLE
    return logits


def _penalties(ids: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Returns what to add to the logits, [B, vocabulary]: 0 for rows with more than one mask."""
    sums = table[ids].sum(1)
    cut = 2 * (sums[:, structure.SUMS :] > 0)  # The first two pieces bond to each other without open ends.
    sums = sums[:, None, : structure.SUMS] + table[:, : structure.SUMS]
    sums[..., 0] += cut
    unbalanced = (sums % torch.from_numpy(structure.MODULI).to(ids.device) != 0).sum(-1)
    last = (ids == MASK).sum(1) == 1
    return structure.PENALTY * unbalanced * last[:, None]


def _negative_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Returns the sum of p log p over the tokens, [B, L]."""
    log_p = torch.log_softmax(logits, -1)
    return (log_p.exp() * log_p).sum(-1)


def _draw(log_p: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Draws a token for each position: the first whose cumulative probability reaches u."""
    return (log_p.exp().cumsum(-1) < u[..., None]).sum(-1).clamp(max=log_p.shape[-1] - 1)
