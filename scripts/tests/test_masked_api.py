"""The masked-template API on the shipped model and a real Triton, with requests of its published clients."""

from __future__ import annotations

import json

import pytest
import requests
from rdkit import Chem
from waiting import PATIENCE, at_once, wait_for


@pytest.fixture(scope="module")
def url(stack) -> str:
    return stack.urls["masked"]


def generate(url: str, **body) -> list[dict]:
    answer = requests.post(f"{url}/generate", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "success"
    return answer.json()["molecules"]


def test_the_documented_example_with_every_value_as_text(url: str) -> None:
    body = {
        "smiles": "C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]",
        "num_molecules": 8,
        "temperature": 1.0,
        "noise": 1.0,
        "step_size": 1,
        "scoring": "QED",
        "unique": True,
    }
    molecules = generate(url, **{name: str(value) for name, value in body.items()})
    assert molecules and all(set(m) == {"smiles", "score"} for m in molecules)
    scores = [m["score"] for m in molecules]
    assert scores == sorted(scores, reverse=True) and len({m["smiles"] for m in molecules}) == len(molecules)


def test_a_seed_gives_the_same_molecules_beside_other_requests(url: str) -> None:
    body = {"smiles": "[*]c1ccccc1.[*{5-12}]", "num_molecules": 6, "temperature": 1.2, "noise": 0.5, "seed": 4}
    alone = generate(url, **body)
    others = [lambda: generate(url, num_molecules=6, step_size=3)] * 3
    beside, *_ = at_once(lambda: generate(url, **body), *others)
    assert beside == alone


def test_a_stream_reports_progress(url: str) -> None:
    answer = requests.post(
        f"{url}/generate",
        json={"num_molecules": 4, "rounds": 1, "step_size": 4, "stream": True},
        stream=True,
        timeout=PATIENCE,
    )
    events = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith(b"data: ")]
    assert [e["status"] for e in events[:-1]] == ["running"] * (len(events) - 1) and events[-1]["status"] == "success"
    assert {e["round"] for e in events[:-1]} == {0, 1}


def test_a_disconnected_client_frees_the_service(stack, url: str) -> None:
    """The gateway logs the abandoned request with status 499 before its work would have ended."""
    before = stack.output().count('"status":499')
    with pytest.raises(requests.Timeout):
        requests.post(f"{url}/generate", json={"num_molecules": 1000}, timeout=1)
    wait_for("the abandoned request is given up", lambda: stack.output().count('"status":499') > before)
    assert generate(url, smiles="[*{4-4}]", num_molecules=1)


def test_filters(url: str) -> None:
    """Molecules that fail a filter are replaced and counted, in streams too; the values are those of the terms."""
    body = {
        "num_molecules": 20,
        "seed": 3,
        "filters": [{"name": "SA", "max": 2.5}, {"name": "Brenk", "max": 0}, {"name": "novelty", "min": 0.3}],
        "scores": ["SA", "Brenk", "novelty", "heavy_atoms"],
    }
    answer = requests.post(url + "/generate", json=body, timeout=PATIENCE).json()
    assert 10 <= len(answer["molecules"]) <= 20 and answer["drawn"] > 20
    for molecule in answer["molecules"]:
        scores = molecule["scores"]
        assert scores["SA"] <= 2.5 and scores["Brenk"] == 0 and 0.3 <= scores["novelty"] <= 1
        assert scores["heavy_atoms"] == Chem.MolFromSmiles(molecule["smiles"]).GetNumHeavyAtoms()
    left_out = answer["left_out"]
    assert [f["name"] for f in left_out["filters"]] == ["SA", "Brenk", "novelty"]
    assert 0 < left_out["molecules"] <= sum(f["molecules"] for f in left_out["filters"])
    with requests.post(url + "/generate", json=body | {"stream": True}, stream=True, timeout=PATIENCE) as stream:
        last = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith(b"data: ")][-1]
    assert last["molecules"] == answer["molecules"] and last["left_out"] == left_out
