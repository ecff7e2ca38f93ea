"""Runs the examples on the pages in orchestrator/docs/use as written, except for the addresses of the running stack."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Chem.FilterCatalog import FilterCatalog, FilterCatalogParams
from servers import APIS, ROOT, Gateway
from waiting import PATIENCE

USE = ROOT / "orchestrator/docs/use"
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TESTED_ELSEWHERE = {
    "ORACLES.md": "test_oracles.py",
    "COMMANDS.md": "test_command_line.py",
    "REPRODUCE.md": "test_replay.py",
    "COMPARE.md": "test_compare.py",
}


def blocks(page: str, language: str) -> list[str]:
    """Returns the code blocks of a page in a language (python or bash), in order."""
    return [code for marked, code in BLOCK.findall((USE / page).read_text()) if marked == language]


def run(gateway: Gateway, command: list[str], code: str, folder: Path = ROOT) -> list[str]:
    """Runs an example with the addresses of a gateway and its Triton. Returns the lines that it prints."""
    addresses = {"localhost:8000": gateway.url, "localhost:8701": gateway.triton}
    addresses |= {f"localhost:{port}": gateway.urls[api] for port, api in enumerate(APIS, 8001)}
    for written, real in addresses.items():
        code = code.replace(written, real.removeprefix("http://"))
    ended = subprocess.run([*command, code], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def run_recipe(stack: Gateway, title: str) -> list[str]:
    """Runs a recipe of RECIPES.md. title: the start of its heading. Returns the lines that it prints."""
    recipes = re.split(r"^## ", (USE / "RECIPES.md").read_text(), flags=re.MULTILINE)
    (recipe,) = [text for text in recipes if text.startswith(title)]
    ((_, code),) = BLOCK.findall(recipe)
    return run(stack, [sys.executable, "-c"], code)


def test_requests(stack: Gateway) -> None:
    rows = [line.split() for line in run_recipe(stack, "Better molecules")]
    assert len(rows) == 10 and all(
        float(similarity) >= 0.3 and Chem.MolFromSmiles(smiles) for _, similarity, smiles in rows
    )
    assert [score for score, _, _ in rows] == sorted((score for score, _, _ in rows), reverse=True)


def test_page_of_molecules(stack: Gateway) -> None:
    rows = run_recipe(stack, "The molecules of a page")
    assert [row.split()[-1] for row in rows] == [
        "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
        "CC(=O)Oc1ccccc1C(=O)O",
        "CC(C)Cc1ccc(C(C)C(=O)O)cc1",
        "CC(=O)Nc1ccc(O)cc1",
    ]
    boxes = [ast.literal_eval(row.partition("]")[0] + "]") for row in rows]
    assert boxes[0][2] < boxes[1][0] and boxes[2][2] < boxes[3][0] and boxes[0][3] < boxes[2][1]
    assert all(float(row.partition("]")[2].split()[0]) > 0.8 for row in rows)


def test_mol_file_of_a_drawing(stack: Gateway) -> None:
    (row,) = run_recipe(stack, "The mol file of a drawing")
    confidence, smiles, *position = row.split(maxsplit=2)
    assert float(confidence) > 0.8 and smiles == "Cn1c(=O)c2c(ncn2C)n(C)c1=O" and len(position) == 1


def test_fragments(stack: Gateway) -> None:
    rows = [line.split() for line in run_recipe(stack, "Molecules that contain fragments")]
    assert len(rows) == 5 and [score for score, _ in rows] == sorted((score for score, _ in rows), reverse=True)
    sulfone = Chem.MolFromSmarts("CCS(=O)(=O)N")
    assert all(Chem.MolFromSmiles(smiles).HasSubstructMatch(sulfone) for _, smiles in rows)


def test_filters(stack: Gateway) -> None:
    *rows, left_out = run_recipe(stack, "Molecules without structural alerts")
    assert rows and len(rows) <= 5
    alerts = FilterCatalogParams()
    for name in ("PAINS_A", "PAINS_B", "PAINS_C", "BRENK"):
        alerts.AddCatalog(getattr(FilterCatalogParams.FilterCatalogs, name))
    catalog = FilterCatalog(alerts)
    for row in rows:
        smiles, scores = row.split(" ", 1)
        values = ast.literal_eval(scores)
        assert values["SA"] <= 3 and values["novelty"] >= 0.2 and values["PAINS"] == values["Brenk"] == 0
        assert not catalog.HasMatch(Chem.MolFromSmiles(smiles))
    counts = ast.literal_eval(left_out)
    assert [f["name"] for f in counts["filters"]] == ["SA", "PAINS", "Brenk", "novelty"]
    assert counts["molecules"] <= sum(f["molecules"] for f in counts["filters"])


def test_synthesis(stack: Gateway) -> None:
    (code,) = blocks("SYNTHESIS.md", "python")
    lines = run(stack, [sys.executable, "-c"], code)
    molecules = [i for i, line in enumerate(lines) if not line.startswith(" ")]
    assert len(molecules) == 5
    for start, end in zip(molecules, [*molecules[1:], len(lines)], strict=True):
        steps = [line.split() for line in lines[start + 1 : end]]
        assert len(steps) <= 3
        made = set()
        for precursors, _, product, *reaction in steps:
            assert reaction and all(Chem.MolFromSmiles(smiles) for smiles in precursors.split("."))
            made.add(product)
        target = Chem.MolFromSmiles(lines[start].split()[0])
        Chem.RemoveStereochemistry(target)
        assert not steps or Chem.MolToSmiles(target) in {Chem.CanonSmiles(smiles) for smiles in made}


def test_synthesis_on_the_command_line(stack: Gateway) -> None:
    (command,) = blocks("SYNTHESIS.md", "bash")
    output = "\n".join(run(stack, ["bash", "-euo", "pipefail", "-c"], command))
    assert "synthesis_steps" in output and "route" in output, output


def test_ranking(stack: Gateway) -> None:
    first, *others = run_recipe(stack, "Ranked passages")
    assert first.endswith("Aspirin is an analgesic.") and len(others) == 2


def test_probable_passages(stack: Gateway) -> None:
    [line] = run_recipe(stack, "Passages that probably answer")
    score, text = line.split(" ", 1)
    assert 0.5 <= float(score) < 1 and text.startswith("The Rhine is a river")


def test_openai(stack: Gateway) -> None:
    sizes, answer = run_recipe(stack, "Vectors")
    assert sizes == "2 384" and "Cn1c(=O)c2c(ncn2C)n(C)c1=O" in answer


def test_langchain(stack: Gateway) -> None:
    sizes, ranked = run_recipe(stack, "Retrieval")
    assert sizes == "3 384" and ranked.startswith("['Aspirin is an analgesic.'")


def test_tritonclient(stack: Gateway) -> None:
    assert run_recipe(stack, "Raw tensors") == ["(1, 384)"]


def test_cma(stack: Gateway) -> None:
    rows = [line.split() for line in run_recipe(stack, "A score")]
    scores = [float(score) for _, score, _ in rows]
    assert len(rows) == 10 and scores == sorted(scores) and Chem.MolFromSmiles(rows[-1][2])
    assert scores[-1] > 0.56, "no better than aspirin itself"


@pytest.fixture(scope="module")
def jobs_gateway(stack: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway with jobs, in front of the Triton of the stack."""
    data = str(tmp_path_factory.mktemp("jobs"))
    with Gateway(stack.triton, stack.repository, RETORT_JOBS="true", RETORT_JOBS_DATA=data) as gateway:
        gateway.wait_ready("latent", "embedding", "chat")
        yield gateway


def test_a_batch(jobs_gateway: Gateway, tmp_path: Path) -> None:
    batch, _ = blocks("JOBS.md", "python")
    assert run(jobs_gateway, [sys.executable, "-c"], batch, tmp_path) == ["text-0 384", "text-1 384"]


def test_a_search_as_a_job(jobs_gateway: Gateway) -> None:
    _, search = blocks("JOBS.md", "python")
    *events, found = run(jobs_gateway, [sys.executable, "-c"], search)
    states = [json.loads(event.removeprefix("data: ")) for event in events if event.startswith("data: ")]
    assert states[-1]["status"] == "completed" and states[-1]["progress"]["iteration"] == 20
    assert found.startswith("['") and found.count(",") == 9


def test_own_function(jobs_gateway: Gateway) -> None:
    *rows, calls = run_recipe(jobs_gateway, "100 calls")
    scores = [float(row.split()[0]) for row in rows]
    assert len(rows) == 10 and scores == sorted(scores, reverse=True)
    assert all(
        QED.qed(Chem.MolFromSmiles(row.split()[1])) == pytest.approx(float(row.split()[0]), abs=1e-3) for row in rows
    )
    assert 60 <= int(calls.removesuffix(" calls")) <= 120  # a text that is no molecule costs none


def test_assay_table(jobs_gateway: Gateway) -> None:
    """The table is not asked for again."""
    recipe = (USE / "RECIPES.md").read_text()
    rows = [line.split() for line in run_recipe(jobs_gateway, "A start from an assay table")]
    assert rows and not any(f"\n{smiles}," in recipe for _, smiles in rows)
    assert all(Chem.MolFromSmiles(smiles) for _, smiles in rows)


def test_pareto_front(stack: Gateway) -> None:
    rows = [line.split() for line in run_recipe(stack, "A Pareto front")]
    points = [(float(qed), float(sa)) for qed, sa, _ in rows]
    assert len(points) > 2
    for qed, sa in points:
        assert not any(q >= qed and s <= sa and (q, s) != (qed, sa) for q, s in points)


def test_a_continued_response(jobs_gateway: Gateway) -> None:
    """The example in RESPONSES.md: the second request refers to the drawing of the first."""
    (example,) = blocks("RESPONSES.md", "python")
    (answers,) = run(jobs_gateway, [sys.executable, "-c"], example)
    assert "Cn1c(=O)c2c(ncn2C)n(C)c1=O" in answers and "C8H10N4O2" in answers


def test_the_first_requests(stack: Gateway) -> None:
    """The example in use/README.md: a stream with a request id, and an error that names the wrong field."""
    (block,) = blocks("README.md", "bash")
    output = "\n".join(run(stack, ["bash", "-euo", "pipefail", "-c"], block))
    assert re.search(r"^X-Request-Id: try-1\s*$", output, re.MULTILINE)
    assert output.count('data: {"seed":0,"iteration":') == 3 and 'data: {"generated":["' in output
    assert '"param":"input[1]","code":"invalid_type"' in output


def test_the_shipped_models(stack: Gateway) -> None:
    page = (USE / "README.md").read_text()
    table = page[page.index("## Which API?") : page.index("## Which address")]
    served = requests.get(f"{stack.url}/v1/models", timeout=PATIENCE).json()["data"]
    assert set(re.findall(r"`([\w-]+/[\w.-]+)`", table)) == {model["id"] for model in served}


@pytest.mark.parametrize("page", sorted(path.name for path in USE.glob("*.md")))
def test_every_example_is_run(page: str) -> None:
    """Each page has as many examples as this file tests, so that a new one needs a test."""
    tested = {"README.md": 1, "RECIPES.md": 14, "JOBS.md": 2, "RESPONSES.md": 1, "SYNTHESIS.md": 2}
    if page in TESTED_ELSEWHERE:
        assert page in (ROOT / "scripts/tests" / TESTED_ELSEWHERE[page]).read_text()
    else:
        assert len(BLOCK.findall((USE / page).read_text())) == tested.get(page, 0)


def test_versions_of_clients_are_pinned() -> None:
    """Every version in the second column of CLIENTS.md is one that a file of pinned requirements of the tests has."""
    tests = ROOT / "scripts/tests"
    pins = [
        *tests.glob("requirements*.txt"),
        tests / "engine/requirements.txt",
        ROOT / "scripts/triton/requirements.txt",
    ]
    pins += [tests / "javascript/package.json", tests / "go_clients/go.mod"]
    pinned = {version for path in pins for version in re.findall(r"\d+(?:\.\d+)+", path.read_text())}
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|", (USE / "CLIENTS.md").read_text(), re.MULTILINE)
    versions = {version for row in rows for version in re.findall(r"\d+\.\d+\.\d+", row)}
    assert len(versions) > 20
    assert [version for version in sorted(versions) if version not in pinned] == []
