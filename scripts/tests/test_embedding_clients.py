"""Real clients of the documented embedding service against the whole stack."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import requests
from langchain_nvidia_ai_endpoints import NVIDIAEmbeddings
from openai import BadRequestError, NotFoundError, OpenAI
from waiting import PATIENCE

TWO_MODES = "retort/minilm-embedqa-v2"
ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2"
TEXTS = ["Aspirin is an analgesic.", "Caffeine is a stimulant.", "The Rhine flows north."]


@pytest.fixture(scope="module")
def client(embedding_url: str) -> OpenAI:
    return OpenAI(base_url=f"{embedding_url}/v1", api_key="not-needed", max_retries=0)


def cosine(a: list[float], b: list[float]) -> float:
    return float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


def test_openai_base64_is_the_default_and_equals_float(client: OpenAI) -> None:
    coded = client.embeddings.create(model=ONE_MODE, input=TEXTS)
    plain = client.embeddings.create(model=ONE_MODE, input=TEXTS, encoding_format="float")
    assert [d.index for d in coded.data] == [0, 1, 2]
    assert coded.usage.prompt_tokens == coded.usage.total_tokens == plain.usage.total_tokens > 3
    for a, b in zip(coded.data, plain.data):
        assert len(a.embedding) == 384
        np.testing.assert_allclose(a.embedding, b.embedding, rtol=0, atol=1e-6)
        assert abs(np.linalg.norm(a.embedding) - 1) < 1e-4


def test_openai_names_the_mode_in_the_model(client: OpenAI) -> None:
    suffixed = client.embeddings.create(model=f"{TWO_MODES}-query", input="What eases pain?")
    named = client.embeddings.create(model=TWO_MODES, input="What eases pain?", extra_body={"input_type": "query"})
    assert suffixed.model == f"{TWO_MODES}-query"
    assert cosine(suffixed.data[0].embedding, named.data[0].embedding) > 0.99999


@pytest.mark.parametrize(
    ("kind", "says", "request_"),
    [
        (BadRequestError, "input_type", {"model": TWO_MODES, "input": "a"}),
        (
            BadRequestError,
            "exceeds maximum allowed token size",
            {"model": ONE_MODE, "input": ["short", "long " * 1000]},
        ),
        (NotFoundError, "does not exist", {"model": "nobody/nothing", "input": "a"}),
    ],
)
def test_openai_sees_the_documented_errors(client: OpenAI, kind: type, says: str, request_: dict) -> None:
    with pytest.raises(kind) as caught:
        client.embeddings.create(**request_)
    assert says in caught.value.response.json()["error"]


def test_a_vector_does_not_depend_on_its_neighbours(client: OpenAI) -> None:
    long = "A sentence that is a good deal longer than the others, so that they are padded. " * 8
    alone = client.embeddings.create(model=ONE_MODE, input=TEXTS[0]).data[0].embedding
    among = client.embeddings.create(model=ONE_MODE, input=[long, TEXTS[0], *TEXTS]).data[1].embedding
    assert cosine(alone, among) > 0.99999


def test_langchain_embeddings(embedding_url: str) -> None:
    embedder = NVIDIAEmbeddings(model=TWO_MODES, base_url=f"{embedding_url}/v1", truncate="END")
    documents = embedder.embed_documents(TEXTS)
    query = embedder.embed_query("Which drug eases pain?")
    scores = [cosine(query, d) for d in documents]
    assert scores.index(max(scores)) == 0
    assert any(m.id == TWO_MODES for m in embedder.available_models)


def test_langchain_sees_an_over_long_text(embedding_url: str) -> None:
    embedder = NVIDIAEmbeddings(model=TWO_MODES, base_url=f"{embedding_url}/v1", truncate="NONE")
    with pytest.raises(Exception, match="exceeds maximum allowed token size"):
        embedder.embed_documents(["long " * 1000])


def test_truncate_chooses_the_end_that_is_cut(embedding_url: str) -> None:
    words = " ".join(f"word{i}" for i in range(600))

    def embed(text: str, truncate: str) -> list[float]:
        answer = requests.post(
            f"{embedding_url}/v1/embeddings",
            timeout=PATIENCE,
            json={"model": ONE_MODE, "input": text, "truncate": truncate},
        )
        assert answer.status_code == 200, answer.text
        assert answer.json()["usage"]["total_tokens"] == 256
        return answer.json()["data"][0]["embedding"]

    assert cosine(embed(f"{words} the river", "END"), embed(f"{words} a banana", "END")) > 0.99999
    assert cosine(embed(f"{words} the river", "START"), embed(f"{words} a banana", "START")) < 0.999


def test_base64_is_little_endian_float32(embedding_url: str) -> None:
    answer = requests.post(
        f"{embedding_url}/v1/embeddings",
        timeout=PATIENCE,
        json={"model": ONE_MODE, "input": "a", "encoding_format": "base64"},
    ).json()
    assert len(np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4")) == 384
