"""The ranker: the two-mode embedding model, and above it layers in which query and passage read each other.

A plain cross-encoder starts from nothing, needs millions of pairs, and can be worse than the embedding whose best it
orders. This one begins as that embedding and late interaction. The pair comes as

    [CLS] query [SEP] passage [SEP]

and each segment gets the prefix of its mode and positions of its own, so that the frozen encoder, in which segments
read only themselves, gives exactly the token vectors of the two-mode model. The uppermost layers run a second time
with weights of their own, over segments that read each other; what they read of the other segment starts at a small
share (PreTTR: MacAvaney et al. 2020, https://arxiv.org/abs/2004.14255). The logit is a weighted sum of evidence that
is good before any training: the two-mode cosine, and that of a map fitted to intents; for each query token its best passage token (ColBERT: Khattab &
Zaharia 2020, https://arxiv.org/abs/2004.12832), also weighted by how rare the token is; the rare tokens found word for
word (BM25); the same of the upper layers; and, learned from zero, what their [CLS] vector and the product of their
means tell. How much each evidence counts may depend on the query: a paraphrase shares no words.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train.embedding.bert import Encoder, padding_bias

SPECIAL = 1000  # ids below are [PAD], [CLS], [SEP] and unused ones in the BERT vocabulary: they carry no evidence
LEVER = 300.0  # the few evidence weights move this much faster than the encoder's many, at one learning rate
TF_HALF = 1.2  # BM25's k1 without the length part: a passage here is short
SWAY = 1.0  # a query may change the weight of an evidence by a factor of e to this power, up or down

# Evidence and what it counts before training: chosen on the development splits, where the sum is already 3 to 4 points
# of nDCG@10 better than the cosine alone.
EVIDENCE = {"cosine": 6.0, "metric": 12.0, "best": 1.0, "rare_best": 8.0, "share_found": 0.5, "found": 0.1,
            "upper_cosine": 2.0, "upper_best": 2.0, "upper_rare_best": 16.0}


@dataclass(frozen=True)
class Reading:
    """How the segments read each other.

    together: uppermost layers in which they do; share: log of the factor on the attention to the other segment there.
    """

    together: int = 2
    share: float = -1.0


class Ranker(nn.Module):
    """ids, mask, segment_ids [B,L] int64 (segment 1 = passage) to logits [B,1]."""

    def __init__(self, encoder: Encoder, turn: Tensor, metric: Tensor, rarity: Tensor, prefixes: tuple[Tensor, Tensor],
                 reading: Reading = Reading(), dropout: float = 0.0):
        """encoder and turn [H,H] of the two-mode model; metric [H,H], see metric.py; rarity [vocabulary]: inverse document
        frequency of each token, >= 0; the ids of the query's prefix and of the passage's."""
        super().__init__()
        self.encoder, self.reading = encoder.requires_grad_(False), reading
        width = encoder.shape.hidden_size
        self.upper = copy.deepcopy(encoder.layers[len(encoder.layers) - reading.together :]).requires_grad_(True)
        for layer in self.upper:
            layer.dropout = dropout
        stored = {"turn": turn, "metric": metric, "rarity": rarity.float(), "query_prefix": prefixes[0], "passage_prefix": prefixes[1]}
        for name, value in stored.items():
            self.register_buffer(name, value)
        self.evidence = nn.Parameter(torch.tensor(list(EVIDENCE.values())) / LEVER)
        self.offset = nn.Parameter(torch.tensor(-sum(EVIDENCE.values()) / 2) / LEVER)
        self.sway = nn.Linear(width, len(EVIDENCE), bias=False)  # how a query changes the weights of the evidence
        self.weigh = nn.Linear(width, 1)  # corrects the rarity of a query token by what it means here
        self.summary = nn.Linear(width, 1, bias=False)
        self.product = nn.Linear(width, 1, bias=False)
        for part in (self.sway, self.weigh, self.summary, self.product):
            nn.init.zeros_(part.weight)
        nn.init.zeros_(self.weigh.bias)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        ids, mask, segment_ids = self.prefixed(ids, mask, segment_ids)
        asks, answers = mask * (1 - segment_ids), mask * segment_ids
        own, upper = self.read(ids, mask, segment_ids, asks)
        asked, answered = pooled(own, asks), pooled(own, answers)
        query, passage = pooled(upper, asks), pooled(upper, answers)
        typed = asks * (ids >= SPECIAL).long() * (torch.arange(ids.shape[1], device=ids.device) >= self.first).long()
        rarity = self.rarity[ids] * typed
        meant = (rarity + 1e-3 * asks) * torch.exp(self.weigh(upper).float().squeeze(-1).clamp(-3, 3))
        found = (literal(ids, answers) * rarity).sum(1)
        evidence = torch.stack([
            *(cosine(asked @ m.T, answered @ m.T) for m in (self.turn, self.metric)), *matches(own, asks, answers, meant),
            found / rarity.sum(1).clamp(min=1e-3), found / 20.0,
            cosine(query, passage), *matches(upper, asks, answers, meant),
        ], -1)
        sway = torch.exp(self.sway(F.layer_norm(asked, (self.turn.shape[0],))).float().clamp(-SWAY, SWAY))
        learned = (self.summary(upper[:, self.first]) + self.product(query * passage)).float()
        return LEVER * ((evidence * sway) @ self.evidence + self.offset)[:, None] + learned

    @property
    def first(self) -> int:
        """Where the [CLS] of the pair stands once the prefixes are there."""
        return len(self.query_prefix) + len(self.passage_prefix) + 1

    def prefixed(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The rows with a [CLS] and the prefix of the passage, and the prefix of the query, in front. Attention knows
        places by position ids only, so the order of the tokens in a row does not matter."""
        rows = ids.shape[0]
        before = torch.cat([ids[:, :1], self.passage_prefix[None].expand(rows, -1), self.query_prefix[None].expand(rows, -1)], 1)
        segments = torch.cat([torch.ones_like(before[:, : len(self.passage_prefix) + 1]), torch.zeros_like(before[:, : len(self.query_prefix)])], 1)
        return torch.cat([before, ids], 1), torch.cat([torch.ones_like(before), mask], 1), torch.cat([segments, segment_ids], 1)

    def positions(self, ids: Tensor, asks: Tensor, segment_ids: Tensor) -> Tensor:
        """Position ids [B,L]: each segment counts from its [CLS], its prefix, then its text."""
        queries, passages = len(self.query_prefix), len(self.passage_prefix)
        place = torch.arange(ids.shape[1], device=ids.device)[None] - self.first
        text = torch.where(segment_ids > 0, place - (asks.sum(1, keepdim=True) - queries) + passages + 1, place + queries)[:, self.first + 1 :]
        front = torch.cat([torch.arange(passages + 1), torch.arange(1, queries + 1), torch.zeros(1, dtype=torch.int64)])
        whole = torch.cat([front.to(ids.device)[None].expand(ids.shape[0], -1), text], 1)
        return whole.clamp(0, self.encoder.shape.max_position_embeddings - 1)

    def read(self, ids: Tensor, mask: Tensor, segment_ids: Tensor, asks: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden [B,L,H] of the segments apart, which is the two-mode model's, and of those that read each other."""
        encoder, together = self.encoder, self.reading.together
        # Both segments as segment 0: the only one that the bi-encoder was trained with.
        hidden = encoder.norm(encoder.embed(ids, torch.zeros_like(ids), self.positions(ids, asks, segment_ids)))
        padding = padding_bias(mask)
        other = (segment_ids[:, :, None] != segment_ids[:, None, :]).float()[:, None]
        apart = padding + other * -1e9
        for layer in encoder.layers[: len(encoder.layers) - together]:
            hidden = layer(hidden, apart)
        own = upper = hidden
        for alone, joined in zip(encoder.layers[len(encoder.layers) - together :], self.upper):
            own, upper = alone(own, apart), joined(upper, padding + other * self.reading.share)
        return own.float(), upper.float()


def pooled(hidden: Tensor, chosen: Tensor) -> Tensor:
    """The mean of hidden [B,L,H] over the tokens chosen by [B,L]: [B,H]."""
    weight = chosen[..., None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Of vectors [B,H]: [B]."""
    return (F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(-1)


def matches(hidden: Tensor, asks: Tensor, answers: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The best match of a query token, averaged over all of them and by weight: [B] each."""
    best = best_match(hidden, answers)
    return (best * asks).sum(1) / asks.sum(1).clamp(min=1), (best * weight).sum(1) / weight.sum(1).clamp(min=1e-6)


def best_match(hidden: Tensor, answers: Tensor) -> Tensor:
    """For each token the largest cosine with a passage token, [B,L]."""
    unit = F.normalize(hidden, dim=-1)
    cosines = (unit @ unit.transpose(1, 2)).float()
    return (cosines - 4.0 * (1 - answers[:, None].to(cosines.dtype))).amax(-1)


def literal(ids: Tensor, answers: Tensor) -> Tensor:
    """For each token how often the passage holds it, saturated as in BM25: [B,L] from 0 to 1 + k1."""
    same = (ids[:, :, None] == ids[:, None, :]).float()
    times = (same * answers[:, None].float()).sum(-1)
    return times * (1 + TF_HALF) / (times + TF_HALF)


def rarity_of(rows: list[list[int]], vocabulary: int) -> Tensor:
    """BM25's inverse document frequency of each token over passages given as ids."""
    seen = torch.zeros(vocabulary)
    for row in rows:
        seen[list(set(row))] += 1
    rarity = torch.log(1 + (len(rows) - seen + 0.5) / (seen + 0.5))
    rarity[:SPECIAL] = 0
    return rarity
