"""Well-known collections that nobody here trained on, as files of the retrieval data (README.md of the data folder).

    python -m scripts.eval.outside_sets --classic DIR --wikiqa DIR --trecqa DIR --to DIR
    make eval-retrieval ARGS="--data DIR --sets cranfield cisi medline npl wikiqa trecqa"

The four classic collections are queries over abstracts of papers: aerodynamics (Cranfield), library science (CISI), medicine
(MEDLINE) and electronics (NPL, also called Vaswani); any passage judged of use, however little, is right. --classic holds them
as the Glasgow IR group published them: cran/cran.all.1400, cran.qry, cranqrel; cisi/CISI.ALL, .QRY, .REL; med/MED.ALL, .QRY,
.REL; npl/doc-text, query-text, rlv-ass. WikiQA (Yang et al. 2015, WikiQA-{dev,test}.tsv.gz) and the TREC answer sentences of
Wang et al. 2007 ({DEV,TEST}.xml) are lists of single sentences, some of which answer. Their licences allow research or say
nothing: for measuring, and not to be shipped.
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
"""The id of a query and of a passage that is right for it."""


def smart(file: Path, titles: bool = True) -> dict[str, str]:
    """The texts (.W) of a file of the SMART system by their ids, each with its title (.T) in front unless it begins with it."""
    found = {}
    for part in re.split(r"^\.I\s+", file.read_text(encoding="latin-1"), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        told = re.split(r"^\.([A-Z])[ \t]*$", rest, flags=re.MULTILINE)
        fields = dict(zip(told[1::2], (" ".join(text.split()) for text in told[2::2])))
        title, text = fields.get("T", ""), fields.get("W", "")
        if titles and title and not text.startswith(title):
            text = " ".join(filter(None, (title if title.endswith(".") else f"{title}.", text)))
        if text:
            found[str(int(number))] = text
    return found


def slashed(file: Path) -> dict[str, str]:
    """The entries of a file of the NPL collection by their numbers: each begins with it, and ends with a slash."""
    parts = [part.strip() for part in re.split(r"^\s*/\s*$", file.read_text(encoding="latin-1"), flags=re.MULTILINE)]
    split = [part.partition("\n") for part in parts if part]
    return {number.strip(): " ".join(text.split()) for number, _, text in split}


def columns(file: Path, places: tuple[int, int], right: tuple[int, range] | None = None) -> list[Judged]:
    """Judgements from lines of columns; places: of the query's id and the passage's; right: the column of the grade, and which grades count."""
    rows = [line.split() for line in file.read_text().splitlines() if line.strip()]
    return [(row[places[0]], row[places[1]]) for row in rows if right is None or int(row[right[0]]) in right[1]]


def classic(folder: Path) -> Iterator[tuple[str, dict[str, str], dict[str, str], list[Judged]]]:
    """Of each classic collection its name, passages, queries and judgements."""
    cran, cisi, med, npl = (folder / name for name in ("cran", "cisi", "med", "npl"))
    # Cranfield's judgements count its queries from 1; the numbers in its file of queries leave some out.
    asked = {str(place + 1): text for place, text in enumerate(smart(cran / "cran.qry", titles=False).values())}
    yield "cranfield", smart(cran / "cran.all.1400"), asked, columns(cran / "cranqrel", (0, 1), (2, range(1, 5)))
    yield "cisi", smart(cisi / "CISI.ALL"), smart(cisi / "CISI.QRY", titles=False), columns(cisi / "CISI.REL", (0, 1))
    yield "medline", smart(med / "MED.ALL"), smart(med / "MED.QRY"), columns(med / "MED.REL", (0, 2))
    judged = [(query, passage) for query, passages in slashed(npl / "rlv-ass").items() for passage in passages.split()]
    yield "npl", slashed(npl / "doc-text"), slashed(npl / "query-text"), judged


def wikiqa(file: Path) -> dict[str, list[tuple[str, bool]]]:
    """Questions with sentences and whether each answers."""
    found: dict[str, list[tuple[str, bool]]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            found.setdefault(row["Question"], []).append((row["Sentence"], row["Label"] == "1"))
    return found


def trecqa(file: Path) -> dict[str, list[tuple[str, bool]]]:
    """The same of the TREC sentences, whose words are separated by tabs."""
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
    """JSON lines, compressed; how many."""
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
    asked = [
        {"qid": q, "query": queries[q], "pos": found, "split": "test"} for q, found in right.items() if q in queries
    ]
    held = write(to / f"{name}.passages.jsonl.gz", ({"pid": p, "text": text} for p, text in passages.items()))
    write(to / f"{name}.queries.jsonl.gz", iter(asked))
    print(f"{name}: {len(asked)} queries, {held} passages, {sum(len(q['pos']) for q in asked)} judged right")


def write_lists(to: Path, name: str, splits: dict[str, dict[str, list[tuple[str, bool]]]]) -> None:
    """Those with one sentence that answers, or more, and one that does not."""
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
    parser.add_argument("--to", type=Path, required=True, help="folder to write to")
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
