"""Attacks on the published vulnerabilities of the local Triton, release 24.10, through the gateway: the table of
orchestrator/docs/operate/SECURITY.md.

Requests that crash this Triton at its own port are sent to every port of the gateway. The Triton process must survive,
the answer must be a documented one, and input of a client may reach Triton only as tensors.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
from pathlib import Path

import graphs
import pytest
import requests
from attacks import CHAT, EMBEDDING, answer, connect
from fuzz import ROUTES
from recorder import Recorder
from servers import APIS, ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

REPOSITORY = ROOT / "model_repository"
REFUSED = {400, 404, 405, 413, 415, 422}
TRITON_PATHS = [
    "/v2",
    "/v2/repository/index",
    "/v2/repository/models/minilm_embed/load",
    "/v2/repository/models/minilm_embed/unload",
    "/v2/repository/models/..%2f..%2fetc/load",
    "/v2/repository/models/a;reboot/load",
    "/v2/models/minilm_embed/infer",
    "/v2/systemsharedmemory/region/a/register",
    "/v2/systemsharedmemory/status",
    "/v2/cudasharedmemory/region/a/register",
    "/v2/trace/setting",
    "/v2/logging",
    "/inference.GRPCInferenceService/RepositoryModelLoad",
    "/invocations",
    "/predict",
]
NAMES = [
    "../../etc/passwd",
    "..%2f..%2fetc",
    "/etc/passwd",
    "minilm_embed/../masked",
    "minilm_embed",
    "minilm_embed/1",
    "file:1/model.py",
    "a;reboot",
    "$(reboot)",
    "a\nb",
    "a\0b",
    "é" * 300,
    "x" * 20_000,
]
NUMBERS = [2**31, 2**32 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400]


@pytest.fixture(scope="module")
def triton():
    with Triton(REPOSITORY, control="explicit") as server:
        yield server


@pytest.fixture(scope="module")
def recorder(triton):
    with Recorder(triton.url) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(recorder):
    with Gateway(recorder.url, REPOSITORY) as running:
        running.wait_ready(*APIS)
        yield running


def program(triton: Triton) -> int:
    """The process id of tritonserver."""
    (found,) = [pid for pid in triton.processes() if Path(f"/proc/{pid}/comm").read_text().strip() == "tritonserver"]
    return found


@pytest.fixture(autouse=True)
def triton_survives(request, triton, gateway):
    """After each test: Triton is the same process, and every API has its model."""
    before = program(triton)
    yield
    gateway.wait_ready(*APIS)
    assert program(triton) == before and "restarting it" not in triton.output(), triton.output()


def ports(gateway: Gateway) -> list[str]:
    return [gateway.url, *gateway.urls.values()]


def chunks(path: str, count: int = 600_000) -> bytes:
    """A body of one-byte chunks: Triton 24.10 allocates stack memory for every chunk (CVE-2025-23310, -23311)."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + b"1\r\nA\r\n" * count + b"0\r\n\r\n"


def nested(depth: int = 1_000_000) -> bytes:
    """Nested lists: Triton 24.10 parses them recursively (CVE-2025-23325)."""
    return b"[" * depth + b"]" * depth


def with_content_length(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def exchange(url: str, request: bytes) -> bytes:
    """The answer to raw bytes. The server may answer or close before it has read them all."""
    with connect(url) as sock:
        with contextlib.suppress(OSError):
            sock.sendall(request)
        return answer(sock)


def status(got: bytes) -> int:
    assert got.startswith(b"HTTP/1.1 "), got[:200]
    return int(got.split()[1])


INFER = "/v2/models/lookup/infer"


@pytest.mark.parametrize(
    "request_bytes",
    [pytest.param(chunks(INFER), id="chunks"), pytest.param(with_content_length(INFER, nested()), id="nested")],
)
def test_bodies_crash_a_triton_that_they_reach(tmp_path, request_bytes: bytes) -> None:
    """Proves that the attacks work without the gateway. The launcher restarts Triton."""
    graphs.place(tmp_path, "lookup", graphs.lookup(), graphs.LOOKUP % "")
    with Triton(tmp_path, control="explicit") as server:
        assert exchange(f"http://{server.http}", request_bytes) == b""
        wait_for("it is started again", lambda: "tritonserver is ready again" in server.output(), server.output)


@pytest.mark.parametrize("api, path, body", ROUTES)
def test_chunked_bodies(gateway, api: str, path: str, body: dict) -> None:
    for url, at in ((gateway.urls[api], path), (gateway.url, f"/{api}{path}")):
        assert status(exchange(url, chunks(at))) in REFUSED, (url, at)


def test_chunked_bodies_of_other_paths(gateway) -> None:
    for url in ports(gateway):
        for path in ("/v2/repository/index", "/none"):
            assert status(exchange(url, chunks(path))) in REFUSED, (url, path)


@pytest.mark.parametrize("api, path, body", ROUTES)
def test_nested_bodies(gateway, api: str, path: str, body: dict) -> None:
    for text in (
        nested(),
        b'{"model": ' + nested() + b"}",
        *(b"{%s: %s}" % (json.dumps(key).encode(), nested(100_000)) for key in body),
    ):
        assert status(exchange(gateway.urls[api], with_content_length(path, text))) in REFUSED, text[:40]


@pytest.mark.parametrize("api, path, body", ROUTES)
def test_compressed_bodies(gateway, api: str, path: str, body: dict) -> None:
    """CVE-2026-24158, -24264: a small compressed body with a large content."""
    packed = gzip.compress(b" " * (256 << 20) + b"{}", 1)
    got = requests.post(
        gateway.urls[api] + path,
        data=packed,
        headers={"Content-Encoding": "gzip", "Content-Type": "application/json"},
        timeout=PATIENCE,
    )
    assert got.status_code in REFUSED, got.text


def test_triton_paths_are_refused(gateway) -> None:
    body = json.dumps(
        {
            "parameters": {"config": "{}", "file:1/model.py": "cGFzcw=="},
            "key": "/retort",
            "offset": 0,
            "byte_size": 2**40,
        }
    )
    for url in ports(gateway):
        for path in TRITON_PATHS:
            for method in ("GET", "POST"):
                got = requests.request(
                    method,
                    url + path,
                    data=body,
                    headers={"Content-Type": "application/json", "X-Retort-Control": "1"},
                    timeout=PATIENCE,
                )
                assert got.status_code in REFUSED, (method, url, path, got.text)


@pytest.mark.parametrize("api, path, body", ROUTES)
def test_shared_memory_cannot_be_named(gateway, api: str, path: str, body: dict) -> None:
    """Members and headers by which Triton's clients name shared memory and parameters of a request."""
    region = {
        "shared_memory_region": "retort-triton-",
        "shared_memory_byte_size": 2**63 - 1,
        "shared_memory_offset": 2**63 - 1,
    }
    tensor = {"name": "a", "datatype": "BYTES", "shape": [2**62, 2**62], "parameters": region}
    more = {
        **region,
        "parameters": {**region, "priority": 2**64 - 1, "timeout": -1, "binary_data_output": True},
        "inputs": [tensor],
        "outputs": [tensor],
        "id": "a",
        "sequence_id": 1,
        "triton_enable_empty_final_response": False,
    }
    headers = {
        "Inference-Header-Content-Length": str(2**70),
        "triton-grpc-protocol-retort": "a",
        "triton_parameter": "a",
        "priority": "1",
        "timeout": "1",
        "X-Retort-Control": "1",
    }
    for payload in ({**body, **more}, {**more, **body}, more):
        got = requests.post(gateway.urls[api] + path, json=payload, headers=headers, timeout=PATIENCE)
        assert got.status_code in {200, *REFUSED}, got.text


@pytest.mark.parametrize("api, path, body", [route for route in ROUTES if "model" in route[2]])
def test_model_names_must_be_in_the_catalog(gateway, api: str, path: str, body: dict) -> None:
    """CVE-2025-23316: model names that Triton's model control takes for paths and passes to a shell.

    Folders of the repository are not public names either.
    """
    for name in NAMES:
        got = requests.post(gateway.urls[api] + path, json={**body, "model": name}, timeout=PATIENCE)
        assert got.status_code in REFUSED, (name, got.text)
        quoted = requests.utils.quote(name, safe="")[:8_000]
        for url in (gateway.url, gateway.urls[api]):
            got = requests.get(f"{url}/v1/models/{quoted}", timeout=PATIENCE)
            assert got.status_code in REFUSED, (name, got.text)


@pytest.mark.parametrize(
    "api, base",
    [
        ("latent", {"smi": "CCO", "num_molecules": 1, "particles": 2, "iterations": 1}),
        ("masked", {"num_molecules": 1, "rounds": 1}),
    ],
)
def test_oracle_names_must_be_in_the_catalog(gateway, api: str, base: dict) -> None:
    assert (
        requests.post(gateway.urls[api] + "/generate", json={**base, "objective": "QED"}, timeout=PATIENCE).status_code
        == 200
    )
    for name in NAMES:
        for objective in (name, {"combine": "sum", "terms": [name]}, {"terms": [{"name": name, "output": name}]}):
            got = requests.post(
                gateway.urls[api] + "/generate", json={**base, "objective": objective}, timeout=PATIENCE
            )
            assert got.status_code in REFUSED, (objective, got.text)


@pytest.mark.parametrize("api, path, body", ROUTES)
def test_overflowing_numbers(gateway, api: str, path: str, body: dict) -> None:
    """CVE-2025-23323 to -23331, CVE-2026-24173 and others: sizes and shapes that overflow."""
    more = {"embedding": ["dimensions"], "ranking": ["top_n"], "chat": ["max_tokens", "n", "seed", "top_k"]}.get(
        api, []
    )
    for key in [
        *more,
        *(key for key, value in body.items() if isinstance(value, (int, float)) and not isinstance(value, bool)),
    ]:
        for number in NUMBERS:
            payload = json.dumps({**copy.deepcopy(body), key: number})
            got = requests.post(
                gateway.urls[api] + path, data=payload, headers={"Content-Type": "application/json"}, timeout=PATIENCE
            )
            assert got.status_code in {200, *REFUSED}, (key, number, got.text)


def test_only_tensors_of_known_models_reached_triton(gateway, recorder) -> None:
    """All calls that the gateway made for the tests above and for a valid request of each kind."""
    for api, path, body in ROUTES:
        requests.post(gateway.urls[api] + path, json=body, timeout=PATIENCE)
    assert recorder.methods == {
        "ServerLive",
        "RepositoryIndex",
        "ModelMetadata",
        "ModelConfig",
        "ModelInfer",
        "ModelStreamInfer",
    }
    entries = {folder.parent.name for folder in REPOSITORY.glob("*/config.pbtxt")}
    assert {EMBEDDING, CHAT}.isdisjoint(entries)
    models = {request.model_name for request in recorder.inferences}
    assert models <= entries and len(models) >= len(APIS), models
    for request in recorder.inferences:
        assert request.parameters.keys() <= {"triton_enable_empty_final_response"}, request.parameters
        assert request.model_version == "" or request.model_version.isdigit()
        assert not any(tensor.parameters for tensor in [*request.inputs, *request.outputs]), request.model_name
        assert len(request.raw_input_contents) == len(request.inputs)
