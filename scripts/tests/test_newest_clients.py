"""The newest llama-stack-client and cohere against the whole stack, with only their base URL changed. newest_client.py
runs both once, in its own environment (`make test` makes it)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from servers import ROOT
from test_openai_clients import ABLE, CAFFEINE, READ
from waiting import PATIENCE

PYTHON = ROOT / ".venv-newest" / "bin" / "python"


@pytest.fixture(scope="module")
def results(gateway_url: str, ranking_url: str) -> dict:
    """What the clients make of the answers, by case; a text is a failure."""
    if not PYTHON.exists():
        pytest.fail(".venv-newest is not there: `make .venv-newest/stamp`")
    run = subprocess.run(
        [str(PYTHON), str(Path(__file__).with_name("newest_client.py")), gateway_url, ranking_url, CAFFEINE],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_llama_stack_client_on_the_main_port(results: dict) -> None:
    assert results["stack_models"] == [True, "retort/molecule-reader-v8"]
    unstreamed, streamed, text, response = results["stack_chat"]
    assert (unstreamed, streamed) == (READ, READ) and text.startswith(ABLE) and response.startswith(ABLE)
    assert results["stack_embeddings"] == 384
    assert results["stack_errors"] == ["NotFoundError", 404]


def test_cohere_of_both_versions_of_the_interface(results: dict) -> None:
    assert results["cohere_rerank"] == [[[1], [1, 0]], True]


def test_cohere_with_a_thousand_documents_and_a_long_one(results: dict) -> None:
    assert results["cohere_many"] == [1000, 1000, True, [False, False, True]]
