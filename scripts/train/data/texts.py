"""Makes the files of passages and queries from the public files. Each function returns the rows of each result.

Formats, gzipped JSON lines:

X.passages.jsonl.gz    {"pid", "title", "text"}: a passage; its id is unique in the file
X.queries.jsonl.gz     {"qid", "query", "pos", "split"}: a question and the ids of its passages; often "answer"
lists of candidates    {"qid", "query", "cands": [{"text", "score", "rank", "system_rank"}], "split"}
chebi20_captions       {"cid", "smiles", "caption", "split"}
banking77              {"text", "label", "split"}

White space in texts is reduced to single spaces. A split ("train", "dev", "test") is the public one where there is one;
else it goes by document, so that no document is in two splits: splits/NAME.txt has a letter (t, d, e for test) for each
document, in the order of first appearance.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote
from xml.etree import ElementTree

Row = dict[str, Any]
Contents = dict[str, bytes]
"""Contents of the sources by path."""

SPLITS = Path(__file__).with_name("splits")
LETTERS = {"t": "train", "d": "dev", "e": "test"}
LONGEST = 6000
"""Characters; longer answers are cut there."""
SHORTEST = 10
"""Characters; questions with shorter answers, such as "Topics", are left out."""
LEFT_OUT = {
    "How to prevent Lung Cancer ?",
    "How to prevent Diabetes ?",
    "How to prevent Atherosclerosis ?",
    "What is COPD?",
    "What is Epilepsy?",
}
"""Questions of MedQuAD and MEDIQA 2019 that are not in the sets; their answers stay among the passages of MedQuAD."""
LANGUAGES = ("en", "ar", "de", "el", "es", "hi", "ro", "ru", "th", "tr", "vi", "zh")
"""Of XQuAD, in the order of the rows."""


LARGEST = 2**28
"""Bytes of the largest content of a compressed file that is read as a whole."""


class WrongSourceError(Exception):
    """A source is missing or does not have the expected form."""


def read_whole(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Returns the content of a file, compressed or not. WrongSourceError: it is larger than LARGEST."""
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise WrongSourceError(f"more than {LARGEST:,} bytes after decompression")
    return content


def spaced(text: str | None) -> str:
    return " ".join((text or "").split())


class Splitter:
    """Gives each document its split."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.letters = (SPLITS / f"{name}.txt").read_text("ascii").replace("\n", "")
        self.documents: dict[str, int] = {}

    def __call__(self, document: str) -> str:
        number = self.documents.setdefault(document, len(self.documents))
        if number >= len(self.letters):
            raise WrongSourceError(f"more documents than the {len(self.letters)} that splits/{self.name}.txt has")
        return LETTERS[self.letters[number]]


def squadshifts(name: str, contents: Contents) -> list[list[Row]]:
    """Questions of SQuADShifts (Miller et al. 2020), each once a passage."""
    (text,) = contents.values()
    split = Splitter(name)
    passages: list[Row] = []
    queries: list[Row] = []
    for number, document in enumerate(json.loads(text)["data"]):
        title = document["title"].replace("_", " ")
        for paragraph in document["paragraphs"]:
            pid = f"p{len(passages)}"
            passages.append({"pid": pid, "title": title, "text": spaced(paragraph["context"]), "doc": number})
            asked = set()
            for question in paragraph["qas"]:
                query = spaced(question["question"])
                if query.lower() in asked:
                    continue
                asked.add(query.lower())
                queries.append(
                    {
                        "qid": question["id"],
                        "query": query,
                        "pos": [pid],
                        "answer": question["answers"][0]["text"].strip(),
                        "split": split(pid),
                    }
                )
    return [passages, queries]


def medquad(name: str, contents: Contents) -> list[list[Row]]:
    """Questions of MedQuAD (Ben Abacha and Demner-Fushman 2019) that have an answer."""
    split = Splitter(name)
    passages: dict[str, Row] = {}
    queries = []
    for path in sorted(contents, key=lambda path: (int(path.split("_")[0]), path)):
        document = ElementTree.fromstring(contents[path])
        title = spaced(document.findtext("Focus"))
        for pair in document.iter("QAPair"):
            question, answer = pair.find("Question"), spaced(pair.findtext("Answer"))[:LONGEST]
            if question is None or len(answer) < SHORTEST:
                continue
            query = spaced(question.text)
            row = {"pid": f"p{len(passages)}", "title": title, "text": answer, "source": document.get("source")}
            pid = passages.setdefault(answer, row)["pid"]
            if query in LEFT_OUT:
                continue
            queries.append(
                {
                    "qid": question.get("qid"),
                    "query": query,
                    "pos": [pid],
                    "qtype": question.get("qtype"),
                    "split": split(title.lower()),
                }
            )
    return [list(passages.values()), queries]


def nq_gold(name: str, contents: Contents) -> list[list[Row]]:
    """Questions of Natural Questions (Kwiatkowski et al. 2019) with their gold paragraph."""
    (text,) = contents.values()
    split = Splitter(name)
    passages, queries = [], []
    for number, line in enumerate(read_whole(gzip.open(io.BytesIO(text))).decode().splitlines()):
        row = json.loads(line)
        gold, pid = row["nq_annotated_gold"], f"p{number}"
        passages.append({"pid": pid, "title": gold["title"], "text": spaced(gold["chunked_long_answer"])})
        queries.append(
            {
                "qid": f"q{number}",
                "query": row["question"],
                "pos": [pid],
                "answer": row["answers"][0],
                "split": split(gold["title"]),
            }
        )
    return [passages, queries]


def pubmedqa(name: str, contents: Contents) -> list[list[Row]]:
    """Questions of PubMedQA (Jin et al. 2019) with the abstract that answers them."""
    (text,) = contents.values()
    split = Splitter(name)
    passages, queries = [], []
    for number, row in json.loads(text).items():
        passages.append({"pid": f"p{number}", "title": "", "text": spaced(" ".join(row["CONTEXTS"]))})
        queries.append(
            {
                "qid": number,
                "query": spaced(row["QUESTION"]),
                "pos": [f"p{number}"],
                "answer": spaced(row["LONG_ANSWER"]),
                "split": split(number),
            }
        )
    return [passages, queries]


def xquad(_: str, contents: Contents) -> list[list[Row]]:
    """Questions of XQuAD (Artetxe et al. 2020) in twelve languages on the English paragraphs; all are test."""
    passages: list[Row] = []
    queries: list[Row] = []
    for language in LANGUAGES:
        number = 0
        for document in json.loads(contents[f"xquad.{language}.json"])["data"]:
            for paragraph in document["paragraphs"]:
                pid = f"p{number}"
                number += 1
                if language == "en":
                    title = unquote(document["title"]).replace("_", " ")
                    passages.append({"pid": pid, "title": title, "text": spaced(paragraph["context"])})
                queries += [
                    {"qid": q["id"], "lang": language, "query": spaced(q["question"]), "pos": [pid], "split": "test"}
                    for q in paragraph["qas"]
                ]
    return [passages, queries]


def mediqa_lists(_: str, contents: Contents) -> list[list[Row]]:
    """Graded answers of MEDIQA 2019 (Ben Abacha et al. 2019), task 3."""
    rows: list[Row] = []
    for path, text in contents.items():
        for question in ElementTree.fromstring(text).iter("Question"):
            query = spaced(question.findtext("QuestionText"))
            candidates = [
                {
                    "text": spaced(answer.findtext("AnswerText"))[:LONGEST],
                    "score": int(answer.get("ReferenceScore", "")),
                    "rank": int(answer.get("ReferenceRank", "")),
                    "system_rank": int(answer.get("SystemRank", "")),
                }
                for answer in question.iter("Answer")
            ]
            if query in LEFT_OUT:
                continue
            split = "dev" if "Validation" in path else "train"
            rows.append({"qid": question.get("QID"), "query": query, "cands": candidates, "split": split})
    return [rows]


def chebi20(_: str, contents: Contents) -> list[list[Row]]:
    """Captions of molecules of ChEBI-20 (Edwards et al. 2021): the public validation part for training."""
    rows = []
    for path, split in zip(sorted(contents, reverse=True), ("train", "test")):
        for line in contents[path].decode().split("\n")[1:]:
            if line:
                cid, smiles, caption = line.split("\t")
                # The source doubles the backslashes of some SMILES.
                smiles = smiles.replace("\\\\", "\\")
                rows.append({"cid": cid, "smiles": smiles, "caption": spaced(caption), "split": split})
    return [rows]


def banking77(_: str, contents: Contents) -> list[list[Row]]:
    """Customers' questions of Banking77 (Casanueva et al. 2020) with their intents."""
    return [
        [
            {"text": spaced(row["text"]), "label": row["category"], "split": split}
            for path, split in zip(sorted(contents, reverse=True), ("train", "test"))
            for row in csv_rows(contents[path])
        ]
    ]


def csv_rows(content: bytes) -> Iterable[dict[str, str]]:
    return csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))


BUILDERS: dict[str, Callable[[str, Contents], list[list[Row]]]] = {
    "squadshifts_new_wiki": squadshifts,
    "squadshifts_amazon": squadshifts,
    "squadshifts_reddit": squadshifts,
    "medquad": medquad,
    "nq_gold": nq_gold,
    "pubmedqa": pubmedqa,
    "xquad": xquad,
    "mediqa2019_rank": mediqa_lists,
    "chebi20": chebi20,
    "banking77": banking77,
}
"""Functions by set."""


def lines(rows: list[Row]) -> bytes:
    """Returns rows as JSON lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
