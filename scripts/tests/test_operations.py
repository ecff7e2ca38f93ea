"""Operators change the repository under steady load: models that stay never fail
a request, what they do shows within five seconds, the others fail as documented."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import requests
from conftest import ROOT, Gateway, Triton, eventually

STAYS, COMES = "sentence-transformers/all-MiniLM-L6-v2", "retort/minilm-embedqa-v2"
SHOWS_WITHIN = 5


class Load:
    """Two clients a model that ask without a pause and remember every answer."""

    def __init__(self, url: str, body: dict) -> None:
        self.url, self.body, self.ends = url, body, threading.Event()
        self.answers: Counter = Counter()
        self.bad: list[str] = []
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def run(self) -> None:
        session = requests.Session()
        while not self.ends.is_set():
            answer = session.post(f"{self.url}/v1/embeddings", json=self.body, timeout=30)
            self.answers[answer.status_code] += 1
            if answer.status_code != 200:
                self.bad.append(f"{answer.status_code} {answer.text}")
                if answer.status_code not in (404, 503) or not isinstance(answer.json().get("error"), str):
                    self.bad.append("NOT DOCUMENTED: " + answer.text)
            time.sleep(0.01)

    def stop(self) -> None:
        self.ends.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture
def load():
    loads = []

    def start(url: str, **body) -> Load:
        loads.append(Load(url, {"input": "What eases pain?", **body}))
        return loads[-1]

    yield start
    for one in loads:
        one.stop()


def listed(url: str) -> list[str]:
    return [m["id"] for m in requests.get(f"{url}/v1/models", timeout=5).json().get("data", [])]


def shows(condition) -> None:
    began = time.monotonic()
    assert eventually(condition, 30), "the change never showed"
    assert time.monotonic() - began < SHOWS_WITHIN, f"it took {time.monotonic() - began:.1f} s"


def test_the_repository_changes_under_load(tmp_path: Path, load) -> None:
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository/minilm_embed", repository / "minilm_embed")
    server = Triton(repository)
    gateway = Gateway(server.url, repository)
    try:
        url = gateway.urls["embedding"]
        shows(lambda: listed(url) == [STAYS])
        steady = load(url, model=STAYS)
        second = load(url, model=COMES, input_type="query")
        assert eventually(lambda: second.answers[404] > 5), second.answers

        shutil.copytree(ROOT / "model_repository/minilm_embed_qa", tmp_path / "new")
        (tmp_path / "new").rename(repository / "minilm_embed_qa")
        assert eventually(lambda: server.states().get("minilm_embed_qa/1") == "READY")
        shows(lambda: COMES in listed(url))
        assert eventually(lambda: second.answers[200] > 5), second.bad[-3:]

        # A version is replaced: 2 comes, 1 goes. Its requests never fail.
        failed = len(second.bad)
        shutil.copytree(repository / "minilm_embed_qa/1", tmp_path / "2")
        (tmp_path / "2").rename(repository / "minilm_embed_qa/2")
        assert eventually(lambda: server.states().get("minilm_embed_qa/2") == "READY"), server.states()
        shutil.rmtree(repository / "minilm_embed_qa/1")
        asked = second.answers[200]
        assert eventually(lambda: second.answers[200] > asked + 20)
        assert second.bad[failed:] == []

        server.client.unload_model("minilm_embed_qa")
        shows(lambda: listed(url) == [STAYS])
        gone = second.answers[404]
        assert eventually(lambda: second.answers[404] > gone + 5)

        second.stop()
        assert not [b for b in second.bad if b.startswith("NOT")]
        assert set(steady.answers) == {200}, steady.bad[:3]
        assert steady.answers[200] > 100
    finally:
        steady.stop()
        second.stop()
        gateway.stop()
        server.stop()


def test_triton_is_killed_and_comes_back(tmp_path: Path, load) -> None:
    server = Triton(ROOT / "model_repository")
    gateway = Gateway(server.url, ROOT / "model_repository")
    again = None
    try:
        url = gateway.urls["embedding"]
        shows(lambda: gateway.ready("embedding"))
        steady = load(url, model=STAYS)
        assert eventually(lambda: steady.answers[200] > 10)
        for pid in reversed(server.processes()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shows(lambda: not gateway.ready("embedding"))
        assert eventually(lambda: steady.answers[503] > 5), steady.answers
        assert requests.get(f"{url}/v1/health/live", timeout=5).status_code == 200

        again = Triton(ROOT / "model_repository", address=server.url)
        shows(lambda: gateway.ready("embedding"))
        came = steady.answers[200]
        assert eventually(lambda: steady.answers[200] > came + 10)
        steady.stop()
        assert not [b for b in steady.bad if b.startswith("NOT")], steady.bad
        assert set(steady.answers) <= {200, 503}
    finally:
        steady.stop()
        gateway.stop()
        server.stop()
        if again:
            again.stop()
