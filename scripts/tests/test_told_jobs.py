"""Searches as jobs whose client tells the scores (the term told), and searches from known molecules, in front of a real
Triton."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from rdkit import Chem
from servers import ROOT, Gateway
from waiting import PATIENCE, wait_for

SEED = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"
TOLD = {"name": "told", "unit": 3}
SAME = "heavy_atoms"
"""The term with the values and the unit of told in these tests."""
BODIES: dict[str, dict] = {
    "latent": {
        "smi": SEED,
        "iterations": 4,
        "particles": 8,
        "min_similarity": 0.2,
        "seed": 1,
        "evaluated": True,
        "include_scores": True,
    },
    "masked": {"num_molecules": 6, "rounds": 3, "seed": 1, "evaluated": True},
}
"""Short searches by API."""


def heavy_atoms(smiles: str) -> int:
    return Chem.MolFromSmiles(smiles).GetNumHeavyAtoms()


class Job:
    """A job whose client tells the scores. asked: all candidates so far, by id."""

    def __init__(self, gateway: Gateway, api: str, body: dict) -> None:
        self.api = api
        self.asked: dict[str, str] = {}
        answer = requests.post(f"{gateway.urls[api]}/generate/jobs", json=body, timeout=PATIENCE)
        assert answer.status_code == 202, answer.text
        self.id = answer.json()["id"]

    def get(self, gateway: Gateway, path: str = "", **query: str) -> requests.Response:
        url = f"{gateway.urls[self.api]}/generate/jobs/{self.id}{path}"
        return requests.get(url, params=query, timeout=PATIENCE)

    def ask(self, gateway: Gateway) -> tuple[str, dict[str, str]]:
        """The status of the job, and the SMILES of the candidates by id. Checks that nothing is asked for twice."""
        answer = self.get(gateway, "/ask").json()
        candidates = {c["id"]: c["smiles"] for c in answer["candidates"]}
        self.asked |= candidates
        assert len(set(self.asked.values())) == len(self.asked)
        return answer["status"], candidates

    def tell(self, gateway: Gateway, scores: list[dict]) -> requests.Response:
        url = f"{gateway.urls[self.api]}/generate/jobs/{self.id}/tell"
        return requests.post(url, json={"scores": scores}, timeout=PATIENCE)

    def answer_all(self, gateway: Gateway, score: Callable[[str], float | None], batches: int = 1000) -> None:
        """Tells the scores of some batches, in random order and in parts, or until the job has ended."""
        chance = random.Random(1)
        while batches > 0:
            status, candidates = self.ask(gateway)
            if status in ("completed", "failed", "cancelled"):
                return
            rows = [{"id": id, "smiles": smiles, "score": score(smiles)} for id, smiles in candidates.items()]
            chance.shuffle(rows)
            for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                if part:
                    answer = self.tell(gateway, part)
                    assert answer.status_code == 200 and answer.json()["accepted"] == len(part), answer.text
            batches -= bool(rows)


@pytest.fixture
def gateway(stack: Gateway, tmp_path: Path):
    """Starts a gateway with the jobs of this test."""
    started: list[Gateway] = []

    def start() -> Gateway:
        one = Gateway(stack.triton, stack.repository, RETORT_JOBS="true", RETORT_JOBS_DATA=str(tmp_path / "jobs"))
        started.append(one)
        one.wait_ready("latent", "masked")
        return one

    yield start
    for one in started:
        one.stop()


def generate(gateway: Gateway, api: str, body: dict) -> dict:
    answer = requests.post(f"{gateway.urls[api]}/generate", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()


def results(answer: dict) -> list[dict]:
    return answer.get("generated") or answer["molecules"]


@pytest.mark.parametrize("api", BODIES)
def test_told_scores_have_the_effect_of_computed_ones(gateway, api: str) -> None:
    """Scores that come late, in parts and in any order, over a kill of the gateway, lead to the same molecules."""
    first = gateway()
    job = Job(first, api, {**BODIES[api], "objective": TOLD})
    job.answer_all(first, heavy_atoms, batches=2)
    wait_for("it asks again", lambda: job.ask(first)[1], first.output)
    assert job.get(first).json()["waiting"] == len(job.ask(first)[1])
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    second = gateway()
    job.answer_all(second, heavy_atoms)
    ended = job.get(second).json()
    assert ended["status"] == "completed" and ended["attempts"] == 2, ended
    assert job.get(second, "/result").json() == generate(second, api, {**BODIES[api], "objective": SAME})
    evaluated = job.get(second, "/evaluated").json()["evaluated"]
    assert {m["smiles"]: m["score"] for m in evaluated} == {s: heavy_atoms(s) for s in job.asked.values()}
    rows = list(csv.DictReader(io.StringIO(job.get(second, "/evaluated", format="csv").text)))
    assert [(row["smiles"], float(row["score"])) for row in rows] == [(m["smiles"], m["score"]) for m in evaluated]


def test_a_failure_is_no_result(gateway) -> None:
    server = gateway()
    job = Job(server, "latent", {**BODIES["latent"], "objective": [TOLD, "QED"]})
    failed = {"": None}

    def score(smiles: str) -> float | None:
        return None if smiles in failed or "N" in smiles else heavy_atoms(smiles)

    job.answer_all(server, score)
    result = job.get(server, "/result").json()
    assert result["generated"] and not any("N" in m["smiles"] for m in result["generated"])
    failures = [m for m in job.get(server, "/evaluated").json()["evaluated"] if m["score"] is None]
    assert {m["smiles"] for m in failures} == {smiles for smiles in job.asked.values() if "N" in smiles}


@pytest.mark.parametrize("api", BODIES)
def test_a_search_uses_a_late_score(gateway, api: str) -> None:
    server = gateway()
    job = Job(server, api, {**BODIES[api], "objective": TOLD})
    failed: list[str] = []

    def score(smiles: str) -> float | None:
        failed.append(smiles)
        return None if len(failed) == 2 else heavy_atoms(smiles)

    job.answer_all(server, score, batches=2)
    wait_for("it asks again", lambda: job.ask(server)[1], server.output)
    id = next(id for id, smiles in job.asked.items() if smiles == failed[1])
    answer = job.tell(server, [{"id": id, "score": 1000}])
    assert answer.status_code == 200 and answer.json()["late"] == 1, answer.text
    job.answer_all(server, heavy_atoms)
    best = results(job.get(server, "/result").json())[0]
    assert (best["smiles"], best["score"]) == (failed[1], 1000)


def test_problems_name_their_field(gateway) -> None:
    server = gateway()
    job = Job(server, "latent", {**BODIES["latent"], "objective": TOLD})
    wait_for("it asks", lambda: job.ask(server)[1], server.output)
    (id,) = job.ask(server)[1]
    for scores, field in (
        ([{"id": id, "score": "high"}], ["scores", 0, "score"]),
        ([{"id": id}], ["scores", 0, "score"]),
        ([{"id": id, "score": 1}, {"id": "9-9", "score": 1}], ["scores", 1, "id"]),
        ([{"id": id, "score": 1, "smiles": "C"}], ["scores", 0, "smiles"]),
        ([], ["scores"]),
    ):
        answer = job.tell(server, scores)
        assert answer.status_code == 422 and answer.json()["detail"][0]["loc"] == ["body", *field], answer.text
    assert list(job.ask(server)[1]) == [id]
    masked = Job(server, "masked", {"num_molecules": 1})
    answer = masked.tell(server, [{"id": "0-0", "score": 1}])
    assert answer.status_code == 400 and "term told" in answer.json()["error"], answer.text
    for api, status in (("latent", 422), ("masked", 400)):
        answer = requests.post(
            f"{server.urls[api]}/generate", json={**BODIES[api], "objective": "told"}, timeout=PATIENCE
        )
        assert answer.status_code == status and "/generate/jobs" in answer.text, answer.text


@pytest.mark.parametrize("api", BODIES)
def test_a_search_goes_on_from_known_molecules(gateway, api: str) -> None:
    """The evaluated molecules of one search, among them a failure, are the start of the next, which asks for none."""
    server = gateway()
    first = generate(server, api, {**BODIES[api], "objective": SAME})
    before = first["evaluated"]
    failed = "O=C(O)c1ccccc1"
    known = [*before, {"smiles": failed, "score": None, "error": "did not dissolve"}]
    body = {**BODIES[api], "seed": 2}
    after = generate(server, api, {**body, "objective": SAME, "known": known})
    names = {m["smiles"] for m in before}
    assert results(after)[0]["score"] >= results(first)[0]["score"]
    if api == "latent":  # the masked API lists the warm starts
        assert not names & {m["smiles"] for m in after["evaluated"]}
    job = Job(server, api, {**body, "objective": TOLD, "known": known})
    job.answer_all(server, heavy_atoms)
    assert job.get(server).json()["status"] == "completed"
    assert job.asked and not {*names, failed} & set(job.asked.values())
    told = job.get(server, "/result").json()
    if api == "latent":  # a search whose scores are costly chooses among more edits (search.CostlyScores)
        assert results(told)[0]["score"] >= results(first)[0]["score"]
    else:
        assert told == after
    wrong = requests.post(
        f"{server.urls[api]}/generate", json={**body, "known": [{"smiles": "C("}, {"smiles": "C"}]}, timeout=PATIENCE
    )
    assert wrong.status_code in (400, 422) and "known" in wrong.text, wrong.text


def retort(gateway: Gateway, *arguments: str, text: str = "") -> str:
    """Runs a subcommand of `retort jobs` with some standard input. Returns its output."""
    ended = subprocess.run(
        [str(ROOT / "bin/retort"), "jobs", *arguments, "--url", gateway.url],
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_command_line(gateway) -> None:
    """A spreadsheet's way: candidates and scores as CSV, filled in partly, with a failure."""
    server = gateway()
    body = {**BODIES["latent"], "objective": TOLD, "iterations": 1}
    id = json.loads(retort(server, "start", "latent", "-", text=json.dumps(body)))["id"]
    told: dict[str, float | None] = {}
    while json.loads(retort(server, "show", id))["status"] != "completed":
        rows = list(csv.DictReader(io.StringIO(retort(server, "ask", id))))
        for row in rows[: (len(rows) + 1) // 2]:
            told[row["smiles"]] = None if "N" in row["smiles"] else heavy_atoms(row["smiles"])
            row |= {"error": "spilled"} if told[row["smiles"]] is None else {"score": str(told[row["smiles"]])}
        if rows:
            text = io.StringIO()
            table = csv.DictWriter(text, ["score", "note", "error", "id"], extrasaction="ignore")
            table.writeheader()
            table.writerows(rows)
            assert json.loads(retort(server, "tell", id, "-", text=text.getvalue()))["accepted"] == (len(rows) + 1) // 2
    known = json.loads(retort(server, "evaluated", id, "-f", "json"))["evaluated"]
    assert {m["smiles"]: m["score"] for m in known} == told
    assert retort(server, "evaluated", id).startswith("smiles,score,error\n")
