"""The launcher of the local Triton: it watches files, applies settings, and leaves nothing behind."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import graphs
import numpy as np
import pytest
import requests
import tritonclient.grpc as grpc
from servers import ROOT, Gateway, kill
from tritonclient.utils import InferenceServerException
from waiting import PATIENCE, at_once, traffic, wait_for

DELAY = "TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS"
CONFIG = (graphs.LOOKUP % "").replace("200000", "100")


def ask(client, model: str, value: int, **options) -> float:
    index = grpc.InferInput("index", [1, 1], "INT64")
    index.set_data_from_numpy(np.array([[value]], np.int64))
    return float(client.infer(model, [index], **{"client_timeout": PATIENCE, **options}).as_numpy("value")[0, 0])


def delay(client, model: str) -> int:
    return client.get_model_config(model).config.dynamic_batching.max_queue_delay_microseconds


def largest_batch(client, model: str, requests: int = 24) -> int:
    """Sends concurrent requests and returns Triton's largest batch so far; 0 if none is counted.

    Triton counts after it answers.
    """
    at_once(*[lambda: ask(client, model, 1)] * requests)
    return max(
        (batch.batch_size for batch in client.get_inference_statistics(model).model_stats[0].batch_stats), default=0
    )


@pytest.mark.parametrize("prefix", ["RETORT_", "NIM_"])
def test_the_queue_delay_of_the_environment_is_live(triton, tmp_path, prefix):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    text = (tmp_path / "lookup" / "config.pbtxt").read_text()
    client = triton(tmp_path, **{prefix + DELAY: "300000"}).client
    assert delay(client, "lookup") == 300000
    wait_for("twelve requests are batched", lambda: largest_batch(client, "lookup") >= 12)
    assert (tmp_path / "lookup" / "config.pbtxt").read_text() == text
    graphs.place(tmp_path, "later", graphs.lookup(), CONFIG)
    wait_for(
        "the delay is in a model that came later",
        lambda: client.is_model_ready("later") and delay(client, "later") == 300000,
    )


def test_without_a_setting_the_files_delay_is_live(shipped):
    assert delay(shipped, "minilm_embed") == delay(shipped, "minilm_embed_qa") == 100


def test_a_wrong_setting_is_named(tmp_path):
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--empty", "--ports", "free"],
        env={"PATH": "/usr/bin:/bin", "RETORT_" + DELAY: "soon"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 1
    assert f"RETORT_{DELAY}=soon: must be a whole number" in ended.stderr


@pytest.mark.parametrize(
    ("control", "models", "message"),
    [
        ("watch", "masked,minilm", "has no folder minilm"),
        ("poll", "masked", "needs the model control watch or explicit"),
    ],
)
def test_wrong_models_are_named(control, models, message):
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--ports", "free", "--control", control],
        env={"PATH": "/usr/bin:/bin", "RETORT_TRITON_MODELS": models},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 1
    assert f"RETORT_TRITON_MODELS={models}: " in ended.stderr and message in ended.stderr


SIZING = ROOT / "orchestrator/docs/operate/SCALE.md"


def test_the_small_set_of_models_serves_four_apis(triton):
    [models] = re.findall(r"^RETORT_TRITON_MODELS=(\S+) make run$", SIZING.read_text(), re.MULTILINE)
    repository = ROOT / "model_repository"
    server = triton(repository, RETORT_TRITON_MODELS=models)
    loaded = {m["name"] for m in server.client.get_model_repository_index(as_json=True)["models"] if "state" in m}
    assert loaded == set(models.split(","))
    with Gateway(server.url, repository) as gateway:
        gateway.wait_ready("latent", "masked", "embedding", "chat")
        for api, path, body in (
            ("latent", "/sampling", {"sequences": ["CCO"], "num_molecules": 1, "beam_size": 1}),
            ("masked", "/generate", {"num_molecules": 1}),
            ("embedding", "/v1/embeddings", {"model": "retort/minilm-embedqa-v2-query", "input": "aspirin"}),
            (
                "chat",
                "/v1/chat/completions",
                {
                    "model": "retort/molecule-reader-v8",
                    "messages": [{"role": "user", "content": "What can you do?"}],
                },
            ),
        ):
            answer = requests.post(gateway.urls[api] + path, json=body, timeout=PATIENCE)
            assert answer.ok, answer.text
        beams = requests.post(
            gateway.urls["latent"] + "/sampling", json={"sequences": ["CCO"], "beam_size": 2}, timeout=PATIENCE
        )
        assert beams.status_code == 422 and "beam_size" in beams.text, beams.text
        assert not gateway.ready("ranking")
        answer = requests.post(
            gateway.urls["ranking"] + "/v1/ranking",
            json={"query": {"text": "aspirin"}, "passages": [{"text": "Aspirin."}]},
            timeout=PATIENCE,
        )
        assert answer.status_code == 503 and answer.headers["Retry-After"], answer.text
        assert "no model of this API is loaded" in answer.json()["error"]


def listening_ports(pids: list[int]) -> dict[int, IPv4Address | IPv6Address]:
    """The ports that processes listen on, with their addresses: proc(5), /proc/net/tcp."""
    inodes = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                inodes.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(descriptor)))
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:  # LISTEN
                address, _, port = fields[1].partition(":")
                words = [
                    bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)
                ]  # written as 32-bit numbers of this machine
                ip = ip_address(b"".join(words))
                found[int(port, 16)] = getattr(ip, "ipv4_mapped", None) or ip
    return found


PAGE = "orchestrator/docs/operate/SECURITY.md#triton"


def test_only_this_machine_reaches_the_local_server(triton, tmp_path):
    server = triton(tmp_path)
    found = listening_ports(server.processes())
    assert len(found) == 3 and all(address.is_loopback for address in found.values()), found
    assert {int(url.rpartition(":")[2]) for url in (server.url, server.http)} < found.keys()
    assert PAGE not in server.output()


def test_a_public_address_logs_a_warning(triton, tmp_path):
    server = triton(tmp_path, RETORT_TRITON_HOST="0.0.0.0")
    found = listening_ports(server.processes())
    assert len(found) == 3 and all(address.is_unspecified for address in found.values()), found
    warnings = [line for line in server.output().splitlines() if PAGE in line]
    assert len(warnings) == 1 and "0.0.0.0" in warnings[0] and "24.10" in warnings[0], server.output()


def test_clients_have_no_shared_memory_logs_or_traces(triton, tmp_path):
    """Over gRPC and HTTP: attacks on the Python backend need shared memory, which newer releases disable."""
    server = triton(tmp_path)
    for call in (
        server.client.get_system_shared_memory_status,
        server.client.get_trace_settings,
        server.client.get_log_settings,
        lambda: server.client.register_system_shared_memory("region", "/retort-triton-region", 64),
    ):
        with pytest.raises(InferenceServerException, match="This protocol is restricted"):
            call()
    for path in ("v2/systemsharedmemory/status", "v2/trace/setting", "v2/logging"):
        assert requests.get(f"http://{server.http}/{path}", timeout=PATIENCE).status_code == 403, path
    assert server.client.is_server_ready()
    assert server.client.get_model_repository_index() is not None


MODEL_CODE = """import pathlib
pathlib.Path({path!r}).touch()
class TritonPythonModel:
    def execute(self, requests):
        return []
"""


def test_web_pages_cannot_load_models(triton, tmp_path):
    """A web page can post text to any port of its visitor's machine, but it does not know the key."""
    (tmp_path / "models").mkdir()
    server = triton(tmp_path / "models", control="explicit", RETORT_TRITON_CONTROL_KEY="the operator's")
    config = {
        "backend": "python",
        "input": [{"name": "a", "data_type": "TYPE_FP32", "dims": [1]}],
        "output": [{"name": "b", "data_type": "TYPE_FP32", "dims": [1]}],
    }
    code = base64.b64encode(MODEL_CODE.format(path=str(tmp_path / "planted")).encode()).decode()
    body = json.dumps({"parameters": {"config": json.dumps(config), "file:1/model.py": code}})
    url = f"http://{server.http}/v2/repository/models/planted"
    page = {"Content-Type": "text/plain", "Origin": "https://example.com"}
    for headers in (page, {**page, "X-Retort-Control": "1"}):
        assert requests.post(f"{url}/load", data=body, headers=headers, timeout=PATIENCE).status_code == 403
    assert requests.post(f"{url}/unload", headers=page, timeout=PATIENCE).status_code == 403
    assert not (tmp_path / "planted").exists()
    # With the key, the refused load succeeds.
    assert (
        requests.post(
            f"{url}/load", data=body, headers={"X-Retort-Control": "the operator's"}, timeout=PATIENCE
        ).status_code
        == 200
    )
    assert (tmp_path / "planted").exists()


def test_file_changes_are_applied_without_failed_requests(triton, tmp_path):
    graphs.place(tmp_path, "stays", graphs.lookup(), CONFIG)
    graphs.place(tmp_path, "changes", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    client = server.client
    with traffic(lambda: ask(client, "stays", 1)) as stays, traffic(lambda: ask(client, "changes", 1)) as changes:
        graphs.place(tmp_path, "added", graphs.lookup(), CONFIG)
        wait_for("a new folder is loaded", lambda: client.is_model_ready("added"), server.output)
        graphs.place(tmp_path, "changes", graphs.lookup(), CONFIG, version=2)
        wait_for("a new version is loaded", lambda: server.states().get("changes/2") == "READY", server.output)
        shutil.rmtree(tmp_path / "changes" / "1")
        (tmp_path / "changes" / "2" / "model.onnx").write_bytes(b"broken")
        wait_for("a broken version is refused", lambda: "changes was not loaded" in server.output(), server.output)
        assert ask(client, "changes", 4) == 40
        shutil.rmtree(tmp_path / "added")
        wait_for("a folder that is gone is unloaded", lambda: not client.is_model_ready("added"), server.output)
        wait_for("both were asked all the while", lambda: min(stays.answers[10], changes.answers[10]) > 20)
    assert set(stays.answers) == set(changes.answers) == {10}, [*stays.notes, *changes.notes]


def test_manual_loads_and_unloads_last_until_the_files_change(triton, tmp_path):
    folder = graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    client = triton(tmp_path).client
    client.unload_model("lookup")
    wait_for("the model is unloaded", lambda: not client.is_model_ready("lookup"))
    time.sleep(4)  # several polls of the files, which have not changed
    assert not client.is_model_ready("lookup")
    client.load_model("lookup")
    assert client.is_model_ready("lookup")
    client.unload_model("lookup")
    (folder / "config.pbtxt").write_text((folder / "config.pbtxt").read_text() + "# changed\n")
    wait_for("a changed folder is loaded again", lambda: client.is_model_ready("lookup"))


def test_a_dead_server_is_restarted(triton, tmp_path):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    server = triton(tmp_path)
    for deaths in (1, 2):  # right after it is ready
        for pid in processes_named(server, "tritonserver"):
            kill(pid)
        wait_for(
            "Triton is ready again", lambda deaths=deaths: server.output().count("ready again") == deaths, server.output
        )
        wait_for("the model answers again", lambda: ask(server.client, "lookup", 2) == 20)


@pytest.mark.parametrize("control", ["explicit", "watch"])
def test_a_model_whose_stub_is_killed_is_reloaded(triton, tmp_path, control):
    graphs.place(tmp_path, "killed", graphs.lookup(), CONFIG)
    graphs.place(tmp_path, "stays", graphs.lookup(), CONFIG)
    server = triton(tmp_path, control=control)
    wait_for("the stubs were counted", lambda: ask(server.client, "killed", 1) == 10)
    time.sleep(3)  # stubs.POLL_SECONDS: the launcher has seen them
    with traffic(lambda: ask(server.client, "stays", 1)) as stays:
        for _ in range(2):
            kill(stub_of(server, "killed"))
            with pytest.raises(InferenceServerException):
                ask(server.client, "killed", 2)
            wait_for("the model answers again", lambda: ask(server.client, "killed", 2) == 20, server.output)
    assert set(stays.answers) == {10}, stays.notes


def stub_of(server, model: str) -> int:
    """The process of a model's only instance."""
    stubs = [
        pid
        for pid in processes_named(server, "triton_python_b")
        if f"/{model}/1/" in Path(f"/proc/{pid}/cmdline").read_text()
    ]
    assert len(stubs) == 1, stubs
    return stubs[0]


def processes_named(server, name: str) -> list[int]:
    """The processes of a server that run the program of this name."""
    return [pid for pid in server.processes() if Path(f"/proc/{pid}/comm").read_text().strip() == name]


def test_no_telemetry(triton, tmp_path):
    """Models and backends inherit the settings without which ONNX Runtime and vLLM send telemetry."""
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    variables = Path(f"/proc/{stub_of(triton(tmp_path), 'lookup')}/environ").read_text().split("\0")
    assert {"ORT_DISABLE_TELEMETRY=1", "DO_NOT_TRACK=1"} <= set(variables)


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
    wait_for("the server and its stubs are gone", lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))


def test_a_command_gets_a_server_and_its_exit_status_is_returned():
    script = (
        'curl -sf "http://$RETORT_TEST_TRITON_HTTP/v2/health/ready" '
        '&& test -d "$RETORT_TEST_TRITON_REPOSITORY" && exit 7'
    )
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/triton/serve.py"), "--empty", "--", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert ended.returncode == 7, ended.stderr


def test_a_gateway_sets_the_queue_delay_of_a_triton_it_did_not_start(triton, tmp_path):
    graphs.place(tmp_path, "lookup", graphs.lookup(), CONFIG)
    server = triton(tmp_path, control="explicit")
    assert delay(server.client, "lookup") == 100
    with Gateway(server.url, tmp_path, **{"NIM_" + DELAY: "2500"}) as gateway:
        wait_for("the delay is set", lambda: delay(server.client, "lookup") == 2500, gateway.output)
        assert ask(server.client, "lookup", 4) == 40
        graphs.place(tmp_path, "later", graphs.lookup(), CONFIG)
        server.client.load_model("later")
        wait_for(
            "the delay is in a model that came later", lambda: delay(server.client, "later") == 2500, gateway.output
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "arguments, stopped",
    [(["--", "true"], True), (["--prepare"], True), ([], False)],
    ids=["command", "prepare", "serve"],
)
def test_a_signal_before_the_command_fails_it(tmp_path, arguments, stopped, number):
    """The signal arrives during the installation."""
    code = (
        f"import os, serve\nserve.prepare = lambda: os.kill(os.getpid(), {int(number)})\nraise SystemExit(serve.main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "scripts/triton")},
        timeout=PATIENCE,
    )
    assert ended.returncode == (128 + number if stopped else 0)
