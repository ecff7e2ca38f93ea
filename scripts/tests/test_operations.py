"""Operators change the repository under steady load: unchanged models fail no request, changes take effect, and
requests for removed models fail as documented."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import requests
from servers import ROOT, Gateway, Triton, kill
from waiting import PATIENCE, traffic, wait_for

STAYS, COMES = "sentence-transformers/all-MiniLM-L6-v2", "retort/minilm-embedqa-v2"
CLIENTS = 2


def asking(url: str, **body) -> Callable[[], int]:
    """Calls the embedding API and returns the status. Raises an error if the answer is not as documented."""

    def ask() -> int:
        answer = requests.post(f"{url}/v1/embeddings", json={"input": "What eases pain?", **body}, timeout=PATIENCE)
        if answer.status_code != 200:
            assert answer.status_code in (404, 503) and isinstance(answer.json().get("error"), str), answer.text
        return answer.status_code

    return ask


def listed(url: str) -> list[str]:
    return [m["id"] for m in requests.get(f"{url}/v1/models", timeout=PATIENCE).json().get("data", [])]


def answered(load, status: int, more: int) -> None:
    """Waits until this many more requests were answered with a status."""
    before = load.answers[status]
    wait_for(
        f"{more} more answers with status {status}",
        lambda: load.answers[status] >= before + more,
        lambda: (load.answers, load.notes),
    )


def test_the_repository_changes_under_load(tmp_path: Path) -> None:
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository/minilm_embed", repository / "minilm_embed")
    with Triton(repository) as server, Gateway(server.url, repository) as gateway:
        url = gateway.urls["embedding"]
        wait_for("the model is listed", lambda: listed(url) == [STAYS], gateway.output)
        with (
            traffic(asking(url, model=STAYS), CLIENTS) as steady,
            traffic(asking(url, model=COMES, input_type="query"), CLIENTS) as second,
        ):
            answered(second, 404, 6)

            shutil.copytree(ROOT / "model_repository/minilm_embed_qa", tmp_path / "new")
            (tmp_path / "new").rename(repository / "minilm_embed_qa")
            wait_for("the new model is listed", lambda: COMES in listed(url), server.output)
            answered(second, 200, 6)

            replace_version(repository / "minilm_embed_qa", tmp_path, server, second)

            server.client.unload_model("minilm_embed_qa")
            wait_for("the unloaded model is not listed", lambda: listed(url) == [STAYS], gateway.output)
            answered(second, 404, 6)
            answered(steady, 200, 100)
    assert set(steady.answers) == {200}, (steady.answers, steady.notes)
    assert set(second.answers) <= {200, 404, 503}, (second.answers, second.notes)


def replace_version(folder: Path, beside: Path, server: Triton, load) -> None:
    """Version 2 replaces version 1 without a failed request."""
    before = load.answers.copy()
    shutil.copytree(folder / "1", beside / "2")
    (beside / "2").rename(folder / "2")
    wait_for("version 2 is ready", lambda: server.states().get("minilm_embed_qa/2") == "READY", server.states)
    shutil.rmtree(folder / "1")
    answered(load, 200, 20)
    assert set(load.answers - before) == {200}, (load.answers, load.notes)


def test_triton_is_killed_and_comes_back() -> None:
    repository = ROOT / "model_repository"
    with Triton(repository) as server, Gateway(server.url, repository) as gateway:
        url = gateway.urls["embedding"]
        gateway.wait_ready("embedding")
        with traffic(asking(url, model=STAYS), CLIENTS) as steady:
            answered(steady, 200, 10)
            for pid in reversed(server.processes()):
                kill(pid)
            wait_for("the API says that it is not ready", lambda: not gateway.ready("embedding"), gateway.output)
            answered(steady, 503, 6)
            assert gateway.live()

            with Triton(repository, address=server.url):
                gateway.wait_ready("embedding")
                answered(steady, 200, 10)
                steady.stop()
    assert set(steady.answers) <= {200, 503}, (steady.answers, steady.notes)
