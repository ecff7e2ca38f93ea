"""Makes the two files of a collection, on which embedding and ranking models are trained, from own texts:

    python -m scripts.train.collection own.jsonl --data DATA --name own

writes DATA/own.passages.jsonl.gz and own.queries.jsonl.gz. A line of a file is one of

    {"query": "…", "passage": "…"}                    a pair
    {"query": "…", "passage": "…", "negative": "…"}   a triple, with a passage that does not answer the query
    {"text": "…"}                                     a document alone

with an optional "title". A query may have several lines; equal passages are one. Of a document one sentence becomes
the query, and the others its passage (the inverse cloze task: Lee et al. 2019, arXiv 1906.00300); documents of fewer
than three sentences are passages without a query. The queries are held out by their hash: a tenth to measure the
trained model (split test), a twentieth to choose the best weights of a run (split dev).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.train import files
from scripts.train.embedding import corpora

FORMS = ({"query", "passage"}, {"query", "passage", "negative"}, {"text"})
RESERVED = (*corpora.OPEN_SETS, *corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS)
"""Names of the public collections."""
TEST, DEV = 0.1, 0.05
"""Shares of the queries that are held out."""


class WrongLineError(Exception):
    """A line of a file that cannot be read."""


@dataclass
class Texts:
    """Passages with their titles, and queries with the numbers of their passages; texts in the order of the files."""

    passages: dict[tuple[str, str], int] = field(default_factory=dict)
    queries: dict[str, list[int]] = field(default_factory=dict)

    def passage(self, title: str, text: str) -> int:
        """Returns the number of a passage, which it adds if it is new."""
        return self.passages.setdefault((title, text), len(self.passages))

    def add(self, row: dict[str, str]) -> None:
        title = row.get("title", "")
        query, text = (row["query"], row["passage"]) if "query" in row else cut(row["text"])
        number = self.passage(title, text)
        if query and number not in self.queries.setdefault(query, []):
            self.queries[query].append(number)
        if "negative" in row:
            self.passage("", row["negative"])


def cut(text: str) -> tuple[str, str]:
    """Returns a sentence of a document and the rest, or no sentence and the whole document."""
    sentences = corpora.sentences_of(text)
    if len(sentences) < 3:
        return "", text
    query = min(sentences, key=files.digest)
    return query, text.replace(query, "", 1).strip()


def split_of(query: str) -> str:
    """Returns the split of a query: the same whatever other queries there are."""
    return "test" if files.is_held_out(query, TEST) else "dev" if files.is_held_out(query, TEST + DEV) else "train"


def read(path: Path, texts: Texts) -> None:
    """Adds the lines of a file. WrongLineError names file and line, OSError the file."""
    for number, line in enumerate(files.read_lines(path), 1):
        if line.strip():
            try:
                texts.add(check(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise WrongLineError(f"{path}:{number}: {error}") from error


def check(row: Any) -> dict[str, str]:
    """Returns a line without surrounding space. ValueError: it has none of the forms."""
    if not isinstance(row, dict) or set(row) - {"title"} not in FORMS:
        raise ValueError('expected {"query", "passage"}, {"query", "passage", "negative"} or {"text"}')
    for key, value in row.items():
        if not isinstance(value, str) or (key != "title" and not value.strip()):
            raise ValueError(f"{key} must be a text" + (" that is not empty" if key != "title" else ""))
        value.encode()  # UnicodeEncodeError, a ValueError: half of a surrogate pair
    return {key: value.strip() for key, value in row.items()}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes gzipped JSON lines, with the same bytes for the same rows."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    files.replace(path, gzip.compress(text.encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.collection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", type=Path, nargs="+", help=".jsonl or .jsonl.gz")
    parser.add_argument("--data", type=Path, required=True, help="folder to write to")
    parser.add_argument("--name", default="own", help="name of the collection (default: own)")
    given = parser.parse_args()
    if given.name != Path(given.name).name or not given.name or given.name in RESERVED:
        parser.error(f"--name {given.name}: a name without folders is expected, and none of {', '.join(RESERVED)}")
    texts = Texts()
    for path in given.files:
        try:
            read(path, texts)
        except (WrongLineError, OSError) as error:
            sys.exit(f"collection: {error}")
    queries = [
        {
            "qid": f"q{number}",
            "query": query,
            "pos": [f"p{passage}" for passage in passages],
            "split": split_of(query),
        }
        for number, (query, passages) in enumerate(texts.queries.items())
    ]
    counts = Counter(query["split"] for query in queries)
    text = ", ".join(f"{counts[split]} {split}" for split in ("train", "dev", "test"))
    if len(counts) < 3:
        sys.exit(f"collection: too few queries: {text}")
    passages = [
        {"pid": f"p{number}", **({"title": title} if title else {}), "text": text}
        for (title, text), number in texts.passages.items()
    ]
    write(given.data / f"{given.name}.passages.jsonl.gz", passages)
    write(given.data / f"{given.name}.queries.jsonl.gz", queries)
    print(f"{len(passages)} passages; queries: {text}")


if __name__ == "__main__":
    main()
