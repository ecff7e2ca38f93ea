"""Retort as the inference and reranking provider of an OGX server, the successor of Llama Stack: config.yaml names the
main port, and OGX's client and Anthropic's call the server. `make test-ogx`: the server needs Python 3.12 or newer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from servers import ROOT, Process, free_ports  # noqa: E402
from test_anthropic_clients import run_python  # noqa: E402
from test_ogx_client import CAFFEINE_CALL  # noqa: E402
from test_openai_clients import ABLE, CAFFEINE, READ  # noqa: E402
from waiting import PATIENCE, wait_for  # noqa: E402

CHAT = "retort/retort/molecule-reader-v8"
"""The id of the provider, and that of the model there."""


@pytest.fixture(scope="module")
def ogx_url(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An OGX server in front of the main port."""
    program = ROOT / ".venv-ogx" / "bin" / "ogx"
    if not program.exists():
        pytest.fail(".venv-ogx is not there: `make .venv-ogx/stamp`")
    folder = tmp_path_factory.mktemp("ogx")
    shutil.copy(Path(__file__).with_name("config.yaml"), folder)
    (port,) = free_ports(1)
    variables = {"RETORT_URL": gateway_url, "OGX_FOLDER": str(folder), "OTEL_SDK_DISABLED": "true"}
    command = [str(program), "run", str(folder / "config.yaml"), "--port", str(port), "--insecure"]
    with Process(command, variables) as server:
        url = f"http://127.0.0.1:{port}"

        def listens() -> bool:
            try:
                return requests.get(f"{url}/v1/models", timeout=PATIENCE).ok
            except requests.ConnectionError:
                return False

        wait_for("OGX answers, or has ended", lambda: server.process.poll() is not None or listens(), server.output)
        assert server.process.poll() is None, server.output()
        yield url


def test_ogx_serves_the_models(ogx_url: str) -> None:
    results = run_python("ogx_calls.py", ogx_url, CAFFEINE, CHAT, "retort/embedder", "retort/ranker")
    assert results["models"] == [True, True, True]
    assert results["chat"] == [READ, READ, *CAFFEINE_CALL]
    assert results["completion"].startswith(ABLE)
    assert results["embeddings"] == [384, 384]
    assert results["rerank"] == [1]
    assert results["errors"] == ["NotFoundError", 404]


def test_ogx_passes_anthropics_messages_on(ogx_url: str) -> None:
    message = {"model": CHAT, "max_tokens": 256, "messages": [{"role": "user", "content": "What can you read?"}]}
    answer = requests.post(f"{ogx_url}/v1/messages", json=message, timeout=PATIENCE).json()
    assert answer["content"][0]["text"].startswith(ABLE) and answer["stop_reason"] == "end_turn", answer
    del message["max_tokens"]
    counted = requests.post(f"{ogx_url}/v1/messages/count_tokens", json=message, timeout=PATIENCE).json()
    assert counted["input_tokens"] == answer["usage"]["input_tokens"]
