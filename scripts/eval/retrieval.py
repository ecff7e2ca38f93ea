"""Measures the retrieval models: nDCG@10 on held-out sets and on held-out splits of training sets.

    make eval-retrieval                                      # the served models, through HTTP
    make eval-retrieval ARGS="--queries 100 --ranked 20"     # faster
    python -m scripts.eval.retrieval --embedding run:runs/embedding@1 --ranker run:runs/ranking@1

For each set it measures MiniLM (the baseline), the embedding, queries embedded in the wrong mode, vectors
truncated to --short dimensions and, for the first --ranked queries, the embedding before and after the ranker has
sorted its best --top passages. The graded lists are complete lists of candidates, sorted by the embedding and by the
ranker. --seed selects queries and distractors. The default numbers of queries and passages are those of the first table
of model_repository/RETRIEVAL.md. It writes OUT.json and the section of OUT.md, and skips sets for which OUT.json has
figures with the same settings.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from pathlib import Path

import numpy as np

from scripts import sections
from scripts.eval import retrieval_models as models
from scripts.train.embedding import corpora
from scripts.train.embedding.measures import ndcg

SETS = (*corpora.OPEN_SETS, *corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS)
GRADED = "mediqa_graded"
SECTION = "eval-retrieval"
MINILM, EMBEDDING, RANKER = (
    "sentence-transformers/all-MiniLM-L6-v2",
    "retort/minilm-embedqa-v2",
    "retort/rankqa-minilm-v2",
)


def best(scores: np.ndarray, count: int) -> np.ndarray:
    """Returns the indexes of the highest scores, best first."""
    return np.argsort(-scores, kind="stable")[:count]


def retrieval_set(collection: corpora.Collection, baseline, embedding, ranker, args) -> dict[str, float]:
    """Returns the figures of one collection."""
    chosen = list(collection.queries)
    random.Random(f"{args.seed} {collection.name}").shuffle(chosen)
    chosen = chosen[: args.queries or None]
    pids = passages_of(collection, chosen, args)
    texts = [corpora.with_title(collection, p) for p in pids]
    asked = [q.text for q in chosen]

    def measure(scores: np.ndarray) -> list[float]:
        judged = [dict.fromkeys(q.positives, 1) for q in chosen[: len(scores)]]
        return ndcg(judged, [[pids[i] for i in best(row, 10)] for row in scores])

    passages, queries = embedding.vectors(texts, "passage"), embedding.vectors(asked, "query")
    scores = queries @ passages.T
    values = {
        "embedding": measure(scores),
        "wrong_mode": measure(embedding.vectors(asked, "passage") @ passages.T),
        "short": measure(cut(queries, args.short) @ cut(passages, args.short).T),
    }
    if baseline:
        known = baseline.vectors(texts, "passage")
        values["baseline"] = measure(baseline.vectors(asked, "query") @ known.T)
        if args.mixed:
            values["mixed"] = measure(queries @ known.T)
    if ranker:
        some = slice(args.ranked or None)
        values["ranked"] = measure(reranked(scores[some], asked[some], texts, ranker, args.top))
    return {"queries": len(chosen), "passages": len(pids), **figures_of(values)}


def passages_of(collection: corpora.Collection, chosen: list[corpora.Query], args) -> list[str]:
    """Returns the passages that answer the queries, and at most --distractors others of the set."""
    answers = set().union(*(q.positives for q in chosen))
    others = [p for p in collection.passages if p not in answers]
    if 0 <= args.distractors < len(others):
        others = random.Random(f"{args.seed} {collection.name} others").sample(others, args.distractors)
    chosen_passages = answers | set(others)
    return [p for p in collection.passages if p in chosen_passages]


def graded_set(lists: list[corpora.GradedList], baseline, embedding, ranker, args) -> dict[str, float]:
    """Returns the figures of graded candidate lists."""
    lists = random.Random(args.seed).sample(lists, len(lists))[: args.queries or None]
    starts = np.cumsum([0] + [len(g.texts) for g in lists])
    texts, asked = [t for g in lists for t in g.texts], [g.query for g in lists]

    def measure(scores: list[np.ndarray]) -> list[float]:
        judged = [{str(i): gain for i, gain in enumerate(g.gains)} for g in lists]
        return ndcg(judged, [[str(i) for i in best(row, len(row))] for row in scores])

    def by(queries: np.ndarray, passages: np.ndarray) -> list[float]:
        return measure([passages[a:b] @ q for q, a, b in zip(queries, starts, starts[1:])])

    passages, queries = embedding.vectors(texts, "passage"), embedding.vectors(asked, "query")
    values = {
        "embedding": by(queries, passages),
        "short": by(cut(queries, args.short), cut(passages, args.short)),
        "wrong_mode": by(embedding.vectors(asked, "passage"), passages),
    }
    if baseline:
        known = baseline.vectors(texts, "passage")
        values["baseline"] = by(baseline.vectors(asked, "query"), known)
        if args.mixed:
            values["mixed"] = by(queries, known)
    if ranker:
        values["ranked"] = measure(ranker.logits([(g.query, g.texts) for g in lists]))
    return {"queries": len(lists), "passages": len(texts), **figures_of(values)}


def figures_of(values: dict[str, list[float]]) -> dict[str, float]:
    """Returns means over the queries, and the gains of embedding over baseline and of ranking over embedding.

    Gains are on the same queries, with the standard errors of their means.
    """
    found = {name: float(np.mean(row)) for name, row in values.items()}
    found["kept"] = found["short"] / found["embedding"]
    for better, worse, name in (("embedding", "baseline", "over_baseline"), ("ranked", "embedding", "gain")):
        if better in values and worse in values:
            count = min(len(values[better]), len(values[worse]))
            gains = np.array(values[better][:count]) - np.array(values[worse][:count])
            found |= {name: float(gains.mean()), f"{name}_error": float(gains.std() / math.sqrt(count))}
    if "ranked" in values:
        count = len(values["ranked"])
        found |= {"ranked_queries": count, "before": float(np.mean(values["embedding"][:count]))}
    return found


def cut(vectors: np.ndarray, size: int) -> np.ndarray:
    """Truncates vectors to `size` dimensions and normalises them."""
    short = vectors[:, :size]
    return short / np.linalg.norm(short, axis=1, keepdims=True)


def reranked(scores: np.ndarray, asked: list[str], texts: list[str], ranker, top: int) -> np.ndarray:
    """Returns scores that rank the best `top` passages of each query by the ranker, before all others."""
    chosen = [best(row, top) for row in scores]
    logits = ranker.logits([(q, [texts[i] for i in rows]) for q, rows in zip(asked, chosen)])
    out = np.full_like(scores, -np.inf)
    for line, rows, found in zip(out, chosen, logits):
        line[rows] = found
    return out


GAINS = ("over_baseline", "gain")
COLUMNS = {
    "baseline": "MiniLM",
    "embedding": "embedding",
    "over_baseline": "gain over MiniLM",
    "mixed": "queries in the baseline's passages",
    "wrong_mode": "queries in passage mode",
    "short": "{short} dimensions",
    "kept": "share kept",
    "ranked_queries": "queries ranked",
    "before": "before ranking",
    "ranked": "after ranking",
    "gain": "gain by ranking",
}


def table(figures: dict[str, dict[str, float]], short: int) -> str:
    """Returns the figures in points (nDCG@10 times 100) in Markdown; short: dimensions of the truncated vectors."""
    names = [k for k in COLUMNS if any(k in r for r in figures.values())]
    mean = {
        k: float(np.mean([r[k] for r in figures.values()]))
        for k in names
        if k != "ranked_queries" and all(k in r for r in figures.values())
    }
    mean |= {"kept": mean["short"] / mean["embedding"]}
    lines = [
        "| set | queries | passages | " + " | ".join(COLUMNS[k].format(short=short) for k in names) + " |",
        "|---|---:|---:|" + "---:|" * len(names),
    ]
    for name, row in {**figures, "mean": mean}.items():
        cells = [cell(k, row) for k in names]
        lines.append(f"| {name} | {row.get('queries', '')} | {row.get('passages', '')} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def cell(name: str, row: dict[str, float]) -> str:
    if name not in row:
        return ""
    if name == "ranked_queries":
        return str(row[name])
    if name in GAINS:
        error = f"{name}_error"
        return f"{100 * row[name]:+.1f}" + (f" ± {100 * row[error]:.1f}" if error in row else "")
    return f"{100 * row[name]:.1f}" + (" %" if name == "kept" else "")


def measured(file: Path, settings: dict[str, str]) -> dict[str, dict[str, float]]:
    """Returns the figures of an interrupted run with the same settings."""
    results = json.loads(file.read_text()) if file.exists() else {}
    return results["figures"] if results.get("settings") == settings else {}


def report(figures: dict[str, dict[str, float]], args: argparse.Namespace) -> str:
    """Returns the table and how it was measured."""

    def count(n, no_limit):
        return "all" if n == no_limit else f"at most {n}"

    return f"""# How well the retrieval models find

nDCG@10 in points, on the {args.split} split of each set (`scripts/eval/retrieval.py`): {count(args.queries, 0)} of its
queries, over the passages that answer them and {count(args.distractors, -1)} of the set's other passages. *Before*
and *after ranking*: for {count(args.ranked, 0)} of these queries, the order of the embedding, and the order of the
ranker over the embedding's best {args.top}; the gain has its standard error. `{GRADED}` has complete candidate lists
with graded answers, and all of them are ranked. No model was trained on
{", ".join(f"`{s}`" for s in (*corpora.MEASURE_SETS, GRADED))}.

| what | source |
|---|---|
| MiniLM | `{args.baseline}` |
| embedding | `{args.embedding}` |
| ranker | `{args.ranker}` |

""" + table(figures, args.short)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("RETORT_DATA", ".")) / "retrieval",
        help="folder with the retrieval sets",
    )
    parser.add_argument(
        "--url", default="http://127.0.0.1:8000", help="main address of the gateway, for sources that are not given"
    )
    parser.add_argument("--baseline", help="source of the baseline embedding (none: without)")
    parser.add_argument("--embedding", help="source of the embedding")
    parser.add_argument(
        "--mixed", action="store_true", help="also search the baseline's passages by the embedding's queries"
    )
    parser.add_argument("--ranker", help="source of the ranker (none: without)")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--sets", nargs="*", default=[*SETS, GRADED])
    parser.add_argument("--queries", type=int, default=200, help="most queries of a set (0: all)")
    parser.add_argument("--ranked", type=int, default=40, help="most of these queries to rank (0: all)")
    parser.add_argument("--distractors", type=int, default=2000, help="most passages that answer no query (-1: all)")
    parser.add_argument("--top", type=int, default=50, help="passages to rank for each query")
    parser.add_argument("--short", type=int, default=128, help="dimensions of the truncated vectors")
    parser.add_argument("--pair-tokens", type=int, default=512, help="most tokens of a pair for a local ranker")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of a local source")
    parser.add_argument("--out", type=Path, default=Path("build/retrieval"))
    args = parser.parse_args()
    base = args.url.rstrip("/")
    args.baseline = args.baseline or f"{base}/embedding#{MINILM}"
    args.embedding = args.embedding or f"{base}/embedding#{EMBEDDING}"
    args.ranker = args.ranker or f"{base}/ranking#{RANKER}"
    return args


def main() -> None:
    args = arguments()
    baseline = None if args.baseline == "none" else models.embedder(args.baseline, args.threads, modes=False)
    embedding = models.embedder(args.embedding, args.threads)
    ranker = None if args.ranker == "none" else models.scorer(args.ranker, args.threads, args.pair_tokens)
    sections.check(args.out.with_suffix(".md"), SECTION)
    settings = {k: str(v) for k, v in vars(args).items() if k not in ("sets", "out", "threads")}
    figures = measured(args.out.with_suffix(".json"), settings)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        if name in figures:
            continue
        started = time.monotonic()
        if name == GRADED:
            # The file calls its test split "train"; no model was trained on it.
            figures[name] = graded_set(
                corpora.load_graded(args.data, "dev" if args.split == "dev" else "train"),
                baseline,
                embedding,
                ranker,
                args,
            )
        elif (args.data / corpora.lists_file(name)).exists():
            figures[name] = graded_set(
                corpora.load_graded(args.data, args.split, corpora.lists_file(name)), baseline, embedding, ranker, args
            )
        else:
            collection = corpora.load(args.data, name, args.split)
            if not collection.queries:
                continue  # a set without this split
            figures[name] = retrieval_set(collection, baseline, embedding, ranker, args)
        summary = "  ".join(f"{k} {v:.4g}" for k, v in figures[name].items())
        print(f"{name}: {summary}  ({time.monotonic() - started:.0f} s)", flush=True)
        args.out.with_suffix(".json").write_text(
            json.dumps({"settings": settings, "figures": figures}, indent=1) + "\n"
        )
        sections.write(args.out.with_suffix(".md"), SECTION, report(figures, args))
    print(table(figures, args.short))


if __name__ == "__main__":
    main()
