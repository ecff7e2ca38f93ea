"""The ranker: the two-mode embedding model, and layers above it in which query and passage attend to each other.

A cross-encoder trained from scratch needs millions of pairs, and can be worse than the embedding whose results it
ranks. This one starts as that embedding with late interaction. A pair has the form

    [CLS] query [SEP] passage [SEP]

Each segment gets the prefix of its mode and separate positions. The frozen encoder, in which segments attend only to
themselves, returns exactly the token vectors of the two-mode model. The top layers run a second time, with separate
trained weights and attention across segments, which starts small (PreTTR: MacAvaney et al. 2020,
https://arxiv.org/abs/2004.14255).

The logit is a weighted sum of features that work before any training: the two-mode cosine; the cosine of the intent
projection; the best passage token for each query token (ColBERT: Khattab & Zaharia 2020,
https://arxiv.org/abs/2004.12832), also weighted by rarity; the share of rare query tokens that the passage contains;
the same token matches in the upper layers; and a trained linear function, initially zero, of their [CLS] vector and
the product of their means. The weights of the features are constants: trained ones, globally or for each query,
generalised worse.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train import stored
from scripts.train.embedding import bert, precision, twomode, vectors
from scripts.train.embedding.bert import Encoder, padding_bias
from scripts.train.entry import NAME as ENTRY_NAME

MODEL_TYPE = "two-mode ranker"
"""The model_type in the config.json of an entry."""
DERIVED = ("query_prefix", "passage_prefix", "upper_share")
"""Buffers that no file has: they follow from the tokenizer and from EVIDENCE."""
SPECIAL = 1000  # Lower ids are special and unused tokens of the BERT vocabulary, which features ignore.
LEVER = 300.0  # The offset is stored divided by this, so that it learns that much faster at the same learning rate.

# Features and their weights, chosen on development splits
# (scripts/train/experiments/2026-11-22-ranker-evidence-weights.md).
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
# The upper layers are trained on questions and say less about longer queries. The weight of their features fades to 0
# between these two query lengths in tokens, linearly in the logarithm.
FADING, FADED = 20, 90
OFFSET = -50.0  # About halfway between wrong and right passages among the best of the embedding.


@dataclass(frozen=True)
class Reading:
    """How segments attend to each other.

    together: number of top layers with attention across segments. share: log of the factor on that attention.
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
        """encoder and turn [H,H] are parts of the two-mode model. metric [H,H]: see intent_projection.py. rarity
        [vocabulary]: inverse document frequency of each token, >= 0. prefixes: ids of the query's and the passage's."""
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
        # Divided by LEVER like the offset: both are summed first, and the graph keeps the offset under its name.
        self.register_buffer("evidence", torch.tensor(list(EVIDENCE.values())) / LEVER)
        self.register_buffer("upper_share", torch.tensor([float(name.startswith("upper")) for name in EVIDENCE]))
        self.offset = nn.Parameter(torch.tensor(OFFSET) / LEVER)
        self.weigh = nn.Linear(width, 1)  # Corrects the rarity of a query token in context.
        self.summary = nn.Linear(width, 1, bias=False)
        self.product = nn.Linear(width, 1, bias=False)
        for part in (self.weigh, self.summary, self.product):
            nn.init.zeros_(part.weight)
        nn.init.zeros_(self.weigh.bias)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        rows = self.prefixed(ids, mask, segment_ids)
        return self.logits(*rows, *self.encode_apart(*rows))

    def logits(self, ids: Tensor, mask: Tensor, segment_ids: Tensor, lower: Tensor, embedded: Tensor) -> Tensor:
        """Returns the logits of rows with prefixes from the hidden states of encode_apart."""
        in_query, in_passage = mask * (1 - segment_ids), mask * segment_ids
        upper = self.encode_together(lower, mask, segment_ids)
        query_words = (
            in_query * (ids >= SPECIAL).long() * (torch.arange(ids.shape[1], device=ids.device) >= self.first).long()
        )
        rarity = self.rarity[ids] * query_words
        weight = (rarity + 1e-3 * in_query) * torch.exp(self.weigh(upper).float().squeeze(-1).clamp(-3, 3))
        query, passage = pooled(embedded, in_query), pooled(embedded, in_passage)
        evidence = torch.stack(
            [
                *(cosine(query @ m.T, passage @ m.T) for m in (self.turn, self.metric)),
                *matches(embedded, in_query, in_passage, weight),
                matches(lower.float(), in_query, in_passage, weight)[1],
                (occurs(ids, in_passage) * rarity).sum(1) / rarity.sum(1).clamp(min=1e-3),
                *matches(upper, in_query, in_passage, weight),
                mask.sum(1).float().log(),  # Averages over tokens disadvantage a long passage.
            ],
            -1,
        )
        tokens = in_query.sum(1, keepdim=True) - len(self.query_prefix)
        fade = ((tokens.float() / FADING).log() / math.log(FADED / FADING)).clamp(0, 1)
        learned = (
            self.summary(upper[:, self.first]) + self.product(pooled(upper, in_query) * pooled(upper, in_passage))
        ).float()
        return (
            LEVER * ((evidence * self.evidence * (1 - fade * self.upper_share)).sum(-1, keepdim=True) + self.offset)
            + learned
        )

    @property
    def first(self) -> int:
        """Returns the index of the [CLS] of the pair in a row with prefixes."""
        return len(self.query_prefix) + len(self.passage_prefix) + 1

    def prefixed(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Prepends [CLS] and the prefix of the passage, then the prefix of the query.

        The order of tokens in a row does not matter: attention uses the position ids.
        """
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

    def positions(self, ids: Tensor, in_query: Tensor, segment_ids: Tensor) -> Tensor:
        """Returns position ids [B,L]: each segment counts from its [CLS], through its prefix and text."""
        queries, passages = len(self.query_prefix), len(self.passage_prefix)
        place = torch.arange(ids.shape[1], device=ids.device)[None] - self.first
        text = torch.where(
            segment_ids > 0, place - (in_query.sum(1, keepdim=True) - queries) + passages + 1, place + queries
        )[:, self.first + 1 :]
        front = torch.cat([torch.arange(passages + 1), torch.arange(1, queries + 1), torch.zeros(1, dtype=torch.int64)])
        positions = torch.cat([front.to(ids.device)[None].expand(ids.shape[0], -1), text], 1)
        return positions.clamp(0, self.encoder.shape.max_position_embeddings - 1)

    def encode_apart(self, ids: Tensor, mask: Tensor, segment_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Returns hidden states [B,L,H] without attention across segments: below the layers that run twice, and of the
        top layer, which are those of the two-mode model."""
        places = self.positions(ids, mask * (1 - segment_ids), segment_ids)
        return self._encode(ids, places, padding_bias(mask) + across_segments(segment_ids) * -1e9)

    def encode_alone(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Returns what encode_apart returns, for rows of one text with its prefix after [CLS]."""
        return self._encode(ids, None, padding_bias(mask))

    def _encode(self, ids: Tensor, places: Tensor | None, bias: Tensor) -> tuple[Tensor, Tensor]:
        encoder = self.encoder
        # Both segments as segment 0, the only one in the training of the bi-encoder.
        hidden = encoder.norm(encoder.embed(ids, torch.zeros_like(ids), places))
        shared = len(encoder.layers) - self.reading.together
        for layer in encoder.layers[:shared]:
            hidden = layer(hidden, bias)
        top = hidden
        for layer in encoder.layers[shared:]:
            top = layer(top, bias)
        return hidden, top.float()

    def encode_together(self, lower: Tensor, mask: Tensor, segment_ids: Tensor) -> Tensor:
        """Returns top hidden states [B,L,H] with attention across segments in the top layers."""
        bias = padding_bias(mask) + across_segments(segment_ids) * self.reading.share
        for layer in self.upper:
            lower = layer(lower, bias)
        return lower.float()


def across_segments(segment_ids: Tensor) -> Tensor:
    """Returns [B,1,L,L]: 1 where query and key are in different segments."""
    return (segment_ids[:, :, None] != segment_ids[:, None, :]).float()[:, None]


def pooled(hidden: Tensor, chosen: Tensor) -> Tensor:
    """Returns the mean [B,H] of hidden [B,L,H] over the chosen tokens [B,L]."""
    weight = chosen[..., None].to(hidden.dtype)
    return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


def cosine(a: Tensor, b: Tensor) -> Tensor:
    """Returns the cosines [B] of vectors [B,H]."""
    return (F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(-1)


def matches(hidden: Tensor, in_query: Tensor, in_passage: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the mean over query tokens of their best match, unweighted and weighted: [B] each."""
    best = best_match(hidden, in_passage)
    return (best * in_query).sum(1) / in_query.sum(1).clamp(min=1), (best * weight).sum(1) / weight.sum(1).clamp(
        min=1e-6
    )


def best_match(hidden: Tensor, in_passage: Tensor) -> Tensor:
    """Returns the largest cosine of each token with a passage token, [B,L]."""
    unit = F.normalize(hidden, dim=-1)
    cosines = (unit @ unit.transpose(1, 2)).float()
    return (cosines - 4.0 * (1 - in_passage[:, None].to(cosines.dtype))).amax(-1)


def occurs(ids: Tensor, in_passage: Tensor) -> Tensor:
    """Returns 1 for each token that occurs in the passage, else 0: [B,L]."""
    same = (ids[:, :, None] == ids[:, None, :]).float() * in_passage[:, None].float()
    return same.amax(-1)


def rarity_of(rows: list[list[int]], vocabulary: int) -> Tensor:
    """Returns BM25's inverse document frequency of each token over passages of ids."""
    frequency = torch.zeros(vocabulary)
    for row in rows:
        frequency[list(set(row))] += 1
    rarity = torch.log(1 + (len(rows) - frequency + 0.5) / (frequency + 0.5))
    rarity[:SPECIAL] = 0
    return rarity


def prefixes(tokenizer) -> tuple[Tensor, Tensor]:
    """Returns the ids of the prefixes of queries and of passages."""
    queries, passages = (
        torch.tensor(tokenizer.encode(p, add_special_tokens=False).ids)
        for p in (twomode.QUERY_PREFIX, twomode.PASSAGE_PREFIX)
    )
    return queries, passages


def on_embedding(entry: Path, metric: Tensor, rarity: Tensor) -> Ranker:
    """Returns an untrained ranker on the embedding model of an entry: the late interaction of its token vectors."""
    base = twomode.load(entry)
    tokenizer = vectors.load_tokenizer(entry / "tokenizer.json")
    return Ranker(base.encoder, base.turn.weight.detach(), metric, rarity, prefixes(tokenizer))


def embedding_of(entry: Path) -> Path:
    """Returns the entry of the embedding model on which a ranker was trained.

    ValueError, which names the file: it is not that of a ranker, or that embedding model has other weights now.
    """
    config, file = stored.config(entry), entry / stored.CONFIG
    base = config.get("embedding")
    if config.get("model_type") != MODEL_TYPE or not isinstance(base, dict):
        raise ValueError(f"{file}: not the configuration of a ranker")
    name, digest = str(base.get("entry")), base.get("sha256")
    if not ENTRY_NAME.fullmatch(name):
        raise ValueError(f"{file}: embedding.entry must be the name of an entry, got {name!r}")
    if (found := stored.digest(entry.parent / name)) != digest:
        raise ValueError(f"{file}: the ranker needs {name} with {stored.WEIGHTS} of SHA-256 {digest}, found {found}")
    return entry.parent / name


def tensors(entry: Path) -> dict[str, Tensor]:
    """Returns the tensors of a ranker as they are stored: its own, and those of its embedding model."""
    own = stored.tensors(entry)
    base = base_tensors(embedding_of(entry))
    return {name: value for name, value in base.items() if name.removesuffix(stored.STEP) not in own} | own


def base_tensors(embedding: Path) -> dict[str, Tensor]:
    """Returns the tensors that a ranker has from an embedding model, under their names in the ranker."""
    return {
        name.replace("turn.weight", "turn") if name.startswith("turn.") else name: value
        for name, value in stored.tensors(embedding).items()
    }


def load(entry: Path) -> Ranker:
    """Loads the ranker of an entry.

    ValueError, which names the file: it is missing or damaged, has other weights, or belongs to another embedding.
    """
    base, config = embedding_of(entry), stored.config(entry)
    weights = stored.dequantise(tensors(entry), entry / stored.WEIGHTS)
    try:
        reading = Reading(int(config["together"]), float(config["share"]))
        if not math.isfinite(reading.share):
            raise ValueError(f"share is {reading.share}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{entry / stored.CONFIG}: together and share must be finite numbers: {error!r}") from error
    shape = bert.Shape.read(base / stored.CONFIG)
    begins = prefixes(vectors.load_tokenizer(entry / "tokenizer.json"))

    def build() -> Ranker:
        turn, metric = torch.zeros(2, shape.hidden_size, shape.hidden_size)
        return Ranker(Encoder(shape), turn.clone(), metric.clone(), torch.zeros(shape.vocab_size), begins, reading)

    return stored.load_network(entry / stored.WEIGHTS, base / stored.CONFIG, build, weights, DERIVED.__contains__)


def store(entry: Path, model: Ranker, embedding: Path, is_int8: bool = False) -> None:
    """Writes weights and configuration into an entry: only tensors that the embedding model does not have.

    embedding: its entry, beside this one. is_int8: see scripts.train.embedding.precision.
    """
    base = base_tensors(embedding)
    same = stored.dequantise(base, embedding / stored.WEIGHTS)
    state = {name: value for name, value in model.state_dict().items() if name not in DERIVED}
    own = {name: value for name, value in state.items() if name not in same or not torch.equal(value.cpu(), same[name])}
    config: dict[str, Any] = {
        "model_type": MODEL_TYPE,
        "embedding": {"entry": embedding.name, "sha256": stored.digest(embedding)},
        **dataclasses.asdict(model.reading),
    }
    rounded = precision.to_int8(own) if is_int8 else precision.to_half(own)
    stored.write(entry, {k: v for k, v in rounded.items() if k not in base or not torch.equal(v, base[k])}, config)
