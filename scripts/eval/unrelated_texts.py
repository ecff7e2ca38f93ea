"""Prints texts of the retrieval sets, most of which are unrelated, for `retort model calibrate ENTRY --texts`:

    python -m scripts.eval.unrelated_texts --data DIR/retrieval > texts.txt

For each set it draws passages, and queries that none of these answers. Of Banking77, it draws one text per intent.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from scripts.eval.retrieval import SETS
from scripts.train.embedding import corpora

LONGEST = 1000  # characters


def texts(collection: corpora.Collection, passages: int, queries: int, chance: random.Random) -> list[str]:
    """Returns texts of a set, no two of which are known to belong together."""
    topics = collection.topics
    drawn: list[str] = []
    seen: set[str] = set()
    for pid in chance.sample(sorted(collection.passages), len(collection.passages)):
        topic = topics.get(pid, pid)
        if len(drawn) < passages and topic not in seen and len(collection.passages[pid]) <= LONGEST:
            drawn.append(collection.passages[pid])
            seen.add(topic)
    for query in chance.sample(collection.queries, len(collection.queries)):
        answered = {topics.get(pid, pid) for pid in query.positives}
        if len(drawn) < passages + queries and not answered & seen:
            drawn.append(query.text)
            seen |= answered
    return [" ".join(text.split()) for text in drawn]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the retrieval sets")
    parser.add_argument("--passages", type=int, default=50, help="most passages of each set")
    parser.add_argument("--queries", type=int, default=25, help="most queries of each set")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for name in SETS:
        chance = random.Random(f"{args.seed} {name}")
        for text in texts(corpora.load(args.data, name, "test"), args.passages, args.queries, chance):
            print(text)


if __name__ == "__main__":
    main()
