"""The dashboard and the alerts: correct on known series, and with data from the real service."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import yaml
from servers import APIS, ROOT, Gateway, Process, Triton, free_ports
from waiting import PATIENCE, wait_for

FILES = ROOT / "scripts/deploy/chart/files"
HERE = Path(__file__).resolve().parent
WINDOW = "20s"
"""What takes the place of Grafana's rate interval: scrapes are 1 s apart."""


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_alerts_fire_on_known_series() -> None:
    run("promtool", "check", "rules", FILES / "rules.yaml")
    run("promtool", "test", "rules", HERE / "rules.yaml")


def expressions() -> dict[str, str]:
    """Every expression of the dashboard by panel and letter, with Grafana's variables replaced."""
    found = {}
    row = ""
    for panel in json.loads((FILES / "dashboard.json").read_text())["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
        for target in panel.get("targets") or []:
            text = (
                target["expr"]
                .replace("$__rate_interval", WINDOW)
                .replace("$job", "gateway")
                .replace("$triton", "triton")
            )
            found[f"{row}: {panel['title']} {target['refId']}"] = text
    return found


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory) -> Iterator[str]:
    """The URL of a Prometheus that has scraped gateway and Triton under a light load on all APIs."""
    folder = tmp_path_factory.mktemp("prometheus")
    with contextlib.ExitStack() as servers:
        url, metrics = os.environ.get("RETORT_TEST_TRITON_URL"), os.environ.get("RETORT_TEST_TRITON_METRICS")
        if not url:
            triton = servers.enter_context(Triton(ROOT / "model_repository"))
            url, metrics = triton.url, re.search(r"metrics ([\d.]+:\d+)", triton.output()).group(1)
        gateway = servers.enter_context(
            Gateway(url, ROOT / "model_repository", RETORT_JOBS="true", RETORT_JOBS_DATA=str(folder / "jobs"))
        )
        gateway.wait_ready(*APIS)
        config = folder / "prometheus.yaml"
        config.write_text(
            yaml.safe_dump(
                {
                    "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                    "rule_files": [str(FILES / "rules.yaml")],
                    "scrape_configs": [
                        {"job_name": name, "static_configs": [{"targets": [target]}]}
                        for name, target in {"gateway": gateway.url.partition("//")[2], "triton": metrics}.items()
                    ],
                }
            )
        )
        port = free_ports(1)[0]
        with Process(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            {},
        ) as server:
            url = f"http://127.0.0.1:{port}"
            wait_for("Prometheus scrapes both", lambda: len(series(url, "up == 1")) == 2, server.output)
            # A rate needs two values of a counter, so two rounds of requests with scrapes in between.
            for _ in range(2):
                load(gateway)
                seen = scrapes(url)
                wait_for("two more scrapes", lambda seen=seen: scrapes(url) >= seen + 2, server.output)
            yield url


def scrapes(url: str) -> float:
    """The number of scrapes of the gateway in the last minutes."""
    found = series(url, 'count_over_time(up{job="gateway"}[30m])')
    return float(found[0]["value"][1])


def series(url: str, expression: str) -> list[dict]:
    try:
        answer = requests.get(f"{url}/api/v1/query", {"query": expression}, timeout=PATIENCE)
    except requests.ConnectionError:
        return []  # it is starting
    if answer.status_code == 503:
        return []
    assert answer.ok, f"{expression}\n{answer.text}"
    return answer.json()["data"]["result"]


def load(gateway: Gateway) -> None:
    """Sends a request of each kind, including invalid ones, and a batch."""
    texts = {"model": "retort/minilm-embedqa-v2", "input": ["What eases pain?"] * 4, "input_type": "query"}
    passages = {
        "model": "retort/rankqa-minilm-v2",
        "query": {"text": "pain"},
        "passages": [{"text": "aspirin"}, {"text": "caffeine"}],
    }
    smiles = "CC(C)Cc1ccc(cc1)C(C)C(=O)O"
    messages = [{"role": "user", "content": "Which molecule is aspirin?"}]
    for api, path, body, status in [
        ("embedding", "/v1/embeddings", texts, 200),
        ("embedding", "/v1/embeddings", {**texts, "model": "none"}, 404),
        ("ranking", "/v1/ranking", passages, 200),
        ("latent", "/embedding", {"sequences": [smiles]}, 200),
        ("latent", "/generate", {"smi": smiles, "num_molecules": 2, "iterations": 1, "particles": 2}, 200),
        ("masked", "/generate", {"smiles": "[*{5-8}]", "num_molecules": 1}, 200),
        ("chat", "/v1/chat/completions", {"model": "retort/molecule-reader-v8", "messages": messages}, 200),
    ]:
        answer = requests.post(gateway.urls[api] + path, json=body, timeout=PATIENCE)
        assert answer.status_code == status, f"{api} {path}: {answer.status_code} {answer.text}"
    batch(gateway, texts)


def batch(gateway: Gateway, body: dict) -> None:
    line = json.dumps({"custom_id": "1", "method": "POST", "url": "/v1/embeddings", "body": body})
    base = f"{gateway.url}/v1"
    file = requests.post(
        f"{base}/files", files={"file": ("lines.jsonl", line)}, data={"purpose": "batch"}, timeout=PATIENCE
    ).json()
    created = requests.post(
        f"{base}/batches",
        timeout=PATIENCE,
        json={"input_file_id": file["id"], "endpoint": "/v1/embeddings", "completion_window": "24h"},
    ).json()
    wait_for(
        "the batch is done",
        lambda: requests.get(f"{base}/batches/{created['id']}", timeout=PATIENCE).json()["status"] == "completed",
        gateway.output,
    )


@pytest.mark.parametrize("name", expressions())
def test_every_panel_has_a_line(prometheus: str, name: str) -> None:
    expression = expressions()[name]
    found = series(prometheus, expression)
    assert any(value["value"][1] != "NaN" for value in found), f"{name} shows nothing:\n{expression}"


def test_every_recording_rule_has_a_value(prometheus: str) -> None:
    groups = requests.get(f"{prometheus}/api/v1/rules", timeout=PATIENCE).json()["data"]["groups"]
    assert {rule["health"] for group in groups for rule in group["rules"]} == {"ok"}
    for kind in ("errors", "slow"):
        assert series(prometheus, f"retort:{kind}:ratio_rate5m"), kind
