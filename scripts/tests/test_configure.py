"""scripts/triton/configure.py changes models of a running Triton that does not watch its files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import requests
from servers import ROOT
from waiting import PATIENCE

DELAY = "RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS"


KEY = {"RETORT_TRITON_CONTROL_KEY": "what an operator chose"}


def configure(*words: str, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/triton/configure.py"), *words],
        env={**os.environ, **KEY, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    return done.returncode, done.stdout


def test_delay_and_overrides_reach_a_running_triton(triton, tmp_path: Path) -> None:
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository/minilm_embed", repository / "minilm_embed")
    files = (repository / "minilm_embed/config.pbtxt").read_text()
    server = triton(repository, control="explicit", **KEY)

    def config() -> dict:
        return requests.get(f"http://{server.http}/v2/models/minilm_embed/config", timeout=PATIENCE).json()

    assert config()["dynamic_batching"]["max_queue_delay_microseconds"] == 100
    code, output = configure(server.http, **{DELAY: "700", "RETORT_TRITON_CONTROL_KEY": ""})
    assert code == 1 and "X-Retort-Control" in output
    code, output = configure(server.http, **{DELAY: "700"})
    assert code == 0 and "minilm_embed: dynamic_batching changed" in output
    assert config()["dynamic_batching"]["max_queue_delay_microseconds"] == 700
    assert (repository / "minilm_embed/config.pbtxt").read_text() == files
    assert configure(server.http, **{DELAY: "700"}) == (0, "")

    overrides = tmp_path / "overrides"
    overrides.mkdir()
    (overrides / "backend-onnxruntime.json").write_text(
        '{"max_batch_size": 32, "dynamic_batching": {"max_queue_delay_microseconds": 300}}'
    )
    (overrides / "minilm_embed.json").write_text('{"max_batch_size": 16}')
    assert configure(server.http, "--overrides", str(overrides))[0] == 0
    assert configure(server.http, "--overrides", str(overrides)) == (0, ""), "nothing is left to change"
    changed = config()
    assert (changed["max_batch_size"], changed["dynamic_batching"]["max_queue_delay_microseconds"]) == (16, 300)
    assert changed["parameters"]["model_id"] == {"string_value": "sentence-transformers/all-MiniLM-L6-v2"}

    (overrides / "minilm_embed.json").write_text('{"max_batch_size": 16, "backend": "none"}')
    code, output = configure(server.http, "--overrides", str(overrides))
    assert code == 1 and "backend not changed" in output
    assert config() == changed

    (overrides / "minilm_embed.json").write_text("[]")
    code, output = configure(server.http, "--overrides", str(overrides))
    assert code == 1 and "minilm_embed.json: not a JSON object" in output
    assert configure(server.http, **{DELAY: "soon"})[0] == 1


def test_who_cannot_be_reached_is_said() -> None:
    code, output = configure("127.0.0.1:1", **{DELAY: "700"})
    assert code == 1 and "127.0.0.1:1: Triton did not answer" in output


def test_overrides_for_a_gpu_fit_the_models() -> None:
    backends = {
        line.split('"')[1]
        for path in (ROOT / "model_repository").glob("*/config.pbtxt")
        for line in path.read_text().splitlines()
        if line.startswith("backend:")
    }
    files = {
        path.stem.removeprefix("backend-"): json.loads(path.read_text())
        for path in (ROOT / "scripts/deploy/gpu").glob("*.json")
    }
    assert files.keys() == backends
