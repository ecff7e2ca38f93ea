"""Go clients of OpenAI's interfaces against the whole stack, with only their base URL changed. go_clients/, a Go
module, runs all of them once."""

from __future__ import annotations

import json
import subprocess

import pytest
from servers import ROOT
from test_openai_clients import ABLE, CAFFEINE, READ
from waiting import PATIENCE


@pytest.fixture(scope="module")
def results(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The results of the clients by case; a text is a failure."""
    program = tmp_path_factory.mktemp("go") / "clients"
    subprocess.run(
        ["go", "build", "-trimpath", "-o", str(program), "."], cwd=ROOT / "scripts/tests/go_clients", check=True
    )
    run = subprocess.run([str(program), gateway_url, CAFFEINE], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_openai_go(results: dict) -> None:
    assert results["models"] == [2, "retort/minilm-embedqa-v2", "retort"]
    assert results["embeddings"] == [2, 384]
    assert results["errors"] == [[404, "model_not_found", "model"]] * 2
    assert results["chat"] == [READ, READ]
    assert results["responses"].startswith(ABLE)


def test_go_openai(results: dict) -> None:
    assert results["go-openai"] == [384, READ, 404, "model_not_found"]


def test_mcp(results: dict) -> None:
    assert results["mcp"] == ["2026-07-28", 9, 3, False, "image/png"]
