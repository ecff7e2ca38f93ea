"""The two-mode bi-encoder: one encoder, and a prefix that says whether a text asks or answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .bert import Encoder
from .examples import Mined
from .vectors import mean_pooled

QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
# Prefixes of the vector that must do the whole vector's work (Kusupati et al. 2022,
# https://arxiv.org/abs/2205.13147), and how much each counts in the loss.
MATRYOSHKA = {384: 1.0, 256: 0.5, 128: 0.7, 64: 0.3, 32: 0.15}
SCALE = 20.0  # of a cosine, before the softmax: the inverse temperature MiniLM was trained with


class TwoMode(nn.Module):
    """Ids and mask [B,L] int64 to unit vectors [B,H]: encoder, mean over tokens, a linear map that begins as a
    rotation."""

    def __init__(self, encoder: Encoder, rotation: Tensor | None = None):
        super().__init__()
        self.encoder = encoder
        width = encoder.shape.hidden_size
        self.turn = nn.Linear(width, width, bias=False)
        # The map as it was before training: the other end of a blend of weights.
        self.register_buffer("first_turn", torch.eye(width) if rotation is None else rotation.clone())
        self.turn.weight.data.copy_(self.first_turn)
        # Words not met in training keep their place among the others.
        encoder.words.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
        pooled = mean_pooled(self.encoder(ids, mask, segments).float(), mask)
        return F.normalize(self.turn(pooled).float(), dim=-1)


@dataclass
class Batch:
    """Q queries of one set, and C candidate passages of which the first P go through the encoder.

    The others enter as the untrained model's vectors: the anchor below keeps those close to what the encoder would
    give today, and a step over hundreds of candidates then costs little more than its queries.
    """

    queries: tuple[Tensor, Tensor]  # ids, mask, with the query prefix
    misread: tuple[Tensor, Tensor]  # the same queries with the passage prefix
    live: tuple[Tensor, Tensor]  # the first P candidates, with the passage prefix
    target: Tensor  # int64 [Q]: which candidate answers
    allowed: Tensor  # bool [Q,C]: False where a candidate may be right without being the target
    query_anchor: Tensor  # [Q,H] vectors of the untrained model
    bank: Tensor  # [C,H] likewise

    def to(self, device: torch.device) -> Batch:
        moved = {
            k: tuple(t.to(device) for t in v) if isinstance(v, tuple) else v.to(device) for k, v in vars(self).items()
        }
        return Batch(**moved)


def candidates(
    mined: Mined, rows: np.ndarray, hard: int, bank: int, random: np.random.Generator
) -> tuple[np.ndarray, Tensor, Tensor]:
    """Candidates of some queries of a set: numbers [C] of their passages, of `hard` mined ones each, and of others of
    the set until there are about `bank`; the target [Q] of each query; and which may count as wrong, bool [Q,C]."""
    positives = [mined.positives[r] for r in rows]
    mixed = []
    for row, positive in zip(rows, positives):  # each query's own side by side, so that a cut keeps whole queries
        mixed += [positive, *random.permutation(np.array(mined.negatives[row], np.int64))[:hard]]
    mixed += list(random.permutation(len(mined.passages))[: max(bank - len(mixed), 0)])
    numbers = np.array(list(dict.fromkeys(int(m) for m in mixed)))
    place = {n: i for i, n in enumerate(numbers)}
    target = torch.tensor([place[p] for p in positives])
    groups = np.array(mined.groups)
    allowed = torch.from_numpy(groups[numbers][None] != groups[positives][:, None])
    allowed[torch.arange(len(rows)), target] = True
    return numbers, target, allowed


@dataclass
class Weights:
    """Of the parts of the loss, beside 1 for the ranking part."""

    anchor: float = 2.0
    mode: float = 0.3
    mode_margin: float = 1.0  # nats by which a misread query must do worse; beyond it nothing is asked


def ranking_loss(queries: Tensor, passages: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """InfoNCE over passages [C,d] for queries [Q,d], averaged; both are cut vectors, not yet unit ones."""
    scores = SCALE * F.normalize(queries, dim=-1) @ F.normalize(passages, dim=-1).T
    return F.cross_entropy(scores.masked_fill(~allowed, -torch.inf), target)


def nested_loss(queries: Tensor, passages: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """The ranking loss of every Matryoshka size, averaged by weight."""
    parts = [w * ranking_loss(queries[:, :d], passages[:, :d], target, allowed) for d, w in MATRYOSHKA.items()]
    return sum(parts) / sum(MATRYOSHKA.values())


def loss(model: nn.Module, batch: Batch, weights: Weights) -> tuple[Tensor, dict[str, Tensor]]:
    """Ranking, nearness to the untrained model, and a margin between the right mode and the wrong one.

    The anchor keeps what the untrained model knows of collections that are not among the training sets: passages
    may move only as far as the ranking pays for it. The margin is on the ranking loss itself, since a common
    shift of all vectors of a mode would lower their cosines and leave every ranking as it was.
    """
    queries, misread, live = (model(*part) for part in (batch.queries, batch.misread, batch.live))
    anchor = F.normalize(batch.bank @ model.first_turn.T, dim=-1)
    own_anchor = F.normalize(batch.query_anchor @ model.first_turn.T, dim=-1)
    passages = torch.cat([live, F.normalize(batch.bank[len(live) :] @ model.turn.weight.T, dim=-1)])
    ranking = nested_loss(queries, passages, batch.target, batch.allowed)
    wrong = nested_loss(misread, passages, batch.target, batch.allowed)
    mode = F.relu(ranking.detach() + weights.mode_margin - wrong)
    kept_passage = (live * anchor[: len(live)]).sum(-1).mean()
    kept_query = (queries * own_anchor).sum(-1).mean()
    total = ranking + weights.mode * mode + weights.anchor * (1 - kept_passage)
    figures = {"ranking": ranking, "wrong_mode": wrong, "kept_query": kept_query, "kept_passage": kept_passage}
    return total, {k: v.detach() for k, v in figures.items()}
