"""Measures the ranker of a run on the held-out queries of its collections, before and after training:

    python -m scripts.train.ranking.report --run runs/ranking --data DATA

writes <run>/figures.json, of which the export makes the card: figures of the passages in the order of the embedding,
and after the ranker has sorted the best 50. --alpha: see scripts.train.embedding.report. 0 is the ranker that the run
started from.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from scripts.train import checkpoint, configuration
from scripts.train.embedding import evaluation, report, twomode, vectors
from scripts.train.ranking import pairs, ranker

TOP = 50
"""Passages to rank for each query."""
TOKENS = 512


def start_of(run: Path) -> Path | None:
    """Returns the entry of the ranker that a run started from; None if it trained a new one."""
    given = configuration.load(run)
    return None if given.get("embedding") else Path(given["start"])


def embedding_of(run: Path) -> Path:
    """Returns the entry of the embedding model under the ranker of a run."""
    start = start_of(run)
    return ranker.embedding_of(start) if start else Path(configuration.load(run)["embedding"])


def trained_ranker(run: Path, alpha: float) -> ranker.Ranker:
    """Returns the ranker of a run, interpolated with the one it started from.

    The start of a new ranker is the late interaction of the two-mode model.
    """
    trained, start = checkpoint.weights(run), start_of(run)
    fresh = (
        ranker.load(start) if start else ranker.on_embedding(embedding_of(run), trained["metric"], trained["rarity"])
    )
    same = all(torch.equal(value, trained[f"encoder.{name}"]) for name, value in fresh.encoder.state_dict().items())
    if not same:
        raise ValueError(f"{start or embedding_of(run)} has changed since {run} started from it")
    return checkpoint.blend(fresh, trained, alpha)


def scorer(model: pairs.Logits, tokenizer, device: torch.device) -> evaluation.Logits:
    """Returns the logits of a ranker, computed under bfloat16 autocast."""

    def score(*rows: torch.Tensor) -> np.ndarray:
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16):
            return model(*(r.to(device) for r in rows)).float().cpu().numpy()

    def logits(query: str, passages: list[str]) -> np.ndarray:
        first, *others = vectors.token_ids(tokenizer, [query, *passages], TOKENS)
        if len(first) > TOKENS // 2:
            first = first[: TOKENS // 2 - 1] + first[-1:]
        return pairs.logits_of(score, [pairs.join(first, other, TOKENS) for other in others], vectors.CPU_TOKENS)

    return logits


def main() -> None:
    given = report.arguments("python -m scripts.train.ranking.report", __doc__, "runs/ranking", 50).parse_args()
    held = report.read_sets(given, "report")
    embedding = embedding_of(given.run)
    tokenizer = vectors.load_tokenizer(embedding / "tokenizer.json")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    embed = vectors.module_embed(twomode.load(embedding).to(device), device)
    search = evaluation.Search(held, tokenizer, 256, 256)
    orders = search.orders(embed, TOP)
    models = {"embedding": {one.name: evaluation.figures(one, order[:, :10]) for one, order in zip(held, orders)}}
    for name, alpha in (("start", 0.0), ("trained", given.alpha)):
        model = trained_ranker(given.run, alpha).to(device)
        models[name] = evaluation.reranked(held, orders, scorer(model, tokenizer, device))
    report.write(given, held, models, report.origin(start_of(given.run) or embedding))


if __name__ == "__main__":
    main()
