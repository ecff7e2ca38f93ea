"""The gRPC interface of NeMo Retriever's embedding and ranking services, called with Triton's client as in the vendor's
documentation (docs.nvidia.com/nim/nemo-retriever/embedding/2.4/use-the-api-grpc.html), against the answers over HTTP.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import requests
import tritonclient.grpc as grpc
from servers import ROOT, Gateway, free_ports
from tritonclient.utils import InferenceServerException
from waiting import PATIENCE

EMBEDDING, RANKING = "retort_minilm_embedqa_v2", "retort_rankqa_minilm_v2"
TEXTS = ["The Rhine flows north.", "Aspirin is an analgesic: it eases pain.", "A bank lends money to a client."]
TYPES = {"float": np.float32, "int8": np.int8, "uint8": np.uint8, "binary": np.int8, "ubinary": np.uint8}


@pytest.fixture(scope="module")
def services(stack) -> Iterator[tuple[Gateway, dict[str, grpc.InferenceServerClient]]]:
    ports = dict(zip(("embedding", "ranking"), free_ports(2)))
    settings = {f"RETORT_{api.upper()}_GRPC_PORT": str(port) for api, port in ports.items()}
    with Gateway(stack.triton, ROOT / "model_repository", **settings) as gateway:
        gateway.wait_ready(*ports)
        yield gateway, {api: grpc.InferenceServerClient(f"127.0.0.1:{port}") for api, port in ports.items()}


def column(name: str, texts: list[str]) -> grpc.InferInput:
    tensor = grpc.InferInput(name, [len(texts), 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text.encode()] for text in texts], np.object_))
    return tensor


def infer(client, model: str, inputs: dict[str, list[str]], **parameters: Any) -> grpc.InferResult:
    tensors = [column(name, texts) for name, texts in inputs.items()]
    return client.infer(model, tensors, parameters=parameters or None, client_timeout=PATIENCE)


@pytest.mark.parametrize("kind", TYPES)
def test_embeddings_equal_those_over_http(services, kind: str) -> None:
    gateway, clients = services
    inputs = {"text": TEXTS, "modality": ["text"] * len(TEXTS)}
    found = infer(
        clients["embedding"],
        EMBEDDING,
        inputs,
        input_type="query",
        truncate="NONE",
        dimensions=128,
        embedding_type=kind,
    )
    body = {"model": "retort/minilm-embedqa-v2", "input": TEXTS, "input_type": "query", "dimensions": 128}
    answer = requests.post(
        f"{gateway.urls['embedding']}/v1/embeddings",
        json=body | {"embedding_type": kind, "encoding_format": "base64"},
        timeout=PATIENCE,
    ).json()
    vectors = found.as_numpy("embeddings")
    assert vectors.dtype == TYPES[kind]
    for vector, datum in zip(vectors, answer["data"], strict=True):
        np.testing.assert_array_equal(vector, np.frombuffer(base64.b64decode(datum["embedding"]), TYPES[kind]))
    assert found.as_numpy("token_count").shape == (len(TEXTS),)
    assert found.as_numpy("token_count").sum() == answer["usage"]["prompt_tokens"]
    alone = infer(clients["embedding"], EMBEDDING, {"text": TEXTS[2:]}, input_type="query")
    assert alone.as_numpy("token_count")[0] == found.as_numpy("token_count")[2]


def test_rankings_equal_those_over_http(services) -> None:
    gateway, clients = services
    query = "Which drug eases pain?"
    found = infer(clients["ranking"], RANKING, {"query": [query], "passage": TEXTS}, truncate="END")
    answer = requests.post(
        f"{gateway.urls['ranking']}/v1/ranking",
        json={"query": {"text": query}, "passages": [{"text": text} for text in TEXTS], "truncate": "END"},
        timeout=PATIENCE,
    ).json()
    assert found.as_numpy("index").tolist() == [rank["index"] for rank in answer["rankings"]]
    np.testing.assert_array_equal(found.as_numpy("logit"), np.float32([rank["logit"] for rank in answer["rankings"]]))
    assert found.as_numpy("token_count").sum() == answer["usage"]["prompt_tokens"]
    repeated = infer(clients["ranking"], RANKING, {"query": [query] * 3, "passage": TEXTS})
    np.testing.assert_array_equal(repeated.as_numpy("logit"), found.as_numpy("logit"))


def test_models_and_server(services) -> None:
    for api, model in (("embedding", EMBEDDING), ("ranking", RANKING)):
        client = services[1][api]
        assert client.is_server_live() and client.is_server_ready()
        assert client.is_model_ready(model) and not client.is_model_ready("other")
        metadata = client.get_model_metadata(model)
        assert {tensor.datatype for tensor in metadata.inputs} == {"BYTES"}
        assert "token_count" in [tensor.name for tensor in metadata.outputs]


@pytest.mark.parametrize(
    ("parameters", "texts", "message"),
    [
        ({"input_type": "document"}, TEXTS, "input_type"),
        ({}, TEXTS, "input_type"),
        ({"input_type": "query", "dimensions": 7}, TEXTS, "dimensions"),
        ({"input_type": "query", "embedding_type": "int4"}, TEXTS, "embedding_type"),
        ({"input_type": "query"}, [TEXTS[0], ""], r"text\[1\]"),
        ({"input_type": "query"}, [TEXTS[0], "long " * 600], r"text\[1\]"),
        ({"input_type": "query", "colour": "red"}, TEXTS, "colour"),
    ],
)
def test_bad_input_is_refused_with_its_name(services, parameters: dict, texts: list[str], message: str) -> None:
    with pytest.raises(InferenceServerException, match=message) as failed:
        infer(services[1]["embedding"], EMBEDDING, {"text": texts}, **parameters)
    assert failed.value.status() == "StatusCode.INVALID_ARGUMENT"


def test_a_model_that_is_not_served(services) -> None:
    with pytest.raises(InferenceServerException, match=EMBEDDING) as failed:
        infer(services[1]["embedding"], "nvidia_nv_embedqa_e5_v5", {"text": TEXTS}, input_type="query")
    assert failed.value.status() == "StatusCode.NOT_FOUND"
