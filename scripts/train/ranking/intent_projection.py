"""Fits a projection of the two-mode vectors that groups texts by intent: a feature of the ranker.

One pair says little about an intent; many texts of one intent say much. The fit takes seconds and needs only vectors:
neighbourhood components analysis (Goldberger et al. 2004) on sets whose passages answer each other in large groups,
plus softmax over mined lists of the other sets, to keep the quality there. The projection starts as the map of the
embedding.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scripts.train.embedding import twomode, vectors
from scripts.train.ranking.pairs import QuerySet

MAX_TEXTS, MAX_TOKENS = 4000, 64
"""Of a set with groups: the most texts, and the most tokens of a text."""


def fit(
    model: twomode.TwoMode, sets: list[QuerySet], tokenizer, seed: int, steps: int = 60, rate: float = 1e-3
) -> Tensor:
    """Returns the projection [H,H]; a pooled vector v becomes projection @ v."""
    torch.manual_seed(seed)
    grouped = [encode_texts(model, s, tokenizer, seed) for s in sets if s.has_groups]
    ungrouped = [s for s in sets if not s.has_groups]
    projection = model.turn.weight.detach().clone().requires_grad_(True)
    optimiser = torch.optim.Adam([projection], lr=rate)
    random = np.random.default_rng(seed)
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * (1 - step / steps)
        parts = [neighbour_loss(projection, *texts) for texts in grouped] + [
            list_loss(projection, s, random) for s in ungrouped
        ]
        optimiser.zero_grad()
        (sum(parts[: len(grouped)]) + sum(parts[len(grouped) :]) / max(len(ungrouped), 1)).backward()
        optimiser.step()
    return projection.detach()


def encode_texts(
    model: twomode.TwoMode, queries_of_set: QuerySet, tokenizer, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns texts of a set as queries [N,H] and passages [N,H], before the map of the embedding, and their
    groups [N]."""
    device = next(model.parameters()).device

    def pooled(ids, mask):
        return vectors.mean_pooled(model.encoder(ids, mask, torch.zeros_like(ids)).float(), mask)

    rows = np.random.default_rng(seed).permutation(len(queries_of_set.mined.passages))[:MAX_TEXTS]
    texts = [queries_of_set.mined.passages[r] for r in rows]
    embed = vectors.module_embed(pooled, device)

    def as_mode(prefix):
        return torch.from_numpy(
            vectors.encode(embed, vectors.token_ids(tokenizer, [prefix + t for t in texts], MAX_TOKENS))
        )

    _, groups = np.unique([queries_of_set.mined.groups[r] for r in rows], return_inverse=True)
    return as_mode(twomode.QUERY_PREFIX), as_mode(twomode.PASSAGE_PREFIX), torch.from_numpy(groups)


def project(rows: Tensor, projection: Tensor) -> Tensor:
    return F.normalize(rows @ projection.T, dim=-1)


def neighbour_loss(
    projection: Tensor, queries: Tensor, passages: Tensor, groups: Tensor, batch: int = 384, bank: int = 1024
) -> Tensor:
    """Returns the negative log probability that the neighbour of a query, another text, is in its group."""
    query_rows, passage_rows = torch.randperm(len(groups))[:batch], torch.randperm(len(groups))[:bank]
    scores = twomode.SCALE * project(queries[query_rows], projection) @ project(passages[passage_rows], projection).T
    itself = query_rows[:, None] == passage_rows[None]
    same = (groups[query_rows][:, None] == groups[passage_rows][None]) & ~itself
    log_p = scores.masked_fill(itself, -1e4).log_softmax(1).masked_fill(~same, -1e4)
    return -torch.logsumexp(log_p, 1)[same.any(1)].mean()


def list_loss(
    projection: Tensor, queries_of_set: QuerySet, random: np.random.Generator, batch: int = 192, wrong: int = 7
) -> Tensor:
    """Returns the softmax loss of the right passage against mined ones.

    The vectors are those of the untrained encoder, to which the two-mode encoder is anchored.
    """
    rows = random.permutation(len(queries_of_set.queries))[:batch]
    chosen = np.stack([[queries_of_set.right[r][0], *random.choice(queries_of_set.wrong[r], wrong)] for r in rows])
    queries = project(torch.from_numpy(queries_of_set.query_vectors[rows]), projection)
    passages = project(torch.from_numpy(queries_of_set.mined.passage_vectors[chosen]), projection)
    scores = twomode.SCALE * (passages @ queries[:, :, None])[:, :, 0]
    return F.cross_entropy(scores, torch.zeros(len(rows), dtype=torch.int64))
