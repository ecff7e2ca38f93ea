"""Clients of OpenAI's interfaces, and frameworks with parts for NVIDIA's services, against the whole stack.

Only their base URL is changed: to the main port, where one address serves the models of all APIs. openai_client.py runs
the clients once in their own environment (`make test` makes it), framework_client.py the frameworks in that of the
rerank clients.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from pictures import data_url
from servers import ROOT
from waiting import PATIENCE

CAFFEINE = data_url((ROOT / "scripts/tests/testdata/drawings/caffeine.png").read_bytes())
READ = "The SMILES is Cn1c(=O)c2c(ncn2C)n(C)c1=O."
ABLE = "I read printed drawings of molecules."
MOLECULE = {"smiles": "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "molecular_formula": "C8H10N4O2", "ring_count": 2, "name": None}
"""The filled schema of the clients' requests: null for what the model does not know."""
BEST = "Aspirin is an analgesic."


def ask(clients: str, script: str, url: str) -> dict:
    """The results of the clients of an environment by case; a text is a failure."""
    python = ROOT / f".venv-{clients}" / "bin" / "python"
    if not python.exists():
        pytest.fail(f"{python.parent.parent.name} is not there: `make {python.parent.parent.name}/stamp`")
    # langchain-openai counts tokens with tiktoken, which would download its encoding; litellm has the file.
    encoding = next((ROOT / ".venv-rerank").glob("lib/python3*/site-packages/litellm/litellm_core_utils/tokenizers"))
    run = subprocess.run(
        [str(python), str(Path(__file__).with_name(script)), url, CAFFEINE],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        env={**os.environ, "TIKTOKEN_CACHE_DIR": str(encoding)},
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def openai_results(gateway_url: str) -> dict:
    return ask("openai", "openai_client.py", gateway_url)


@pytest.fixture(scope="module")
def framework_results(gateway_url: str) -> dict:
    return ask("rerank", "framework_client.py", gateway_url)


def test_openai_lists_and_retrieves_models(openai_results: dict) -> None:
    listed, *one = openai_results["models"]
    assert listed == ["retort/minilm-embedqa-v2", "retort/molecule-reader-v8"]
    assert one == ["retort/minilm-embedqa-v2", "retort", "embedding"]


def test_openai_embeds_token_ids_and_without_a_mode(openai_results: dict) -> None:
    assert openai_results["embeddings"] == [384, True, True]


def test_openai_reads_errors(openai_results: dict) -> None:
    assert openai_results["errors"] == [
        ["NotFoundError", "model_not_found", "model"],
        ["NotFoundError", "model_not_found", "model"],
        ["BadRequestError", None, "input[0]"],
        ["BadRequestError", "invalid_value", "input[0].content"],
    ]


def test_openai_completes_texts(openai_results: dict) -> None:
    unstreamed, streamed = openai_results["completions"]
    assert unstreamed.startswith(ABLE) and streamed == unstreamed


def test_openai_gets_structured_chat_answers(openai_results: dict) -> None:
    assert openai_results["chat_forms"] == [
        MOLECULE,
        "tool_calls",
        "keep",
        MOLECULE,
        MOLECULE["molecular_formula"],
        READ,
    ]


def test_openai_responses(openai_results: dict) -> None:
    text, status, image, counted, form, kinds, streamed = openai_results["responses"]
    assert text.startswith(ABLE) and (status, image, counted, form, streamed) == (
        "completed",
        READ,
        True,
        MOLECULE,
        READ,
    )
    assert kinds == [
        "response." + kind
        for kind in (
            "created",
            "in_progress",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "completed",
        )
    ]


def test_langchain_openai(openai_results: dict) -> None:
    assert openai_results["langchain"] == [True, READ, MOLECULE, MOLECULE, READ]


def test_instructor(openai_results: dict) -> None:
    assert openai_results["instructor_modes"] == [MOLECULE] * 3


def test_pydantic_ai(openai_results: dict) -> None:
    assert openai_results["pydantic_ai"] == [READ, MOLECULE, MOLECULE, MOLECULE]


def test_openai_agents(openai_results: dict) -> None:
    assert openai_results["agents"] == [READ, MOLECULE, MOLECULE]


def test_litellm(framework_results: dict) -> None:
    vectors, answers, streamed, response, text = framework_results["with_litellm"]
    assert (
        (vectors, answers, streamed) == ([2, 2], [READ] * 3, READ)
        and response.startswith(ABLE)
        and text.startswith(ABLE)
    )


def test_llama_index_with_and_without_v1(framework_results: dict) -> None:
    for one_mode, two_modes, best, said, completed in framework_results["with_llama_index"]:
        assert (one_mode, two_modes, best) == (384, 384, BEST) and said.startswith(ABLE) and completed == said


def test_haystack_with_and_without_v1_and_without_a_model(framework_results: dict) -> None:
    assert framework_results["with_haystack"] == [[384, 384, BEST, BEST]] * 2
