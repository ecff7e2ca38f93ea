"""Caches the token vectors of the frozen encoder: each text is encoded once in a training, not once for each pair.

Below the trained layers, segments attend only to themselves, so the vectors of a passage do not depend on the query.
The cache saves half the work of a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scripts.train.embedding import vectors
from scripts.train.ranking.ranker import Ranker

Text = tuple[bool, tuple[int, ...]]
"""Whether it is a passage, and its ids: from [CLS] (query) or after it (passage) to [SEP]."""
Rows = tuple[Tensor, Tensor, Tensor]
"""ids, mask, segment_ids [B,L] int64."""


class CachedEncoder:
    """Scores pairs like a Ranker, with gradients only for the layers above its encoder."""

    def __init__(self, model: Ranker, tokens: int = vectors.CPU_TOKENS):
        """tokens: most padded tokens in a call of the encoder. Vectors are cached as bfloat16."""
        self.model, self.tokens = model, tokens
        self.cache: dict[Text, Tensor] = {}

    def __call__(self, *rows: Tensor) -> Tensor:
        """Returns logits [B,1]; pairs of similar length are batched together."""
        lengths = rows[1].sum(1).tolist()
        batches = vectors.batches_by_length(lengths, self.tokens)
        logits = [self._score([r[batch, : lengths[batch[0]]] for r in rows]) for batch in batches]
        return torch.cat(logits)[torch.tensor([i for b in batches for i in b]).argsort()]

    def _score(self, rows: Sequence[Tensor]) -> Tensor:
        texts = [self.texts(*(r.tolist() for r in row)) for row in zip(*rows)]
        self._encode({t for pair in texts for t in pair} - self.cache.keys())
        prefixed = self.model.prefixed(*rows)
        queries, passages = len(self.model.query_prefix), len(self.model.passage_prefix)
        states = torch.zeros(
            2, *prefixed[0].shape, self.model.encoder.shape.hidden_size, dtype=torch.bfloat16, device=rows[0].device
        )
        for row, (query_text, passage_text) in enumerate(texts):
            query, passage = self.cache[query_text], self.cache[passage_text]
            # The order of Ranker.prefixed: [CLS] and prefix of the passage, prefix of the query, [CLS] and query,
            # passage.
            joined = torch.cat(
                [
                    passage[:, : passages + 1],
                    query[:, 1 : queries + 1],
                    query[:, :1],
                    query[:, queries + 1 :],
                    passage[:, passages + 1 :],
                ],
                1,
            )
            states[:, row, : joined.shape[1]] = joined
        return self.model.logits(*prefixed, *states.float())

    @staticmethod
    def texts(ids: list[int], mask: list[int], segments: list[int]) -> tuple[Text, Text]:
        """Returns the query and the passage of a row."""
        end, passage = sum(mask), sum(segments)
        return (False, tuple(ids[: end - passage])), (True, tuple(ids[end - passage : end]))

    @torch.no_grad()
    def _encode(self, texts: set[Text]) -> None:
        """Adds texts to the cache."""
        model, new = self.model, sorted(texts)
        prefixes = [p.tolist() for p in (model.query_prefix, model.passage_prefix)]
        rows = [[101, *prefixes[is_passage], *(ids if is_passage else ids[1:])] for is_passage, ids in new]
        for batch in vectors.batches_by_length([len(r) for r in rows], self.tokens):
            ids, mask = (t.to(model.rarity.device) for t in vectors.pad([rows[i] for i in batch]))
            both = torch.stack([h.to(torch.bfloat16) for h in model.encode_alone(ids, mask)])
            self.cache.update({new[i]: both[:, place, : len(rows[i])].clone() for place, i in enumerate(batch)})
