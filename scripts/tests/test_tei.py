"""Clients of text-embeddings-inference on the embedding API's port, and what they send against its own schema."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import pytest
import requests
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from servers import ROOT
from waiting import PATIENCE

import tokenizers

PYTHON = ROOT / ".venv-rerank" / "bin" / "python"
CLIENTS = ["langchain-huggingface", "llama-index", "haystack texts", "haystack documents"]
ONE_MODE = "sentence-transformers/all-MiniLM-L6-v2"
TEXTS = ["Aspirin is an analgesic.", "Caffeine is a stimulant.", "The Rhine flows north."]
ODD = [
    "Ünïcode, naïve café 東京 and e\u0301",
    "  two  spaces\tand a tab ",
    "[SEP] is a token, [sep] is not",
    "un" * 120,
    "İstanbul ﬁ ½ \u200d\ufeff",
    "",
]
LONG = "A long text about aspirin and pain. " * 200


def post(url: str, path: str, body: dict, status: int = 200) -> requests.Response:
    answer = requests.post(url + path, json=body, timeout=PATIENCE)
    assert answer.status_code == status, answer.text
    return answer


@pytest.fixture(scope="module")
def conforms():
    """conforms(name, value) checks a value against a schema of text-embeddings-inference's OpenAPI document."""
    document = json.loads((Path(__file__).parent / "testdata/tei/openapi.json").read_text())
    schemas = nullable(document["components"]["schemas"])

    def check(name: str, value: object) -> None:
        validator = jsonschema_rs.Draft202012Validator({**schemas[name], "components": {"schemas": schemas}})
        problems = [f"{problem.message[:200]} at {problem.instance_path}" for problem in validator.iter_errors(value)]
        assert not problems, problems[:3]

    return check


def nullable(node: Any) -> Any:
    """OpenAPI 3.0's nullable as JSON Schema has it."""
    if isinstance(node, list):
        return [nullable(part) for part in node]
    if not isinstance(node, dict):
        return node
    node = {name: nullable(part) for name, part in node.items()}
    if node.pop("nullable", False):
        return {"anyOf": [node, {"type": "null"}]}
    return node


def test_the_client_of_hugging_face_extracts_features(embedding_url: str) -> None:
    client = InferenceClient(model=f"{embedding_url}/embed")
    at_root = InferenceClient(model=embedding_url)
    vectors = client.feature_extraction(TEXTS, normalize=True, truncate=True, truncation_direction="left")
    assert vectors.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    alone = at_root.feature_extraction(TEXTS[0])
    np.testing.assert_allclose(alone[0], vectors[0], atol=1e-4)
    query = client.feature_extraction("What eases pain?", prompt_name="query")
    passage = client.feature_extraction("What eases pain?", prompt_name="passage")
    assert not np.allclose(query, passage, atol=1e-3)


@pytest.fixture(scope="module")
def found(embedding_url: str) -> dict:
    """The vectors of each client of tei_client.py."""
    assert PYTHON.exists(), "make .venv-rerank/stamp"
    run = subprocess.run(
        [PYTHON, Path(__file__).with_name("tei_client.py"), embedding_url, *TEXTS],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("client", CLIENTS)
def test_clients_of_frameworks_embed(found: dict, embedding_url: str, client: str) -> None:
    assert isinstance(found[client], list), found[client]
    np.testing.assert_allclose(found[client], post(embedding_url, "/embed", {"inputs": TEXTS}).json(), atol=1e-3)


def test_the_client_of_hugging_face_compares_sentences(embedding_url: str) -> None:
    client = InferenceClient(model=f"{embedding_url}/similarity")
    found = client.sentence_similarity("What eases pain?", other_sentences=TEXTS)
    vectors = np.array(post(embedding_url, "/embed", {"inputs": ["What eases pain?", *TEXTS]}).json())
    np.testing.assert_allclose(found, vectors[1:] @ vectors[0], atol=1e-4)
    assert np.argmax(found) == 0


def test_the_client_of_hugging_face_sees_errors(embedding_url: str) -> None:
    client = InferenceClient(model=f"{embedding_url}/embed")
    with pytest.raises(HfHubHTTPError) as caught:
        client.feature_extraction(LONG, truncate=False)
    assert "exceeds maximum allowed token size 256" in caught.value.response.json()["error"]


@pytest.mark.parametrize("text", [*TEXTS, *ODD])
def test_tokens_are_those_of_the_reference(embedding_url: str, conforms, text: str) -> None:
    reference = tokenizers.Tokenizer.from_file(str(ROOT / "model_repository/minilm_embed/tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    for special in (True, False):
        answer = post(embedding_url, "/tokenize", {"inputs": text, "add_special_tokens": special}).json()
        conforms("TokenizeResponse", answer)
        want = reference.encode(text, add_special_tokens=special)
        assert [token["id"] for token in answer[0]] == want.ids
        assert [token["special"] for token in answer[0]] == [mask == 1 for mask in want.special_tokens_mask]
        for token, name, (start, stop) in zip(answer[0], want.tokens, want.offsets):
            if token["special"]:
                assert (token["text"], token["start"], token["stop"]) == (name, None, None)
            else:
                assert token["text"] == text[start:stop]
                assert (token["start"], token["stop"]) == (len(text[:start].encode()), len(text[:stop].encode()))


def test_ids_are_decoded_as_by_the_reference(embedding_url: str, conforms) -> None:
    reference = tokenizers.Tokenizer.from_file(str(ROOT / "model_repository/minilm_embed/tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    lists = [reference.encode(text).ids for text in [*TEXTS, *ODD]]
    for skip in (True, False):
        answer = post(embedding_url, "/decode", {"ids": lists, "skip_special_tokens": skip}).json()
        conforms("DecodeResponse", answer)
        assert answer == reference.decode_batch(lists, skip_special_tokens=skip)
    assert post(embedding_url, "/decode", {"ids": lists[0]}).json() == [reference.decode(lists[0])]


def test_token_ids_are_embedded_as_their_text(embedding_url: str) -> None:
    ids = [token["id"] for token in post(embedding_url, "/tokenize", {"inputs": TEXTS[0]}).json()[0]]
    by_text = post(embedding_url, "/embed", {"inputs": TEXTS[0]}).json()
    np.testing.assert_allclose(post(embedding_url, "/embed", {"inputs": ids}).json(), by_text, atol=1e-4)
    mixed = post(embedding_url, "/embed", {"inputs": [ids, TEXTS[1]]}).json()
    np.testing.assert_allclose(mixed[0], by_text[0], atol=1e-4)


def test_info(embedding_url: str, conforms) -> None:
    info = requests.get(f"{embedding_url}/info", timeout=PATIENCE).json()
    conforms("Info", info)
    assert info["model_id"] == ONE_MODE
    assert info["model_type"] == {"embedding": {"pooling": "mean"}}
    assert info["max_input_length"] == 256
    other = requests.get(f"{embedding_url}/info?model=retort/minilm-embedqa-v2", timeout=PATIENCE).json()
    assert other["model_id"] == "retort/minilm-embedqa-v2"
    unknown = requests.get(f"{embedding_url}/info?model=nobody/nothing", timeout=PATIENCE)
    assert (unknown.status_code, unknown.json()["error_type"]) == (404, "Validation")


@pytest.mark.parametrize("path", ["/health", "/ping"])
def test_probes(embedding_url: str, path: str) -> None:
    answer = requests.get(embedding_url + path, timeout=PATIENCE)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("path", "body", "status", "kind", "says"),
    [
        ("/embed", {"inputs": []}, 400, "Empty", "inputs"),
        ("/embed", {"inputs": ["a", ""]}, 400, "Empty", "inputs[1]"),
        ("/embed", {"inputs": [["a"]]}, 422, "Validation", "inputs[0]"),
        ("/embed", {"inputs": "a", "normalize": 2}, 422, "Validation", "normalize"),
        ("/embed", {"inputs": "a", "dimensions": 128}, 422, "Validation", "dimensions"),
        ("/embed", {"inputs": ["a", LONG], "truncate": False}, 413, "Validation", "exceeds maximum allowed token size"),
        ("/embed_sparse", {"inputs": "a"}, 424, "Backend", "embed_sparse"),
        ("/embed_all", {"inputs": "a"}, 424, "Backend", "embed_all"),
        ("/embed_sparse", {"inputs": 5}, 422, "Validation", "inputs"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, 400, "Empty", "inputs.sentences"),
        ("/similarity", {"inputs": {"sentences": ["a"]}}, 422, "Validation", "inputs.source_sentence"),
        (
            "/similarity",
            {"inputs": {"source_sentence": "a", "sentences": ["b", "c\u0000"]}},
            422,
            "Validation",
            "inputs.sentences[1]",
        ),
        ("/tokenize", {"inputs": "a " * 70_000}, 422, "Validation", "inputs"),
        ("/tokenize", {"inputs": "a", "prompt_name": "none"}, 422, "Validation", "prompt_name"),
        ("/tokenize", {"inputs": "a", "model": "nobody/nothing"}, 404, "Validation", "nobody/nothing"),
        ("/decode", {"ids": []}, 400, "Empty", "ids"),
        ("/decode", {"ids": [1, -2]}, 422, "Validation", "ids"),
        ("/decode", {"ids": ["a"]}, 422, "Validation", "ids"),
        ("/decode", {"ids": [[1], 2]}, 422, "Validation", "ids[1]"),
    ],
)
def test_errors_have_the_form_of_the_service(
    embedding_url: str, conforms, path: str, body: dict, status: int, kind: str, says: str
) -> None:
    answer = post(embedding_url, path, body, status).json()
    conforms("ErrorResponse", answer)
    assert answer["error_type"] == kind
    assert says in answer["error"]


def test_headers_say_what_was_read(embedding_url: str) -> None:
    short, long = (len(tokens) for tokens in post(embedding_url, "/tokenize", {"inputs": [TEXTS[0], LONG]}).json())
    whole = post(embedding_url, "/embed", {"inputs": TEXTS[0]}).headers
    assert (whole["X-Compute-Tokens"], whole["X-Truncated-Tokens"]) == (str(short), "0")
    cut = post(embedding_url, "/embed", {"inputs": [TEXTS[0], LONG]}).headers
    assert (cut["X-Compute-Tokens"], cut["X-Truncated-Tokens"]) == (str(short + 256), str(long - 256))


def test_answers_conform_to_the_schema(embedding_url: str, conforms) -> None:
    conforms("EmbedResponse", post(embedding_url, "/embed", {"inputs": TEXTS}).json())
    body = {"inputs": {"source_sentence": TEXTS[0], "sentences": TEXTS}, "parameters": {"truncate": True}}
    conforms("SimilarityRequest", body)
    conforms("SimilarityResponse", post(embedding_url, "/similarity", body).json())
