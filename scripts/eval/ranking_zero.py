"""Measures how well the logit 0 separates relevant passages from others:

    python -m scripts.eval.ranking_zero --data DIR/retrieval --embedding onnx:model_repository/minilm_embed_qa \\
        --ranker onnx:model_repository/minilm_rank_qa

Each query has three passages: a right one; a near one, which the embedding ranks highest of those that are not right
and do not contain the words of the answer, if these are known; and a random one. If the words of the answer are known,
the same is measured with sentences: the right one contains the answer, the near one is another of the same passage. For
a set of candidate lists (NAME.lists.jsonl.gz, see outside_sets.py) the right and the near passage are those that the
embedding ranks highest in a list. short_pairs.txt has short questions and sentences.

The first three figures are shares of right passages above 0 and of near and other passages below. The next is the
threshold with the largest mean of the first two shares, and the last is that mean: the best that a constant added to
the logits of this set could achieve. Sources: scripts/eval/retrieval_models.py.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

from scripts.eval import retrieval
from scripts.eval import retrieval_models as models
from scripts.train.embedding import corpora

SHORT_PAIRS = Path(__file__).with_name("short_pairs.txt")
COLUMNS = ("queries", "right above 0", "near below 0", "other below 0", "best threshold", "mean at it")

Triple = tuple[str, str, str]
"""A right passage, a near one and another one."""


def short_pairs(file: Path = SHORT_PAIRS) -> list[tuple[str, Triple]]:
    """Reads questions with their passages."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    rows = [[part.strip() for part in line.split("|")] for line in lines]
    return [(query, (right, near, other)) for query, right, near, other in rows]


def whole(
    collection: corpora.Collection, embedding: models.Embedder, chance: random.Random, args: argparse.Namespace
) -> list[tuple[str, Triple]]:
    """Returns at most --queries queries of a set, with passages."""
    queries = chance.sample(collection.queries, min(args.queries, len(collection.queries)))
    pids = retrieval.passages_of(collection, queries, args)
    texts = {p: corpora.with_title(collection, p) for p in pids}
    passages = embedding.vectors([texts[p] for p in pids], "passage")
    vectors = embedding.vectors([q.text for q in queries], "query")
    found = []
    for query, row in zip(queries, vectors @ passages.T):
        wrong = [
            pids[i]
            for i in np.argsort(-row, kind="stable")
            if pids[i] not in query.positives and not corpora.contains_answer(texts[pids[i]], query.answer)
        ]
        if len(wrong) > 1:
            found.append((query.text, (texts[min(query.positives)], texts[wrong[0]], texts[chance.choice(wrong[1:])])))
    return found


def sentences(collection: corpora.Collection, count: int, chance: random.Random) -> list[tuple[str, Triple]]:
    """Returns at most `count` queries with known words of the answer, with single sentences."""
    found: list[tuple[str, Triple]] = []
    texts = list(collection.passages.values())
    for query in chance.sample(collection.queries, len(collection.queries)):
        right, near = corpora.split_by_answer(collection, query)
        other = [s for s in corpora.sentences_of(chance.choice(texts)) if not corpora.contains_answer(s, query.answer)]
        if right and near and other and len(found) < count:
            found.append((query.text, (right[0], chance.choice(near), chance.choice(other))))
    return found


def listed(
    lists: list[corpora.GradedList], embedding: models.Embedder, chance: random.Random, count: int
) -> list[tuple[str, Triple]]:
    """Returns at most `count` queries with the best right and wrong passages of their list, and one of another."""
    found = []
    for number in chance.sample(range(len(lists)), min(count, len(lists))):
        candidates, other = lists[number], lists[number - 1]
        near = embedding.vectors(candidates.texts, "passage") @ embedding.vectors([candidates.query], "query")[0]
        order = [int(i) for i in np.argsort(-near, kind="stable")]
        right, wrong = (
            next(candidates.texts[i] for i in order if bool(candidates.gains[i]) is relevant)
            for relevant in (True, False)
        )
        found.append((candidates.query, (right, wrong, chance.choice(other.texts))))
    return found


def figures(logits: np.ndarray) -> list[float]:
    """Returns COLUMNS of logits [queries, 3] of right, near and other passages; shares are in percent."""
    right, near, other = logits.T
    thresholds = np.unique(logits[:, :2])
    balance = [((right > t).mean() + (near <= t).mean()) / 2 for t in thresholds]
    best = int(np.argmax(balance))
    shares = [(right > 0).mean(), (near <= 0).mean(), (other <= 0).mean()]
    return [len(logits), *(100 * s for s in shares), float(thresholds[best]), 100 * balance[best]]


def table(rows: dict[str, list[float]]) -> str:
    """Returns the figures in Markdown."""
    lines = ["| set | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, (queries, right, near, other, best, balance) in rows.items():
        lines.append(
            f"| {name} | {queries} | {right:.0f} % | {near:.0f} % | {other:.0f} % | {best:+.1f} | {balance:.0f} % |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--embedding", required=True, help="source of the embedding that finds near passages")
    parser.add_argument("--ranker", required=True, help="source of the ranker")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--sets", nargs="*", default=[*corpora.OPEN_SETS, *corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS])
    parser.add_argument("--queries", type=int, default=40, help="most queries per set")
    parser.add_argument(
        "--distractors", type=int, default=300, help="other passages, from which the near ones are chosen"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="threads of a local source")
    args = parser.parse_args()
    embedding = models.embedder(args.embedding, args.threads)
    ranker = models.scorer(args.ranker, args.threads, 512)
    triples = {"short pairs": short_pairs()}
    for name in args.sets:
        chance = random.Random(f"{args.seed} {name}")
        file = corpora.lists_file(name)
        if (args.data / file).exists():
            triples[name] = listed(corpora.load_graded(args.data, args.split, file), embedding, chance, args.queries)
            continue
        collection = corpora.load(args.data, name, args.split)
        triples[name] = whole(collection, embedding, chance, args)
        triples[f"{name}, sentences"] = sentences(collection, args.queries, chance)
    rows = {name: figures(np.array(ranker.logits(pairs))) for name, pairs in triples.items() if pairs}
    print(table(rows))


if __name__ == "__main__":
    main()
