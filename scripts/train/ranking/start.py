"""The ranker of a model repository entry, to train on: what lies above the encoder, out of its graph.

What was stored in int8 comes back as the graph multiplies by it, rounded.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from torch import Tensor

from scripts.train.embedding import start, twomode
from scripts.train.ranking.ranker import Ranker

MAPS = (
    "MatMul.weight",
    "MatMul_2.weight",
)  # of the pooled vectors, the embedding's own and the fitted one, each used twice


def prefixes(tokenizer) -> tuple[Tensor, Tensor]:
    """Ids of the query's prefix and of the passage's."""
    return tuple(
        torch.tensor(tokenizer.encode(p, add_special_tokens=False).ids)
        for p in (twomode.QUERY_PREFIX, twomode.PASSAGE_PREFIX)
    )


def model(entry: Path, base: twomode.TwoMode, tokenizer) -> Ranker:
    """base: the two-mode model that the entry stands on. ValueError if the graph is none of scripts.train.ranking.export."""
    held = {k: torch.from_numpy(v) for k, v in start.weights(onnx.load(str(entry / "1" / "model.onnx")).graph).items()}
    nameless = ValueError(f"{entry}: the graph does not name the weights of a ranker")
    if not {*MAPS, "rarity"} <= held.keys():
        raise nameless
    ranker = Ranker(base.encoder, held[MAPS[0]], held[MAPS[1]], held["rarity"], prefixes(tokenizer))
    trained = {k: v for k, v in ranker.named_parameters() if v.requires_grad}
    if not trained.keys() <= held.keys():
        raise nameless
    ranker.load_state_dict(
        {k: held[k].reshape(v.shape) for k, v in trained.items()}, strict=False
    )  # without the encoder
    return ranker
