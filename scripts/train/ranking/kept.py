"""Token vectors of the frozen encoder, kept from step to step: a text is read once in a training, not once a pair.

Segments read only themselves below the trained layers, so what the encoder makes of a passage does not depend on the
query beside it. That is half the work of a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from scripts.train.embedding import vectors
from scripts.train.ranking.ranker import Ranker

Text = tuple[bool, tuple[int, ...]]
"""Whether it answers, and its ids from [CLS] (a query) or from after it (a passage) to [SEP]."""
Rows = tuple[Tensor, Tensor, Tensor]
"""ids, mask, segment_ids [B,L] int64."""


class Kept:
    """Scores pairs as a Ranker does, with gradients for what lies above its encoder only."""

    def __init__(self, model: Ranker, tokens: int = vectors.CPU_TOKENS):
        """tokens: of padded rows that are read at once. Vectors are kept in bfloat16."""
        self.model, self.tokens = model, tokens
        self.held: dict[Text, Tensor] = {}

    def __call__(self, *rows: Tensor) -> Tensor:
        """Logits [B,1]; pairs of like length go together."""
        lengths = rows[1].sum(1).tolist()
        batches = vectors.batches_by_length(lengths, self.tokens)
        found = [self.some([r[batch, : lengths[batch[0]]] for r in rows]) for batch in batches]
        return torch.cat(found)[torch.tensor([i for b in batches for i in b]).argsort()]

    def some(self, rows: Sequence[Tensor]) -> Tensor:
        texts = [self.texts(*(r.tolist() for r in row)) for row in zip(*rows)]
        self.read({t for pair in texts for t in pair} - self.held.keys())
        prefixed = self.model.prefixed(*rows)
        queries, passages = len(self.model.query_prefix), len(self.model.passage_prefix)
        states = torch.zeros(
            2, *prefixed[0].shape, self.model.encoder.shape.hidden_size, dtype=torch.bfloat16, device=rows[0].device
        )
        for row, (asks, answers) in enumerate(texts):
            query, passage = self.held[asks], self.held[answers]
            # The order of Ranker.prefixed: [CLS] and prefix of the passage, prefix of the query, [CLS] and query, passage.
            whole = torch.cat(
                [
                    passage[:, : passages + 1],
                    query[:, 1 : queries + 1],
                    query[:, :1],
                    query[:, queries + 1 :],
                    passage[:, passages + 1 :],
                ],
                1,
            )
            states[:, row, : whole.shape[1]] = whole
        return self.model.judge(*prefixed, *states.float())

    @staticmethod
    def texts(ids: list[int], mask: list[int], segments: list[int]) -> tuple[Text, Text]:
        """The query and the passage of a row."""
        end, passage = sum(mask), sum(segments)
        return (False, tuple(ids[: end - passage])), (True, tuple(ids[end - passage : end]))

    @torch.no_grad()
    def read(self, texts: set[Text]) -> None:
        """Reads texts that were not met before."""
        model, some = self.model, sorted(texts)
        prefixes = [p.tolist() for p in (model.query_prefix, model.passage_prefix)]
        rows = [[101, *prefixes[answers], *(ids if answers else ids[1:])] for answers, ids in some]
        for batch in vectors.batches_by_length([len(r) for r in rows], self.tokens):
            ids, mask = (t.to(model.rarity.device) for t in vectors.padded([rows[i] for i in batch]))
            both = torch.stack([h.to(torch.bfloat16) for h in model.alone(ids, mask)])
            self.held.update({some[i]: both[:, place, : len(rows[i])].clone() for place, i in enumerate(batch)})
