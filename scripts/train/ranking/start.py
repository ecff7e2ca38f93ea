"""Warm start: loads the layers above the encoder from the graph of a ranker's entry, for further training.

Weights stored as int8 come back rounded.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import torch
from torch import Tensor

from scripts.train.embedding import start, twomode
from scripts.train.ranking.ranker import Ranker

MAPS = ("MatMul.weight", "MatMul_2.weight")
"""Names in the graph of the map of the embedding and of the intent projection, each used twice."""


def prefixes(tokenizer) -> tuple[Tensor, Tensor]:
    """Returns the ids of the prefixes of queries and of passages."""
    return tuple(
        torch.tensor(tokenizer.encode(p, add_special_tokens=False).ids)
        for p in (twomode.QUERY_PREFIX, twomode.PASSAGE_PREFIX)
    )


def load_onnx(entry: Path, base: twomode.TwoMode, tokenizer) -> Ranker:
    """Loads the ranker; base: the two-mode model that it was trained on.

    Raises ValueError if scripts.train.ranking.export did not write the graph.
    """
    stored = {
        k: torch.from_numpy(v) for k, v in start.weights(onnx.load(str(entry / "1" / "model.onnx")).graph).items()
    }
    no_ranker = ValueError(f"start: the graph of {entry} does not name the weights of a ranker")
    if not {*MAPS, "rarity"} <= stored.keys():
        raise no_ranker
    ranker = Ranker(base.encoder, stored[MAPS[0]], stored[MAPS[1]], stored["rarity"], prefixes(tokenizer))
    trained = {k: v for k, v in ranker.named_parameters() if v.requires_grad}
    if not trained.keys() <= stored.keys():
        raise no_ranker
    # strict=False: without the encoder.
    ranker.load_state_dict({k: stored[k].reshape(v.shape) for k, v in trained.items()}, strict=False)
    return ranker
