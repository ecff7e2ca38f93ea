"""The gRPC service of text-embeddings-inference, called with grpcio and messages made from the published contract."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from servers import APIS, ROOT, Gateway, Triton, free_ports
from waiting import PATIENCE

DESCRIPTORS = ROOT / "orchestrator/teigrpc/teipb/tei.binpb"
QUERY, BEST = "Which drug eases pain?", "Aspirin is an analgesic: it eases pain."
TEXTS = ["The Rhine flows north.", BEST, "A bank lends money."]
LONG = "The Rhine flows north. " * 500
KEY = "a-key-of-a-client"


def load_messages() -> tuple[dict[str, Any], dict[str, descriptor_pb2.MethodDescriptorProto]]:
    """The classes of the messages by name, and the methods by path."""
    files = descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    classes = message_factory.GetMessageClassesForFiles([file.name for file in files.file], pool)
    methods = {
        f"/{file.package}.{service.name}/{method.name}": method
        for file in files.file
        for service in file.service
        for method in service.method
    }
    return {name.rpartition(".")[2]: made for name, made in classes.items()}, methods


MESSAGES, METHODS = load_messages()


class Client:
    """A client of one port."""

    def __init__(self, address: str, key: str | None = KEY) -> None:
        self.channel = grpc.insecure_channel(address)
        self.metadata = [("authorization", f"Bearer {key}")] if key else []

    def call(self, path: str, request: Any, timeout: float = PATIENCE):
        """Calls a method with a message, or with several if it takes a stream. A stream of answers is a list."""
        method = METHODS[f"/tei.v1.{path}"]
        kinds = ["unary" if not stream else "stream" for stream in (method.client_streaming, method.server_streaming)]
        multicallable = getattr(self.channel, "_".join(kinds))(
            f"/tei.v1.{path}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=MESSAGES[method.output_type.rpartition(".")[2]].FromString,
        )
        given = self._messages(method, request) if method.client_streaming else next(self._messages(method, [request]))
        answer = multicallable(given, timeout=timeout, metadata=self.metadata)
        return list(answer) if method.server_streaming else answer

    @staticmethod
    def _messages(method: descriptor_pb2.MethodDescriptorProto, requests: Iterable[dict]) -> Iterator[object]:
        made = MESSAGES[method.input_type.rpartition(".")[2]]
        return (made(**request) for request in requests)

    def fails(self, path: str, request: Any, timeout: float = PATIENCE) -> tuple[grpc.StatusCode, str]:
        with pytest.raises(grpc.RpcError) as failed:
            self.call(path, request, timeout)
        return failed.value.code(), failed.value.details()

    def health(self, service: str) -> int:
        """The state of a service by grpc.health.v1: 1 is SERVING, 2 NOT_SERVING. It needs no key."""
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        name = service.encode()
        answer = check(bytes([10, len(name)]) + name, timeout=PATIENCE)  # field 1, a text
        return answer[1]  # field 1, a number


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A gateway with the two ports of gRPC and a key."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"{KEY}\n")
    url = os.environ.get("RETORT_TEST_TRITON_URL")
    triton = None if url else Triton(ROOT / "model_repository")
    try:
        embedding, ranking = free_ports(2)
        with Gateway(
            url or triton.url,
            ROOT / "model_repository",
            RETORT_EMBEDDING_GRPC_PORT=str(embedding),
            RETORT_RANKING_GRPC_PORT=str(ranking),
            RETORT_KEYS_FILE=str(keys),
        ) as gateway:
            gateway.wait_ready(*APIS)
            yield gateway, f"127.0.0.1:{embedding}", f"127.0.0.1:{ranking}"
    finally:
        if triton:
            triton.stop()


@pytest.fixture(scope="module")
def embedding(running) -> Client:
    return Client(running[1])


@pytest.fixture(scope="module")
def ranking(running) -> Client:
    return Client(running[2])


def post(running, api: str, path: str, body: dict) -> requests.Response:
    headers = {"Authorization": f"Bearer {KEY}"}
    return requests.post(running[0].urls[api] + path, json=body, headers=headers, timeout=PATIENCE)


def test_info(embedding: Client, ranking: Client) -> None:
    info = embedding.call("Info/Info", {})
    assert (info.model_type, info.max_input_length) == (0, 256)
    info = ranking.call("Info/Info", {})
    assert (info.model_id, info.model_type, info.max_client_batch_size) == ("retort/rankqa-minilm-v2", 2, 512)


def test_embeddings_equal_those_over_http(running, embedding: Client) -> None:
    expected = post(running, "embedding", "/embed", {"inputs": TEXTS}).json()
    alone = embedding.call("Embed/Embed", {"inputs": TEXTS[1]})
    assert alone.embeddings == pytest.approx(expected[1], abs=1e-5)
    assert alone.metadata.compute_tokens > 5
    assert alone.metadata.compute_chars == len(TEXTS[1])
    assert 0 < alone.metadata.inference_time_ns <= alone.metadata.total_time_ns
    streamed = embedding.call("Embed/EmbedStream", [{"inputs": text} for text in TEXTS * 20])
    assert len(streamed) == 60
    for answer, vector in zip(streamed, expected * 20):
        assert answer.embeddings == pytest.approx(vector, abs=1e-5)


def test_prompt_names_and_normalize(running, embedding: Client) -> None:
    query = embedding.call("Embed/Embed", {"inputs": BEST, "prompt_name": "query", "normalize": True}).embeddings
    expected = post(running, "embedding", "/embed", {"inputs": BEST, "prompt_name": "query"}).json()[0]
    assert query == pytest.approx(expected, abs=1e-5)
    code, details = embedding.fails("Embed/Embed", {"inputs": BEST, "dimensions": 16})
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "dimensions" in details


def test_a_long_text_is_refused_unless_it_may_be_cut(embedding: Client) -> None:
    code, details = embedding.fails("Embed/Embed", {"inputs": LONG})
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "exceeds maximum allowed token size" in details
    cut = embedding.call("Embed/Embed", {"inputs": LONG, "truncate": True})
    assert cut.metadata.compute_tokens == 256


def test_what_a_model_cannot_do_is_refused_as_by_text_embeddings_inference(embedding: Client, ranking: Client) -> None:
    for client, path, request in [
        (embedding, "Embed/EmbedSparse", {"inputs": "a"}),
        (embedding, "Embed/EmbedSparseStream", [{"inputs": "a"}]),
        (embedding, "Embed/EmbedAll", {"inputs": "a"}),
        (embedding, "Rerank/Rerank", {"query": "a", "texts": ["b"]}),
        (embedding, "Rerank/RerankStream", [{"query": "a", "text": "b"}]),
        (embedding, "Predict/Predict", {"inputs": "a"}),
        (ranking, "Embed/Embed", {"inputs": "a"}),
        (ranking, "Embed/EmbedStream", [{"inputs": "a"}]),
    ]:
        assert client.fails(path, request)[0] == grpc.StatusCode.FAILED_PRECONDITION, path


def test_ranks_equal_those_over_http(running, ranking: Client) -> None:
    body = {"query": QUERY, "texts": TEXTS, "raw_scores": True, "return_text": True}
    expected = post(running, "ranking", "/rerank", body).json()
    messages = [{"query": QUERY, "text": text, "raw_scores": True, "return_text": True} for text in TEXTS]
    for answer in (ranking.call("Rerank/Rerank", body), ranking.call("Rerank/RerankStream", messages)):
        assert [(rank.index, rank.text) for rank in answer.ranks] == [(r["index"], r["text"]) for r in expected]
        assert [rank.score for rank in answer.ranks] == pytest.approx([r["score"] for r in expected], abs=1e-3)
        assert answer.metadata.compute_tokens > 30
    assert ranking.call("Rerank/RerankStream", []).ranks == []
    code, details = ranking.fails("Rerank/Rerank", {"query": QUERY, "texts": []})
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert details.startswith("texts: ")
    code, _ = ranking.fails("Rerank/Rerank", {"query": QUERY, "texts": ["a"], "truncation_direction": 1})
    assert code == grpc.StatusCode.INVALID_ARGUMENT


def test_predictions_equal_those_over_http(running, ranking: Client) -> None:
    inputs = [[QUERY, text] for text in TEXTS]
    expected = [p[0]["score"] for p in post(running, "ranking", "/predict", {"inputs": inputs}).json()]
    streamed = ranking.call("Predict/PredictPairStream", [{"inputs": pair} for pair in inputs])
    assert [answer.predictions[0].score for answer in streamed] == pytest.approx(expected, abs=1e-4)
    pair = ranking.call("Predict/PredictPair", {"inputs": inputs[1], "raw_scores": True}).predictions
    assert (len(pair), pair[0].label) == (1, "LABEL_0")
    text = post(running, "ranking", "/predict", {"inputs": BEST, "raw_scores": True}).json()[0]["score"]
    for answer in (
        ranking.call("Predict/Predict", {"inputs": BEST, "raw_scores": True}),
        ranking.call("Predict/PredictStream", [{"inputs": BEST, "raw_scores": True}])[0],
    ):
        assert answer.predictions[0].score == pytest.approx(text, abs=1e-3)
    assert ranking.fails("Predict/PredictPair", {"inputs": ["a"]})[0] == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize("api", ["embedding", "ranking"])
def test_tokens_there_and_back(running, api: str, request) -> None:
    client = request.getfixturevalue(api)
    tokens = client.call("Tokenize/Tokenize", {"inputs": BEST, "add_special_tokens": True}).tokens
    expected = post(running, api, "/tokenize", {"inputs": BEST}).json()[0]
    assert [token.id for token in tokens] == [token["id"] for token in expected]
    assert [token.special for token in tokens] == [token["special"] for token in expected]
    assert not tokens[0].HasField("start")
    assert BEST.encode()[tokens[1].start : tokens[1].stop] == b"Aspirin"[: tokens[1].stop]
    ids = [token.id for token in tokens]
    decoded = client.call("Tokenize/Decode", {"ids": ids, "skip_special_tokens": True}).text
    assert decoded == post(running, api, "/decode", {"ids": ids, "skip_special_tokens": True}).json()[0]
    streamed = client.call("Tokenize/TokenizeStream", [{"inputs": text} for text in TEXTS])
    assert [len(answer.tokens) > 3 for answer in streamed] == [True] * len(TEXTS)
    assert [a.text for a in client.call("Tokenize/DecodeStream", [{"ids": ids}])] != [""]
    assert client.fails("Tokenize/Decode", {"ids": []})[0] == grpc.StatusCode.INVALID_ARGUMENT


def test_keys(running) -> None:
    for key in (None, "another"):
        client = Client(running[2], key)
        assert client.fails("Info/Info", {})[0] == grpc.StatusCode.UNAUTHENTICATED
        assert client.fails("Rerank/RerankStream", [])[0] == grpc.StatusCode.UNAUTHENTICATED


def test_health(running) -> None:
    embedding, ranking = Client(running[1], None), Client(running[2], None)
    names = ["", "tei.v1.Info", "tei.v1.Tokenize", "tei.v1.Embed", "tei.v1.Predict", "tei.v1.Rerank"]
    assert [embedding.health(name) for name in names] == [1, 1, 1, 1, 2, 2]
    assert [ranking.health(name) for name in names] == [1, 1, 1, 2, 1, 1]


def test_messages_and_deadlines_have_bounds(ranking: Client) -> None:
    code, _ = ranking.fails("Rerank/Rerank", {"query": "a", "texts": ["b" * (5 << 20)]})
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    code, details = ranking.fails("Rerank/Rerank", {"query": "a", "texts": ["b"] * 513})
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "512" in details
    texts = [f"{LONG} {i}" for i in range(300)]
    code, _ = ranking.fails("Rerank/Rerank", {"query": "a", "texts": texts, "truncate": True}, timeout=0.05)
    # The server resets the stream at the same time, which the client may see first.
    assert code in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)


def test_requests_are_counted_and_logged_with_those_over_http(running, ranking: Client) -> None:
    ranking.metadata = [*ranking.metadata, ("x-request-id", "asked-over-grpc")]
    ranking.call("Rerank/Rerank", {"query": QUERY, "texts": TEXTS})
    ranking.metadata = ranking.metadata[:-1]
    metrics = requests.get(f"{running[0].urls['ranking']}/metrics", timeout=PATIENCE).text
    assert any('route="/rerank"' in line and 'status="200"' in line for line in metrics.splitlines())
    assert "asked-over-grpc" in running[0].output()


def test_drain_lets_a_request_end(running, tmp_path: Path) -> None:
    """After SIGTERM a request in flight is answered, and streams of health checks do not delay the end."""
    port = free_ports(1)[0]
    settings = {"RETORT_RANKING_GRPC_PORT": str(port), "RETORT_DRAIN_TIMEOUT": f"{PATIENCE}s"}
    with Gateway(running[0].triton, ROOT / "model_repository", **settings) as gateway:
        gateway.wait_ready("ranking")
        client = Client(f"127.0.0.1:{port}", None)
        watch = client.channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=10 * PATIENCE)
        assert next(watch)[1] == 1
        method = client.channel.unary_unary("/tei.v1.Rerank/Rerank")
        request = MESSAGES["RerankRequest"](query=QUERY, texts=[f"{LONG} {i}" for i in range(12)], truncate=True)
        answer = method.future(request.SerializeToString(), timeout=10 * PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while requests_in_flight(gateway) < 2:  # one asks for this metric
            assert time.monotonic() < deadline and not answer.done(), gateway.output()
        assert gateway.stop() == 0
        assert len(MESSAGES["RerankResponse"].FromString(answer.result()).ranks) == 12
        with pytest.raises(grpc.RpcError):
            list(watch)


def requests_in_flight(gateway: Gateway) -> float:
    """The requests of the ranking API in flight."""
    for line in requests.get(f"{gateway.urls['ranking']}/metrics", timeout=PATIENCE).text.splitlines():
        if line.startswith("retort_http_in_flight") and 'api="ranking"' in line:
            return float(line.rpartition(" ")[2])
    raise AssertionError("no metric of requests in flight")
