"""A model whose process in Triton is killed: a replica takes over, readiness reports it, the launcher reloads it."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
import requests
from attacks import EMBEDDING
from servers import ROOT, Gateway, Triton, kill
from waiting import PATIENCE, traffic, wait_for


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two embedding models."""
    for name in ("minilm_embed", "minilm_embed_qa"):
        shutil.copytree(ROOT / "model_repository" / name, tmp_path / "models" / name)
    return tmp_path / "models"


def stubs(server: Triton, model: str) -> list[int]:
    """The processes in which a server runs a model."""
    found = []
    for pid in server.processes():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_text()
        except OSError:
            continue
        if "triton_python_backend_stub" in command and f"/{model}/" in command:
            found.append(pid)
    return found


def ask(gateway: Gateway) -> int:
    return requests.post(
        gateway.urls["embedding"] + "/v1/embeddings",
        json={"model": EMBEDDING, "input": "What eases pain?"},
        timeout=PATIENCE,
    ).status_code


def listed(gateway: Gateway) -> list[str]:
    return [
        model["id"]
        for model in requests.get(gateway.urls["embedding"] + "/v1/models", timeout=PATIENCE).json().get("data", [])
    ]


def test_another_replica_takes_over(repository: Path) -> None:
    """Only requests in flight on the killed process may fail, and these are retried on the other replica."""
    with (
        Triton(repository, "explicit") as one,
        Triton(repository, "explicit") as two,
        Gateway(f"{one.url},{two.url}", repository) as gateway,
    ):
        gateway.wait_ready("embedding")
        with traffic(lambda: ask(gateway), 2) as steady:
            wait_for("both replicas answer", lambda: steady.answers[200] > 40, gateway.output)
            for pid in stubs(one, "minilm_embed"):
                kill(pid)
            before = steady.answers[200]
            wait_for(
                "two hundred more answers",
                lambda: steady.answers[200] > before + 200,
                lambda: (steady.answers, steady.notes),
            )
        assert set(steady.answers) == {200}, (steady.answers, steady.notes)
        assert EMBEDDING in listed(gateway)


def test_the_only_replica_is_reloaded(repository: Path) -> None:
    with Triton(repository, "watch") as server, Gateway(server.url, repository) as gateway:
        gateway.wait_ready("embedding")
        wait_for("both models are listed", lambda: len(listed(gateway)) == 2, gateway.output)
        assert ask(gateway) == 200
        dead = stubs(server, "minilm_embed")
        assert dead, "the server runs the model in no process of its own"
        for pid in dead:
            kill(pid)
        wait_for("the model is brought back", lambda: stubs(server, "minilm_embed") not in ([], dead), server.output)
        wait_for("it answers", lambda: ask(gateway) == 200, lambda: (gateway.output(), server.output()))
        wait_for("both models are listed again", lambda: len(listed(gateway)) == 2, gateway.output)


def test_readiness_reports_a_sick_model(repository: Path) -> None:
    """The launcher is stopped first, so that nothing reloads the model."""
    shutil.rmtree(repository / "minilm_embed_qa")
    with Triton(repository, "explicit") as server, Gateway(server.url, repository) as gateway:
        gateway.wait_ready("embedding")
        assert ask(gateway) == 200
        server.process.send_signal(signal.SIGSTOP)
        try:
            for pid in stubs(server, "minilm_embed"):
                kill(pid)
            wait_for("requests are refused for now", lambda: ask(gateway) == 503, gateway.output)
            wait_for("the API is not ready", lambda: not gateway.ready("embedding"), gateway.output)
            assert listed(gateway) == []
        finally:
            server.process.send_signal(signal.SIGCONT)
