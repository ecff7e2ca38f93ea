"""Custom oracles in both molecule APIs: the example of docs/use/ORACLES.md, loaded into a running Triton."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

sys.path.insert(0, str(ROOT))
from scripts.eval.pmo import __main__ as pmo  # noqa: E402
from scripts.eval.pmo import oracles, tasks  # noqa: E402

EXAMPLE = ROOT / "scripts/tests/testdata/oracles/toy_docking"
PAGE = ROOT / "orchestrator/docs/use/ORACLES.md"
NEEDED = ("latent_encoder", "latent_decoder", "masked")


class Served:
    """A gateway whose repository a test may change."""

    def __init__(self, gateway: Gateway, repository: Path) -> None:
        self.gateway, self.repository = gateway, repository

    def post(self, api: str, body: dict) -> requests.Response:
        return requests.post(f"{self.gateway.urls[api]}/generate", json=body, timeout=PATIENCE)

    def add(self, folder: Path, name: str, change=lambda text: text) -> None:
        """Moves a complete oracle into the repository and waits until it is served."""
        staged = self.repository.parent / name
        shutil.copytree(folder, staged)
        config = staged / "config.pbtxt"
        config.write_text(change(config.read_text()))
        term = re.search(r'"model_id" value \{ string_value: "([^"]+)"', config.read_text())[1]
        staged.rename(self.repository / name)
        body = {"smi": "CCO", "algorithm": "none", "num_molecules": 1, "particles": 2, "objective": term}
        wait_for(f"{term} is known", lambda: "Input should be" not in self.post("latent", body).text)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    repository = tmp_path_factory.mktemp("oracles") / "models"
    repository.mkdir()
    for name in NEEDED:
        shutil.copytree(ROOT / "model_repository" / name, repository / name)
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("latent", "masked")
        yield Served(gateway, repository)


@pytest.fixture(scope="module")
def docking(served: Served) -> Served:
    """The gateway, with the example of the page."""
    served.add(EXAMPLE, "toy_docking")
    return served


def block(language: str, start: str) -> str:
    """The code block of the page that has a language and begins with start."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (found,) = [code for code in blocks if code.startswith(start)]
    return found


def test_the_page_shows_the_files_of_the_example() -> None:
    config = (EXAMPLE / "config.pbtxt").read_text()
    assert block("", "backend:") == re.sub(r"^#.*\n", "", config)
    assert block("python", "class ") in (EXAMPLE / "1" / "model.py").read_text()


def test_the_commands_of_the_page(docking: Served) -> None:
    script = block("bash", "curl ")
    for port, api in ((8001, "latent"), (8002, "masked")):
        script = script.replace(f"localhost:{port}", docking.gateway.urls[api].removeprefix("http://"))
    latent, masked = [
        json.loads(subprocess.run(["bash", "-c", call], capture_output=True, text=True, timeout=PATIENCE).stdout)
        for call in re.split(r"\n(?=curl )", script)
    ]
    assert len(latent["generated"]) == 10 and latent["evaluated"] and len(masked["molecules"]) == 20


def test_the_example_of_the_page_is_optimised_by_both_apis(docking: Served) -> None:
    both = {
        "combine": "geometric_mean",
        "terms": [
            "toy-docking",
            "QED",
            {"name": "toy-docking", "output": "affinity", "modifier": {"type": "clipped", "lower": -4, "upper": -9}},
        ],
    }
    answer = docking.post(
        "latent",
        {
            "smi": [],
            "objective": both,
            "include_scores": True,
            "evaluated": True,
            "seed": 5,
            "iterations": 8,
            "particles": 20,
        },
    )
    assert answer.status_code == 200, answer.text
    found, evaluated = answer.json()["generated"], answer.json()["evaluated"]
    scores = sorted((m["score"] for m in evaluated), reverse=True)
    assert found[0]["score"] == scores[0] > scores[len(scores) // 2] and len({m["smiles"] for m in evaluated}) == len(
        evaluated
    )
    # The other API continues from the molecules found, and gives them the same scores.
    starts = {m["smiles"]: m["score"] for m in found}
    answer = docking.post(
        "masked",
        {"smi": list(starts), "rounds": 2, "num_molecules": 8, "objective": both, "evaluated": True, "seed": 5},
    )
    assert answer.status_code == 200, answer.text
    again = {m["smiles"]: m["score"] for m in answer.json()["evaluated"]}
    assert all(math.isclose(again[smiles], score, abs_tol=1e-9) for smiles, score in starts.items())
    assert answer.json()["molecules"][0]["score"] >= found[0]["score"] - 1e-9


@pytest.mark.parametrize("api, status", [("latent", 422), ("masked", 400)])
def test_a_failing_oracle_is_named_before_the_search_starts(served: Served, api: str, status: int) -> None:
    name = f"broken_{api}"
    folder = served.repository.parent / f"made_{api}"
    shutil.copytree(EXAMPLE, folder)
    model = folder / "1" / "model.py"
    model.write_text(
        model.read_text().replace('"""Score and affinity of a molecule."""', 'raise ValueError("the pocket is closed")')
    )
    served.add(folder, name, lambda text: text.replace("toy-docking", name))
    body = {"smi": "CCO"} if api == "latent" else {}
    answer = served.post(api, {**body, "objective": {"terms": ["QED", name]}})
    assert answer.status_code == status and name in answer.text and "the pocket is closed" in answer.text, answer.text
    assert "terms" in answer.text


def test_pmo_tasks_score_the_same_as_oracles_and_as_built_in_terms(served: Served) -> None:
    """For two tasks: the oracle model gives molecules of a short search the scores of the gateway's terms."""
    gateway = pmo.Gateway(served.gateway.urls["latent"], served.gateway.urls["masked"])
    for task in ("ranolazine_mpo", "isomers_c9h10n2o2pf2cl"):
        own = dict(gateway.search("latent", tasks.COMPOSED[task], 100, 1))
        assert len(own) >= 60
        with pmo.OracleModel(served.repository, task, f"{task}_test", 1000) as model:
            model.wait(gateway)
            starts = list(own)[:100]
            scored = dict(gateway.latent(model.name, 2, 1, starts))
            assert model.calls() and not gateway.unfinished
        shared = set(own) & set(scored)
        assert len(shared) >= 60 and all(math.isclose(own[s], scored[s], rel_tol=1e-5, abs_tol=1e-6) for s in shared)
        assert all(
            math.isclose(own[s], value, abs_tol=1e-6) for s, value in zip(shared, oracles.scores(task, list(shared)))
        )


def test_a_pmo_search_ends_with_the_last_call_of_its_oracle(served: Served) -> None:
    gateway = pmo.Gateway(served.gateway.urls["latent"], served.gateway.urls["masked"])
    gateway.particles = 10
    with pmo.OracleModel(served.repository, "qed", "limited", 60) as model:
        model.wait(gateway)
        gateway.search("latent", model.name, 200, 1)
        assert len(model.calls()) == 60 and gateway.unfinished["reason"] == "oracle"


def test_a_pmo_search_that_was_cut_short_has_no_part_in_the_figures() -> None:
    row = {"task": "qed", "search": "latent", "auc": 0.5}
    other = {"task": "median1", "search": "latent", "auc": 0.25}
    table = pmo.report([row, other, {**row, "search": "masked", "cut_short": {"reason": "deadline"}}])
    assert "| qed | 0.500 ± 0.000 (1) | cut short |" in table
    assert "| sum of 2 | 0.750 |  |" in table


def test_the_area_under_the_curve_equals_that_of_the_benchmark() -> None:
    assert pmo.auc([1.0] * 10_000, 10_000) == pytest.approx(0.995)  # from 0 to 1 within the first 100 calls
    assert pmo.auc([0.0] * 5000 + [1.0] * 5000, 10_000) == pytest.approx(0.495)
    assert pmo.auc([1.0] * 100, 10_000) == pytest.approx(0.995)
