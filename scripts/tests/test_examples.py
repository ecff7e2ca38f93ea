"""The examples for clients and operators of Triton, run unchanged against a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from servers import ROOT, Triton
from waiting import PATIENCE

CLIENTS = ROOT / "model_repository/README.md"
OPERATORS = ROOT / "orchestrator/docs/operate/MODELS.md"
KEY = "what an operator chose"


@pytest.fixture(scope="module")
def server():
    with Triton(ROOT / "model_repository", control="explicit", RETORT_TRITON_CONTROL_KEY=KEY) as running:
        yield running


def examples(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def run(command: list[str], script: str, server: Triton) -> str:
    script = script.replace("127.0.0.1:8701", server.url).replace("127.0.0.1:8700", server.http)
    ended = subprocess.run(
        [*command, script],
        cwd=ROOT,
        env={**os.environ, "RETORT_TRITON_CONTROL_KEY": KEY},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_python_example(server):
    example, _ = examples(CLIENTS, "python")
    shape, cosine = re.fullmatch(r"(\(.*\)) (\S+)\n", run([sys.executable, "-c"], example, server)).groups()
    assert shape == "(2, 384)"
    assert -1 < float(cosine) < 0.9


def test_chat_example(server):
    _, example = examples(CLIENTS, "python")
    assert run([sys.executable, "-c"], example, server) == "Its molecular formula is C8H10N4O2."


def test_shell_example(server):
    [infer] = examples(CLIENTS, "bash")
    answer = json.loads(run(["bash", "-euo", "pipefail", "-c"], infer, server))
    assert answer["outputs"][0]["shape"] == [1, 384]
    assert sum(x * x for x in answer["outputs"][0]["data"]) == pytest.approx(1, abs=1e-4)


def test_override_example(server):
    [override] = examples(OPERATORS, "bash")
    run(["bash", "-euo", "pipefail", "-c"], override, server)
    live = server.client.get_model_config("minilm_embed").config.dynamic_batching.max_queue_delay_microseconds
    assert live == 500
