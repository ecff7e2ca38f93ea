"""The ranker: a BERT cross-encoder that begins as late interaction.

A plain cross-encoder head starts from nothing and needs millions of pairs. Here the pair goes through MiniLM as

    [CLS] query [SEP] passage [SEP]

with segments that read only themselves in the lower layers and each other in the upper ones, where what they read of
the other segment starts at a small share (PreTTR: MacAvaney et al. 2020, https://arxiv.org/abs/2004.14255). So the
token vectors are at first nearly those of the bi-encoder, and the logit is a weighted sum of evidence that is good
before any training: the cosine of the segments' means; for each query token its best passage token (ColBERT: Khattab &
Zaharia 2020, https://arxiv.org/abs/2004.12832), weighted by how rare the token is; the rare tokens found word for word
(BM25); and, learned from zero, what the [CLS] vector and the product of the means tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train.embedding.bert import Encoder

SPECIAL = 1000  # ids below are [PAD], [CLS], [SEP] and unused ones in the BERT vocabulary: they carry no evidence
LEVER = 100.0  # the few evidence weights move this much faster than the encoder's many, at one learning rate
TF_HALF = 1.2  # BM25's k1 without the length part: a passage here is short


@dataclass(frozen=True)
class Reading:
    """How the segments read each other.

    apart: lower layers in which they do not; share: log of the factor on the attention to the other segment above.
    """

    apart: int = 3
    share: float = -1.0


class Ranker(nn.Module):
    """ids, mask, segment_ids [B,L] int64 (segment 1 = passage) to logits [B,1]."""

    def __init__(self, encoder: Encoder, rarity: Tensor, reading: Reading = Reading()):
        """rarity [vocabulary]: inverse document frequency of each token, >= 0."""
        super().__init__()
        self.encoder, self.reading = encoder, reading
        width = encoder.shape.hidden_size
        self.register_buffer("rarity", rarity.float())
        # Five evidences: cosine, mean and rarity-weighted best match, share and strength of literal matches.
        # Measured without training on the development splits: each but the first is a good ranking by itself.
        self.evidence = nn.Parameter(torch.tensor([5.0, 5.0, 10.0, 1.0, 0.5]) / LEVER)
        self.offset = nn.Parameter(torch.tensor(-14.0) / LEVER)
        self.weigh = nn.Linear(width, 1)  # corrects the rarity of a query token by what it means here
        self.summary = nn.Linear(width, 1, bias=False)
        self.product = nn.Linear(width, 1, bias=False)
        for part in (self.weigh, self.summary, self.product):
            nn.init.zeros_(part.weight)
        nn.init.zeros_(self.weigh.bias)

    def freeze(self, layers: int) -> None:
        """Keeps the embeddings and the lowest layers as they are: half the work, and nothing known is lost there."""
        for part in (self.encoder.words, self.encoder.positions, self.encoder.segments, self.encoder.norm, *self.encoder.layers[:layers]):
            part.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        asks = mask * (1 - segment_ids)
        answers = mask * segment_ids
        hidden = self.read(ids, mask, segment_ids, asks).float()
        query, passage = pooled(hidden, asks), pooled(hidden, answers)
        cosine = (F.normalize(query, dim=-1) * F.normalize(passage, dim=-1)).sum(-1)
        words = (ids >= SPECIAL).long()
        rarity = self.rarity[ids] * (asks * words)
        best = best_match(hidden, answers)
        meant = (rarity + 1e-3 * asks) * torch.exp(self.weigh(hidden).squeeze(-1).clamp(-3, 3))
        found = literal(ids, answers) * rarity
        total = rarity.sum(1).clamp(min=1e-3)
        evidence = torch.stack([
            cosine,
            (best * asks).sum(1) / asks.sum(1),
            (best * meant).sum(1) / meant.sum(1),
            found.sum(1) / total,
            found.sum(1) / 20.0,
        ], -1)
        learned = self.summary(hidden[:, 0]) + self.product(query * passage)
        return LEVER * (evidence @ self.evidence + self.offset)[:, None] + learned

    def read(self, ids: Tensor, mask: Tensor, segment_ids: Tensor, asks: Tensor) -> Tensor:
        """Hidden [B,L,H]. A passage counts its positions from 1, as if it stood behind a [CLS] of its own."""
        shift = (asks.sum(1, keepdim=True) - 1) * segment_ids
        positions = torch.arange(ids.shape[1], device=ids.device)[None] - shift
        encoder = self.encoder
        # Both segments as segment 0: the only one that the bi-encoder was trained with.
        hidden = encoder.norm(encoder.embed(ids, torch.zeros_like(ids), positions))
        padding = (1.0 - mask[:, None, None].float()) * -1e9
        other = (segment_ids[:, :, None] != segment_ids[:, None, :]).float()[:, None]
        for number, layer in enumerate(encoder.layers):
            apart = number < self.reading.apart
            hidden = layer(hidden, padding + other * (-1e9 if apart else self.reading.share))
        return hidden


def pooled(hidden: Tensor, chosen: Tensor) -> Tensor:
    """The mean of hidden [B,L,H] over the tokens chosen by [B,L]: [B,H]."""
    weight = chosen[..., None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


def best_match(hidden: Tensor, answers: Tensor) -> Tensor:
    """For each token the largest cosine with a passage token, [B,L]."""
    unit = F.normalize(hidden, dim=-1)
    cosines = unit @ unit.transpose(1, 2)
    return (cosines - 4.0 * (1 - answers[:, None].to(unit.dtype))).amax(-1)


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
