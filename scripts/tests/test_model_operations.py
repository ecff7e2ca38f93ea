"""`retort model import --load`, `list` and `remove` while a real Triton and a gateway serve another model."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import folders
import onnx
import pytest
import requests
from onnx import TensorProto, helper
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

SERVED_WITHIN = 5
"""Seconds from the end of the command to the first answer."""


def retort(*arguments: object, triton: Triton | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        command(*arguments, triton=triton),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def command(*arguments: object, triton: Triton | None = None) -> list[str]:
    address = ["--triton-url", triton.url] if triton else []
    return [str(ROOT / "bin/retort"), "model", *map(str, arguments), *address]


def importing(folder: Path, name: str, repository: Path, *more: object) -> list[object]:
    options = ["--api", "embedding", "--id", f"tests/{name}", "--name", name, "--repository", repository]
    return ["import", folder, *options, *more]


def embed(gateway: Gateway, name: str) -> requests.Response:
    body = {"model": f"tests/{name}", "input": ["benzene"]}
    return requests.post(f"{gateway.urls['embedding']}/v1/embeddings", json=body, timeout=PATIENCE)


class Traffic:
    """Requests for a model until the end of the with block, none of which may fail."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self.gateway, self.name, self.ended = gateway, name, threading.Event()
        self.statuses: list[int] = []
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.ended.is_set():
            self.statuses.append(embed(self.gateway, self.name).status_code)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        assert len(self.statuses) > 10 and set(self.statuses) == {200}, self.statuses


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return folders.make(tmp_path_factory.mktemp("source") / "roberta", "roberta", "embedding")


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Path:
    """A folder whose graph the import accepts and no Triton can load."""
    folder = folders.make(tmp_path_factory.mktemp("broken") / "broken", "roberta", "embedding")
    (folder / "model.safetensors").unlink()
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", folders.HIDDEN])
    node = helper.make_node("Missing", ["input_ids", "attention_mask"], ["sentence_embedding"], domain="nowhere")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("nowhere", 1)]
    graph = helper.make_model(helper.make_graph([node], "broken", inputs, [output]), opset_imports=opsets, ir_version=8)
    onnx.save(graph, str(folder / "model.onnx"))
    return folder


@pytest.fixture(scope="module", params=["explicit", "poll", "watch"])
def running(request, source, tmp_path_factory):
    repository = tmp_path_factory.mktemp("repository")
    assert retort(*importing(source, "first", repository)).returncode == 0
    with Triton(repository, control=request.param) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("embedding")
        yield gateway, triton, request.param


def test_an_entry_is_loaded_and_served_under_traffic(running, source):
    gateway, triton, control = running
    repository = gateway.repository
    with Traffic(gateway, "first"):
        loaded = retort(*importing(source, "second", repository, "--load"), triton=triton)
        assert loaded.returncode == 0, loaded.stderr
        assert f"ready in Triton at {triton.url} after" in loaded.stdout
        assert triton.states()["second/1"] == "READY"
        ready = time.monotonic()
        wait_for("the model is served", lambda: embed(gateway, "second").ok, gateway.output)
        assert time.monotonic() - ready < SERVED_WITHIN
        replaced = retort(*importing(source, "second", repository, "--force", "--load"), triton=triton)
        assert replaced.returncode == 0, replaced.stderr
        assert ("only its log says" in replaced.stdout) == (control == "poll"), replaced.stdout

        listed = retort("list", "--repository", repository, "--json", triton=triton)
        entries = {entry["entry"]: entry for entry in map(json.loads, listed.stdout.splitlines())}
        assert entries["second"]["id"] == "tests/second" and entries["second"]["precision"] == "fp16"
        assert [state["state"] for state in entries["second"]["states"]] == ["ready"]

        removed = retort("remove", "tests/second", "--repository", repository, "--unload", triton=triton)
        assert removed.returncode == 0 and "removed second" in removed.stdout, removed.stderr
        wait_for("the model is gone", lambda: embed(gateway, "second").status_code == 404, gateway.output)
    assert {path.name for path in repository.iterdir()} == {"first"}


def test_an_entry_that_cannot_be_loaded_is_removed_again(running, broken, source):
    gateway, triton, control = running
    repository = gateway.repository
    with Traffic(gateway, "first"):
        failed = retort(*importing(broken, "third", repository, "--load"), triton=triton)
        assert failed.returncode == 1
        assert "did not load third" in failed.stderr and "nowhere" in failed.stderr, failed.stderr
        assert "the entry was removed again" in failed.stderr
        assert {path.name for path in repository.iterdir()} == {"first"}

        if control == "poll":  # it does not tell
            return
        files = contents(repository / "first")
        failed = retort(*importing(broken, "first", repository, "--force", "--load"), triton=triton)
        assert failed.returncode == 1
        assert "nowhere" in failed.stderr and "the earlier entry is in its place again" in failed.stderr
        assert contents(repository / "first") == files
    assert {path.name for path in repository.iterdir()} == {"first"}
    wait_for("the first model is ready", lambda: triton.states()["first/1"] == "READY", triton.output)


def test_an_entry_for_a_gpu_is_refused_without_one(running, source):
    """Triton says why, in the answer of the command and in the list of models."""
    gateway, triton, control = running
    repository = gateway.repository
    failed = retort(*importing(source, "gpu", repository, "--device", "gpu", "--load"), triton=triton)
    assert failed.returncode == 1 and "did not load gpu" in failed.stderr, failed.stderr
    assert "GPU" in failed.stderr and "the entry was removed again" in failed.stderr, failed.stderr
    if control == "explicit":  # it loads only what it is told
        return
    assert retort(*importing(source, "gpu", repository, "--device", "tensorrt")).returncode == 0

    def listed() -> str:
        lines = retort("list", "--repository", repository, triton=triton).stdout.splitlines()
        return next(line for line in lines if line.startswith("tests/gpu "))

    wait_for("Triton has tried to load the entry", lambda: "failed: " in listed(), lambda: listed() + triton.output())
    assert "GPU" in listed()
    assert retort("remove", "tests/gpu", "--repository", repository).returncode == 0


def contents(entry: Path) -> dict[str, bytes]:
    return {str(path.relative_to(entry)): path.read_bytes() for path in sorted(entry.rglob("*")) if path.is_file()}


def test_a_killed_import_leaves_a_whole_entry_or_none(source, tmp_path):
    """The command is killed at moments that are spread over its run, also while it replaces an entry."""
    start = time.monotonic()
    assert retort(*importing(source, "whole", tmp_path)).returncode == 0
    duration, files = time.monotonic() - start, set(contents(tmp_path / "whole"))
    for force in (False, True):
        assert retort(*importing(source, "whole", tmp_path, "--force")).returncode == 0
        for step in range(15):
            if not force:
                shutil.rmtree(tmp_path / "whole", ignore_errors=True)
            process = subprocess.Popen(
                command(*importing(source, "whole", tmp_path, *["--force"] * force)),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(duration * step / 12)
            process.send_signal(signal.SIGKILL)
            process.wait()
            visible = {path.name for path in tmp_path.iterdir() if not path.name.startswith(".")}
            assert visible == {"whole"} if force else visible <= {"whole"}
            if visible:
                assert set(contents(tmp_path / "whole")) == files
                assert retort("list", "--repository", tmp_path).returncode == 0
    assert retort(*importing(source, "whole", tmp_path, "--force")).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["whole"], "the next run removes what killed ones left"


def test_staging_folders_of_a_running_import_stay(source, tmp_path):
    """A folder that another process has locked is not removed."""
    folder = tmp_path / ".other.retort-staging.1"
    folder.mkdir()
    holder = subprocess.Popen(["flock", str(folder), "sleep", "100"])
    try:
        wait_for("the folder is locked", lambda: subprocess.run(["flock", "-n", str(folder), "true"]).returncode == 1)
        assert retort(*importing(source, "one", tmp_path)).returncode == 0
        assert folder.exists()
    finally:
        holder.kill()
        holder.wait()


def test_without_a_triton_load_creates_nothing(source, tmp_path):
    done = retort(*importing(source, "one", tmp_path, "--load", "--triton-url", "127.0.0.1:1"))
    assert done.returncode == 1 and "nothing was created" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def shipped(tmp_path) -> Path:
    """A copy of the entries of this checkout, without their weights."""
    for config in (ROOT / "model_repository").glob("*/config.pbtxt"):
        (tmp_path / config.parent.name).mkdir()
        shutil.copy(config, tmp_path / config.parent.name)
    return tmp_path


@pytest.mark.parametrize(
    "name, message",
    [
        ("latent_decoder", "one of the entries of the model retort/latent-v4 (latent_decoder, latent_decoder_beam"),
        ("minilm", 'no model has the id or the entry "minilm"'),
        ("../minilm_embed", "no model has the id or the entry"),
        ("", "no model has the id or the entry"),
    ],
)
def test_remove_refuses(shipped, name, message):
    before = {path.name for path in shipped.iterdir()}
    done = retort("remove", name, "--repository", shipped)
    assert done.returncode == 1 and message in done.stderr, done.stderr
    assert {path.name for path in shipped.iterdir()} == before


def test_a_model_is_removed_with_all_its_entries(shipped):
    done = retort("remove", "retort/latent-v4", "--repository", shipped)
    assert done.returncode == 0 and "requests for retort/latent-v4 get an error" in done.stdout
    assert not [path.name for path in shipped.iterdir() if path.name.startswith(("latent", "."))]
    assert retort("remove", "minilm_embed", "--repository", shipped).returncode == 0
    assert not (shipped / "minilm_embed").exists()


def test_list_says_what_is_wrong_with_an_entry(shipped):
    (shipped / "masked/config.pbtxt").write_text('name: "masked" backnd: "x"')
    done = retort("list", "--repository", shipped, "--triton-url", "127.0.0.1:1")
    assert done.returncode == 0
    assert "the states are unknown: Triton at 127.0.0.1:1 does not answer" in done.stderr
    [line] = [line for line in done.stdout.splitlines() if " masked " in line]
    assert "config.pbtxt" in line and "backnd" in line
