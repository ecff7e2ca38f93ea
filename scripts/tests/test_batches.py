"""Files and batches of OpenAI's client (batch_client.py) against the whole stack, also with faults: a killed gateway,
files that are too large, a full disk, and a gateway without jobs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from servers import ROOT, Gateway, Triton, kill
from test_javascript_clients import run_node
from waiting import PATIENCE, wait_for

MODEL = "retort/minilm-embedqa-v2"
LINES = 400
LIMIT = 1 << 20
"""Maximum bytes of a file, instead of the default of 200 MB."""


def jobs(folder: Path, **variables: str) -> dict[str, str]:
    return {"RETORT_JOBS": "true", "RETORT_JOBS_DATA": str(folder), **variables}


@pytest.fixture(scope="module")
def jobs_gateway(stack: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with jobs that requires keys."""
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "keys").write_text("first\nsecond\nnode\n")
    with Gateway(
        stack.triton,
        stack.repository,
        **jobs(folder / "data", RETORT_KEYS_FILE=str(folder / "keys"), RETORT_JOBS_FILE_BYTES=str(LIMIT)),
    ) as gateway:
        gateway.wait_ready("latent", "masked", "embedding", "ranking", "chat")
        yield gateway


@pytest.fixture(scope="module")
def results(jobs_gateway: Gateway) -> dict:
    python = ROOT / ".venv-openai/bin/python"
    if not python.exists():
        pytest.fail(f"{python.parent.parent.name} is not there: `make {python.parent.parent.name}/stamp`")
    run = subprocess.run(
        [
            str(python),
            str(Path(__file__).with_name("batch_client.py")),
            jobs_gateway.url,
            jobs_gateway.urls["embedding"],
        ],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_lines_are_answered_in_order_with_counts_and_errors(results: dict) -> None:
    assert results["embeddings"] == [
        "completed",
        {"completed": 3, "failed": 2, "total": 5},
        {"name": "first"},
        ["line-0", "line-1", "line-2"],
        ["custom_id", "error", "id", "response"],
        True,
        [["line-3", 404, "model_not_found"], ["line-4", 400, "invalid_value"]],
        "batch_output",
    ]


def test_all_apis_answer_lines(results: dict) -> None:
    counts, wrong, own_port = results["other_endpoints"]
    assert set(counts.values()) == {1} and len(counts) == 6, counts
    assert (wrong, own_port) == (["BadRequestError", "invalid_value", "endpoint"], 1)


def test_wrong_files_fail_the_batch_and_name_their_lines(results: dict) -> None:
    status, errors, empty, *refused = results["wrong_files"]
    assert status == "failed" and empty == ["empty_file"]
    assert errors == [
        ["invalid_json_line", 2, None],
        ["duplicate_custom_id", 3, "custom_id"],
        ["url_mismatch", 4, "url"],
        ["invalid_method", 6, "method"],
        ["missing_required_parameter", 7, "custom_id"],
        ["invalid_json_line", 8, None],
    ]
    assert refused == [
        ["BadRequestError", "invalid_value", "endpoint"],
        ["NotFoundError", None, "input_file_id"],
        ["BadRequestError", "invalid_value", "purpose"],
        ["NotFoundError", None, "id"],
    ]


def test_lists_have_pages(results: dict) -> None:
    assert results["lists"] == [
        True,
        True,
        "content 3",
        True,
        ["NotFoundError", None, "id"],
        True,
        True,
        3600,
        ["BadRequestError", "invalid_value", "limit"],
        ["NotFoundError", None, "after"],
    ]


def test_keys_do_not_see_each_other(results: dict) -> None:
    assert results["other_key"] == [True, False, "AuthenticationError"]


def test_a_cancelled_batch_keeps_what_was_answered(results: dict) -> None:
    assert results["cancelled"] == ["cancelling", "BadRequestError", "cancelled", True, True, None, "BadRequestError"]


def test_openai_for_node(jobs_gateway: Gateway, tmp_path: Path) -> None:
    assert run_node("batches.mjs", tmp_path, jobs_gateway.url, "node") == {
        "batch": ["completed", {"completed": 2, "failed": 1, "total": 3}, {"of": "node"}],
        "output": ["text-0", "text-1"],
        "errors": [["wrong", 404]],
        "vector": True,
        "lists": [0, 1, True, "texts.jsonl"],
        "refused": [["BadRequestError", 400, None], ["BadRequestError", 400, "endpoint"], ["NotFoundError", 404, "id"]],
        "deleted": [True, ["NotFoundError", 404, "id"]],
    }


def upload(url: str, content: bytes, **headers: str) -> requests.Response:
    return requests.post(
        f"{url}/v1/files",
        files={"file": ("x.jsonl", content)},
        data={"purpose": "batch"},
        headers=headers,
        timeout=PATIENCE,
    )


def texts(count: int) -> bytes:
    return "".join(
        json.dumps(
            {
                "custom_id": str(i),
                "method": "POST",
                "url": "/v1/embeddings",
                "body": {"model": MODEL, "input": f"text {i}"},
            }
        )
        + "\n"
        for i in range(count)
    ).encode()


def begin(url: str, content: bytes) -> str:
    file = upload(url, content).json()
    body = {"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"}
    return requests.post(f"{url}/v1/batches", json=body, timeout=PATIENCE).json()["id"]


def batch(url: str, batch_id: str) -> dict:
    return requests.get(f"{url}/v1/batches/{batch_id}", timeout=PATIENCE).json()


def each_once(url: str, batch_id: str, count: int) -> None:
    """Waits for a batch, and checks that every line of it has one answer, in order."""
    wait_for(
        "the batch is completed",
        lambda: batch(url, batch_id).get("status") == "completed",
        lambda: batch(url, batch_id),
    )
    done = batch(url, batch_id)
    assert done["request_counts"] == {"total": count, "completed": count, "failed": 0} and done["error_file_id"] is None
    content = requests.get(f"{url}/v1/files/{done['output_file_id']}/content", timeout=PATIENCE).text
    assert [json.loads(line)["custom_id"] for line in content.splitlines()] == [str(i) for i in range(count)]


def test_files_that_are_too_large_or_not_a_form(jobs_gateway: Gateway) -> None:
    key = {"Authorization": "Bearer first"}
    assert upload(jobs_gateway.url, b"x" * LIMIT, **key).status_code == 200
    for size in (LIMIT + 1, 3 * LIMIT // 2):
        answer = upload(jobs_gateway.url, b"x" * size, **key)
        assert answer.status_code == 413 and "limit" in answer.json()["error"]["message"], answer.text
    for body, kind in (
        (b"x", "application/json"),
        (b"x", "multipart/form-data; boundary=b"),
        (b"--b\r\nno header", "multipart/form-data; boundary=b"),
    ):
        answer = requests.post(
            f"{jobs_gateway.url}/v1/files", data=body, headers={**key, "Content-Type": kind}, timeout=PATIENCE
        )
        assert answer.status_code == 400 and answer.json()["error"]["type"] == "invalid_request_error", answer.text
    missing = requests.post(
        f"{jobs_gateway.url}/v1/files", files={"purpose": (None, "batch")}, headers=key, timeout=PATIENCE
    )
    assert missing.status_code == 400 and missing.json()["error"]["param"] == "file", missing.text


def test_a_killed_gateway_leaves_every_line_with_one_answer(stack: Gateway, tmp_path: Path) -> None:
    with Gateway(stack.triton, stack.repository, **jobs(tmp_path)) as first:
        first.wait_ready("embedding")
        number = begin(first.url, texts(LINES))
        wait_for(
            "some lines are answered",
            lambda: 0 < batch(first.url, number)["request_counts"]["completed"],
            lambda: batch(first.url, number),
        )
        first.stop(signal.SIGKILL)
    with Gateway(stack.triton, stack.repository, **jobs(tmp_path)) as second:
        assert batch(second.url, number)["request_counts"]["completed"] < LINES
        each_once(second.url, number, LINES)


def test_a_stopped_gateway_hands_its_work_over(stack: Gateway, tmp_path: Path) -> None:
    with Gateway(stack.triton, stack.repository, **jobs(tmp_path)) as first:
        first.wait_ready("embedding")
        number = begin(first.url, texts(LINES))
        wait_for(
            "some lines are answered",
            lambda: 0 < batch(first.url, number)["request_counts"]["completed"],
            lambda: batch(first.url, number),
        )
        assert first.stop() == 0, first.output()
    began = time.monotonic()
    with Gateway(stack.triton, stack.repository, **jobs(tmp_path)) as second:
        each_once(second.url, number, LINES)
    assert time.monotonic() - began < PATIENCE


def test_a_killed_triton_leaves_every_line_with_one_answer(tmp_path: Path) -> None:
    repository = tmp_path / "models"
    shutil.copytree(ROOT / "model_repository/minilm_embed_qa", repository / "minilm_embed_qa")
    with Triton(repository) as triton, Gateway(triton.url, repository, **jobs(tmp_path / "jobs")) as gateway:
        gateway.wait_ready("embedding")
        number = begin(gateway.url, texts(LINES))
        wait_for(
            "some lines are answered",
            lambda: 0 < batch(gateway.url, number)["request_counts"]["completed"],
            lambda: batch(gateway.url, number),
        )
        killed = [pid for pid in triton.processes() if Path(f"/proc/{pid}/comm").read_text().strip() == "tritonserver"]
        assert killed, triton.output()
        for pid in killed:
            kill(pid)
        wait_for("the gateway notices", lambda: not gateway.ready("embedding"), gateway.output)
        assert batch(gateway.url, number)["status"] == "in_progress"
        triton.stop()
        with Triton(repository, address=triton.url):
            each_once(gateway.url, number, LINES)


class Cramped(Gateway):
    """A gateway whose jobs have a disk of 24 MiB: a tmpfs if the user of the tests may mount one, else a limit of 3 MiB
    a file."""

    FOLDER = "/mnt"
    mounted = (
        "unshare",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        f'mount -t tmpfs -o size=24m none {FOLDER} && exec "$0" "$@"',
    )
    before = (
        mounted
        if subprocess.run([*mounted, "true"], capture_output=True).returncode == 0
        else ("prlimit", f"--fsize={3 << 20}")
    )


def test_a_full_disk_is_reported_and_breaks_nothing(stack: Gateway, tmp_path: Path) -> None:
    folder = Cramped.FOLDER if Cramped.before is Cramped.mounted else str(tmp_path)
    settings = jobs(Path(folder) / "jobs", RETORT_JOBS_MAX_BYTES=str(1 << 30))  # so that the disk is the limit
    with Cramped(stack.triton, stack.repository, **settings) as gateway:
        gateway.wait_ready("embedding")
        file_id = upload(gateway.url, texts(8)).json()["id"]
        for _ in range(2):
            large = upload(gateway.url, b"x" * (32 << 20))
            assert large.status_code == 503 and large.json()["error"]["message"] and large.headers["Retry-After"], (
                large.text
            )
        alone = requests.post(f"{gateway.url}/v1/embeddings", json={"model": MODEL, "input": "x"}, timeout=PATIENCE)
        assert alone.status_code == 200, alone.text
        wait_for("there is room again", lambda: upload(gateway.url, texts(8)).status_code == 200, gateway.output)
        each_once(gateway.url, begin(gateway.url, texts(8)), 8)
        assert requests.get(f"{gateway.url}/v1/files/{file_id}/content", timeout=PATIENCE).content == texts(8)


def test_full_storage_is_reported_and_breaks_nothing(stack: Gateway, tmp_path: Path) -> None:
    with Gateway(stack.triton, stack.repository, **jobs(tmp_path, RETORT_JOBS_MAX_BYTES=str(4 * LIMIT))) as gateway:
        gateway.wait_ready("embedding")
        file_id = upload(gateway.url, texts(8)).json()["id"]
        large = upload(gateway.url, b"x" * (6 * LIMIT))
        assert (
            large.status_code == 503 and "full" in large.json()["error"]["message"] and large.headers["Retry-After"]
        ), large.text
        number = begin(gateway.url, texts(8))
        each_once(gateway.url, number, 8)
        assert requests.get(f"{gateway.url}/v1/files/{file_id}/content", timeout=PATIENCE).content == texts(8)


def test_jobs_can_be_switched_off(stack: Gateway) -> None:
    for url in (stack.url, stack.urls["embedding"]):
        for answer in (
            requests.get(f"{url}/v1/files", timeout=PATIENCE),
            requests.post(f"{url}/v1/batches", json={}, timeout=PATIENCE),
        ):
            assert answer.status_code == 404 and answer.json()["error"]["type"] == "invalid_request_error", answer.text


def test_metrics_count_lines(jobs_gateway: Gateway, results: dict) -> None:
    metrics = requests.get(f"{jobs_gateway.url}/metrics", timeout=PATIENCE).text
    assert (
        'retort_batch_lines_total{api="embedding",outcome="ok"}' in metrics and "retort_background_level" in metrics
    ), os.linesep.join(line for line in metrics.splitlines() if "batch" in line)
