"""The vendor's clients and notebooks, in the environment of requirements-rerank.txt, against the whole stack."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import requests
from servers import ROOT
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
        {"json": body, "params": {"generated": "other"}},
    ):
        assert requests.post(url, timeout=PATIENCE, **more).json()["generated"] == plain
