"""The launcher: files followed, settings applied, nothing left behind."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import graphs
import numpy as np
import pytest
import tritonclient.grpc as grpc
from conftest import ROOT, eventually

DELAY = "TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS"
CONFIG = (graphs.LOOKUP % "").replace("200000", "100")


def ask(client, model: str, value: int, **options) -> float:
    index = grpc.InferInput("index", [1, 1], "INT64")
    index.set_data_from_numpy(np.array([[value]], np.int64))
    return float(client.infer(model, [index], **options).as_numpy("value")[0, 0])


def delay(client, model: str) -> int:
    return client.get_model_config(model).config.dynamic_batching.max_queue_delay_microseconds


def largest_batch(client, model: str, requests: int = 24) -> int:
    """The largest batch Triton made of requests sent from as many threads."""
    threads = [threading.Thread(target=ask, args=(client, model, 1)) for _ in range(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(batch.batch_size for batch in client.get_inference_statistics(model).model_stats[0].batch_stats)


@pytest.mark.parametrize("prefix", ["RETORT_", "NIM_"])
def test_the_queue_delay_of_the_environment_is_live(triton, tmp_path, prefix):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    text = (tmp_path / "lookup" / "config.pbtxt").read_text()
    client = triton(tmp_path, **{prefix + DELAY: "300000"}).client
    assert delay(client, "lookup") == 300000
    assert largest_batch(client, "lookup") >= 12
    assert (tmp_path / "lookup" / "config.pbtxt").read_text() == text
    graphs.place(tmp_path, "later", graphs.lookup(), CONFIG)
    assert eventually(lambda: client.is_model_ready("later") and delay(client, "later") == 300000)


def test_without_a_setting_the_files_delay_is_live(shipped):
    assert delay(shipped, "minilm_embed") == delay(shipped, "minilm_embed_qa") == 100


def test_a_wrong_setting_is_named(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--empty", "--ports", "free"],
        env={"PATH": "/usr/bin:/bin", "RETORT_" + DELAY: "soon"}, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert f"RETORT_{DELAY}=soon: a whole number" in ended.stderr


class Traffic:
    """Steady requests to one model from a thread, and the errors they met."""

    def __init__(self, client, model: str) -> None:
        self.errors, self.answered, self.ended = [], 0, threading.Event()
        self.thread = threading.Thread(target=self._send, args=(client, model))
        self.thread.start()

    def _send(self, client, model: str) -> None:
        while not self.ended.is_set():
            try:
                ask(client, model, 1)
                self.answered += 1
            except Exception as error:
                self.errors.append(str(error))

    def stop(self) -> list[str]:
        self.ended.set()
        self.thread.join()
        return self.errors


def test_files_are_followed_and_models_that_stay_never_fail(triton, tmp_path):
    graphs.place(tmp_path, "stays", graphs.lookup(), CONFIG)
    graphs.place(tmp_path, "changes", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    client = server.client
    traffic = [Traffic(client, "stays"), Traffic(client, "changes")]

    graphs.place(tmp_path, "added", graphs.lookup(), CONFIG)
    assert eventually(lambda: client.is_model_ready("added"), 5)
    graphs.place(tmp_path, "changes", graphs.lookup(), CONFIG, version=2)
    assert eventually(lambda: server.states().get("changes/2") == "READY", 5)
    shutil.rmtree(tmp_path / "changes" / "1")
    (tmp_path / "changes" / "2" / "model.onnx").write_bytes(b"broken")
    assert eventually(lambda: any("changes was not loaded" in line for line in server.lines), 10)
    assert ask(client, "changes", 4) == 40
    shutil.rmtree(tmp_path / "added")
    assert eventually(lambda: not client.is_model_ready("added"), 5)

    assert [t.stop() for t in traffic] == [[], []]
    assert all(t.answered > 20 for t in traffic)


def test_what_an_operator_loads_and_unloads_stays_until_the_files_change(triton, tmp_path):
    folder = graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    client = triton(tmp_path).client
    client.unload_model("lookup")
    assert eventually(lambda: not client.is_model_ready("lookup"))
    assert not eventually(lambda: client.is_model_ready("lookup"), 4)
    client.load_model("lookup")
    assert client.is_model_ready("lookup")
    client.unload_model("lookup")
    (folder / "config.pbtxt").write_text((folder / "config.pbtxt").read_text() + "# changed\n")
    assert eventually(lambda: client.is_model_ready("lookup"))


def test_a_server_that_dies_is_started_again(triton, tmp_path):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    assert not eventually(lambda: False, 6)  # younger servers are taken for broken ones
    children = parents_of(server, "tritonserver")
    subprocess.run(["kill", "-9", *map(str, children)], check=True)
    assert eventually(lambda: any("ready again" in line for line in server.lines), 60)
    assert ask(server.client, "lookup", 2, client_timeout=20) == 20


def parents_of(server, name: str) -> list[int]:
    return [pid for pid in server.processes() if Path(f"/proc/{pid}/comm").read_text().strip() == name]


@pytest.mark.parametrize("how, code", [(signal.SIGINT, 0), (signal.SIGTERM, 0)])
def test_stopping_leaves_no_process_and_no_shared_memory(triton, tmp_path, how, code):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    processes = server.processes()
    assert len(processes) >= 3, "launcher, server and stub"
    assert server.stop(how) == code
    assert [pid for pid in processes if Path(f"/proc/{pid}").exists()] == []
    assert list(Path("/dev/shm").glob(f"retort-triton-{server.process.pid}-*")) == []


def test_killing_the_launcher_ends_the_server(triton, tmp_path):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    processes = server.processes()
    server.stop(signal.SIGKILL)
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), 40)


def test_a_command_gets_a_server_and_its_status_is_kept():
    script = 'curl -sf "http://$RETORT_TEST_TRITON_HTTP/v2/health/ready" && test -d "$RETORT_TEST_TRITON_REPOSITORY" && exit 7'
    ended = subprocess.run([sys.executable, str(ROOT / "scripts/triton/serve.py"), "--empty", "--", "sh", "-c", script],
                           capture_output=True, text=True, timeout=300)
    assert ended.returncode == 7, ended.stderr
