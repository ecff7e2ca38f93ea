"""Where the ranker's 0 lies: how many right passages have a logit above 0, and how many wrong ones below.

    python -m scripts.eval.ranking_zero --data DIR/retrieval --embedding onnx:model_repository/minilm_embed_qa --ranker onnx:model_repository/minilm_rank_qa

Each query gets three passages: a right one; a near one, the best by the embedding that is not right (nor holds the answer's
words, where they are known); and one of the set drawn by chance. Where the answer's words are known this is done again with
single sentences: the right one holds the answer, the near one is another of the same passage. Of a set of candidate lists
(NAME.lists.jsonl.gz, see outside_sets.py) the right and the near one are the embedding's best of a list. short_pairs.txt holds
short questions and sentences of its own. The fourth figure is the threshold at which the mean of the first two is largest, and the
fifth that mean: what a constant added to the logits of that set alone could reach. Sources: scripts/eval/retrieval_models.py.
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
COLUMNS = ("queries", "right above 0", "near below 0", "other below 0", "best threshold", "right and near there")

Triple = tuple[str, str, str]
"""A right passage, a near one and another."""


def short_pairs(file: Path = SHORT_PAIRS) -> list[tuple[str, Triple]]:
    """Questions with their passages, as the file holds them."""
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    rows = [[part.strip() for part in line.split("|")] for line in lines]
    return [(query, (right, near, other)) for query, right, near, other in rows]


def whole(
    collection: corpora.Collection, embedding: models.Embedder, chance: random.Random, args: argparse.Namespace
) -> list[tuple[str, Triple]]:
    """At most --queries queries of a set with whole passages."""
    queries = chance.sample(collection.queries, min(args.queries, len(collection.queries)))
    pids = retrieval.passages_of(collection, queries, args)
    texts = {p: corpora.with_title(collection, p) for p in pids}
    passages = embedding.vectors([texts[p] for p in pids], "passage")
    asked = embedding.vectors([q.text for q in queries], "query")
    found = []
    for query, row in zip(queries, asked @ passages.T):
        wrong = [
            pids[i]
            for i in np.argsort(-row, kind="stable")
            if pids[i] not in query.positives and not corpora.contains_answer(texts[pids[i]], query.answer)
        ]
        if len(wrong) > 1:
            found.append((query.text, (texts[min(query.positives)], texts[wrong[0]], texts[chance.choice(wrong[1:])])))
    return found


def sentences(collection: corpora.Collection, most: int, chance: random.Random) -> list[tuple[str, Triple]]:
    """At most `most` queries whose answer's words are known, with single sentences."""
    found: list[tuple[str, Triple]] = []
    texts = list(collection.passages.values())
    for query in chance.sample(collection.queries, len(collection.queries)):
        right, near = corpora.split_by_answer(collection, query)
        other = [s for s in corpora.sentences_of(chance.choice(texts)) if not corpora.contains_answer(s, query.answer)]
        if right and near and other and len(found) < most:
            found.append((query.text, (right[0], chance.choice(near), chance.choice(other))))
    return found


def listed(
    lists: list[corpora.GradedList], embedding: models.Embedder, chance: random.Random, most: int
) -> list[tuple[str, Triple]]:
    """At most `most` candidate lists: the nearest right one and the nearest wrong one of each, and one of another list."""
    found = []
    for number in chance.sample(range(len(lists)), min(most, len(lists))):
        held, other = lists[number], lists[number - 1]
        near = embedding.vectors(held.texts, "passage") @ embedding.vectors([held.query], "query")[0]
        order = [int(i) for i in np.argsort(-near, kind="stable")]
        right, wrong = (next(held.texts[i] for i in order if bool(held.gains[i]) is kind) for kind in (True, False))
        found.append((held.query, (right, wrong, chance.choice(other.texts))))
    return found


def figures(logits: np.ndarray) -> list[float]:
    """Of logits [queries, 3] of right, near and other passages: see COLUMNS; shares are in percent."""
    right, near, other = logits.T
    places = np.unique(logits[:, :2])
    balance = [((right > t).mean() + (near <= t).mean()) / 2 for t in places]
    best = int(np.argmax(balance))
    shares = [(right > 0).mean(), (near <= 0).mean(), (other <= 0).mean()]
    return [len(logits), *(100 * s for s in shares), float(places[best]), 100 * balance[best]]


def table(rows: dict[str, list[float]]) -> str:
    """The figures in Markdown."""
    lines = ["| set | " + " | ".join(COLUMNS) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, (queries, right, near, other, best, there) in rows.items():
        lines.append(
            f"| {name} | {queries} | {right:.0f} % | {near:.0f} % | {other:.0f} % | {best:+.1f} | {there:.0f} % |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--embedding", required=True, help="source of the embedding that finds near passages")
    parser.add_argument("--ranker", required=True, help="source of the ranker")
    parser.add_argument("--weights", type=Path, help="folder of MiniLM, for run: sources")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--sets", nargs="*", default=[*corpora.OPEN_SETS, *corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS])
    parser.add_argument("--queries", type=int, default=40, help="most queries a set")
    parser.add_argument(
        "--distractors", type=int, default=300, help="passages beside the right ones, among which the near ones are"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of a local source")
    args = parser.parse_args()
    embedding = models.embedder(args.embedding, args.weights, args.threads)
    ranker = models.scorer(args.ranker, args.weights, args.threads, 512)
    asked = {"short pairs": short_pairs()}
    for name in args.sets:
        chance = random.Random(f"{args.seed} {name}")
        file = corpora.lists_file(name)
        if (args.data / file).exists():
            asked[name] = listed(corpora.load_graded(args.data, args.split, file), embedding, chance, args.queries)
            continue
        collection = corpora.load(args.data, name, args.split)
        asked[name] = whole(collection, embedding, chance, args)
        asked[f"{name}, sentences"] = sentences(collection, args.queries, chance)
    rows = {name: figures(np.array(ranker.logits(pairs))) for name, pairs in asked.items() if pairs}
    print(table(rows))


if __name__ == "__main__":
    main()
