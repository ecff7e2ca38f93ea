"""The vendor's clients, notebooks and examples against the whole stack. The clients run in the environment of
requirements-rerank.txt.

The notebooks of github.com/NVIDIA/digital-biology-examples (commit 55d7bb4b, examples/nims) and the skill genmol-nim of
github.com/NVIDIA-BioNeMo/bionemo-agent-toolkit (commit f62542c) are no packages: the tests have their requests one by
one. The optimizer of the notebook cma_custom_oracles is a package that may only be evaluated, so it is not used here;
vendor_client.py has its loop.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import requests
from rdkit import Chem
from servers import ROOT, Gateway
from waiting import PATIENCE

PYTHON = ROOT / ".venv-rerank" / "bin" / "python"
IBUPROFEN = "CC(C)Cc1ccc(cc1)C(C)C(=O)O"
IMATINIB = "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
"""What the vendor's notebook begins with."""
TEXT = {
    "input_ids": [[[101, 2054, 102]], "int64"],
    "attention_mask": [[[1, 1, 1]], "int64"],
    "token_type_ids": [[[0, 0, 0]], "int64"],
}
POINT = {"hiddens": [[[[0.0] * 512]], "float32"]}
INPUTS: dict[str, dict] = {
    "minilm_embed": TEXT,
    "minilm_embed_qa": TEXT,
    "minilm_rank_qa": TEXT,
    "latent_encoder": {"input_ids": [[[1, 5, 5, 2]], "int64"], "attention_mask": [[[1, 1, 1, 1]], "int64"]},
    "latent_decoder": {**POINT, "temperature": [[[0.0]], "float32"], "seed": [[[1]], "int64"]},
    "latent_decoder_beam": {**POINT, "beam_size": [[[2]], "int64"]},
    "masked": {
        "input_ids": [[[1, 4, 4, 4, 2]], "int64"],
        "temperature": [[[1.0]], "float32"],
        "noise": [[[0.0]], "float32"],
        "step_size": [[[1]], "int64"],
        "gamma": [[[0.0]], "float32"],
        "seed": [[[1]], "int64"],
    },
    "molecule_reader": {"text_input": [["What can you read?"], "bytes"], "stream": [[True], "bool"]},
}


def run_client(*arguments: str, given: object = None) -> dict:
    assert PYTHON.exists(), "make .venv-rerank/stamp"
    run = subprocess.run(
        [PYTHON, Path(__file__).with_name("vendor_client.py"), *arguments],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


def test_pytriton_asks_every_model(stack) -> None:
    """pytriton's gRPC client reads each model's config and fails on an empty parameter."""
    folder = next((ROOT / ".venv-triton").glob("lib/python3*/site-packages"))
    named = {entry.parent.name for entry in (ROOT / "model_repository").glob("*/config.pbtxt")}
    assert named == set(INPUTS), "an entry without inputs here"
    shapes = run_client("triton", stack.triton, str(folder), given=INPUTS)
    assert shapes["minilm_embed"]["sentence_embedding"] == [1, 384]
    assert shapes["minilm_rank_qa"]["logits"] == [1, 1]
    assert shapes["latent_encoder"]["hiddens"] == [1, 1, 512]
    assert set(shapes) == set(INPUTS)


@pytest.mark.parametrize("sigma", ["1.0"])
def test_molmim_notebook_with_a_custom_oracle(stack, sigma: str) -> None:
    for generation in run_client("molmim", stack.urls["latent"], IMATINIB, sigma):
        assert len(generation) == 20
        assert len(set(generation)) > 12, generation


def test_requests_without_the_vendors_client(stack) -> None:
    """Published code that reads item["smiles"] and code that reads strings work with one server."""
    body = {"smi": IBUPROFEN, "algorithm": "none", "num_molecules": 3, "scaled_radius": 0.7, "seed": 1}
    url = f"{stack.urls['latent']}/generate"
    plain = requests.post(url, json=body, timeout=PATIENCE).json()["generated"]
    assert all(isinstance(item, str) for item in plain)
    for more in (
        {"json": {**body, "generated": "objects"}},
        {"json": body, "params": {"generated": "objects"}},
        {"json": body, "headers": {"X-Retort-Generated": "objects"}},
    ):
        items = requests.post(url, timeout=PATIENCE, **more).json()["generated"]
        assert [item["smiles"] for item in items] == plain
        assert all("score" in item for item in items)
    for more in (
        {"json": {**body, "generated": "strings"}, "params": {"generated": "objects"}},
        {"json": body, "params": {"generated": "strings"}, "headers": {"X-Retort-Generated": "objects"}},
        {"json": body, "headers": {"X-Retort-Generated": "other"}},
    ):
        assert requests.post(url, timeout=PATIENCE, **more).json()["generated"] == plain
    for wrong in ([""], ["other"], ["strings", "objects"]):
        refused = requests.post(url, json=body, params={"generated": wrong}, timeout=PATIENCE)
        assert refused.status_code == 422 and "generated" in refused.text, refused.text
    refusal = requests.post(url, json=body, params={"generated": "other"}, timeout=PATIENCE)
    assert refusal.status_code == 422
    assert [detail["loc"] for detail in refusal.json()["detail"]] == [["body", "generated"]]


class NIMClient:
    """The requests of the client in the notebook's folder."""

    def __init__(self, url: str) -> None:
        self.url = url

    def encode(self, smis: list[str]) -> np.ndarray:
        answer = requests.post(f"{self.url}/hidden", json={"sequences": smis}, timeout=PATIENCE)
        return np.expand_dims(np.squeeze(np.array(answer.json()["hiddens"])), 0)

    def decode(self, latent_features: np.ndarray) -> list[str]:
        points = np.squeeze(latent_features)
        body = {"hiddens": np.expand_dims(points, 1).tolist(), "mask": [[True]] * len(points)}
        return requests.post(f"{self.url}/decode", json=body, timeout=PATIENCE).json()["generated"]


def test_molmim_notebook_sends_decoded_molecules_back(stack) -> None:
    """MolMIMOracleControlledGeneration.ipynb sends each valid molecule of /decode to /hidden; one that is refused would
    end it."""
    client, random = NIMClient(stack.urls["latent"]), np.random.default_rng(1)
    start = client.encode([IMATINIB])[0]
    points = start + random.normal(0, 2.0, (600, 512))
    decoded = client.decode(points)
    valid = [smiles for smiles in dict.fromkeys(decoded) if Chem.MolFromSmiles(smiles)]
    assert len(valid) > 500
    answer = requests.post(f"{client.url}/hidden", json={"sequences": valid}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text


def text(**body: object) -> dict:
    """A request in the form of the notebooks' client (genmol.py): every value as text, over its defaults."""
    defaults = {"num_molecules": 10, "temperature": 1.0, "noise": 0.0, "step_size": 1, "unique": True, "scoring": "QED"}
    return {name: str(value) for name, value in {**defaults, **body}.items()}


MOTIF = "C124CN3C1.S3(=O)(=O)CC.C4C#N"
"""The motif of 1.basics.ipynb, as its Utils.smiles2safe (safe-mol) writes it."""
TWO = "c14ncnc2[nH]ccc12.C136CN5C1.S5(=O)(=O)CC.C6C#N"
"""The two fragments of 2.linker-design.ipynb, as Utils.smiles2safe writes them."""
AZETIDINE, PYRROLOPYRIMIDINE = "CCS(=O)(=O)N1CC(CC#N)C1", "c1ncnc2[nH]ccc12"
GENMOL_2: dict[str, tuple[dict, list[str]]] = {
    "endpoints.html": (
        {
            "smiles": "[C@H]1O[C@@H](CO)[C@H](O)[C@@H]1O.[*{15-15}]",
            "num_molecules": "5",
            "temperature": "2.0",
            "noise": "1.0",
            "step_size": "1",
            "scoring": "QED",
        },
        ["C1OC(CO)C(O)C1O"],
    ),
    "1.basics, de novo": (text(smiles="[*{15-25}]", num_molecules=20), []),
    "1.basics, motif": (
        text(smiles=f"{MOTIF}.[*{{15-25}}]", num_molecules=100, temperature=2.0, noise=1.0),
        [AZETIDINE],
    ),
    "1.basics, scaffold": (
        text(smiles="c16ncnc2[nH]ccc12.c14c6cnn15.C15CNC1.[*{15-15}]", temperature=1.5, noise=1.0),
        ["c1ncnc2[nH]ccc12"],
    ),
    "1.basics, validity": (
        text(smiles=f"{MOTIF}.[*{{17-17}}]", num_molecules=100, temperature=1.2, noise=1.6, unique=False),
        [AZETIDINE],
    ),
    "2.linker-design, mask at the end": (
        text(smiles=f"{TWO}.[*{{15-35}}]", num_molecules=1000, temperature=1.5, noise=1.0),
        [AZETIDINE, PYRROLOPYRIMIDINE],
    ),
    "2.linker-design, short mask between": (
        text(
            smiles="c14ncnc2[nH]ccc12.C136CN5C1.[*{5-15}].S5(=O)(=O)CC.C6C#N",
            num_molecules=1000,
            temperature=1.5,
            noise=1.0,
        ),
        [AZETIDINE, PYRROLOPYRIMIDINE],
    ),
    "2.linker-design, linkers": (text(smiles="[*{20-20}]", num_molecules=3, temperature=1.5, noise=1.0), []),
    "2.linker-design, extended": (
        text(smiles=f"{MOTIF}.[*{{40-40}}]", num_molecules=5, temperature=1.5, noise=1.0),
        [AZETIDINE],
    ),
    "3.hit-generation": (
        text(smiles="CCS2(=O)(=O).C134CN2C1.C3C#N.[*{10-10}]", num_molecules=5, temperature=1.5, noise=2.0),
        [AZETIDINE],
    ),
    "skill, de novo": (
        {
            "smiles": "[*{20-30}]",
            "num_molecules": 30,
            "temperature": "1.0",
            "noise": "1.0",
            "step_size": 1,
            "scoring": "QED",
            "unique": False,
        },
        [],
    ),
    "skill, scaffold": (
        {"smiles": "C1CC(=O)NC1.[*{10-15}]", "num_molecules": 10, "temperature": "1.0", "noise": "1.0"},
        ["C1CC(=O)NC1"],
    ),
    "skill, optimization of LogP": (
        {
            "smiles": "c13ccc(C)cc1.CC2=O.[*{5-12}]",
            "num_molecules": 30,
            "temperature": "1.0",
            "noise": "1.0",
            "scoring": "LogP",
            "unique": True,
        },
        ["Cc1ccccc1", "CC=O"],
    ),
    "skill drug-discovery-pipeline": (
        {
            "smiles": "[*{20-30}]",
            "num_molecules": 30,
            "scoring": "QED",
            "unique": True,
            "temperature": "1.0",
            "noise": "1.0",
        },
        [],
    ),
    "plain SMILES": ({"smiles": "CC(=O)Oc1ccccc1C(=O)O", "num_molecules": 40, "unique": True}, ["O=C(O)c1ccccc1"]),
    "few fillings": ({"smiles": "c1ccccc1.[*{1-2}]", "num_molecules": 30, "unique": True}, ["c1ccccc1"]),
    "without a template": ({"smiles": None, "unique": True, "step_size": 10, "filter": True}, []),
}
"""Requests of GenMol 2.0, and the fragments that each molecule must have."""


@pytest.fixture(scope="module")
def genmol_2(stack):
    with Gateway(stack.triton, ROOT / "model_repository", RETORT_MASKED_GENMOL="2") as gateway:
        gateway.wait_ready("masked")
        yield gateway.urls["masked"]


@pytest.mark.parametrize("name", GENMOL_2)
def test_examples_of_genmol_2(genmol_2: str, name: str) -> None:
    body, fragments = GENMOL_2[name]
    answer = requests.post(f"{genmol_2}/generate", json={**body, "seed": 1}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "success"
    smiles = [molecule["smiles"] for molecule in answer.json()["molecules"]]
    assert len(smiles) == int(body.get("num_molecules", 30))
    if body.get("unique") in (True, "True"):
        assert len(set(smiles)) == len(smiles)
    scores = [molecule["score"] for molecule in answer.json()["molecules"]]
    assert scores == sorted(scores, reverse=True)
    molecules = [Chem.MolFromSmiles(molecule) for molecule in smiles]
    assert None not in molecules
    for fragment in fragments:
        query = Chem.MolFromSmiles(fragment)
        assert all(molecule.HasSubstructMatch(query) for molecule in molecules), fragment


def test_setting_of_genmol_2_is_described(stack, genmol_2: str) -> None:
    for url, default in ((stack.urls["masked"], 0.0), (genmol_2, 1.0)):
        document = requests.get(f"{url}/openapi.json", timeout=PATIENCE).json()
        assert document["components"]["schemas"]["GenerateRequest"]["properties"]["noise"]["default"] == default
