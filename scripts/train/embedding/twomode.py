"""The two-mode bi-encoder: one encoder, and a prefix that says whether a text asks or answers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .bert import Encoder
from .vectors import mean_pooled

QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
# Prefixes of the vector that must do the whole vector's work (Kusupati et al. 2022,
# https://arxiv.org/abs/2205.13147), and how much each counts in the loss.
MATRYOSHKA = {384: 1.0, 256: 0.5, 128: 0.7, 64: 0.3, 32: 0.15}
SCALE = 20.0  # of a cosine, before the softmax: the inverse temperature MiniLM was trained with


class TwoMode(nn.Module):
    """Ids and mask [B,L] int64 to unit vectors [B,H]."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.encoder = encoder
        encoder.words.requires_grad_(False)  # words not met in training keep their place among the others

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
        return mean_pooled(self.encoder(ids, mask, segments).float(), mask)


@dataclass
class Batch:
    """Q queries and P >= Q passages; passage i answers query i, the rest are hard negatives."""

    queries: tuple[Tensor, Tensor]  # ids, mask, with the query prefix
    misread: tuple[Tensor, Tensor]  # the same queries with the passage prefix
    passages: tuple[Tensor, Tensor]
    allowed: Tensor  # bool [Q,P]: False where passage j may answer query i without being its own
    query_anchor: Tensor  # [Q,H] vectors of the untrained model
    passage_anchor: Tensor  # [P,H]

    def to(self, device: torch.device) -> "Batch":
        pair = lambda p: (p[0].to(device), p[1].to(device))
        return Batch(pair(self.queries), pair(self.misread), pair(self.passages), self.allowed.to(device),
                     self.query_anchor.to(device), self.passage_anchor.to(device))


@dataclass
class Weights:
    """Of the parts of the loss, beside 1 for the ranking part."""

    anchor: float = 1.0
    mode: float = 0.3
    mode_margin: float = 1.0  # nats by which a misread query must do worse; beyond it nothing is asked


def ranking_loss(queries: Tensor, passages: Tensor, allowed: Tensor) -> Tensor:
    """InfoNCE over passages [P,d] for queries [Q,d], averaged; both are cut Matryoshka vectors, not yet unit ones."""
    scores = SCALE * F.normalize(queries, dim=-1) @ F.normalize(passages, dim=-1).T
    scores = scores.masked_fill(~allowed, -torch.inf)
    return F.cross_entropy(scores, torch.arange(len(queries), device=queries.device))


def nested_loss(queries: Tensor, passages: Tensor, allowed: Tensor) -> Tensor:
    """The ranking loss of every Matryoshka size, averaged by weight."""
    parts = [w * ranking_loss(queries[:, :d], passages[:, :d], allowed) for d, w in MATRYOSHKA.items()]
    return sum(parts) / sum(MATRYOSHKA.values())


def loss(model: nn.Module, batch: Batch, weights: Weights) -> tuple[Tensor, dict[str, Tensor]]:
    """Ranking, nearness to the untrained model, and a margin between the right mode and the wrong one.

    The anchor keeps what the untrained model knows of collections that are not among the training sets: texts
    may move only as far as the ranking pays for it. The margin is on the ranking loss itself, since a common
    shift of all vectors of a mode would lower their cosines and leave every ranking as it was.
    """
    queries, misread, passages = (model(*part) for part in (batch.queries, batch.misread, batch.passages))
    ranking = nested_loss(queries, passages, batch.allowed)
    wrong = nested_loss(misread, passages, batch.allowed)
    mode = F.relu(ranking.detach() + weights.mode_margin - wrong)
    kept_query = (queries * batch.query_anchor).sum(-1).mean()
    kept_passage = (passages * batch.passage_anchor).sum(-1).mean()
    total = ranking + weights.mode * mode + weights.anchor * (1 - kept_passage) + 0.3 * weights.anchor * (1 - kept_query)
    figures = {"ranking": ranking, "wrong_mode": wrong, "kept_query": kept_query, "kept_passage": kept_passage}
    return total, {k: v.detach() for k, v in figures.items()}
