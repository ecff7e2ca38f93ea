"""NVIDIA's load generator, unmodified, sends eight requests each to ranking, embedding and chat.

It has its own environment (`make test` makes it). The three runs are concurrent, since most of their time is start-up.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from servers import ROOT
from waiting import PATIENCE

AIPERF = ROOT / ".venv-aiperf" / "bin" / "aiperf"
REQUESTS = 8
COMMON = ["--request-count", str(REQUESTS), "--concurrency", "2", "--ui", "none", "--tokenizer"]
ENDPOINTS = {
    "nim_rankings": [
        "--model",
        "retort/rankqa-minilm-v2",
        "--rankings-passages-mean",
        "4",
        "--rankings-passages-prompt-token-mean",
        "40",
        "--rankings-query-prompt-token-mean",
        "12",
    ],
    "embeddings": ["--model", "sentence-transformers/all-MiniLM-L6-v2", "--synthetic-input-tokens-mean", "100"],
    "chat": ["--model", "retort/molecule-reader-v8", "--synthetic-input-tokens-mean", "40"],
}
"""The options of each endpoint, with texts that fit the model."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tokenizer for transformers. Any one will do: it only makes texts of about the right length."""
    folder = tmp_path_factory.mktemp("tokenizer")
    shutil.copy(ROOT / "model_repository/minilm_rank_qa/tokenizer.json", folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"})
    )
    return folder


@pytest.fixture(scope="module")
def runs(
    tokenizer: Path, embedding_url: str, ranking_url: str, chat_url: str, tmp_path_factory: pytest.TempPathFactory
) -> dict:
    """By endpoint: the exit status, the output, and the folder of the results."""
    if not AIPERF.exists():
        pytest.fail(".venv-aiperf is not there: `make .venv-aiperf/stamp`")
    urls = {"nim_rankings": ranking_url, "embeddings": embedding_url, "chat": chat_url}
    processes = {}
    for endpoint, options in ENDPOINTS.items():
        folder = tmp_path_factory.mktemp(endpoint)
        log = (folder / "log").open("w")
        command = [
            str(AIPERF),
            "profile",
            *COMMON,
            str(tokenizer),
            "--endpoint-type",
            endpoint,
            "--url",
            urls[endpoint],
            *options,
            "--artifact-dir",
            str(folder / "out"),
        ]
        processes[endpoint] = (subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder), folder)
    return {endpoint: (run.wait(4 * PATIENCE), folder) for endpoint, (run, folder) in processes.items()}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_every_request_is_answered(endpoint: str, runs: dict) -> None:
    status, folder = runs[endpoint]
    assert status == 0, (folder / "log").read_text()[-3000:]
    measured = json.loads((folder / "out/profile_export_aiperf.json").read_text())
    assert (measured["request_count"]["avg"], measured["error_summary"], measured["was_cancelled"]) == (
        REQUESTS,
        [],
        False,
    )
