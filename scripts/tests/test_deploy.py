"""scripts/deploy agrees with the program: metrics, settings, packages. `make test-deploy` uses its tools."""

from __future__ import annotations

import json
import re
import subprocess

import yaml
from servers import APIS, ROOT
from waiting import PATIENCE

DEPLOY = ROOT / "scripts/deploy"
PAGES = ROOT / "orchestrator/docs/operate"
SETTINGS = (PAGES / "SETTINGS.md").read_text()


def test_metrics_of_dashboard_and_alerts_exist() -> None:
    registered = set(re.findall(r'"(retort_\w+)"', (ROOT / "orchestrator/telemetry/metrics.go").read_text()))
    for name in ("dashboard.json", "rules.yaml", "adapter-rules.yaml"):
        used = set(re.findall(r"\bretort_[a-z_]+", (DEPLOY / "chart/files" / name).read_text()))
        used = {re.sub("_(bucket|sum|count)$", "", metric) for metric in used}
        assert used and used <= registered, f"{name}: {used - registered}"


def test_the_page_for_operators_names_every_metric_and_alert() -> None:
    page = (PAGES / "OPERATING.md").read_text()
    registered = re.findall(r'"(retort_\w+)"', (ROOT / "orchestrator/telemetry/metrics.go").read_text())
    alerts = re.findall(r"alert: (\w+?)(?:Burn\w+)?$", (DEPLOY / "chart/files/rules.yaml").read_text(), re.MULTILINE)
    assert "RetortGone" in alerts and "retort_triton_up" in registered
    for name in {*registered, *alerts}:
        assert re.search(rf"^\|.*`{name}(Burn…)?`", page, re.MULTILINE), name


def test_settings_of_chart_image_package_and_pages_exist() -> None:
    used: dict[str, set[str]] = {}
    for path in [*DEPLOY.rglob("*"), *PAGES.glob("*.md")]:
        if path.is_file() and path.suffix in ("", ".yaml", ".tpl", ".service", ".md"):
            used[path.name] = set(re.findall(r"\bRETORT_[A-Z_]+[A-Z](?!\w)", path.read_text()))
    assert used["_gateway.tpl"] and used["Dockerfile"]
    commands = {"RETORT_URL", "RETORT_API_KEY"}  # settings of the other commands: COMMANDS.md
    local_triton = set(re.findall(r"\bRETORT_[A-Z_]+[A-Z]", (ROOT / "scripts/triton/serve.py").read_text()))
    beyond = commands | local_triton
    for name, variables in used.items():
        assert not {v for v in variables if f"`{v}`" not in SETTINGS} - beyond, name
    for key in yaml.safe_load((DEPLOY / "package/retort.yaml").read_text()):
        assert f"`--{key}`" in SETTINGS, key


def test_ports_are_the_programs_own() -> None:
    ports = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text())["gateway"]["service"]["ports"]
    assert ports.keys() == {"http", *APIS}
    for name, port in ports.items():
        flag = "port" if name == "http" else f"{name}-port"
        assert re.search(rf"^\| `--{flag}` .*\| `{port}` \|", SETTINGS, re.MULTILINE), name


def test_gateway_and_triton_of_the_package_fit_on_one_machine() -> None:
    """The package's Triton has the port that compose.yaml publishes, and the gateway needs another one for each API."""
    address = yaml.safe_load((DEPLOY / "package/retort.yaml").read_text())["triton-url"]
    published = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["triton"]["ports"]
    assert f"{address}:8001" in published
    gateway = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text())["gateway"]["service"]["ports"].values()
    assert int(address.rpartition(":")[2]) not in gateway


def test_image_installs_what_the_makefile_does() -> None:
    wanted = re.search(r"^PACKAGES := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE).group(1).split()
    text = (DEPLOY / "Dockerfile").read_text()
    missing = [package for package in wanted if "python" not in package and package not in text.split()]
    assert not missing
    # One repository serves both Tritons, so both read drawings with the same versions.
    assert pins("scripts/deploy/triton-requirements.txt") == pins("scripts/triton/requirements.txt") - {
        "nvidia-pytriton==0.7.0"
    }


def pins(path: str) -> set[str]:
    """The packages of a locked file with their versions."""
    return set(re.findall(r"^[a-z].*==[^ ;]+", (ROOT / path).read_text(), re.MULTILINE))


OLDEST_TRITON = (26, 6)
"""The first release without a published vulnerability (orchestrator/docs/operate/SECURITY.md)."""


def test_no_default_triton_has_published_vulnerabilities() -> None:
    """All tags of the vendor's image in the tree are new enough. The local Triton, from PyPI, has no newer release."""
    tracked = subprocess.run(
        ["git", "grep", "-IhoE", r"\b[0-9]{2}\.[0-9]{2}(-[a-z-]+)?-py3\b"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {tuple(map(int, tag.split("-")[0].split("."))) for tag in tracked.stdout.split()}
    assert found and min(found) >= OLDEST_TRITON, found
    assert re.search(r"^ARG TRITON=\d\d\.\d\d-py3$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert "24.10" in (ROOT / "scripts/triton/requirements.in").read_text()


UNSET = {"embedding-grpc", "ranking-grpc"}
"""Values without a default: their ports are closed."""


def test_values_are_those_of_the_schema() -> None:
    def same(values: dict, schema: dict, path: str) -> None:
        if schema.get("additionalProperties") is not False:
            return
        known = schema["properties"].keys() - {"global", *UNSET}
        assert values.keys() == known, path
        for key, value in values.items():
            same(value, schema["properties"][key], f"{path}.{key}")

    same(
        yaml.safe_load((DEPLOY / "chart/values.yaml").read_text()),
        json.loads((DEPLOY / "chart/values.schema.json").read_text()),
        "",
    )


def test_helm_test_asks_what_the_program_answers(stack) -> None:
    """The program answers each command of the chart's test pod, as its template has them."""
    template = (DEPLOY / "chart/templates/tests/ask.yaml").read_text()
    commands = {
        api: re.findall(r'"([^"]*)"', words)
        for api, words in re.findall(r'^  "(\w+)" \(list ((?:"[^"]*" ?)+)\)', template, re.MULTILINE)
    }
    assert commands.keys() == set(APIS)
    for api, words in commands.items():
        done = subprocess.run(
            [ROOT / "bin/retort", *words],
            env={"RETORT_URL": stack.url},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0 and done.stdout.strip(), f"{api}: {done.stderr}"


def test_tests_that_the_security_page_names_exist() -> None:
    """The table has a row for each known CVE, and the tests that its rows name exist."""
    page = (PAGES / "SECURITY.md").read_text().partition("\n## Triton\n")[2].partition("\n## ")[0]
    for cve in ("2025-23310", "2025-23311", "2025-23316", "2025-23319", "2025-23320", "2025-23334"):
        assert cve in page, cve
    there = "\n".join(path.read_text() for path in (ROOT / "scripts/tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", page):
        assert f"def {name}(" in there, name
    for name in re.findall(r"`(test_\w+\.py)`", page):
        assert list((ROOT / "scripts/tests").rglob(name)), name
