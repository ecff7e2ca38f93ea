"""Large requests, and many of them, do not exceed the gateway's memory bounds; answers stay short and other clients are
served."""

from __future__ import annotations

import contextlib
import struct
import threading
import zlib

import pytest
import requests
from attacks import CHAT, EMBEDDING, RANKING, Memory, answer, connect, head, program, repeated, single
from servers import ROOT, Gateway
from waiting import PATIENCE, wait_for

SINGLE = 400
"""MiB above idle that one request may take."""
BUDGET = 768
"""MiB that the bodies and pictures of all requests together may take in this test."""
SIZE = 16_000_000


@pytest.fixture(scope="module")
def gateway(stack):
    """A separate gateway, whose memory no other test has used."""
    with Gateway(stack.triton, ROOT / "model_repository", RETORT_MEMORY_BUDGET=str(BUDGET << 20)) as own:
        own.wait_ready("embedding", "ranking", "latent", "chat", "masked")
        yield own


BODIES = {
    "passages without text": (
        "ranking",
        "/v1/ranking",
        lambda: f'{{"model":"{RANKING}","query":{{"text":"q"}},"passages":[{repeated("{}", SIZE)}]}}',
    ),
    "passages of other types": (
        "ranking",
        "/v1/ranking",
        lambda: f'{{"model":"{RANKING}","query":{{"text":"q"}},"passages":[{repeated("1", SIZE)}]}}',
    ),
    "empty texts": (
        "embedding",
        "/v1/embeddings",
        lambda: f'{{"model":"{EMBEDDING}","input":[{repeated(chr(34) * 2, SIZE)}]}}',
    ),
    "texts that are numbers": (
        "embedding",
        "/v1/embeddings",
        lambda: f'{{"model":"{EMBEDDING}","input":[{repeated("7", SIZE)}]}}',
    ),
    "one long text": (
        "embedding",
        "/v1/embeddings",
        lambda: f'{{"model":"{EMBEDDING}","truncate":"END","input":"{"word " * (SIZE // 5)}"}}',
    ),
    "one long text, not to be cut": (
        "embedding",
        "/v1/embeddings",
        lambda: f'{{"model":"{EMBEDDING}","input":"{"word " * (SIZE // 5)}"}}',
    ),
    "a long model name": ("embedding", "/v1/embeddings", lambda: f'{{"model":"{"x" * 1_000_000}","input":"a"}}'),
    "a long member name": ("embedding", "/v1/embeddings", lambda: f'{{"{"x" * SIZE}":1}}'),
    "many members": ("embedding", "/v1/embeddings", lambda: "{" + ",".join(f'"{i}":1' for i in range(1_000_000)) + "}"),
    "nested lists": ("embedding", "/v1/embeddings", lambda: '{"input":' + "[" * SIZE),
    "messages without content": (
        "chat",
        "/v1/chat/completions",
        lambda: f'{{"model":"{CHAT}","messages":[{repeated("{}", SIZE)}]}}',
    ),
    "parts without type": (
        "chat",
        "/v1/chat/completions",
        lambda: f'{{"model":"{CHAT}","messages":[{{"role":"user","content":[{repeated("{}", SIZE)}]}}]}}',
    ),
    "empty hidden states": (
        "latent",
        "/decode",
        lambda: f'{{"hiddens":[{repeated("[]", SIZE)}],"mask":[{repeated("[]", SIZE // 4)}]}}',
    ),
    "false masks": ("latent", "/decode", lambda: f'{{"hiddens":[[[0]]],"mask":[[{repeated("false", SIZE)}]]}}'),
    "empty sequences": ("latent", "/hidden", lambda: f'{{"sequences":[{repeated(chr(34) * 2, SIZE)}]}}'),
    "many dots": ("masked", "/generate", lambda: '{"smiles":"' + "[*{0-0}]." * 100_000 + '"}'),
}


@pytest.mark.parametrize("name", BODIES)
def test_one_request_is_bounded(gateway, name: str) -> None:
    api, path, body = BODIES[name]
    memory, text = Memory(program(gateway)), body()
    idle = memory.now()
    with memory.peak() as peak:
        got = requests.post(
            gateway.urls[api] + path, data=text, headers={"Content-Type": "application/json"}, timeout=PATIENCE
        )
        most = peak() - idle
    assert 400 <= got.status_code < 500 or name == "one long text" and got.status_code == 200, (
        got.status_code,
        got.text[:300],
    )
    assert len(got.content) < 50_000, f"an answer of {len(got.content)} bytes"
    assert most < SINGLE, f"{most:.0f} MiB above idle"
    longest = max(len(line) for line in gateway.output().splitlines()[-20:])
    assert longest < 20_000, f"a log line of {longest} bytes"


def test_a_broken_literal_is_the_client_s_fault(gateway) -> None:
    got = requests.post(gateway.urls["latent"] + "/generate", data='{"smi":"CCO","minimize":tru}', timeout=PATIENCE)
    assert got.status_code == 422, got.text


def test_many_large_bodies_share_the_budget(gateway) -> None:
    """200 connections, each with the largest body of the chat API, of which all but the end is sent at once."""
    memory = Memory(program(gateway))
    idle = memory.now()
    size = 32_000_000
    piece = b" " * 1_000_000
    ended = threading.Event()

    def send() -> None:
        with contextlib.suppress(OSError), connect(gateway.urls["chat"]) as sock:
            sock.settimeout(PATIENCE)
            sock.sendall(head("/v1/chat/completions", size))
            for _ in range(size // len(piece) - 1):
                if ended.is_set():
                    return
                sock.sendall(piece)
            ended.wait(PATIENCE)

    senders = [threading.Thread(target=send, daemon=True) for _ in range(200)]
    with memory.peak() as peak, single(gateway) as bystander:
        for sender in senders:
            sender.start()
        wait_for("the budget is used", lambda: memory.now() - idle > BUDGET / 20, gateway.output)
        wait_for("a bystander is served fifty times meanwhile", lambda: len(bystander.waits) >= 50)
        ended.set()
        for sender in senders:
            sender.join(PATIENCE)
        most = peak() - idle
    assert most < BUDGET, f"{most:.0f} MiB above idle with a budget of {BUDGET}"
    assert not bystander.failures, bystander.failures[:5]
    print(f"at most {most:.0f} MiB above idle; bystander's p99 {bystander.p99():.2f} s")


def png(width: int, height: int) -> bytes:
    """A grey picture whose file is small."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\xff" * width) * height, 9)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


def test_pictures_are_bounded(gateway) -> None:
    """Eight pictures of the maximum size, in one request and in sixteen concurrent ones."""
    import base64

    url = "data:image/png;base64," + base64.b64encode(png(5000, 5000)).decode()
    parts = [{"type": "image_url", "image_url": {"url": url}}] * 8
    body = {"model": CHAT, "messages": [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, *parts]}]}
    memory = Memory(program(gateway))
    idle = memory.now()
    with memory.peak() as peak:
        got = requests.post(gateway.urls["chat"] + "/v1/chat/completions", json=body, timeout=PATIENCE)
        assert got.status_code in (200, 400, 503), got.text[:300]
        assert peak() - idle < SINGLE, f"{peak() - idle:.0f} MiB above idle for one request"
    statuses = []

    def ask() -> None:
        statuses.append(
            requests.post(gateway.urls["chat"] + "/v1/chat/completions", json=body, timeout=PATIENCE).status_code
        )

    with memory.peak() as peak, single(gateway) as bystander:
        askers = [threading.Thread(target=ask, daemon=True) for _ in range(16)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join(PATIENCE)
        most = peak() - idle
    assert len(statuses) == 16 and set(statuses) <= {200, 400, 503, 504}, statuses
    assert most < BUDGET, f"{most:.0f} MiB above idle with a budget of {BUDGET}"
    assert not bystander.failures, bystander.failures[:5]


def test_memory_is_released(gateway) -> None:
    """After all these tests, Go's collector and the system bring the process back to a small size."""
    memory = Memory(program(gateway))
    wait_for("at most 300 MiB are left", lambda: memory.now() < 300, lambda: f"{memory.now():.0f} MiB")
    with connect(gateway.urls["embedding"]) as sock:
        sock.sendall(b"GET /v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b" 200 " in answer(sock)
