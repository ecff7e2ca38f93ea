"""Real clients of the documented ranking service against the whole stack, with the shipped ranker."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import requests
from langchain_core.documents import Document
from langchain_nvidia_ai_endpoints import NVIDIARerank
from waiting import PATIENCE, at_once

QUERY = "Which drug eases pain?"
PASSAGES = [
    "The Rhine flows north.",
    "Caffeine is a stimulant.",
    "Aspirin is an analgesic: it eases pain and lowers fever.",
    "A bank lends money.",
]


@pytest.fixture(scope="module")
def model(ranking_url: str) -> str:
    """The id of the first ranker."""
    return requests.get(f"{ranking_url}/v1/models", timeout=PATIENCE).json()["data"][0]["id"]


def rank(url: str, model: str, passages: list[str], query: str = QUERY, **more: object) -> requests.Response:
    body = {"model": model, "query": {"text": query}, "passages": [{"text": p} for p in passages], **more}
    return requests.post(f"{url}/v1/ranking", json=body, timeout=PATIENCE)


def logits(url: str, model: str, passages: list[str], **more: Any) -> list[float]:
    answer = rank(url, model, passages, **more)
    assert answer.status_code == 200, answer.text
    found = {r["index"]: r["logit"] for r in answer.json()["rankings"]}
    assert sorted(found) == list(range(len(passages)))
    return [found[i] for i in range(len(passages))]


def test_langchain_rerank(ranking_url: str, model: str) -> None:
    client = NVIDIARerank(model=model, base_url=f"{ranking_url}/v1", top_n=2)
    ranked = client.compress_documents(query=QUERY, documents=[Document(page_content=p) for p in PASSAGES])
    assert len(ranked) == 2
    assert ranked[0].page_content == PASSAGES[2]
    scores = [d.metadata["relevance_score"] for d in ranked]
    assert scores == sorted(scores, reverse=True)
    assert any(m.id == model for m in client.available_models)


def test_langchain_rerank_of_more_than_one_batch(ranking_url: str, model: str) -> None:
    client = NVIDIARerank(model=model, base_url=f"{ranking_url}/v1", top_n=100, max_batch_size=32)
    documents = [Document(page_content=f"{p} ({i})") for i in range(25) for p in PASSAGES]
    ranked = client.compress_documents(query=QUERY, documents=documents)
    assert len(ranked) == 100
    assert "Aspirin" in ranked[0].page_content


@pytest.mark.parametrize("truncate", ["NONE", "END"])
def test_langchain_truncates_or_is_refused(ranking_url: str, model: str, truncate: str) -> None:
    client = NVIDIARerank(model=model, base_url=f"{ranking_url}/v1", truncate=truncate)
    documents = [Document(page_content="long " * 10_000), Document(page_content="short")]
    if truncate == "END":
        assert len(client.compress_documents(query=QUERY, documents=documents)) == 2
        return
    with pytest.raises(Exception, match="exceeds maximum allowed token size"):
        client.compress_documents(query=QUERY, documents=documents)


def test_a_logit_does_not_depend_on_its_batch(ranking_url: str, model: str) -> None:
    long = [
        ("A sentence that is a good deal longer than the others, so that they are padded. " * n).strip()
        for n in (1, 3, 8, 20)
    ]
    together = logits(ranking_url, model, long + PASSAGES * 3, truncate="END")
    for passage, logit in zip(long + PASSAGES, together):
        assert logits(ranking_url, model, [passage], truncate="END") == [pytest.approx(logit, abs=1e-4)], passage
    for i in range(len(PASSAGES)):  # equal passages have equal logits up to rounding
        assert together[4 + i] == pytest.approx(together[8 + i], abs=1e-4)


def test_few_passages_do_not_wait_for_all_lists(ranking_url: str, model: str) -> None:
    """Single passages and a list of ten are answered while ten clients have lists of 100 passages in flight."""
    passages = [f"{PASSAGES[i % 4]} It is number {i}." for i in range(100)]
    ended: list[str] = []
    in_flight = threading.Event()

    def rank_list() -> None:
        logits(ranking_url, model, passages)
        ended.append("list")

    def rank_singles() -> None:
        while "list" not in ended:
            logits(ranking_url, model, PASSAGES[:1])
            ended.append("single")
            if ended.count("single") == 2:
                in_flight.set()

    def rank_ten() -> None:
        assert in_flight.wait(PATIENCE)
        logits(ranking_url, model, passages[:10])
        ended.append("ten")

    logits(ranking_url, model, PASSAGES)  # warm-up
    at_once(*[rank_list] * 10, rank_singles, rank_ten)
    # The first single passage may be sent before the lists, and the last one may end after the first list; one in
    # between has overtaken all lists.
    assert ended.count("single") > 2, ended
    assert ended[: ended.index("ten")].count("list") < 5, ended


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"model": "M", "query": {"text": "q"}}, "passages: Field required"),
        ({"model": "M", "passages": [{"text": "p"}]}, "query: Field required"),
        ({"model": "M", "query": {"text": "q"}, "passages": []}, "passages: "),
        ({"model": "M", "query": {"text": "q"}, "passages": [{"text": "p"}] * 513}, "passages: "),
        ({"model": "M", "query": {"text": "q"}, "passages": [{"text": ""}]}, "passages[0].text: "),
        ({"model": "M", "query": {"text": "q"}, "passages": [{"text": 5}]}, "passages[0].text: "),
        ({"model": "M", "query": {"text": "q", "image": "x"}, "passages": [{"text": "p"}]}, "query.image: "),
        ({"model": "M", "query": {"text": None}, "passages": [{"text": "p"}]}, "query.text: "),
        ({"model": "M", "query": {"text": "q"}, "passages": [{"text": "p"}], "truncate": "START"}, "truncate: "),
        (
            {"model": "M", "query": {"text": "q"}, "passages": [{"text": "p"}], "top_n": 1},
            "top_n: unknown field, expected one of model, query, passages, truncate",
        ),
        ({"model": "M", "query": {"text": "q"}, "passages": "p"}, "passages: "),
        ({"model": 5, "query": {"text": "q"}, "passages": [{"text": "p"}]}, "model: "),
        ([], "valid dictionary"),
    ],
)
def test_wrong_bodies_are_refused_in_the_documented_form(ranking_url: str, model: str, body: object, says: str) -> None:
    if isinstance(body, dict) and body.get("model") == "M":
        body = {**body, "model": model}
    for path in ("ranking", "reranking"):
        answer = requests.post(f"{ranking_url}/v1/{path}", json=body, timeout=PATIENCE)
        assert answer.status_code in (400, 422), answer.text
        assert says in answer.json()["error"], answer.text


def test_an_unknown_model_is_404(ranking_url: str, model: str) -> None:
    answer = rank(ranking_url, "nobody/nothing", PASSAGES)
    assert (answer.status_code, answer.json()["error"]) == (404, "The model `nobody/nothing` does not exist.")
