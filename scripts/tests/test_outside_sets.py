"""scripts.eval.outside_sets converts well-known collections from their formats to files of the retrieval data."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from scripts.eval import outside_sets
from scripts.train.embedding import corpora

CRAN = """.I 1
.T
wings in slipstreams .
.A
brenckman
.W
wings in slipstreams .
an experimental study .
.I 2
.T
shear flow .
.W

.I 3
.T
heat
.W
slabs of two
layers .
"""
FILES = {
    "cran/cran.all.1400": CRAN,
    "cran/cran.qry": ".I 001\n.W\nwhat of wings ?\n.I 004\n.W\nwhat of\nslabs ?\n",
    "cran/cranqrel": "1 1 2 \n1 3 -1\n2 3 4 \n",
    "cisi/CISI.ALL": ".I 1\n.T \nDewey\n.W\nA history.\n.X\n1\t5\t1\n",
    "cisi/CISI.QRY": ".I 1\n.W\nWhat is known\nof Dewey?\n",
    "cisi/CISI.REL": "     1      1\t0\t0.000000\n",
    "med/MED.ALL": ".I 1\n.W\nglucose .\n",
    "med/MED.QRY": ".I 1\n.W\n sugar in blood\n",
    "med/MED.REL": "1 0 1 1\n1 0 9 1\n",
    "npl/doc-text": "1\ncompact memories\nhave capacities\n   /\n2\nan analogue computer\n   /\n",
    "npl/query-text": "1\nMEMORIES\n/\n2\nCOMPUTERS\n/\n",
    "npl/rlv-ass": "1\n 1\n   /\n2\n 1 2\n   /\n",
}
WIKIQA = """QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel
Q8\thow is it joined\tD8\tTissue\tD8-0\tIt is "joined.\t1
Q8\thow is it joined\tD8\tTissue\tD8-1\tIt is seen.\t0
Q9\twhy\tD9\tNone\tD9-0\tBecause.\t0
"""
TRECQA = """<QApairs id='1'>
<question>
What\tdo\tthey\tworship\t?
WP\tVBP\tPRP\tNN\t.
</question>
<positive>
They\tworship\tnature\t.
PRP\tVBP\tNN\t.
</positive>
<negative>
Wicca\tis\tan\tOld\tEnglish\tword\t.
NNP\tVBZ\tDT\tNNP\tNNP\tNN\t.
</negative>
</QApairs>
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for split in ("dev", "test"):
        (tmp_path / f"WikiQA-{split}.tsv.gz").write_bytes(gzip.compress(WIKIQA.encode()))
        (tmp_path / f"{split.upper()}.xml").write_text(TRECQA)
    to = tmp_path / "sets"
    monkeypatch.setattr(
        sys,
        "argv",
        ["outside_sets", *(f"--{name}={tmp_path}" for name in ("classic", "wikiqa", "trecqa")), f"--to={to}"],
    )
    outside_sets.main()
    return to


def test_classic_collections_are_read_as_any_set(written):
    cranfield = corpora.load(written, "cranfield", "test")
    assert cranfield.passages == {
        "1": "wings in slipstreams . an experimental study .",
        "2": "shear flow .",
        "3": "heat. slabs of two layers .",
    }
    # Judgements count the queries, whose own numbers leave some out; grade -1 is of no use.
    assert [(q.text, q.positives) for q in cranfield.queries] == [
        ("what of wings ?", {"1"}),
        ("what of slabs ?", {"3"}),
    ]
    found = {name: corpora.load(written, name, "test") for name in ("cisi", "medline", "npl")}
    assert (
        found["cisi"].passages == {"1": "Dewey. A history."}
        and found["cisi"].queries[0].text == "What is known of Dewey?"
    )
    assert [(q.text, q.positives) for q in found["medline"].queries] == [("sugar in blood", {"1"})]
    assert found["npl"].passages["1"] == "compact memories have capacities"
    assert [(q.text, q.positives) for q in found["npl"].queries] == [("MEMORIES", {"1"}), ("COMPUTERS", {"1", "2"})]


def test_lists_hold_sentences_that_answer_and_others(written):
    [wikiqa] = corpora.load_graded(written, "test", "wikiqa.lists.jsonl.gz")
    assert (wikiqa.query, wikiqa.texts) == ("how is it joined", ['It is "joined.', "It is seen."]) and wikiqa.gains[
        0
    ] > wikiqa.gains[1] == 0
    [trecqa] = corpora.load_graded(written, "dev", "trecqa.lists.jsonl.gz")
    assert (trecqa.query, trecqa.texts) == (
        "What do they worship?",
        ["They worship nature.", "Wicca is an Old English word."],
    )
