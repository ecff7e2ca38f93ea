"""Converts well-known collections, which no model was trained on, to the format of the retrieval data:

    python -m scripts.eval.outside_sets --classic DIR --wikiqa DIR --trecqa DIR --to DIR
    make eval-retrieval ARGS="--data DIR --sets cranfield cisi medline npl wikiqa trecqa --queries 0 --ranked 30 \\
        --distractors -1"

The four classic collections have queries over abstracts of papers: aerodynamics (Cranfield), library science (CISI),
medicine (MEDLINE) and electronics (NPL, also called Vaswani). Any passage judged useful, however little, is relevant.
--classic is a folder with the files of the Glasgow IR group: cran/cran.all.1400, cran.qry, cranqrel; cisi/CISI.ALL,
.QRY, .REL; med/MED.ALL, .QRY, .REL; npl/doc-text, query-text, rlv-ass. WikiQA (Yang et al. 2015,
WikiQA-{dev,test}.tsv.gz) and the TREC answer sentences of Wang et al. 2007 ({DEV,TEST}.xml) are lists of single
sentences, some of which answer the question. Their licences allow research or are silent: the files are for measuring
and must not be shipped.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.train.embedding.corpora import lists_file

RIGHT, WRONG = 4, 1
"""Scores of candidates in a graded list (corpora.load_graded)."""

Judged = tuple[str, str]
"""The id of a query and of a relevant passage."""


def smart(file: Path, titles: bool = True) -> dict[str, str]:
    """Returns the texts (.W) of a SMART file by id, each after its title (.T) unless it begins with that."""
    found = {}
    for part in re.split(r"^\.I\s+", file.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        parts = re.split(r"^\.([A-Z])[ \t]*$", rest, flags=re.MULTILINE)
        fields = dict(zip(parts[1::2], (" ".join(text.split()) for text in parts[2::2])))
        title, text = fields.get("T", ""), fields.get("W", "")
        if titles and title and not text.startswith(title):
            text = " ".join(filter(None, (title if title.endswith(".") else f"{title}.", text)))
        if text:
            found[str(int(number))] = text
    return found


def npl_entries(file: Path) -> dict[str, str]:
    """Returns the entries of an NPL file by number. An entry begins with its number and ends with a slash."""
    parts = [part.strip() for part in re.split(r"^\s*/\s*$", file.read_text(encoding="latin-1"), flags=re.MULTILINE)]
    split = [part.partition("\n") for part in parts if part]
    return {number.strip(): " ".join(text.split()) for number, _, text in split}


def judgements(file: Path, query: int, passage: int, grade: int | None = None) -> list[Judged]:
    """Reads judgements from a file of columns; the arguments are indexes of columns. Grades 1 to 4 are relevant."""
    rows = [line.split() for line in file.read_text().splitlines() if line.strip()]
    return [(row[query], row[passage]) for row in rows if grade is None or 1 <= int(row[grade]) <= 4]


def classic(folder: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str], list[Judged]]]:
    """Yields the name, passages, queries and judgements of each classic collection."""
    cran, cisi, med, npl = (folder / name for name in ("cran", "cisi", "med", "npl"))
    # Cranfield's judgements number the queries from 1, without the gaps in the numbers of the file of queries.
    queries = {str(number): text for number, text in enumerate(smart(cran / "cran.qry", titles=False).values(), 1)}
    yield "cranfield", smart(cran / "cran.all.1400"), queries, judgements(cran / "cranqrel", 0, 1, 2)
    yield "cisi", smart(cisi / "CISI.ALL"), smart(cisi / "CISI.QRY", titles=False), judgements(cisi / "CISI.REL", 0, 1)
    yield "medline", smart(med / "MED.ALL"), smart(med / "MED.QRY"), judgements(med / "MED.REL", 0, 2)
    relevant = npl_entries(npl / "rlv-ass")
    judged = [(query, passage) for query, passages in relevant.items() for passage in passages.split()]
    yield "npl", npl_entries(npl / "doc-text"), npl_entries(npl / "query-text"), judged


def wikiqa(file: Path) -> dict[str, list[tuple[str, bool]]]:
    """Reads questions with their sentences, and whether each answers."""
    found: dict[str, list[tuple[str, bool]]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row["Question"], []).append((row["Sentence"], row["Label"] == "1"))
    return found


def trecqa(file: Path) -> dict[str, list[tuple[str, bool]]]:
    """Reads the same from a file of TREC sentences, whose words are separated by tabs."""
    found: dict[str, list[tuple[str, bool]]] = {}
    question = ""
    for kind, words in re.findall(r"<(question|positive|negative)>\n(.*)\n", file.read_text(encoding="utf-8")):
        text = re.sub(r" ([.,?!;:%)]|'s\b|n't\b)", r"\1", " ".join(words.split("\t")))
        if kind == "question":
            question = text
        else:
            found.setdefault(question, []).append((text, kind == "positive"))
    return found


def write(file: Path, rows: Iterator[dict]) -> int:
    """Writes compressed lines of JSON and returns their number."""
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    file.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    return len(lines)


def write_collection(
    to: Path, name: str, passages: dict[str, str], queries: dict[str, str], judged: list[Judged]
) -> None:
    right: dict[str, list[str]] = {}
    for query, passage in dict.fromkeys(judged):
        if passage in passages:
            right.setdefault(query, []).append(passage)
    judged_queries = [
        {"qid": q, "query": queries[q], "pos": found, "split": "test"} for q, found in right.items() if q in queries
    ]
    count = write(to / f"{name}.passages.jsonl.gz", ({"pid": p, "text": text} for p, text in passages.items()))
    write(to / f"{name}.queries.jsonl.gz", iter(judged_queries))
    pairs = sum(len(q["pos"]) for q in judged_queries)
    print(f"{name}: {len(judged_queries)} queries, {count} passages, {pairs} judged relevant")


def write_lists(to: Path, name: str, splits: dict[str, dict[str, list[tuple[str, bool]]]]) -> None:
    """Writes the lists with both sentences that answer and sentences that do not."""
    rows = [
        {
            "qid": f"{split}{place}",
            "query": question,
            "split": split,
            "cands": [{"text": text, "score": RIGHT if right else WRONG} for text, right in sentences],
        }
        for split, lists in splits.items()
        for place, (question, sentences) in enumerate(lists.items())
        if len({right for _, right in sentences}) > 1
    ]
    write(to / lists_file(name), iter(rows))
    print(f"{name}: {len(rows)} lists, {sum(len(row['cands']) for row in rows)} sentences")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classic", type=Path, help="folder of the classic collections")
    parser.add_argument("--wikiqa", type=Path, help="folder of WikiQA-dev.tsv.gz and WikiQA-test.tsv.gz")
    parser.add_argument("--trecqa", type=Path, help="folder of DEV.xml and TEST.xml")
    parser.add_argument("--to", type=Path, required=True, help="output folder")
    args = parser.parse_args()
    args.to.mkdir(parents=True, exist_ok=True)
    if args.classic:
        for name, passages, queries, judged in classic(args.classic):
            write_collection(args.to, name, passages, queries, judged)
    if args.wikiqa:
        write_lists(args.to, "wikiqa", {s: wikiqa(args.wikiqa / f"WikiQA-{s}.tsv.gz") for s in ("dev", "test")})
    if args.trecqa:
        write_lists(args.to, "trecqa", {s.lower(): trecqa(args.trecqa / f"{s}.xml") for s in ("DEV", "TEST")})


if __name__ == "__main__":
    main()
