"""How well the retrieval models find: nDCG@10 on sets that were not fitted on, or on parts of them kept apart.

    python -m scripts.eval.retrieval --data DIR --baseline minilm:DIR --embedding onnx:model_repository/retort_embedqa \\
        --ranker onnx:model_repository/retort_rank --out build/retrieval
    python -m scripts.eval.retrieval --data DIR --embedding http://127.0.0.1:8003#retort/embedqa-minilm-v1 \\
        --ranker http://127.0.0.1:8004#retort/rankqa-minilm-v1

For each set: a plain embedding (the baseline), ours, ours after ranking its best 50, queries embedded in the wrong mode,
and the first 128 numbers of each vector. The graded lists are whole candidate lists, ordered by the embedding, then by
the ranker. Writes OUT.json and OUT.md. Queries and passages beyond --queries and --distractors are drawn by --seed;
0 and -1 take all.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch

from scripts.eval import retrieval_models as models
from scripts.train.embedding import corpora

SETS = ("squadshifts_new_wiki", "nq_gold", "pubmedqa", "medquad", "chebi20", "banking77",
        "squadshifts_amazon", "squadshifts_reddit", "xquad")
SHORT = 128


def ndcg(gains: list[float], best: list[float], depth: int = 10) -> float:
    """Normalised discounted cumulative gain: gains in the order found, best = all gains there are."""
    total = lambda row: sum(g / math.log2(place + 2) for place, g in enumerate(row[:depth]))
    ideal = total(sorted(best, reverse=True))
    return total(gains) / ideal if ideal else 0.0


def retrieval_set(collection: corpora.Collection, baseline, embedding, ranker, args) -> dict[str, float]:
    """The figures of one collection."""
    chosen = list(collection.queries)
    random.Random(f"{args.seed} {collection.name}").shuffle(chosen)
    chosen = chosen[: args.queries or None]
    pids = list(collection.passages)
    texts = [corpora.titled(collection, p) for p in pids]
    asked = [q.text for q in chosen]

    def measure(scores: np.ndarray) -> float:
        values = []
        for query, row in zip(chosen, scores):
            order = np.argsort(-row, kind="stable")[:10]
            values.append(ndcg([float(pids[i] in query.positives) for i in order], [1.0] * len(query.positives)))
        return float(np.mean(values))

    found: dict[str, float] = {"queries": len(chosen), "passages": len(pids)}
    if baseline:
        found["baseline"] = measure(baseline.vectors(asked, "query") @ baseline.vectors(texts, "passage").T)
    passages, queries = embedding.vectors(texts, "passage"), embedding.vectors(asked, "query")
    scores = queries @ passages.T
    found["embedding"] = measure(scores)
    found["wrong_mode"] = measure(embedding.vectors(asked, "passage") @ passages.T)
    if args.swapped:
        found["swapped"] = measure(embedding.vectors(asked, "passage") @ embedding.vectors(texts, "query").T)
    found["short"] = measure(cut(queries) @ cut(passages).T)
    if ranker:
        found["ranked"] = measure(reranked(scores, asked, texts, ranker, args.top))
    return found


def cut(vectors: np.ndarray) -> np.ndarray:
    """The first numbers of each vector, a unit vector again."""
    short = vectors[:, :SHORT]
    return short / np.linalg.norm(short, axis=1, keepdims=True)


def reranked(scores: np.ndarray, asked: list[str], texts: list[str], ranker, top: int) -> np.ndarray:
    """Scores that put the best `top` passages of each query in the ranker's order, before all others."""
    best = [np.argsort(-row, kind="stable")[:top] for row in scores]
    logits = ranker.logits([(q, [texts[i] for i in rows]) for q, rows in zip(asked, best)])
    out = np.full_like(scores, -np.inf)
    for line, rows, found in zip(out, best, logits):
        line[rows] = found
    return out


def graded_set(lists: list[corpora.GradedList], baseline, embedding, ranker, args) -> dict[str, float]:
    """The figures of the graded candidate lists."""
    lists = lists[: args.queries or None]
    starts = np.cumsum([0] + [len(g.texts) for g in lists])
    texts = [t for g in lists for t in g.texts]
    asked = [g.query for g in lists]

    def measure(scores: list[np.ndarray]) -> float:
        return float(np.mean([ndcg([g.gains[i] for i in np.argsort(-s, kind="stable")], g.gains) for g, s in zip(lists, scores)]))

    def by(queries: np.ndarray, passages: np.ndarray) -> float:
        return measure([passages[a:b] @ q for q, a, b in zip(queries, starts, starts[1:])])

    found: dict[str, float] = {"queries": len(lists), "passages": len(texts)}
    if baseline:
        found["baseline"] = by(baseline.vectors(asked, "query"), baseline.vectors(texts, "passage"))
    passages, queries = embedding.vectors(texts, "passage"), embedding.vectors(asked, "query")
    found["embedding"], found["short"] = by(queries, passages), by(cut(queries), cut(passages))
    found["wrong_mode"] = by(embedding.vectors(asked, "passage"), passages)
    if ranker:
        found["ranked"] = measure(ranker.logits([(g.query, g.texts) for g in lists]))
    return found


COLUMNS = {"baseline": "plain MiniLM", "embedding": "embedding", "ranked": "ranked top {top}", "gain": "gain of ranking",
           "wrong_mode": "query in passage mode", "swapped": "both modes swapped", "short": "128 numbers", "kept": "128 keep"}


def table(figures: dict[str, dict[str, float]], args) -> str:
    """The figures in Markdown, in points (nDCG@10 times 100)."""
    for row in figures.values():
        row["kept"] = row["short"] / row["embedding"]
        if "ranked" in row:
            row["gain"] = row["ranked"] - row["embedding"]
    mean = {k: float(np.mean([r[k] for r in figures.values()])) for k in COLUMNS if all(k in r for r in figures.values())}
    names = [k for k in COLUMNS if any(k in r for r in figures.values())]
    lines = ["| set | queries | passages | " + " | ".join(COLUMNS[k].format(top=args.top) for k in names) + " |",
             "|---|---:|---:|" + "---:|" * len(names)]
    for name, row in {**figures, "mean": mean}.items():
        cells = [f"{100 * row[k]:.1f}" if k in row else "" for k in names]
        lines.append(f"| {name} | {row.get('queries', '')} | {row.get('passages', '')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--baseline", help="source of the plain embedding to compare with")
    parser.add_argument("--embedding", required=True, help="source of the embedding")
    parser.add_argument("--ranker", help="source of the ranker")
    parser.add_argument("--weights", type=Path, help="folder of MiniLM, for run: sources")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--sets", nargs="*", default=[*SETS, "mediqa_graded"])
    parser.add_argument("--queries", type=int, default=100, help="most queries a set (0: all)")
    parser.add_argument("--distractors", type=int, default=800, help="most passages beside those of the split (-1: all)")
    parser.add_argument("--top", type=int, default=50, help="passages given to the ranker")
    parser.add_argument("--pair-tokens", type=int, default=512, help="longest pair given to a local ranker")
    parser.add_argument("--swapped", action="store_true", help="also measure passages in query mode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/retrieval"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    baseline = models.embedder(args.baseline, args.weights, args.threads) if args.baseline else None
    embedding = models.embedder(args.embedding, args.weights, args.threads)
    ranker = models.scorer(args.ranker, args.weights, args.threads, args.pair_tokens) if args.ranker else None
    figures: dict[str, dict[str, float]] = {}
    for name in args.sets:
        begun = time.monotonic()
        if name == "mediqa_graded":
            figures[name] = graded_set(corpora.graded(args.data), baseline, embedding, ranker, args)
        else:
            collection = corpora.load(args.data, name, args.split, None if args.distractors < 0 else args.distractors)
            if not collection.queries:
                continue  # a set without this split
            figures[name] = retrieval_set(collection, baseline, embedding, ranker, args)
        told = "  ".join(f"{k} {v:.4g}" for k, v in figures[name].items())
        print(f"{name}: {told}  ({time.monotonic() - begun:.0f} s)", flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    text = table(figures, args)
    settings = {k: str(v) for k, v in vars(args).items()}
    args.out.with_suffix(".json").write_text(json.dumps({"settings": settings, "figures": figures}, indent=1) + "\n")
    args.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
