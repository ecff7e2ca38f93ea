"""Manifests of answers of all APIs, and `retort replay` of them, in front of a real Triton.

test_search_jobs.py replays a job that went over a killed gateway.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import requests
from servers import ROOT
from waiting import PATIENCE

SEED = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"
HEADER = {"X-Retort-Manifest": "true"}

REQUESTS: dict[str, dict] = {
    "/latent/generate": {"smi": SEED, "iterations": 2, "min_similarity": 0.3, "objective": ["QED", {"name": "SA"}]},
    "/latent/sampling": {"sequences": [SEED], "num_molecules": 3},
    "/masked/generate": {"smiles": "c1ccccc1.[*{5-10}]", "num_molecules": 3, "rounds": 1},
    "/embedding/v1/embeddings": {"model": "sentence-transformers/all-MiniLM-L6-v2", "input": ["one", "two words"]},
    "/v1/embeddings": {"model": "sentence-transformers/all-MiniLM-L6-v2", "input": "for clients of OpenAI"},
    "/ranking/v1/ranking": {
        "query": {"text": "What eases pain?"},
        "passages": [{"text": "aspirin"}, {"text": "water"}],
    },
    "/chat/v1/chat/completions": {
        "model": "retort/molecule-reader-v8",
        "messages": [{"role": "user", "content": "Which molecule is this?"}],
    },
}


def replay(url: str, file: Path, code: int = 0) -> list[str]:
    """The lines that the command prints."""
    command = [str(ROOT / "bin/retort"), "replay", str(file), "--url", url, "--attempts", "1"]
    ended = subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE)
    assert ended.returncode == code, (ended.stdout, ended.stderr)
    return (ended.stdout if code == 0 or ended.stdout else ended.stderr).splitlines()


@pytest.fixture(scope="module")
def answers(gateway_url: str) -> dict[str, dict]:
    """An answer with its manifest to each request, none of which has a seed."""
    found = {}
    for path, body in REQUESTS.items():
        answer = requests.post(gateway_url + path, json=body, headers=HEADER, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        found[path] = answer.json()
    return found


def test_answers_are_equal(gateway_url: str, answers: dict[str, dict], tmp_path: Path) -> None:
    """Each API answers byte for byte the same, given the answer with its manifest or the manifest alone."""
    file = tmp_path / "made.jsonl"
    documents = [*answers.values(), *(answer["manifest"] for answer in answers.values())]
    file.write_text("\n".join(json.dumps(one) for one in documents))
    assert replay(gateway_url, file) == [f"{i}: {path}: equal" for i, path in enumerate([*answers, *answers], start=1)]


@pytest.mark.parametrize("path", ["/chat/v1/chat/completions", "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize("headers, members", [(HEADER, {"stream": True}), ({}, {"stream": True, "manifest": True})])
def test_streams_of_chat_refuse_manifests(gateway_url: str, path: str, headers: dict, members: dict) -> None:
    """A client that asks for one, in the header or in the body, learns why it gets none."""
    body = REQUESTS["/chat/v1/chat/completions"] | members
    if path == "/v1/responses":
        body["input"] = body.pop("messages")
    elif path == "/v1/messages":
        body["max_tokens"] = 16
    answer = requests.post(gateway_url + path, json=body, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 400 and "anifest" in json.dumps(answer.json()["error"]), answer.text


def test_manifests(gateway_url: str, answers: dict[str, dict], tmp_path: Path) -> None:
    """A manifest has the drawn seed, the defaults, and the digests that `retort version` prints, but no path."""
    command = [str(ROOT / "bin/retort"), "version", "--json", "--model-repository", str(ROOT / "model_repository")]
    entries = json.loads(subprocess.run(command, text=True, capture_output=True, check=True).stdout)["models"]
    digests = {entry["name"]: entry["sha256"] for entry in entries}
    for path, answer in answers.items():
        manifest = answer["manifest"]
        assert manifest["path"] == path, manifest
        assert REQUESTS[path].items() <= manifest["request"].items(), manifest
        assert manifest["models"] and str(ROOT) not in json.dumps(manifest), manifest
        for model in manifest["models"]:
            assert model["sha256"] == digests[model["entry"]] and model["rows"] > 0, model
        assert {"retort", "commit", "rdkit", "triton"} == set(manifest["software"]), manifest
    search = answers["/latent/generate"]["manifest"]
    assert search["request"]["particles"] == 30 and search["request"]["property_name"] == "QED", search
    assert search["request"]["seed"] >= 0 and search["evaluations"] > 0, search
    assert answers["/masked/generate"]["manifest"]["request"]["attempts"] == 5
    assert answers["/ranking/v1/ranking"]["manifest"]["request"]["truncate"] == "NONE"


def test_what_differs_is_named(gateway_url: str, answers: dict[str, dict], tmp_path: Path) -> None:
    file = tmp_path / "made.json"
    # Another model and another version, with which the answer was the same.
    made = json.loads(json.dumps(answers["/ranking/v1/ranking"]))
    model = made["manifest"]["models"][0]
    model["sha256"], was = "0" * 64, model["sha256"]
    made["manifest"]["software"]["retort"] = "0.9"
    file.write_text(json.dumps(made, indent=2))
    lines = replay(gateway_url, file)
    assert lines[0] == "1: /ranking/v1/ranking: equal" and len(lines) == 3, lines
    assert lines[1] == f"  SHA-256 of model {model['entry']}: recorded {'0' * 64}, now {was}", lines
    assert lines[2].startswith("  version of retort: recorded 0.9, now "), lines
    # Another seed gives other molecules.
    made = json.loads(json.dumps(answers["/latent/sampling"]))
    made["manifest"]["request"]["seed"] += 1
    file.write_text(json.dumps(made))
    lines = replay(gateway_url, file, code=1)
    assert lines[0].startswith("1: /latent/sampling: different, first at /generated/0/"), lines
    # A changed answer, and a request that the service refuses.
    made["generated"][0][0] = "C"
    file.write_text(json.dumps(made))
    assert "answer_sha256" in replay(gateway_url, file, code=1)[0]
    manifest = answers["/latent/sampling"]["manifest"]
    file.write_text(json.dumps({**manifest, "request": {"sequences": ["no molecule"]}}))
    assert replay(gateway_url, file, code=1)[0].startswith("1: /latent/sampling: refused: ")
    # No file leads to another host.
    file.write_text(json.dumps({**manifest, "path": "@127.0.0.1:1/generate"}))
    assert "path" in replay(gateway_url, file, code=1)[0]


def test_the_page(gateway_url: str, tmp_path: Path) -> None:
    """The example of REPRODUCE.md."""
    page = (ROOT / "orchestrator/docs/use/REPRODUCE.md").read_text()
    (block,) = re.findall(r"^```bash\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    block = block.replace("bin/retort", str(ROOT / "bin/retort"))
    block = block.replace("localhost:8000", gateway_url.removeprefix("http://"))
    ended = subprocess.run(
        ["bash", "-e", "-c", block],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "RETORT_URL": gateway_url},
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["1: /latent/generate: equal", "1: /ranking/v1/ranking: equal"]
    assert len((tmp_path / "better.csv").read_text().splitlines()) > 1
