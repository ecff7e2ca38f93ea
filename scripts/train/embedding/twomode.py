"""The two-mode bi-encoder: one encoder, with different prefixes for queries and passages."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train import stored
from scripts.train.embedding import bert, precision
from scripts.train.embedding.bert import Encoder
from scripts.train.embedding.vectors import mean_pooled

if TYPE_CHECKING:
    from scripts.train.embedding.examples import Mined

MODEL_TYPE = "two-mode"
"""The model_type in the config.json of an entry; MiniLM's is bert."""
START = Path("model_repository/minilm_embed_qa")
START_HELP = f"model to start from: an entry, or the folder of all-MiniLM-L6-v2 (default: {START})"
QUERY_PREFIX, PASSAGE_PREFIX = "query: ", "passage: "
# Sizes of truncated vectors that must work alone (Kusupati et al. 2022, https://arxiv.org/abs/2205.13147), and their
# weights in the loss.
MATRYOSHKA = {384: 1.0, 256: 0.5, 128: 0.7, 64: 0.3, 32: 0.15}
SCALE = 20.0  # Inverse temperature of the softmax over cosines, as in the training of MiniLM.


class TwoMode(nn.Module):
    """ids, mask [B,L] int64 to unit vectors [B,H]: encoder, mean over tokens, a linear map, initially a rotation."""

    def __init__(self, encoder: Encoder, rotation: Tensor | None = None):
        super().__init__()
        self.encoder = encoder
        width = encoder.shape.hidden_size
        self.turn = nn.Linear(width, width, bias=False)
        # The map before training, for checkpoint.blend.
        self.register_buffer("first_turn", torch.eye(width) if rotation is None else rotation.clone())
        self.turn.weight.data.copy_(self.first_turn)
        # Frozen, so that words outside the training data keep their relation to the others.
        encoder.words.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor, segment_ids: Tensor | None = None) -> Tensor:
        segments = torch.zeros_like(ids) if segment_ids is None else segment_ids
        pooled = mean_pooled(self.encoder(ids, mask, segments).float(), mask)
        return F.normalize(self.turn(pooled).float(), dim=-1)


def is_entry(folder: Path) -> bool:
    """Reports whether a folder is the entry of a two-mode model, and not the one of MiniLM."""
    return stored.config(folder).get("model_type") == MODEL_TYPE


def load(folder: Path, dropout: float = 0.0, rotation: Tensor | None = None) -> TwoMode:
    """Loads the model of an entry, or makes one of MiniLM's folder, with the rotation.

    ValueError, which names the file: it is missing or damaged, or has other weights.
    """
    if not is_entry(folder):
        return TwoMode(bert.load_encoder(folder, dropout), rotation)
    weights, _ = stored.read(folder)
    shape = bert.Shape.read(folder / stored.CONFIG)
    model = stored.load_network(
        folder / stored.WEIGHTS,
        folder / stored.CONFIG,
        lambda: TwoMode(Encoder(shape, dropout)),
        weights,
        {"first_turn"}.__contains__,
    )
    model.first_turn.copy_(model.turn.weight.detach())
    return model


def store(entry: Path, model: TwoMode, is_int8: bool = False) -> None:
    """Writes weights and configuration into an entry. is_int8: see scripts.train.embedding.precision."""
    weights = {name: value for name, value in model.state_dict().items() if name != "first_turn"}
    rounded = precision.to_int8(weights) if is_int8 else precision.to_half(weights)
    stored.write(entry, rounded, {"model_type": MODEL_TYPE} | dataclasses.asdict(model.encoder.shape))


@dataclass
class Batch:
    """Q queries of one set and C candidate passages, the first P of which pass the encoder.

    The others use vectors of the untrained model, to which the anchor loss keeps the encoder close. So a step with
    hundreds of candidates costs little more than its queries.
    """

    queries: tuple[Tensor, Tensor]  # ids, mask, with the query prefix
    wrong_mode_queries: tuple[Tensor, Tensor]  # the same queries with the passage prefix
    encoded: tuple[Tensor, Tensor]  # the first P candidates, with the passage prefix
    target: Tensor  # int64 [Q]: which candidate answers
    allowed: Tensor  # bool [Q,C]: False where a candidate may be right without being the target
    query_anchor: Tensor  # [Q,H] vectors of the untrained model
    candidate_anchor: Tensor  # [C,H] likewise

    def to(self, device: torch.device) -> Batch:
        moved = {
            k: tuple(t.to(device) for t in v) if isinstance(v, tuple) else v.to(device) for k, v in vars(self).items()
        }
        return Batch(**moved)


def draw_candidates(
    mined: Mined, rows: np.ndarray, hard: int, bank: int, random: np.random.Generator
) -> tuple[np.ndarray, Tensor, Tensor]:
    """Draws candidates for queries of a set.

    Returns the row numbers [C] of passages (the targets, `hard` mined negatives for each query, and random passages
    up to about `bank`), the target [Q] of each query, and which candidates count in its loss, bool [Q,C].
    """
    positives = [mined.positives[r] for r in rows]
    mixed = []
    for row, positive in zip(
        rows, positives
    ):  # The candidates of a query are adjacent, so the first P have complete queries.
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
    """Weights of the parts of the loss; the ranking part has weight 1."""

    anchor: float = 2.0
    mode: float = 0.3
    mode_margin: float = 1.0  # Nats by which a query in the wrong mode must do worse.


def ranking_loss(queries: Tensor, passages: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """Returns the mean InfoNCE loss of queries [Q,d] over passages [C,d]; both are truncated and not yet normalised."""
    scores = SCALE * F.normalize(queries, dim=-1) @ F.normalize(passages, dim=-1).T
    return F.cross_entropy(scores.masked_fill(~allowed, -torch.inf), target)


def nested_loss(queries: Tensor, passages: Tensor, target: Tensor, allowed: Tensor) -> Tensor:
    """Returns the weighted mean of the ranking loss over the Matryoshka sizes."""
    parts = [w * ranking_loss(queries[:, :d], passages[:, :d], target, allowed) for d, w in MATRYOSHKA.items()]
    return sum(parts) / sum(MATRYOSHKA.values())


def loss(model: nn.Module, batch: Batch, weights: Weights) -> tuple[Tensor, dict[str, Tensor]]:
    """Sums the ranking loss, an anchor to the untrained model, and a margin between the right and the wrong mode.

    The anchor preserves what the untrained model knows of other collections. The margin applies to the ranking loss,
    because a common shift of all vectors of a mode would lower cosines without changing any ranking.
    """
    queries, wrong_mode_queries, encoded = (
        model(*part) for part in (batch.queries, batch.wrong_mode_queries, batch.encoded)
    )
    anchor = F.normalize(batch.candidate_anchor @ model.first_turn.T, dim=-1)
    query_anchor = F.normalize(batch.query_anchor @ model.first_turn.T, dim=-1)
    passages = torch.cat([encoded, F.normalize(batch.candidate_anchor[len(encoded) :] @ model.turn.weight.T, dim=-1)])
    ranking = nested_loss(queries, passages, batch.target, batch.allowed)
    wrong = nested_loss(wrong_mode_queries, passages, batch.target, batch.allowed)
    mode = F.relu(ranking.detach() + weights.mode_margin - wrong)
    passage_cosine = (encoded * anchor[: len(encoded)]).sum(-1).mean()
    query_cosine = (queries * query_anchor).sum(-1).mean()
    total = ranking + weights.mode * mode + weights.anchor * (1 - passage_cosine)
    figures = {"ranking": ranking, "wrong_mode": wrong, "kept_query": query_cosine, "kept_passage": passage_cosine}
    return total, {k: v.detach() for k, v in figures.items()}
