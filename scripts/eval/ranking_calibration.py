"""Measures whether relevance scores are probabilities, on collections that the calibration has not seen:

    python -m scripts.eval.ranking_calibration --data DIR/retrieval --embedding onnx:model_repository/minilm_embed_qa \\
        --ranker onnx:model_repository/minilm_rank_qa --keep DIR

A pair is a query and one of the --top passages that the embedding ranks highest for it, as a search passes them to
a ranker. It is relevant if the collection says that the passage answers the query. A passage that does not, but has the
words of the answer, is not judged and left out. Of mediqa_graded, and of other sets of candidate lists
(NAME.lists.jsonl.gz, see outside_sets.py), all candidates are judged, and all are pairs. Pairs of more than 2,000
characters are left out: the service reads such documents in chunks.

The expected calibration error is the mean difference between the score and the share of relevant pairs, over 15 bins of
pairs with similar scores. Before: the score is the logistic function of the logit. After: beta calibration, fitted to
the pairs of all other collections.

With --keep, the pairs and their logits stay in DIR, and collections that are there are not computed again. The file
DIR/NAME.pairs.jsonl is input for `retort model calibrate --pairs`. Sources: scripts/eval/retrieval_models.py.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scripts import sections
from scripts.eval import retrieval
from scripts.eval import retrieval_models as models
from scripts.train.embedding import corpora

PAGE = Path(__file__).parents[2] / "model_repository/RELEVANCE.md"
SECTION = "eval-ranking-calibration"
BINS = 15
LONGEST = 2000  # characters of a pair
FOLDS = 5

LEAST = 0.001  # slope
STEPS, STEP, RIDGE = 100, 0.7, 1e-9
"""Of Newton's method."""

Candidates = tuple[str, list[str], list[bool]]
"""A query, passages, and whether each is relevant."""


def retrieved(collection: corpora.Collection, embedding: models.Embedder, args: argparse.Namespace) -> list[Candidates]:
    """Returns at most --queries queries of a collection with the judged ones of their best passages."""
    queries = list(collection.queries)
    random.Random(f"{args.seed} {collection.name}").shuffle(queries)
    queries = queries[: args.queries or None]
    pids = retrieval.passages_of(collection, queries, args)
    texts = [corpora.with_title(collection, p) for p in pids]
    passages = embedding.vectors(texts, "passage")
    vectors = embedding.vectors([q.text for q in queries], "query")
    found = []
    for query, scores in zip(queries, vectors @ passages.T):
        judged = [
            i
            for i in retrieval.best(scores, args.top)
            if pids[i] in query.positives or not corpora.contains_answer(texts[i], query.answer)
        ]
        found.append((query.text, [texts[i] for i in judged], [pids[i] in query.positives for i in judged]))
    return found


def listed(lists: list[corpora.GradedList]) -> list[Candidates]:
    """Returns whole candidate lists."""
    return [(graded.query, graded.texts, [gain > 0 for gain in graded.gains]) for graded in lists]


def candidates_of(name: str, embedding: models.Embedder, args: argparse.Namespace) -> list[Candidates]:
    """Returns the candidates of a collection."""
    if name == retrieval.GRADED:
        # The file calls its test split "train"; no model was trained on it.
        found = listed(corpora.load_graded(args.data, "train"))
    elif (args.data / corpora.lists_file(name)).exists():
        found = listed(corpora.load_graded(args.data, args.split, corpora.lists_file(name)))
    else:
        found = retrieved(corpora.load(args.data, name, args.split), embedding, args)
    return [short for short in map(without_long, found) if short[1]]


def without_long(candidates: Candidates) -> Candidates:
    query, passages, judged = candidates
    short = [i for i, passage in enumerate(passages) if len(query) + len(passage) <= LONGEST]
    return query, [passages[i] for i in short], [judged[i] for i in short]


def keep(folder: Path, name: str, candidates: list[Candidates], logits: list[np.ndarray]) -> None:
    """Writes the pairs of a collection and their logits, the latter last."""
    folder.mkdir(parents=True, exist_ok=True)
    pairs, scored = [], []
    for number, ((query, passages, judged), values) in enumerate(zip(candidates, logits, strict=True)):
        for passage, relevant, logit in zip(passages, judged, values, strict=True):
            pair = {"query": query, "passage": passage, "relevant": int(relevant), "collection": name}
            pairs.append(json.dumps(pair, ensure_ascii=False) + "\n")
            scored.append([number, round(float(logit), 4), int(relevant)])
    (folder / f"{name}.pairs.jsonl").write_text("".join(pairs))
    (folder / f"{name}.logits.json").write_text(json.dumps(scored) + "\n")


def features(logits: np.ndarray) -> np.ndarray:
    return np.stack([-np.logaddexp(0, -logits), np.logaddexp(0, logits), np.ones_like(logits)], axis=1)


def beta(logits: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Returns the three numbers of beta calibration, as Fit of orchestrator/calibration does, by Newton's method."""
    positive, negative = relevant.sum(), (1 - relevant).sum()
    target = np.where(relevant == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    used = [0, 1, 2]
    while True:
        x = features(logits)[:, used]
        w = np.zeros(len(used))
        w[-1] = np.log((positive + 1) / (negative + 1))
        for _ in range(STEPS):
            p = 1 / (1 + np.exp(-x @ w))
            w -= STEP * np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(len(w)), x.T @ (p - target))
        found = np.zeros(3)
        found[used] = w
        if min(found[:2]) >= 0:
            found[:2] = np.maximum(found[:2], LEAST)
            return found
        used.remove(int(np.argmax(found[:2] < 0)))


def score(logits: np.ndarray, numbers: Sequence[float] | np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-features(logits) @ np.asarray(numbers)))


IDENTITY = (1.0, 1.0, 0.0)


def error(scores: np.ndarray, relevant: np.ndarray, equal_width: bool = False) -> float:
    """Returns the expected calibration error over bins of equal mass, or of equal width."""
    if equal_width:
        place = np.minimum((scores * BINS).astype(int), BINS - 1)
        bins = [np.flatnonzero(place == i) for i in range(BINS)]
    else:
        bins = np.array_split(np.argsort(scores, kind="stable"), BINS)
    return float(sum(abs((scores[b] - relevant[b]).sum()) for b in bins) / len(scores))


def figures(pairs: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Returns for each collection, and for all together, the number of pairs, the share of relevant ones, and errors:
    before; after, of equal mass and of equal width; and with a calibration of the collection's own.

    pairs: for each collection, rows of the number of the query, the logit, and whether the pair is relevant.
    """
    scores = {}
    for name, rows in pairs.items():
        unseen = score(rows[:, 1], fitted([other for n, other in pairs.items() if n != name]))
        scores[name] = np.stack([score(rows[:, 1], IDENTITY), unseen, own(rows)])
    found = {}
    for name in [*pairs, "all"]:
        chosen = list(pairs) if name == "all" else [name]
        relevant = np.concatenate([pairs[n][:, 2] for n in chosen])
        before, after, by_own = np.concatenate([scores[n] for n in chosen], axis=1)
        errors = error(before, relevant), error(after, relevant), error(after, relevant, True), error(by_own, relevant)
        found[name] = [len(relevant), float(relevant.mean()), *errors]
    return found


def fitted(pairs: list[np.ndarray]) -> np.ndarray:
    rows = np.concatenate(pairs)
    return beta(rows[:, 1], rows[:, 2])


def own(rows: np.ndarray) -> np.ndarray:
    """Returns scores by calibrations on four fifths of a collection's queries, for the queries of the other fifth."""
    scores = np.empty(len(rows))
    for fold in range(FOLDS):
        held = rows[:, 0] % FOLDS == fold
        scores[held] = score(rows[held, 1], fitted([rows[~held]]))
    return scores


def table(rows: dict[str, list[float]]) -> list[str]:
    lines = [
        "| collection | pairs | relevant | before | after | after, bins of equal width | calibrated on its own pairs |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, (count, share, *errors) in rows.items():
        lines.append(f"| {name} | {count} | {100 * share:.0f} % | " + " | ".join(f"{e:.3f}" for e in errors) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--embedding", required=True, help="source of the embedding that finds passages")
    parser.add_argument("--ranker", required=True, help="source of the ranker")
    parser.add_argument("--keep", type=Path, required=True, help="folder for pairs and logits")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--sets", nargs="*", default=[*retrieval.SETS, retrieval.GRADED])
    parser.add_argument("--queries", type=int, default=100, help="most queries per set (0: all)")
    parser.add_argument("--distractors", type=int, default=300, help="most passages that answer no query (-1: all)")
    parser.add_argument("--top", type=int, default=10, help="passages of a query")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of a local source")
    parser.add_argument("--write", action="store_true", help="replace the section of model_repository/RELEVANCE.md")
    args = parser.parse_args()
    if len(args.sets) < 2:
        parser.error("--sets: a calibration is measured on a set that it has not seen, so at least two are needed")
    missing = [name for name in args.sets if not (args.keep / f"{name}.logits.json").exists()]
    if missing:
        embedding = models.embedder(args.embedding, args.threads)
        ranker = models.scorer(args.ranker, args.threads, 512)
    for name in missing:
        candidates = candidates_of(name, embedding, args)
        keep(args.keep, name, candidates, ranker.logits([(query, passages) for query, passages, _ in candidates]))
        print(name, flush=True)
    pairs = {n: np.array(json.loads((args.keep / f"{n}.logits.json").read_text())) for n in args.sets}
    numbers = " ".join(f"{x:.5g}" for x in fitted(list(pairs.values())))
    lines = table(figures(pairs))
    lines += ["", f"Fitted to all pairs: `relevance_calibration` {numbers}."]
    print("\n".join(lines))
    if args.write:
        sections.write(PAGE, SECTION, "\n".join(lines))


if __name__ == "__main__":
    main()
