"""Connections of hostile or careless clients: they cannot smuggle requests or block other clients, and the gateway
survives running out of file descriptors."""

from __future__ import annotations

import contextlib
import json
import socket

import requests
from attacks import EMBEDDING, answer, connect, head
from servers import ROOT, Gateway
from waiting import PATIENCE, wait_for

ASK = json.dumps({"model": EMBEDDING, "input": "What eases pain?"}).encode()


def test_no_body_runs_as_a_request(stack) -> None:
    inner = b"\r\n\r\nGET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"
    body = inner + b"\r\n" * 10_000
    for url in (stack.url, *stack.urls.values()):
        for line in (
            "POST /none",
            "POST /v1/health/ready",
            "GET /docs",
            "GET /metrics",
            "DELETE /v1/models",
            "BREW /coffee",
        ):
            method, path = line.split()
            with connect(url) as sock:
                with contextlib.suppress(OSError):
                    sock.sendall(head(path, len(body), method) + body)
                    sock.shutdown(socket.SHUT_WR)
                assert answer(sock).count(b"HTTP/1.1 ") <= 1, (url, line)
    assert '"path":"/v1/version"' not in stack.output() and "path=/v1/version" not in stack.output()


def test_unknown_methods_are_refused_in_the_api_s_form(stack) -> None:
    for api, says in {
        "embedding": b'"error"',
        "ranking": b'"error"',
        "latent": b'"detail"',
        "masked": b'"status":"failed"',
        "chat": b'"message"',
    }.items():
        with connect(stack.urls[api]) as sock:
            sock.sendall(b"BREW /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = answer(sock)
        assert b" 405 " in got.splitlines()[0] and says in got, (api, got)


def test_ambiguous_requests_are_refused(stack) -> None:
    for name, text in {
        "both lengths": b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\n"
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two lengths": b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "no last chunk": b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n"
        % (len(ASK), ASK),
        "no host": b"GET /v1/models HTTP/1.1\r\n\r\n",
        "a NUL": b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: \0\r\n\r\n",
        "an unknown version": b"GET /v1/models HTTP/4.2\r\nHost: x\r\n\r\n",
    }.items():
        with connect(stack.urls["embedding"]) as sock:
            sock.sendall(text)
            sock.shutdown(socket.SHUT_WR)
            got = answer(sock)
        assert got.startswith(b"HTTP/1.1 400 ") and got.count(b"HTTP/1.1 ") == 1, (name, got)


class PoorGateway(Gateway):
    """A gateway with a limit of 120 open files."""

    before = ("prlimit", "--nofile=120:120", "--")


def test_a_gateway_survives_running_out_of_file_descriptors(stack) -> None:
    """300 connections are held, then let go."""
    with PoorGateway(stack.triton, ROOT / "model_repository") as gateway:
        gateway.wait_ready("embedding")
        with contextlib.ExitStack() as held:
            for _ in range(300):
                held.enter_context(connect(gateway.urls["ranking"]))
            assert gateway.process.poll() is None, gateway.output()
        wait_for("the other API answers", lambda: ask(gateway) == 200, gateway.output)


def ask(gateway: Gateway) -> int:
    """The status of a short text's embedding."""
    return requests.post(gateway.urls["embedding"] + "/v1/embeddings", data=ASK, timeout=PATIENCE).status_code


def test_clients_that_do_not_read_do_not_block_others(stack) -> None:
    """The only permit is held by a stream that nobody reads; the next request gets it after the write deadline."""
    with Gateway(
        stack.triton,
        ROOT / "model_repository",
        RETORT_LATENT_CONCURRENCY="1",
        RETORT_EMBEDDING_CONCURRENCY="1",
        RETORT_WRITE_TIMEOUT="1s",
    ) as gateway:
        gateway.wait_ready("embedding", "latent")
        with contextlib.ExitStack() as held:
            for api, path, body in (
                ("embedding", "/v1/embeddings", {"model": EMBEDDING, "input": ["a"] * 3000}),
                (
                    "latent",
                    "/generate",
                    {
                        "smi": "CCO",
                        "algorithm": "none",
                        "num_molecules": 1,
                        "particles": 2,
                        "iterations": 1,
                        "stream": True,
                    },
                ),
            ):
                sock = held.enter_context(connect(gateway.urls[api]))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                text = json.dumps(body).encode()
                sock.sendall(head(path, len(text)) + text)
            assert ask(gateway) == 200, gateway.output()
            got = requests.post(gateway.urls["latent"] + "/hidden", json={"sequences": ["CCO"]}, timeout=PATIENCE)
            assert got.status_code == 200, got.text


def test_slow_clients_make_room_for_others(stack) -> None:
    """Twelve clients that send only a part of a request hold connections; four connections are allowed."""
    with Gateway(stack.triton, ROOT / "model_repository", RETORT_MAX_CONNECTIONS="4") as gateway:
        gateway.wait_ready("embedding")
        with contextlib.ExitStack() as held:
            for part in (b"", b"POST /v1/emb", head("/v1/embeddings", 1000) + b"{") * 4:
                sock = held.enter_context(connect(gateway.urls["embedding"]))
                with contextlib.suppress(OSError):
                    sock.sendall(part)
            assert ask(gateway) == 200, gateway.output()
