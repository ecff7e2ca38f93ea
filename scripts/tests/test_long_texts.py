"""Imported models read texts of 8,192 tokens as transformers does, in little memory."""

from __future__ import annotations

import json
from pathlib import Path

import folders
import numpy as np
import pytest
import requests
from servers import Gateway, Triton
from test_model_import import retort
from waiting import PATIENCE, wait_for

GOLDEN = json.loads((Path(__file__).parent / "testdata/long_texts.json").read_text())

MOST_MEMORY = 700 << 20
"""Bytes of memory of a model's process. All scores at once would be 4 heads x 8,192 x 8,192 x 4 bytes = 1 GiB."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    repository, source = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("source")
    for family in folders.LONG_FAMILIES:
        folder = folders.make_long(source / family, family)
        options = ["--api", "embedding", "--id", f"tests/{family}", "--precision", "fp32", "--repository", repository]
        imported = retort(folder, *options)
        assert imported.returncode == 0, imported.stderr
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:

        def is_served() -> bool:
            answer = requests.get(f"{gateway.urls['embedding']}/v1/models", timeout=PATIENCE)
            return answer.ok and len(answer.json()["data"]) == len(folders.LONG_FAMILIES)

        wait_for("the models are served", is_served, lambda: gateway.output() + triton.output())
        yield gateway, triton


def peak(triton: Triton) -> int:
    """The largest memory that a process of Triton has had, in bytes."""
    most = 0
    for pid in triton.processes():
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                most = max(most, int(line.split()[1]) << 10)
    return most


@pytest.mark.parametrize("family", folders.LONG_FAMILIES)
def test_a_long_text_equals_that_of_transformers(running, family):
    gateway, triton = running
    body = {"model": f"tests/{family}", "input": [folders.LONG_TEXT], "truncate": "END"}
    if folders.RECIPES[family]["prompts"]:
        body["input_type"] = "passage"
    answer = requests.post(f"{gateway.urls['embedding']}/v1/embeddings", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    assert answer.json()["usage"]["prompt_tokens"] == folders.LONG
    vector = np.array(answer.json()["data"][0]["embedding"])
    vector /= np.linalg.norm(vector)
    np.testing.assert_allclose(vector, GOLDEN[family], rtol=0, atol=5e-5)
    assert 0 < peak(triton) < MOST_MEMORY


def test_many_long_texts_take_the_memory_of_a_few(running):
    """Texts of more than --batch-tokens tokens are sent alone, so a request of any size has few of them in flight."""
    gateway, triton = running
    family = folders.LONG_FAMILIES[0]
    body = {"model": f"tests/{family}", "input": [folders.LONG_TEXT] * 24, "truncate": "END"}
    if folders.RECIPES[family]["prompts"]:
        body["input_type"] = "passage"
    answer = requests.post(f"{gateway.urls['embedding']}/v1/embeddings", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    assert answer.json()["usage"]["prompt_tokens"] == 24 * folders.LONG
    assert 0 < peak(triton) < MOST_MEMORY
