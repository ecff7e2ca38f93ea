"""Anthropic's clients for Python and JavaScript against the whole stack, with only their base URL and key changed: at
the main port and at the chat API's own port. anthropic_client.py and javascript/anthropic.mjs run each once, in
environments that `make test` makes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from servers import ROOT, Gateway
from test_javascript_clients import run_node
from test_openai_clients import ABLE, CAFFEINE, MOLECULE, READ
from waiting import PATIENCE

PYTHON = ROOT / ".venv-anthropic" / "bin" / "python"
ITS_FORMULA = "molecular formula is C8H10N4O2."
EVENTS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
]
"""The events of a stream, without ping, which the clients hide."""


@pytest.fixture(scope="module")
def keyed_url(stack, tmp_path_factory: pytest.TempPathFactory):
    """The main port of a gateway that requires the key alpha."""
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text("alpha\n")
    with Gateway(stack.triton, stack.repository, RETORT_KEYS_FILE=str(keys)) as gateway:
        gateway.wait_ready("chat")
        yield gateway.url


def run_python(script: str, *arguments: str) -> dict:
    """The results of the cases of a script in the environment of these clients; a text is a failure."""
    if not PYTHON.exists():
        pytest.fail(".venv-anthropic is not there: `make .venv-anthropic/stamp`")
    run = subprocess.run(
        [str(PYTHON), str(Path(__file__).with_name(script)), *arguments],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module", params=["main", "chat"])
def results(request: pytest.FixtureRequest, gateway_url: str, chat_url: str, keyed_url: str) -> dict:
    url = {"main": gateway_url, "chat": chat_url}[request.param]
    return run_python("anthropic_client.py", url, keyed_url, CAFFEINE)


def test_models(results: dict) -> None:
    assert results["models"] == [["retort/molecule-reader-v8"], *["retort/molecule-reader-v8"] * 2, True, "active"]


def test_messages(results: dict) -> None:
    text, *rest = results["create"]
    assert text.startswith(ABLE) and rest == ["end_turn", "assistant", "retort/molecule-reader-v8", True, True]
    assert results["ends"] == ["max_tokens", 2, "stop_sequence", "molecules", "I read printed drawings of "]
    assert results["images"] == [READ] * 2
    assert results["turns"].endswith(ITS_FORMULA)


def test_streams(results: dict) -> None:
    kinds, raw, final, reason, counted, text = results["stream"]
    assert raw == EVENTS and [kind for kind in kinds if kind != "text"] == EVENTS
    assert (final, reason, counted, text) == (READ, "end_turn", True, READ)


def test_tools_and_structured_answers(results: dict) -> None:
    call = ["tool_use", "tool_use", "keep", MOLECULE, "keep", True]
    *calls, words, after = results["tools"]
    assert calls == [call, call] and words == READ and after.endswith(ITS_FORMULA)
    assert results["structured"] == MOLECULE


def test_token_counts(results: dict) -> None:
    assert results["counts"] == [True] * 3


def test_errors_and_keys(results: dict) -> None:
    invalid = ["BadRequestError", "invalid_request_error"]
    assert results["errors"] == [
        ["NotFoundError", "not_found_error", "model", True],
        [*invalid, "max_tokens must be at least 1, got 0.", True],
        [*invalid, "messages", True],
        [*invalid, "messages.0.content.0.source.data", True],
        [*invalid, "tools.0.type", True],
        [*invalid, "top_p must be in (0, 1], got 2.", True],
    ]
    served = [True, ["retort/molecule-reader-v8"]]
    assert results["keys"] == [served, served, ["AuthenticationError", "authentication_error", 401]]


@pytest.fixture(scope="module", params=["main", "chat"])
def javascript(
    request: pytest.FixtureRequest,
    gateway_url: str,
    chat_url: str,
    keyed_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict:
    url = {"main": gateway_url, "chat": chat_url}[request.param]
    return run_node("anthropic.mjs", tmp_path_factory.mktemp("javascript"), url, keyed_url, CAFFEINE)


def test_javascript(javascript: dict) -> None:
    model = "retort/molecule-reader-v8"
    assert javascript["models"] == [[model], model, "model"]
    text, *rest = javascript["create"]
    assert text.startswith(ABLE) and rest == ["end_turn", True, True, READ]
    text, final, reason, counted, kinds = javascript["stream"]
    assert (text, final, reason, counted) == (READ, READ, "end_turn", True)
    assert [kind for kind in kinds if kind != "ping"] == EVENTS
    call = {name: MOLECULE[name] for name in ("smiles", "molecular_formula")}
    *called, after = javascript["tools"]
    assert called == ["tool_use", "keep", call, call] and after.endswith(ITS_FORMULA)
    assert javascript["counts"] is True
    assert javascript["errors"] == [
        ["NotFoundError", 404, "not_found_error", True],
        ["BadRequestError", 400, "invalid_request_error", True],
    ]
    assert javascript["keys"] == [True, True, ["AuthenticationError", 401, "authentication_error", True]]
