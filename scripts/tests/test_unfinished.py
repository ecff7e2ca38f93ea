"""Unfinished searches return the molecules so far: a stopped gateway, a killed Triton, an oracle that fails during the
search, and a deadline."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
import requests
from servers import ROOT, Gateway, Triton, kill
from waiting import PATIENCE, at_once, wait_for

EXAMPLE = ROOT / "scripts/tests/testdata/oracles/toy_docking"
ENDLESS: dict[str, dict] = {
    "latent": {"smi": "CC(C)Cc1ccc(C(C)C(=O)O)cc1", "iterations": 1000, "particles": 60, "min_similarity": 0.2},
    "masked": {"num_molecules": 200, "rounds": 50},
}
"""More work than the time of any test."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """The molecule models, and an oracle that fails from its 41st molecule on."""
    folder = tmp_path_factory.mktemp("unfinished") / "models"
    for name in ("latent_encoder", "latent_decoder", "masked"):
        shutil.copytree(ROOT / "model_repository" / name, folder / name)
    shutil.copytree(EXAMPLE, folder / "tiring")
    config = folder / "tiring" / "config.pbtxt"
    config.write_text(config.read_text().replace("toy-docking", "tiring"))
    model = folder / "tiring" / "1" / "model.py"
    tiring = "global asked\n        asked += 1\n        if asked > 40:\n            raise ValueError('tired')"
    model.write_text(model.read_text().replace('"""Score and affinity of a molecule."""', tiring) + "\nasked = 0\n")
    return folder


def found(api: str, answer: dict) -> list:
    return answer["generated" if api == "latent" else "molecules"]


def watched(url: str, api: str, then) -> dict:
    """Returns the last event of a stream; calls then() at the first event with molecules."""
    best = None
    with requests.post(
        f"{url}/generate", json={**ENDLESS[api], "stream": True}, stream=True, timeout=PATIENCE
    ) as stream:
        assert stream.status_code == 200, stream.text
        for line in stream.iter_lines():
            if line.startswith(b"data: "):
                last = json.loads(line[6:])
                if best is None and last.get("best") is not None:
                    best = last["best"]
                    then()
    return last


def test_unfinished_searches_return_their_molecules(repository: Path) -> None:
    with (
        Triton(repository) as triton,
        Gateway(triton.url, repository, RETORT_DRAIN_TIMEOUT="5s", RETORT_MASKED_TIMEOUT="10s") as gateway,
    ):
        gateway.wait_ready("latent", "masked")
        body = {
            "smi": "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
            "min_similarity": 0.1,
            "objective": "tiring",
            "evaluated": True,
            "particles": 10,
        }
        answer = requests.post(f"{gateway.urls['latent']}/generate", json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        assert answer.headers["X-Retort-Unfinished"] == answer.json()["unfinished"]["reason"] == "oracle"
        assert (
            "tired" in answer.json()["unfinished"]["message"]
            and answer.json()["generated"]
            and len(answer.json()["evaluated"]) > 10
        )
        # A request reaches its deadline.
        answer = requests.post(f"{gateway.urls['masked']}/generate", json=ENDLESS["masked"], timeout=PATIENCE)
        assert answer.status_code == 200 and answer.headers["X-Retort-Unfinished"] == "deadline", answer.text
        assert answer.json()["status"] == "success" and answer.json()["molecules"]
        # The gateway is stopped: streams and plain requests return the molecules so far.
        streams = at_once(
            lambda: watched(gateway.urls["latent"], "latent", lambda: gateway.process.send_signal(signal.SIGTERM)),
            lambda: requests.post(
                f"{gateway.urls['masked']}/generate", json=ENDLESS["masked"], timeout=PATIENCE
            ).json(),
        )
        assert gateway.process.wait(PATIENCE) == 0, gateway.output()
    for api, last in zip(("latent", "masked"), streams):
        assert last["unfinished"]["reason"] == "stopping" and found(api, last), last


def test_triton_is_killed(repository: Path) -> None:
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("latent", "masked")

        def end() -> None:
            for pid in reversed(triton.processes()[1:]):
                kill(pid)

        last = watched(gateway.urls["latent"], "latent", end)
        assert last["unfinished"]["reason"] == "model" and last["generated"], last
        wait_for(
            "the gateway says so",
            lambda: '"unfinished":"model"' in gateway.output() or "unfinished=model" in gateway.output(),
            gateway.output,
        )
        triton.stop()
