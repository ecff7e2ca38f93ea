"""Unmodified clients of the rerank interfaces, from requirements-rerank.txt, against the whole stack."""

from __future__ import annotations

import json
import math
import subprocess
import threading
from pathlib import Path

import calibrated
import pytest
import requests
from servers import ROOT
from waiting import PATIENCE

PYTHON = ROOT / ".venv-rerank" / "bin" / "python"
QUERY = "Which drug eases pain?"
PASSAGES = [
    "The Rhine flows north.",
    "Caffeine is a stimulant.",
    "Aspirin is an analgesic: it eases pain and lowers fever.",
    "A bank lends money.",
]
CLIENTS = [
    "cohere v1",
    "cohere v2",
    "langchain-cohere",
    "llama-index cohere",
    "llama-index tei",
    "litellm cohere",
    "litellm jina_ai",
    "litellm infinity",
    "litellm hosted_vllm",
    "haystack cohere",
]
CALIBRATION = calibrated.numbers(ROOT / "model_repository/minilm_rank_qa/config.pbtxt")
LOGITS = ["haystack nvidia", "litellm nvidia_nim"]
"""Clients of the documented interface, which give logits."""


MANY = ["cohere v1", "cohere v2", "llama-index cohere", "litellm cohere", "haystack cohere"]
FACTS = ("The Rhine flows north", "A bank lends money", "Snow is cold", "Trains run on rails", "Wheat grows in fields")
LONG = ". ".join(FACTS * 60) + ". Aspirin is an analgesic: it eases pain and lowers fever."
"""A document of more than a thousand tokens, of which the last sentence matters."""
DOCUMENTS = [f"Note {i}" for i in range(1000)]  # the most that Haystack sends
DOCUMENTS[700] = LONG


def run_clients(url: str, embedding: str, model: str, *passages: str, many: list[str] | None = None) -> dict:
    assert PYTHON.exists(), "make .venv-rerank/stamp"
    run = subprocess.run(
        [PYTHON, Path(__file__).with_name("rerank_client.py"), url, embedding, model, QUERY, *passages],
        input=json.dumps(many),
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def model(ranking_url: str) -> str:
    """The id of the first ranker."""
    return requests.get(f"{ranking_url}/v1/models", timeout=PATIENCE).json()["data"][0]["id"]


@pytest.fixture(scope="module")
def found(ranking_url: str, embedding_url: str, model: str) -> dict:
    """The results of each client on the port of the ranking API, or of the embedding API."""
    return run_clients(ranking_url, embedding_url, model, *PASSAGES)


@pytest.fixture(scope="module")
def logits(ranking_url: str, model: str) -> list[float]:
    """The documented interface's answer, in the order of the passages."""
    body = {"model": model, "query": {"text": QUERY}, "passages": [{"text": p} for p in PASSAGES]}
    ranks = requests.post(f"{ranking_url}/v1/ranking", json=body, timeout=PATIENCE).json()["rankings"]
    return [rank["logit"] for rank in sorted(ranks, key=lambda rank: rank["index"])]


@pytest.mark.parametrize("client", CLIENTS)
def test_relevance_scores(found: dict, logits: list[float], client: str) -> None:
    ranked = found[client]
    assert isinstance(ranked, list), ranked
    assert [index for index, _ in ranked] == sorted(range(len(PASSAGES)), key=lambda i: -logits[i])
    for index, score in ranked:
        assert score == pytest.approx(calibrated.relevance(logits[index], CALIBRATION), abs=1e-4)


@pytest.fixture(scope="module")
def found_in_many(ranking_url: str, embedding_url: str, model: str) -> dict:
    """The results of each client for a thousand documents."""
    return run_clients(ranking_url, embedding_url, model, "-", many=DOCUMENTS)


def odds_ratio(score: float, other: float) -> float:
    """Returns the ratio of the odds of two relevance scores before calibration, which turns 100 into 1.3 where both
    scores are low."""
    return math.exp(calibrated.logit(score, CALIBRATION) - calibrated.logit(other, CALIBRATION))


@pytest.mark.parametrize("client", MANY)
def test_a_thousand_documents_and_the_end_of_a_long_one(found_in_many: dict, client: str) -> None:
    ranked = found_in_many[client]
    assert isinstance(ranked, list), ranked
    assert len({index for index, _ in ranked}) == len(DOCUMENTS)
    assert ranked[0][0] == DOCUMENTS.index(LONG)
    assert odds_ratio(ranked[0][1], ranked[1][1]) > 100


def test_of_a_long_document_as_many_tokens_are_read_as_requested(found_in_many: dict) -> None:
    ranked = found_in_many["cohere v2 start"]
    assert isinstance(ranked, list), ranked
    assert odds_ratio(found_in_many["cohere v2"][0][1], dict(ranked)[DOCUMENTS.index(LONG)]) > 100


@pytest.mark.parametrize("client", LOGITS)
def test_logits(found: dict, logits: list[float], client: str) -> None:
    ranked = found[client]
    assert isinstance(ranked, list), ranked
    assert ranked[0][0] == 2
    for index, score in ranked:
        assert score == pytest.approx(logits[index], abs=1e-3)


def test_llama_index_embeds(found: dict) -> None:
    ranked = found["llama-index embeds"]
    assert isinstance(ranked, list), ranked
    assert ranked[0][0] == 2
    assert ranked[0][1] > 0.3


def test_an_unknown_model_is_an_error_that_cohere_reads(found: dict) -> None:
    assert found["cohere error"] == []


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_the_bodies_of_all_interfaces_are_answered_at_every_path(
    ranking_url: str, logits: list[float], path: str
) -> None:
    best = requests.post(
        ranking_url + path, json={"query": QUERY, "documents": PASSAGES, "top_n": 1}, timeout=PATIENCE
    ).json()
    assert best["results"][0]["index"] == 2
    assert best["usage"]["total_tokens"] == best["meta"]["tokens"]["input_tokens"] > 40
    ranks = requests.post(
        ranking_url + path, json={"query": QUERY, "texts": PASSAGES, "raw_scores": True}, timeout=PATIENCE
    ).json()
    assert {rank["index"]: rank["score"] for rank in ranks} == {
        i: pytest.approx(logit, abs=1e-4) for i, logit in enumerate(logits)
    }


def test_a_long_document_is_truncated_as_requested(ranking_url: str) -> None:
    """Text after the requested number of tokens does not change the score."""

    def score(document: str, **more: object) -> float:
        answer = requests.post(
            f"{ranking_url}/v2/rerank", json={"query": QUERY, "documents": [document], **more}, timeout=PATIENCE
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["results"][0]["relevance_score"]

    short = score("Aspirin is an analgesic")
    assert score("Aspirin is an analgesic, not " + "a stimulant " * 2000, max_tokens_per_doc=6) != pytest.approx(
        short, abs=1e-6
    )
    cut = [
        score(f"Aspirin is an analgesic. {end}", max_tokens_per_doc=5)
        for end in ("The Rhine flows north.", "It eases pain.")
    ]
    assert cut[0] == pytest.approx(cut[1], abs=1e-6)
    refused = requests.post(
        f"{ranking_url}/rerank", json={"query": QUERY, "texts": ["long " * 10_000], "truncate": False}, timeout=PATIENCE
    )
    assert refused.status_code == 413
    assert refused.json()["error_type"] == "Validation"
    assert "texts" in refused.json()["error"] or "exceeds maximum allowed token size" in refused.json()["error"]


def test_many_documents_leave_room_for_others(ranking_url: str) -> None:
    """Small requests of another client are answered while thousands of documents are read. 10,000 are the limit."""
    documents = [f"Note {i}" for i in range(2000)]
    answers: list[requests.Response] = []

    def ask_all() -> None:
        body = {"query": QUERY, "documents": documents, "top_n": 1}
        answers.append(requests.post(f"{ranking_url}/v2/rerank", json=body, timeout=4 * PATIENCE))

    large = threading.Thread(target=ask_all)
    large.start()
    small = 0
    while large.is_alive():
        answer = requests.post(
            f"{ranking_url}/v2/rerank", json={"query": QUERY, "documents": PASSAGES}, timeout=PATIENCE
        )
        assert answer.json()["results"][0]["index"] == 2
        small += large.is_alive()
    assert answers[0].status_code == 200, answers[0].text
    assert small >= 5
    assert answers[0].json()["meta"]["billed_units"]["search_units"] == 20
    refused = requests.post(
        f"{ranking_url}/v2/rerank", json={"query": QUERY, "documents": ["a"] * 10_001}, timeout=PATIENCE
    )
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("documents: List should have at most 10000 items")
    refused = requests.post(
        f"{ranking_url}/v1/ranking",
        json={"query": {"text": QUERY}, "passages": [{"text": "a"}] * 513},
        timeout=PATIENCE,
    )
    assert refused.status_code == 400
    assert refused.json()["error"].startswith("passages: List should have at most 512 items")


def test_predict_scores_pairs_and_texts(ranking_url: str, logits: list[float]) -> None:
    def predict(inputs: object, **more: object) -> requests.Response:
        return requests.post(f"{ranking_url}/predict", json={"inputs": inputs, **more}, timeout=PATIENCE)

    pairs = [[QUERY, passage] for passage in PASSAGES]
    batch = predict([*pairs, [PASSAGES[2]]], raw_scores=True)
    scores = [predictions[0]["score"] for predictions in batch.json()]
    assert scores[:-1] == [pytest.approx(logit, abs=1e-3) for logit in logits]
    assert int(batch.headers["X-Compute-Tokens"]) > 60
    single = predict(PASSAGES[2], raw_scores=True).json()
    assert single == [{"score": pytest.approx(scores[-1], abs=1e-3), "label": "LABEL_0"}]
    pair = predict(pairs[2]).json()
    assert pair[0]["score"] == pytest.approx(calibrated.relevance(logits[2], CALIBRATION), abs=1e-4)
    refused = predict([["a"], ["a", "b", "c"]])
    assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")
    assert refused.json()["error"].startswith("inputs[1]: ")


def test_chunks_at_the_documented_interface(ranking_url: str) -> None:
    """With CHUNK a long passage has the logit of its best chunk, and usage says what was read."""

    def rank(truncate: str) -> requests.Response:
        body = {"query": {"text": QUERY}, "passages": [{"text": LONG}, {"text": FACTS[0]}], "truncate": truncate}
        return requests.post(f"{ranking_url}/v1/ranking", json=body, timeout=PATIENCE)

    chunks, cut = rank("CHUNK").json(), rank("END").json()
    logits = {rank["index"]: rank["logit"] for rank in chunks["rankings"]}
    assert logits[0] > max(rank["logit"] for rank in cut["rankings"]) + 2
    assert chunks["usage"]["chunks"] >= 3
    assert chunks["usage"]["total_tokens"] > 1200
    assert cut["usage"]["total_tokens"] + cut["usage"]["truncated_tokens"] < chunks["usage"]["total_tokens"]
    assert rank("NONE").status_code == 400
