"""The Model Context Protocol's own clients for Python and TypeScript against the whole stack, and requests that they do
not send: those about tasks, and wrong ones. The Go client is in test_go_clients.py."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests
from rdkit import Chem
from servers import ROOT, Gateway
from test_javascript_clients import run_node
from waiting import PATIENCE, wait_for

PYTHON = ROOT / ".venv-rerank" / "bin" / "python"
CAFFEINE = Path(__file__).parent / "testdata/drawings/caffeine.png"
IBUPROFEN, ASPIRIN = "CC(C)Cc1ccc(cc1)C(C)C(=O)O", "CC(=O)Oc1ccccc1C(=O)O"
CALLS: dict[str, dict] = {
    "optimize_molecule": {
        "smi": IBUPROFEN,
        "num_molecules": 2,
        "min_similarity": 0.3,
        "iterations": 2,
        "particles": 8,
        "seed": 1,
    },
    "sample_molecules": {"sequences": [IBUPROFEN], "num_molecules": 2, "seed": 1},
    "interpolate_molecules": {"from": IBUPROFEN, "to": ASPIRIN, "steps": 4},
    "fill_template": {"smiles": "c1ccccc1[*{5-5}]", "num_molecules": 2, "seed": 1},
    "describe_molecule": {"smiles": "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"},
    "draw_molecule": {"smiles": ASPIRIN},
    "embed_texts": {"inputs": ["What eases pain?"], "prompt_name": "query"},
    "rank_passages": {
        "query": {"text": "Which drug eases pain?"},
        "passages": [{"text": "The Rhine flows."}, {"text": "Aspirin is an analgesic."}],
    },
    "read_drawing": {
        "image": base64.b64encode(CAFFEINE.read_bytes()).decode(),
        "question": "What is its molecular formula?",
    },
}
WRONG: list[tuple[str, dict, str]] = [
    ("optimize_molecule", {"smi": "not a molecule"}, "smi"),
    ("describe_molecule", {"smiles": "C1CC"}, "smiles: "),
    ("describe_molecule", {"smile": "C"}, "smile"),
    ("interpolate_molecules", {"from": "C", "to": ASPIRIN, "steps": 101}, "steps: "),
    ("rank_passages", {"query": {"text": "q"}, "passages": []}, "passages"),
]


def run_client(url: str, calls: list) -> dict:
    assert PYTHON.exists(), "make .venv-rerank/stamp"
    run = subprocess.run(
        [PYTHON, Path(__file__).with_name("mcp_client.py"), f"{url}/mcp"],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def got(gateway_url: str) -> dict:
    """The tools, and the results of the calls: first the valid ones, then the invalid ones."""
    return run_client(gateway_url, [*CALLS.items(), *[call[:2] for call in WRONG]])


@pytest.fixture(scope="module")
def answers(got: dict) -> dict:
    found = dict(zip(CALLS, got["answers"]))
    for name, answer in found.items():
        assert not answer.get("is_error"), f"{name}: {answer}"
    return found


def test_every_use_case_is_a_tool_with_its_schema(got: dict, gateway_url: str) -> None:
    assert set(got["tools"]) == set(CALLS)
    described = requests.get(f"{gateway_url}/latent/openapi.json", timeout=PATIENCE).json()["components"]["schemas"][
        "Sampling"
    ]
    schema = got["tools"]["sample_molecules"]["input_schema"]
    assert schema["required"] == described["required"]
    assert schema["properties"]["num_molecules"] == described["properties"]["num_molecules"]
    assert "stream" not in got["tools"]["optimize_molecule"]["input_schema"]["properties"]


def test_molecule_tools(answers: dict) -> None:
    for name in ("optimize_molecule", "sample_molecules"):
        generated = answers[name]["structured_content"]["generated"]
        assert generated, name
    assert all(
        Chem.MolFromSmiles(smiles) for smiles in answers["interpolate_molecules"]["structured_content"]["molecules"]
    )
    filled = answers["fill_template"]["structured_content"]["molecules"]
    assert all(Chem.MolFromSmiles(m["smiles"]).HasSubstructMatch(Chem.MolFromSmiles("c1ccccc1")) for m in filled)
    described = answers["describe_molecule"]["structured_content"]
    assert described["formula"] == "C8H10N4O2"
    assert described["molecular_weight"] == pytest.approx(194.19, abs=0.01)


def test_drawings(answers: dict) -> None:
    picture = answers["draw_molecule"]["content"][0]
    assert picture["mime_type"] == "image/png"
    assert base64.b64decode(picture["data"]).startswith(b"\x89PNG")
    assert "C8H10N4O2" in answers["read_drawing"]["structured_content"]["answer"]


def test_text_tools(answers: dict) -> None:
    vectors = answers["embed_texts"]["structured_content"]["result"]
    assert (len(vectors), len(vectors[0])) == (1, 384)
    assert answers["rank_passages"]["structured_content"]["rankings"][0]["index"] == 1
    assert json.loads(answers["rank_passages"]["content"][0]["text"]) == answers["rank_passages"]["structured_content"]


def test_errors_are_results_that_the_model_can_read(got: dict) -> None:
    for (name, arguments, says), answer in zip(WRONG, got["answers"][len(CALLS) :]):
        assert answer["is_error"], f"{name} {arguments}"
        assert says in answer["content"][0]["text"], f"{name} {arguments}: {answer}"


def test_keys_are_required_and_mcp_can_be_switched_off(stack, tmp_path: Path) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    keys = tmp_path / "keys"
    keys.write_text("secret\n")
    with Gateway(stack.triton, stack.repository, RETORT_KEYS_FILE=str(keys)) as locked:
        refused = requests.post(f"{locked.url}/mcp", json=body, headers=headers, timeout=PATIENCE)
        assert refused.status_code == 401, refused.text
        assert refused.json()["error"]["code"] == -32600
        locked.wait_ready("embedding")
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "embed_texts", "arguments": {"inputs": "a"}},
        }
        let_in = requests.post(
            f"{locked.url}/mcp", json=body, headers=headers | {"Authorization": "Bearer secret"}, timeout=PATIENCE
        )
        assert let_in.status_code == 200, let_in.text
        assert "result" in let_in.json()["result"]["structuredContent"], let_in.text
        # A request is logged once it is answered.
        wait_for("the request is logged", lambda: '"api":"embedding"' in locked.output(), locked.output)
    with Gateway(stack.triton, stack.repository, RETORT_MCP="false") as without:
        assert requests.post(f"{without.url}/mcp", json=body, headers=headers, timeout=PATIENCE).status_code == 404


TASKS = "io.modelcontextprotocol/tasks"


def ask(url: str, method: str, name: str, params: dict, extensions: dict | None = None, **headers: str):
    """A request of version 2026-07-28: its status and answer."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}} if extensions is None else extensions},
    }
    answer = requests.post(
        f"{url}/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}},
        headers={
            "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Mcp-Name": name,
            **headers,
        },
        timeout=PATIENCE,
    )
    return answer.status_code, answer.json()


def test_typescript_clients(gateway_url: str, tmp_path: Path) -> None:
    expected = {"tools": 9, "formula": "C2H6O", "picture": "image/png", "refused": True, "found": True}
    expected["steps"] = [[1, 3], [2, 3], [3, 3]]
    assert run_node("mcp.mjs", tmp_path, gateway_url) == {"client": expected, "sdk": expected}


def test_other_origins_are_refused(gateway_url: str) -> None:
    for origin, status in {"https://evil.example": 403, "http://localhost:3000": 200}.items():
        got, answer = ask(gateway_url, "tools/list", "", {}, Origin=origin)
        assert got == status, answer
        assert status == 200 or "Origin" in answer["error"]["message"]


def test_searches_as_tasks(stack, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine\nother\n")
    mine: dict[str, Any] = {"Authorization": "Bearer mine"}
    short = {"smi": IBUPROFEN, "min_similarity": 0.3, "iterations": 2, "particles": 8, "seed": 1}
    variables = {"RETORT_JOBS": "true", "RETORT_JOBS_DATA": str(tmp_path / "jobs"), "RETORT_KEYS_FILE": str(keys)}
    with Gateway(stack.triton, stack.repository, **variables) as gateway:
        gateway.wait_ready("latent", "masked")

        def start(arguments: dict) -> str:
            call = {"name": "optimize_molecule", "arguments": arguments}
            status, answer = ask(gateway.url, "tools/call", "optimize_molecule", call, **mine)
            assert status == 200 and answer["result"]["resultType"] == "task", answer
            return answer["result"]["taskId"]

        def get(task: str) -> dict:
            return ask(gateway.url, "tasks/get", task, {"taskId": task}, **mine)[1]["result"]

        done = start(short)
        wait_for("the task is completed", lambda: get(done)["status"] == "completed", gateway.output)
        assert get(done)["result"]["structuredContent"]["generated"]
        wrong = start(short | {"smi": "not a molecule"})
        wait_for("the wrong task is completed", lambda: get(wrong)["status"] == "completed", gateway.output)
        assert get(wrong)["result"]["isError"] and "smi" in get(wrong)["result"]["content"][0]["text"]
        long = start(short | {"iterations": 1000, "particles": 100})
        assert ask(gateway.url, "tasks/cancel", long, {"taskId": long}, **mine)[1]["result"]["resultType"] == "complete"
        wait_for("the task is cancelled", lambda: get(long)["status"] == "cancelled", gateway.output)
        # A client without the extension gets the answer itself.
        call = {"name": "optimize_molecule", "arguments": short}
        direct = ask(gateway.url, "tools/call", "optimize_molecule", call, {}, **mine)[1]["result"]
        assert direct["structuredContent"]["generated"]

        for method, task, params, key, code, says in (
            ("tasks/get", done, {"taskId": done}, "other", -32602, "taskId"),
            ("tasks/get", "1", {"taskId": 1}, "mine", -32602, "taskId"),
            ("tasks/get", "none", {"taskId": "none"}, "mine", -32602, "taskId"),
            ("tasks/cancel", "none", {}, "mine", -32602, "taskId"),
            ("tasks/update", done, {"taskId": done, "inputResponses": []}, "mine", -32602, "inputResponses"),
            ("tasks/get", "else", {"taskId": done}, "mine", -32020, "Mcp-Name"),
            ("tasks/list", "", {}, "mine", -32601, "tasks/list"),
        ):
            error = ask(gateway.url, method, task, params, Authorization=f"Bearer {key}")[1]["error"]
            assert error["code"] == code and says in error["message"], (method, params, error)
        assert ask(gateway.url, "tasks/get", done, {"taskId": done}, {}, **mine)[1]["error"]["code"] == -32021
