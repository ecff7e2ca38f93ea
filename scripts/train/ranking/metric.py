"""A second map of the two-mode vectors, in which texts of one intent lie together: one evidence of the ranker.

A pair says little about an intent; what many texts of the same intents have in common says much. It is learned from
vectors alone, in seconds: neighbourhood components (Goldberger et al. 2004) over sets whose passages answer each other
in large groups, and softmax over mined lists of the other sets, so that nothing is lost there. It begins as the
embedding's own map.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scripts.train.embedding import twomode, vectors
from scripts.train.ranking.pairs import Asked

TEXTS, TOKENS = 4000, 64  # of a set with groups: the most texts, and tokens of one


def fit(model: twomode.TwoMode, sets: list[Asked], tokenizer, seed: int, steps: int = 60, rate: float = 1e-3) -> Tensor:
    """The map [H,H]; a pooled vector v becomes metric @ v."""
    torch.manual_seed(seed)
    grouped = [encoded(model, s, tokenizer, seed) for s in sets if s.several]
    plain = [s for s in sets if not s.several]
    metric = model.turn.weight.detach().clone().requires_grad_(True)
    optimiser = torch.optim.Adam([metric], lr=rate)
    random = np.random.default_rng(seed)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * (1 - step / steps)
        parts = [neighbours(metric, *texts) for texts in grouped] + [lists(metric, s, random) for s in plain]
        optimiser.zero_grad()
        (sum(parts[: len(grouped)]) + sum(parts[len(grouped) :]) / max(len(plain), 1)).backward()
        optimiser.step()
    return metric.detach()


def encoded(model: twomode.TwoMode, asked: Asked, tokenizer, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Texts of a set as queries [N,H] and as passages [N,H], before the embedding's own map, and their groups [N]."""
    device = next(model.parameters()).device

    def pooled(ids, mask):
        return vectors.mean_pooled(model.encoder(ids, mask, torch.zeros_like(ids)).float(), mask)

    rows = np.random.default_rng(seed).permutation(len(asked.mined.passages))[:TEXTS]
    texts = [asked.mined.passages[r] for r in rows]
    embed = vectors.module_embed(pooled, device)

    def as_mode(prefix):
        return torch.from_numpy(
            vectors.encode(embed, vectors.token_ids(tokenizer, [prefix + t for t in texts], TOKENS))
        )

    _, groups = np.unique([asked.mined.groups[r] for r in rows], return_inverse=True)
    return as_mode(twomode.QUERY_PREFIX), as_mode(twomode.PASSAGE_PREFIX), torch.from_numpy(groups)


def mapped(rows: Tensor, metric: Tensor) -> Tensor:
    return F.normalize(rows @ metric.T, dim=-1)


def neighbours(
    metric: Tensor, queries: Tensor, passages: Tensor, groups: Tensor, batch: int = 384, bank: int = 1024
) -> Tensor:
    """How improbable it is that a query's neighbour is of its group; a text is no neighbour of itself."""
    asks, answers = torch.randperm(len(groups))[:batch], torch.randperm(len(groups))[:bank]
    scores = twomode.SCALE * mapped(queries[asks], metric) @ mapped(passages[answers], metric).T
    itself = asks[:, None] == answers[None]
    same = (groups[asks][:, None] == groups[answers][None]) & ~itself
    chance = scores.masked_fill(itself, -1e4).log_softmax(1).masked_fill(~same, -1e4)
    return -torch.logsumexp(chance, 1)[same.any(1)].mean()


def lists(metric: Tensor, asked: Asked, random: np.random.Generator, batch: int = 192, wrong: int = 7) -> Tensor:
    """Softmax of the right passage against mined ones, by vectors of the untrained encoder: the two-mode encoder was kept near it."""
    rows = random.permutation(len(asked.queries))[:batch]
    chosen = np.stack([[asked.right[r][0], *random.choice(asked.wrong[r], wrong)] for r in rows])
    queries = mapped(torch.from_numpy(asked.query_vectors[rows]), metric)
    passages = mapped(torch.from_numpy(asked.mined.passage_vectors[chosen]), metric)
    scores = twomode.SCALE * (passages @ queries[:, :, None])[:, :, 0]
    return F.cross_entropy(scores, torch.zeros(len(rows), dtype=torch.int64))
