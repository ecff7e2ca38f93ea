"""OGX's client (the successor of Llama Stack's) against the main port, with only its base URL changed. The environment
is that of Anthropic's client. Retort behind an OGX server: ogx/test_ogx.py."""

from __future__ import annotations

import pytest
from test_anthropic_clients import run_python
from test_openai_clients import ABLE, CAFFEINE, READ

CAFFEINE_CALL = ["keep", '{"smiles": "Cn1c(=O)c2c(ncn2C)n(C)c1=O"}']


@pytest.fixture(scope="module")
def results(gateway_url: str) -> dict:
    ids = ("retort/molecule-reader-v8", "sentence-transformers/all-MiniLM-L6-v2")
    return run_python("ogx_calls.py", gateway_url, CAFFEINE, *ids)


def test_ogx_client(results: dict) -> None:
    assert results["models"] == [True, True, True]
    assert results["chat"] == [READ, READ, *CAFFEINE_CALL]
    assert results["completion"].startswith(ABLE)
    assert results["embeddings"] == [384, 384]
    assert results["errors"] == ["NotFoundError", 404]


def test_ogx_client_responses(results: dict) -> None:
    whole, streamed = results["responses"]
    assert whole.startswith(ABLE) and streamed == whole
