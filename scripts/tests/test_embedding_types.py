"""embedding_type, modality and texts that are too long, as clients of the documented embedding service send them."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import requests
from openai import BadRequestError, OpenAI
from waiting import PATIENCE

TWO_MODES = "retort/minilm-embedqa-v2"
ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2"
WINDOW = 256
"""Tokens that ONE_MODE reads at once."""

TEXTS = ["Aspirin is an ANALGESIC.", "aspirin is an analgesic.", "Caffeine is a stimulant.", "東京 naïve café", "  "]
WORDS = [f"word{i} of a long text about aspirin" for i in range(150)]
LONG = " ".join(WORDS)
TYPES = {"int8": "i1", "uint8": "u1", "binary": "i1", "ubinary": "u1"}
"""numpy's types of the numbers of each embedding type."""


@pytest.fixture(scope="module")
def client(embedding_url: str) -> OpenAI:
    return OpenAI(base_url=f"{embedding_url}/v1", api_key="not-needed", max_retries=0)


def answer(url: str, **body: object) -> dict:
    body = {"model": ONE_MODE, **body}
    found = requests.post(f"{url}/v1/embeddings", json=body, timeout=PATIENCE)
    assert found.status_code == 200, found.text
    return found.json()


def vectors(url: str, **body: object) -> np.ndarray:
    return np.array([datum["embedding"] for datum in answer(url, **body)["data"]])


def quantized(floats: np.ndarray, kind: str) -> np.ndarray:
    """The vectors as sentence-transformers' quantize_embeddings gives them with ranges of ±6/√n for n numbers, which
    TestEmbeddingTypesEqualThoseOfSentenceTransformers checks.
    """
    if kind.endswith("binary"):
        packed = np.packbits(floats > 0, axis=-1)
        return packed if kind == "ubinary" else (packed.astype(int) - 128).astype("i1")
    bound = 6 / np.sqrt(floats.shape[1])
    steps = np.floor(255 * (np.clip(floats, -bound, bound) + bound) / (2 * bound))
    return (steps if kind == "uint8" else steps - 128).astype(TYPES[kind])


@pytest.mark.parametrize("kind", TYPES)
def test_the_client_of_openai_gets_each_type(client: OpenAI, embedding_url: str, kind: str) -> None:
    floats = vectors(embedding_url, input=TEXTS, encoding_format="float")
    options = {"extra_body": {"embedding_type": kind, "modality": "text"}}
    plain = client.embeddings.create(model=ONE_MODE, input=TEXTS, encoding_format="float", **options)
    got = np.array([datum.embedding for datum in plain.data])
    want = quantized(floats, kind)
    assert got.shape == want.shape == (len(TEXTS), 48 if kind.endswith("binary") else 384)
    # A number on the border of a step may be on either side of it, since batches round differently.
    bits = np.unpackbits if kind.endswith("binary") else np.asarray
    differing = np.mean(bits(got.astype(TYPES[kind]).view("u1")) != bits(want.view("u1")))
    assert differing < 0.01
    coded = client.embeddings.create(model=ONE_MODE, input=TEXTS, encoding_format="base64", **options)
    for datum, numbers in zip(coded.data, got):
        raw = np.frombuffer(base64.b64decode(datum.embedding), TYPES[kind])
        assert np.mean(bits(raw.view("u1")) != bits(numbers.astype(TYPES[kind]).view("u1"))) < 0.01


def test_types_of_shorter_vectors(embedding_url: str) -> None:
    for kind, length in {"float": 128, "int8": 128, "uint8": 128, "binary": 16, "ubinary": 16}.items():
        model = f"{TWO_MODES}-passage"
        short = answer(embedding_url, model=model, input="a", dimensions=128, embedding_type=kind)
        assert len(short["data"][0]["embedding"]) == length


def test_the_requests_of_the_documentation_are_the_same(embedding_url: str) -> None:
    """With input_type and with the mode in the name of the model, both with modality."""
    body = {"input": ["What is the population of Pittsburgh?"], "modality": "text"}
    named = vectors(embedding_url, model=TWO_MODES, input_type="query", **body)
    suffixed = vectors(embedding_url, model=f"{TWO_MODES}-query", **body)
    np.testing.assert_allclose(named, suffixed, atol=1e-4)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"embedding_type": "float16"}, "embedding_type"),
        ({"embedding_type": ["float", "int8"]}, "embedding_type"),
        ({"modality": "image"}, "image"),
        ({"modality": ["text", "text_image"], "input": ["a", "b"]}, "text_image"),
        ({"modality": ["text", "text", "text"], "input": ["a", "b"]}, "modality"),
        ({"truncate": "MIDDLE"}, "truncate"),
        ({"dimensions": 100}, "dimensions"),
    ],
)
def test_the_client_of_openai_sees_what_is_refused(client: OpenAI, body: dict, says: str) -> None:
    texts = body.pop("input", "a")
    with pytest.raises(BadRequestError) as caught:
        client.embeddings.create(model=ONE_MODE, input=texts, extra_body=body)
    answered = caught.value.response.json()
    assert says in str(answered["detail"]), answered


def test_a_batch_answers_as_single_requests_do(embedding_url: str) -> None:
    """It lower-cases nothing, reorders nothing and refuses nothing."""
    texts = [*TEXTS, LONG, "a" * 5000, *reversed(TEXTS)]
    for truncate in ("START", "END", "CHUNK"):
        together = answer(embedding_url, input=texts, truncate=truncate)
        alone = [answer(embedding_url, input=text, truncate=truncate) for text in texts]
        assert [datum["index"] for datum in together["data"]] == list(range(len(texts)))
        for datum, single in zip(together["data"], alone):
            np.testing.assert_allclose(datum["embedding"], single["data"][0]["embedding"], atol=2e-3)
        for count in ("total_tokens", "truncated_tokens", "chunks"):
            assert together["usage"].get(count, 0) == sum(single["usage"].get(count, 0) for single in alone)


def test_usage_says_what_was_cut(embedding_url: str) -> None:
    tokens = len(requests.post(f"{embedding_url}/tokenize", json={"inputs": LONG}, timeout=PATIENCE).json()[0])
    for truncate in ("START", "END"):
        usage = answer(embedding_url, input=["short", LONG], truncate=truncate)["usage"]
        assert usage == {
            "prompt_tokens": 3 + WINDOW,
            "total_tokens": 3 + WINDOW,
            "truncated_tokens": tokens - WINDOW,
        }
    assert set(answer(embedding_url, input="short", truncate="END")["usage"]) == {"prompt_tokens", "total_tokens"}


def test_none_names_the_text_and_its_length(embedding_url: str) -> None:
    tokens = len(requests.post(f"{embedding_url}/tokenize", json={"inputs": LONG}, timeout=PATIENCE).json()[0])
    for texts, at in ((LONG, 0), (["short", LONG], 1)):
        refused = requests.post(
            f"{embedding_url}/v1/embeddings", json={"model": ONE_MODE, "input": texts}, timeout=PATIENCE
        )
        assert refused.status_code == 400
        assert refused.json()["error"] == f"Input length {tokens} exceeds maximum allowed token size {WINDOW}"
        assert refused.json()["detail"]["loc"] == ["body", "input", at]


def test_chunks_are_read_whole_and_averaged(embedding_url: str) -> None:
    """The vector of a long text is the mean of its chunks' vectors, weighted by their tokens."""
    spans = requests.post(f"{embedding_url}/tokenize", json={"inputs": LONG}, timeout=PATIENCE).json()[0][1:-1]
    room = WINDOW - 2
    step = room - room // 8
    starts = range(0, max(1, len(spans) - room // 8), step)
    chunks = [spans[start : start + room] for start in starts]
    parts = [LONG[chunk[0]["start"] : chunk[-1]["stop"]] for chunk in chunks]
    got = answer(embedding_url, input=LONG, truncate="CHUNK")
    assert got["usage"]["chunks"] == len(parts)
    assert got["usage"]["total_tokens"] == sum(len(chunk) + 2 for chunk in chunks)
    assert "truncated_tokens" not in got["usage"]
    found = vectors(embedding_url, input=parts, truncate="END")
    mean = np.average(found, axis=0, weights=[len(chunk) for chunk in chunks])
    vector = np.array(got["data"][0]["embedding"])
    assert vector @ mean / np.linalg.norm(mean) > 0.995
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


def test_a_text_that_fits_has_the_same_vector_in_chunks(embedding_url: str) -> None:
    for model in (f"{TWO_MODES}-query", f"{TWO_MODES}-passage", ONE_MODE):
        whole = answer(embedding_url, model=model, input=TEXTS)
        chunks = answer(embedding_url, model=model, input=TEXTS, truncate="CHUNK")
        assert whole["usage"] == chunks["usage"]
        for a, b in zip(whole["data"], chunks["data"]):
            np.testing.assert_allclose(a["embedding"], b["embedding"], atol=1e-3)


def test_too_many_chunks_are_refused(embedding_url: str) -> None:
    refused = requests.post(
        f"{embedding_url}/v1/embeddings",
        json={"model": ONE_MODE, "input": "a b " * 1_200_000, "truncate": "CHUNK"},
        timeout=PATIENCE,
    )
    assert refused.status_code == 400, refused.text
    assert "more than the 8192 chunks" in refused.json()["error"]
    assert refused.json()["detail"]["loc"] == ["body", "input", 0]


def test_health_has_the_members_of_both_versions(embedding_url: str) -> None:
    ready = requests.get(f"{embedding_url}/v1/health/ready", timeout=PATIENCE).json()
    live = requests.get(f"{embedding_url}/v1/health/live", timeout=PATIENCE).json()
    assert ready == {"object": "health-response", "message": "Service is ready.", "ready": True}
    assert live == {"object": "health-response", "message": "Service is live.", "live": True}
