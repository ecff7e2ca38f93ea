"""What agents read and run: /llms.txt on every port, and the skill of orchestrator/docs/use/skills. agent_client.py
tries the skill and the tools of the Model Context Protocol with two agent frameworks and a scripted model."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urljoin

import pytest
import requests
from rdkit import Chem
from servers import APIS, ROOT, Gateway
from waiting import PATIENCE

SKILL = ROOT / "orchestrator/docs/use/skills/retort"
PYTHON = ROOT / ".venv-openai" / "bin" / "python"
CAFFEINE = ROOT / "scripts/tests/testdata/drawings/caffeine.png"
COMMANDS = dict(re.findall(r"`python3 scripts/(\w+)\.py ([^`]*)` \|", (SKILL / "SKILL.md").read_text()))
"""The arguments of each script in the skill's table."""


def links(page: str) -> list[tuple[str, str]]:
    """Names and addresses of the links of a page in the form of llmstxt.org, after a check of the form."""
    lines = [line for line in page.splitlines() if line]
    assert lines[0].startswith("# ") and lines[1].startswith("> "), lines[:2]
    heading = next(i for i, line in enumerate(lines) if line.startswith("## "))
    found = []
    for line in lines[heading:]:
        if not line.startswith("## "):
            link = re.fullmatch(r"- \[([^]]+)\]\(([^)]+)\)(: .+)?", line)
            assert link, line
            found.append((link[1], link[2]))
    return found


def get(url: str) -> requests.Response:
    answer = requests.get(url, timeout=PATIENCE)
    assert answer.status_code == 200, f"{url}: {answer.status_code}"
    return answer


@pytest.mark.parametrize("api", APIS)
def test_the_index_of_an_api_names_its_endpoints_and_models(stack, api: str) -> None:
    for base in (f"{stack.urls[api]}/", f"{stack.url}/{api}/"):
        page = get(f"{base}llms.txt")
        assert page.headers["Content-Type"].startswith("text/markdown")
        found = dict(links(page.text))
        document = get(f"{base}openapi.json").json()
        operations = {
            f"{method.upper()} {path}": (path, method)
            for path, methods in document["paths"].items()
            for method in methods
            if method in ("get", "post", "delete")
        }
        assert operations.keys() <= found.keys()
        models = [model["modelUrl"] for model in get(f"{base}v1/metadata").json()["modelInfo"]]
        assert models and set(models) <= found.keys()
        for name, address in found.items():
            target = urljoin(f"{base}llms.txt", address)
            if name in operations:
                path, method = operations[name]
                pointer = requests.utils.unquote(target.partition("#")[2]).split("/")[1:]
                assert [step.replace("~1", "/").replace("~0", "~") for step in pointer] == ["paths", path, method]
            get(target)


def test_the_index_of_the_main_port_leads_to_everything(stack) -> None:
    found = links(get(f"{stack.url}/llms.txt").text)
    assert {f"{api}/llms.txt" for api in APIS} | {"mcp", "skills/retort/SKILL.md"} <= {address for _, address in found}
    for _, address in found:
        if address != "mcp":  # takes POST only
            get(urljoin(f"{stack.url}/llms.txt", address))


def test_the_skill_is_served(stack) -> None:
    for file in [SKILL / "SKILL.md", *SKILL.glob("scripts/*.py")]:
        assert get(f"{stack.url}/skills/retort/{file.relative_to(SKILL)}").text == file.read_text()
    assert requests.get(f"{stack.url}/skills/retort/none.py", timeout=PATIENCE).status_code == 404


def test_keys_and_settings(stack, tmp_path: Path) -> None:
    """The indexes and the scripts need a key. The main port's index has links to what is switched on, and no others."""
    keys = tmp_path / "keys"
    keys.write_text("a-key\n")
    settings = {"RETORT_MCP": "false", "RETORT_JOBS": "true", "RETORT_JOBS_DATA": str(tmp_path / "jobs")}
    with Gateway(stack.triton, ROOT / "model_repository", RETORT_KEYS_FILE=str(keys), **settings) as gateway:
        gateway.wait_ready(*APIS)
        for path in ("/llms.txt", "/ranking/llms.txt"):
            assert requests.get(gateway.url + path, timeout=PATIENCE).status_code == 401
        header = {"Authorization": "Bearer a-key"}
        page = requests.get(f"{gateway.url}/llms.txt", headers=header, timeout=PATIENCE).text
        addresses = {address for _, address in links(page)}
        jobs = {"jobs/llms.txt", "latent/generate/jobs/openapi.json", "masked/generate/jobs/openapi.json"}
        assert "mcp" not in addresses and jobs <= addresses
        for address in addresses:
            answer = requests.get(urljoin(f"{gateway.url}/", address), headers=header, timeout=PATIENCE)
            assert answer.status_code == 200, address
        assert "401" in run_script(gateway.url, "rank.py q p").stderr
        assert run_script(gateway.url, "rank.py q p", key="a-key").stdout.endswith("\tp\n")
    assert not jobs & {address for _, address in links(get(f"{stack.url}/llms.txt").text)}


def test_the_skill_has_the_published_form() -> None:
    code = "import pathlib, skills_ref, sys; print(skills_ref.validate(pathlib.Path(sys.argv[1])))"
    run = subprocess.run([PYTHON, "-c", code, SKILL], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def run_script(url: str, command: str, *, key: str = "") -> subprocess.CompletedProcess:
    """Runs a command of the skill, without this environment's packages."""
    environment = {**os.environ, "RETORT_URL": url, "RETORT_API_KEY": key, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        f"{sys.executable} -S scripts/{command}",
        shell=True,
        cwd=SKILL,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def rows(url: str, script: str, more: str = "") -> list[list[str]]:
    """The columns that a script prints with the arguments of the skill's table, and more."""
    assert COMMANDS.keys() == {file.stem for file in SKILL.glob("scripts/*.py")} - {"service"}
    arguments = COMMANDS[script].replace("caffeine.png", str(CAFFEINE))
    run = run_script(url, f"{script}.py {arguments} {more}")
    assert run.returncode == 0, run.stderr
    return [line.split("\t") for line in run.stdout.splitlines()]


def test_the_script_that_optimizes(stack) -> None:
    found = rows(stack.url, "optimize", "--count 5 --seed 1")
    assert len(found) == 5
    assert all(float(similarity) >= 0.4 and Chem.MolFromSmiles(smiles) for _, similarity, smiles in found)
    several = rows(stack.url, "optimize", """--objective '["QED", {"name": "LogP", "max": 3}]' --count 2 --seed 1""")
    assert len(several) == 2


def test_the_script_that_fills_templates(stack) -> None:
    found = rows(stack.url, "fill", "--count 5 --seed 1")
    assert len({smiles for _, smiles in found}) == 5


def test_the_script_that_embeds(stack) -> None:
    vectors = [
        json.loads(row[0]) for row in rows(stack.url, "embed", "--input-type passage --model retort/minilm-embedqa-v2")
    ]
    assert [len(vector) for vector in vectors] == [384, 384]
    assert len(rows(stack.url, "embed")) == len(rows(stack.url, "embed", "--input-type query")) == 2


def test_the_script_that_ranks(stack) -> None:
    found = rows(stack.url, "rank")
    assert [passage for _, passage in found] == ["Aspirin is an analgesic.", "The Rhine flows."]
    long = "The Rhine flows. " * 300 + "Aspirin is a drug that eases pain."
    best = run_script(stack.url, f"rank.py 'Which drug eases pain?' 'The Rhine flows.' '{long}'").stdout
    assert best.partition("\n")[0].endswith(long), best[:200]


def test_the_script_that_reads_drawings(stack) -> None:
    assert "Cn1c(=O)c2c(ncn2C)n(C)c1=O" in rows(stack.url, "read_drawing")[0][0]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("optimize.py C1CC", "smi"),
        ("fill.py '[*{9-3}]'", "smiles: "),
        ("rank.py q p --model none", "none"),
        ("embed.py t --model none", "none"),
        ("read_drawing.py none.png", "none.png: No such file"),
    ],
)
def test_a_script_that_fails_says_why(stack, command: str, message: str) -> None:
    run = run_script(stack.url, command)
    assert run.returncode == 1 and message in run.stderr and "Traceback" not in run.stderr, run.stderr


class Page(BaseHTTPRequestHandler):
    """Another service, which answers every request with a web page."""

    def do_POST(self) -> None:  # noqa: N802
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


def test_a_script_without_a_service_says_where_it_looked() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            page = f"http://127.0.0.1:{other.server_port}"
            for url in ("http://127.0.0.1:9", "localhost:8000", "/", "http://127.0.0.1:9/a b", page):
                run = run_script(url, "fill.py C")
                assert run.returncode == 1 and "RETORT_URL" in run.stderr, f"{url}: {run.stderr}"
                assert "Traceback" not in run.stderr
            assert "Traceback" not in run_script(page, "fill.py C", key="cl\u20ac").stderr
        finally:
            other.shutdown()


def test_agents_use_the_skill_and_the_tools(stack) -> None:
    run = subprocess.run(
        [PYTHON, Path(__file__).with_name("agent_client.py"), stack.url, SKILL],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    got = json.loads(run.stdout)
    for framework in ("pydantic_ai", "agents"):
        assert got[f"{framework}_skill"] == "Aspirin is an analgesic."
        described = json.loads(got[f"{framework}_mcp"])
        assert described["formula"] == "C9H8O4"
