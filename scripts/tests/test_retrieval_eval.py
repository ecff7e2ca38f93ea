"""scripts.eval.retrieval: the measure, the table, and the requests to the APIs."""

from __future__ import annotations

import json
import math
import shlex
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace

import numpy as np
import pytest
from servers import ROOT, serving

from scripts.eval import retrieval
from scripts.eval.retrieval import ndcg, reranked
from scripts.eval.retrieval_models import embedder, scorer
from scripts.train.embedding.corpora import Collection, Query


@pytest.fixture
def served():
    """A server that gives a text its length as vector and logit, in reverse order; .received has the requests."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append((self.path, body))
            answer: dict[str, list]
            if self.path.endswith("/embeddings"):
                rows = [{"index": i, "embedding": [float(len(t)), 1.0]} for i, t in enumerate(body["input"])]
                answer = {"data": rows[::-1]}
            else:
                logits: list[dict] = [
                    {"index": i, "logit": float(len(p["text"]))} for i, p in enumerate(body["passages"])
                ]
                answer = {"rankings": sorted(logits, key=lambda r: r["logit"], reverse=True)}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    with serving(Handler) as url:
        yield SimpleNamespace(url=url, received=received)


def test_ndcg_of_a_worked_example():
    first = (2 / math.log2(3) + 1 / math.log2(5)) / (2 + 1 / math.log2(3))
    second = 1 / (1 + 1 / math.log2(3))
    found = ndcg([{"b": 2, "d": 1}, {"a": 1, "b": 1}, {"a": 1}], [["a", "b", "c", "d"], ["a"], ["b"]])
    assert found == pytest.approx([first, second, 0])


def test_reranking_moves_only_the_best():
    scores = np.array([[0.9, 0.8, 0.7, 0.6]])
    by_length = type(
        "S", (), {"logits": lambda self, pairs: [np.array([len(t) for t in ts], float) for _, ts in pairs]}
    )()
    moved = reranked(scores, ["q"], ["a", "bbb", "cc", "dddddd"], by_length, 3)
    assert np.argsort(-moved[0]).tolist() == [1, 2, 0, 3]


def test_vectors_come_in_the_order_of_the_texts(served):
    texts = ["x" * (i % 7 + 1) for i in range(150)]
    found = embedder(f"{served.url}/embedding#m", 1).vectors(texts, "query")
    assert found[:, 0].tolist() == [len(t) for t in texts]
    assert {(path, body["input_type"], body["model"]) for path, body in served.received} == {
        ("/embedding/v1/embeddings", "query", "m")
    }


def test_a_model_without_modes_gets_no_input_type(served):
    embedder(f"{served.url}#m", 1, modes=False).vectors(["a"], "query")
    assert "input_type" not in served.received[0][1]


def test_logits_come_in_the_order_of_the_passages(served):
    found = scorer(f"{served.url}#m", 1, 512).logits([("q", ["aa", "aaaa", "a"]), ("r", ["aaa"])])
    assert [f.tolist() for f in found] == [[2, 4, 1], [3]]


def test_the_gain_counts_only_ranked_queries():
    passages = {"right": "a", "wrong": "bb"}
    queries = [Query(str(i), f"q{i}", frozenset(["right"])) for i in range(4)]
    flat = SimpleNamespace(
        vectors=lambda texts, mode: np.array([[1.0, 0.0] if "b" in t or "q" in t else [0.6, 0.8] for t in texts])
    )
    short_first = SimpleNamespace(logits=lambda pairs: [np.array([-len(p) for p in ps], float) for _, ps in pairs])
    args = SimpleNamespace(seed=1, queries=0, ranked=2, top=50, distractors=-1, short=1, mixed=False)
    found = retrieval.retrieval_set(Collection("made", passages, queries), None, flat, short_first, args)
    assert (found["queries"], found["ranked_queries"], found["ranked"]) == (4, 2, 1.0)
    assert found["gain"] == pytest.approx(1 - 1 / math.log2(3)) and found["gain_error"] == 0
    table = retrieval.table({"made": found}, args.short)
    assert (
        "| made | 4 | 2 |" in table
        and "+36.9 ± 0.0" in table
        and "| 1 dimensions | share kept |" in table
        and "over MiniLM" not in table
    )
    beside = retrieval.retrieval_set(Collection("made", passages, queries), flat, flat, None, args)
    assert (beside["over_baseline"], beside["over_baseline_error"]) == (0, 0) and "gain over MiniLM" in retrieval.table(
        {"made": beside}, args.short
    )


def test_queries_search_the_passages_of_the_baseline():
    passages = {"right": "a", "wrong": "bb"}
    made = Collection("made", passages, [Query("q", "q", frozenset(["right"]))])
    embedding = SimpleNamespace(vectors=lambda texts, mode: np.array([[len(t), 0.0] for t in texts]))
    baseline = SimpleNamespace(vectors=lambda texts, mode: np.array([[-len(t), 0.0] for t in texts]))
    args = SimpleNamespace(seed=1, queries=0, ranked=0, top=50, distractors=-1, short=1, mixed=True)
    found = retrieval.retrieval_set(made, baseline, embedding, None, args)
    # Each model alone prefers the longer passage, which is wrong; the query of one prefers the shorter of the other.
    assert found["embedding"] == found["baseline"] == pytest.approx(1 / math.log2(3)) and found["mixed"] == 1
    assert "queries in the baseline's passages" in retrieval.table({"made": found}, args.short)


def test_short_vectors_are_unit_vectors_of_the_first_numbers():
    assert retrieval.cut(np.array([[3.0, 4.0, 12.0]]), 2).tolist() == [[0.6, 0.8]]


def test_passages_are_the_relevant_ones_and_a_number_of_others():
    passages = {f"p{i}": str(i) for i in range(50)}
    chosen = [Query("q", "q", frozenset(["p7", "p9"]))]
    made = Collection("made", passages, chosen)

    def of(distractors):
        return retrieval.passages_of(made, chosen, SimpleNamespace(seed=1, distractors=distractors))

    assert of(0) == ["p7", "p9"] and of(-1) == list(passages) == of(48)
    assert len(of(10)) == 12 and {"p7", "p9"} <= set(of(10)) and of(10) == of(10)


def test_the_defaults_measure_the_published_sets(monkeypatch):
    """make eval-retrieval measures as many queries and passages as the first command of RETRIEVAL.md."""
    page = (ROOT / "model_repository/RETRIEVAL.md").read_text().replace("\\\n", " ")
    published = next(line for line in page.splitlines() if " scripts.eval.retrieval " in line)
    assert {"--queries", "--ranked", "--distractors"} <= set(shlex.split(published))

    def numbers(*options):
        monkeypatch.setattr("sys.argv", ["retrieval", *options])
        args = retrieval.arguments()
        return args.sets, args.split, args.queries, args.ranked, args.distractors, args.top, args.short, args.seed

    assert numbers() == numbers(*shlex.split(published)[3:])
