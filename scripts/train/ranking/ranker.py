"""The ranker: the two-mode embedding model, and above it layers in which query and passage read each other.

A plain cross-encoder starts from nothing, needs millions of pairs, and can be worse than the embedding whose best it
orders. This one begins as that embedding and late interaction. The pair comes as

    [CLS] query [SEP] passage [SEP]

and each segment gets the prefix of its mode and positions of its own, so that the frozen encoder, in which segments
read only themselves, gives exactly the token vectors of the two-mode model. The uppermost layers run a second time
with weights of their own, over segments that read each other; what they read of the other segment starts at a small
share (PreTTR: MacAvaney et al. 2020, https://arxiv.org/abs/2004.14255). The logit is a weighted sum of evidence that
is good before any training: the two-mode cosine, and that of a map fitted to intents; for each query token its best passage token (ColBERT: Khattab &
Zaharia 2020, https://arxiv.org/abs/2004.12832), also weighted by how rare the token is; the share of its rare tokens found word for
word; the same of the upper layers; and, learned from zero, what their [CLS] vector and the product of their
means tell. The weights of the evidence are not trained: what training made of them, and a factor on them that it could
learn for each query, were good on its own questions only.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train.embedding.bert import Encoder, padding_bias

SPECIAL = 1000  # ids below are [PAD], [CLS], [SEP] and unused ones in the BERT vocabulary: they carry no evidence
LEVER = 300.0  # the offset moves this much faster than the encoder's many weights, at one learning rate

# Evidence and its weight, chosen on the development splits (model_repository/RETRIEVAL.md).
EVIDENCE = {
    "cosine": 1.0,
    "metric": 17.0,
    "best": 5.0,
    "rare_best": 5.0,
    "lower_rare_best": 3.0,
    "cover": 0.5,
    "upper_best": 3.0,
    "upper_rare_best": 32.0,
    "length": 2.0,
}
# The upper layers learned from questions. Of what is longer they say less: their evidence fades between these two
# lengths of a query in tokens, evenly in their logarithm, until nothing is left of it.
FADING, FADED = 20, 90
OFFSET = -50.0  # about half way from the wrong to the right ones among the embedding's best


@dataclass(frozen=True)
class Reading:
    """How the segments read each other.

    together: uppermost layers in which they do; share: log of the factor on the attention to the other segment there.
    """

    together: int = 2
    share: float = -1.0


class Ranker(nn.Module):
    """ids, mask, segment_ids [B,L] int64 (segment 1 = passage) to logits [B,1]."""

    def __init__(
        self,
        encoder: Encoder,
        turn: Tensor,
        metric: Tensor,
        rarity: Tensor,
        prefixes: tuple[Tensor, Tensor],
        reading: Reading = Reading(),
        dropout: float = 0.0,
    ):
        """encoder and turn [H,H] of the two-mode model; metric [H,H], see metric.py; rarity [vocabulary]: inverse document
        frequency of each token, >= 0; the ids of the query's prefix and of the passage's."""
        super().__init__()
        self.encoder, self.reading = encoder.requires_grad_(False), reading
        width = encoder.shape.hidden_size
        self.upper = copy.deepcopy(encoder.layers[len(encoder.layers) - reading.together :]).requires_grad_(True)
        for layer in self.upper:
            layer.dropout = dropout
        stored = {
            "turn": turn,
            "metric": metric,
            "rarity": rarity.float(),
            "query_prefix": prefixes[0],
            "passage_prefix": prefixes[1],
        }
        for name, value in stored.items():
            self.register_buffer(name, value)
        # Like the offset by LEVER too small: so both are added up before, and the graph keeps the offset by its name.
        self.register_buffer("evidence", torch.tensor(list(EVIDENCE.values())) / LEVER)
        self.register_buffer("upper_share", torch.tensor([float(name.startswith("upper")) for name in EVIDENCE]))
        self.offset = nn.Parameter(torch.tensor(OFFSET) / LEVER)
        self.weigh = nn.Linear(width, 1)  # corrects the rarity of a query token by what it means here
        self.summary = nn.Linear(width, 1, bias=False)
        self.product = nn.Linear(width, 1, bias=False)
        for part in (self.weigh, self.summary, self.product):
            nn.init.zeros_(part.weight)
        nn.init.zeros_(self.weigh.bias)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        rows = self.prefixed(ids, mask, segment_ids)
        return self.judge(*rows, *self.apart(*rows))

    def judge(self, ids: Tensor, mask: Tensor, segment_ids: Tensor, lower: Tensor, own: Tensor) -> Tensor:
        """Logits of rows with prefixes and what `apart` reads of them."""
        asks, answers = mask * (1 - segment_ids), mask * segment_ids
        upper = self.together(lower, mask, segment_ids)
        typed = asks * (ids >= SPECIAL).long() * (torch.arange(ids.shape[1], device=ids.device) >= self.first).long()
        rarity = self.rarity[ids] * typed
        meant = (rarity + 1e-3 * asks) * torch.exp(self.weigh(upper).float().squeeze(-1).clamp(-3, 3))
        asked, answered = pooled(own, asks), pooled(own, answers)
        evidence = torch.stack(
            [
                *(cosine(asked @ m.T, answered @ m.T) for m in (self.turn, self.metric)),
                *matches(own, asks, answers, meant),
                matches(lower.float(), asks, answers, meant)[1],
                (held(ids, answers) * rarity).sum(1) / rarity.sum(1).clamp(min=1e-3),
                *matches(upper, asks, answers, meant),
                mask.sum(1).float().log(),  # what averages over tokens holds against a long passage
            ],
            -1,
        )
        tokens = asks.sum(1, keepdim=True) - len(self.query_prefix)
        fade = ((tokens.float() / FADING).log() / math.log(FADED / FADING)).clamp(0, 1)
        learned = (
            self.summary(upper[:, self.first]) + self.product(pooled(upper, asks) * pooled(upper, answers))
        ).float()
        return (
            LEVER * ((evidence * self.evidence * (1 - fade * self.upper_share)).sum(-1, keepdim=True) + self.offset)
            + learned
        )

    @property
    def first(self) -> int:
        """Where the [CLS] of the pair stands once the prefixes are there."""
        return len(self.query_prefix) + len(self.passage_prefix) + 1

    def prefixed(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The rows with a [CLS] and the prefix of the passage, and the prefix of the query, in front. Attention knows
        places by position ids only, so the order of the tokens in a row does not matter."""
        rows = ids.shape[0]
        before = torch.cat(
            [ids[:, :1], self.passage_prefix[None].expand(rows, -1), self.query_prefix[None].expand(rows, -1)], 1
        )
        segments = torch.cat(
            [
                torch.ones_like(before[:, : len(self.passage_prefix) + 1]),
                torch.zeros_like(before[:, : len(self.query_prefix)]),
            ],
            1,
        )
        return (
            torch.cat([before, ids], 1),
            torch.cat([torch.ones_like(before), mask], 1),
            torch.cat([segments, segment_ids], 1),
        )

    def positions(self, ids: Tensor, asks: Tensor, segment_ids: Tensor) -> Tensor:
        """Position ids [B,L]: each segment counts from its [CLS], its prefix, then its text."""
        queries, passages = len(self.query_prefix), len(self.passage_prefix)
        place = torch.arange(ids.shape[1], device=ids.device)[None] - self.first
        text = torch.where(
            segment_ids > 0, place - (asks.sum(1, keepdim=True) - queries) + passages + 1, place + queries
        )[:, self.first + 1 :]
        front = torch.cat([torch.arange(passages + 1), torch.arange(1, queries + 1), torch.zeros(1, dtype=torch.int64)])
        whole = torch.cat([front.to(ids.device)[None].expand(ids.shape[0], -1), text], 1)
        return whole.clamp(0, self.encoder.shape.max_position_embeddings - 1)

    def apart(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden [B,L,H] of segments that read only themselves: below the layers that run twice, and the uppermost,
        which is the two-mode model's."""
        places = self.positions(ids, mask * (1 - segment_ids), segment_ids)
        return self.frozen(ids, places, padding_bias(mask) + others(segment_ids) * -1e9)

    def alone(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The same of one text a row, its prefix after the [CLS]: what `apart` gives of its segment."""
        return self.frozen(ids, None, padding_bias(mask))

    def frozen(self, ids: Tensor, places: Tensor | None, bias: Tensor) -> tuple[Tensor, Tensor]:
        encoder = self.encoder
        # Both segments as segment 0: the only one that the bi-encoder was trained with.
        hidden = encoder.norm(encoder.embed(ids, torch.zeros_like(ids), places))
        shared = len(encoder.layers) - self.reading.together
        for layer in encoder.layers[:shared]:
            hidden = layer(hidden, bias)
        own = hidden
        for layer in encoder.layers[shared:]:
            own = layer(own, bias)
        return hidden, own.float()

    def together(self, lower: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        """Uppermost hidden [B,L,H] of segments that read each other in the last layers."""
        bias = padding_bias(mask) + others(segment_ids) * self.reading.share
        for layer in self.upper:
            lower = layer(lower, bias)
        return lower.float()


def others(segment_ids: Tensor) -> Tensor:
    """[B,1,L,L]: 1 where a token would look at the other segment."""
    return (segment_ids[:, :, None] != segment_ids[:, None, :]).float()[:, None]


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


def held(ids: Tensor, answers: Tensor) -> Tensor:
    """For each token whether the passage holds it: [B,L] of 0 and 1."""
    same = (ids[:, :, None] == ids[:, None, :]).float() * answers[:, None].float()
    return same.amax(-1)


def rarity_of(rows: list[list[int]], vocabulary: int) -> Tensor:
    """BM25's inverse document frequency of each token over passages given as ids."""
    seen = torch.zeros(vocabulary)
    for row in rows:
        seen[list(set(row))] += 1
    rarity = torch.log(1 + (len(rows) - seen + 0.5) / (seen + 0.5))
    rarity[:SPECIAL] = 0
    return rarity
