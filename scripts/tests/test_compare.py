"""`retort compare` and the examples of COMPARE.md, in front of a real Triton."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from servers import ROOT
from waiting import PATIENCE

PLAIN, QA = "sentence-transformers/all-MiniLM-L6-v2", "retort/minilm-embedqa-v2"
MOLECULES = ["CC(=O)Oc1ccccc1C(=O)O", "CC(C)Cc1ccc(C(C)C(=O)O)cc1", "Cn1c(=O)c2c(ncn2C)n(C)c1=O", "CC(=O)Nc1ccc(O)cc1"]
TEXTS = {
    "What eases pain?": "Aspirin and ibuprofen relieve pain and reduce fever.",
    "How do plants make sugar?": "In photosynthesis, leaves turn light, water and carbon dioxide into glucose.",
    "Why is the sky blue?": "Air scatters short wavelengths of sunlight more than long ones.",
    "What keeps you awake?": "Caffeine blocks the receptors of adenosine in the brain.",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Held-out files, as the training makes them: molecules, passages and queries."""
    where = tmp_path_factory.mktemp("compare")
    passages = [{"pid": f"p{i}", "text": text} for i, text in enumerate(TEXTS.values())]
    queries = [{"qid": f"q{i}", "query": q, "pos": [f"p{i}"], "split": "test"} for i, q in enumerate(TEXTS)]
    for name, lines in (
        ("own_valid.smi.gz", MOLECULES),
        ("own.passages.jsonl.gz", map(json.dumps, passages)),
        ("own.queries.jsonl.gz", map(json.dumps, queries)),
    ):
        (where / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return where


def compare(url: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(ROOT / "bin/retort"), "compare", *arguments, "--url", url]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=PATIENCE)


def figures(url: str, folder: Path, *arguments: str) -> dict[str, dict]:
    """Returns the figures by name."""
    ended = compare(url, folder, *arguments, "--json")
    assert ended.returncode == 0, ended.stderr
    return {figure["name"]: figure for figure in json.loads(ended.stdout)["figures"]}


def test_the_page(gateway_url: str, folder: Path) -> None:
    page = (ROOT / "orchestrator/docs/use/COMPARE.md").read_text()
    (block,) = re.findall(r"^```bash\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    ended = subprocess.run(
        ["bash", "-e", "-c", block.replace("bin/retort", str(ROOT / "bin/retort"))],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "RETORT_URL": gateway_url},
    )
    assert ended.returncode == 0, ended.stderr
    *table, latent = ended.stdout.splitlines()
    assert table[0] == f"A: {PLAIN}, B: {QA}, 4 queries" and len(table) == 5, table
    assert re.fullmatch(r"nDCG@10 +1\.000 +1\.000 +\+0\.000 +-0\.\d+ to \+0\.\d+ +unclear", table[2]), table
    assert json.loads(latent)["rows"] == 4
    assert all(figure["a"] == 1 and figure["difference"] == 0 for figure in json.loads(latent)["figures"]), latent


def test_a_masked_model(gateway_url: str, folder: Path) -> None:
    same = figures(gateway_url, folder, "retort/masked-v3", "retort/masked-v3", "own_valid.smi.gz", "--rows", "60")
    assert all(figure["difference"] == 0 and figure["better"] == "" for figure in same.values()), same
    assert same["valid"]["a"] > 0.9 and same["unique"]["a"] > 0.9 and 0.7 < same["diversity"]["a"] < 1, same
    assert 0.1 < same["nearest"]["a"] < 0.6 and same["quality"]["low"] < 0 < same["quality"]["high"], same


def test_a_ranker(gateway_url: str, folder: Path) -> None:
    ranker = "retort/rankqa-minilm-v2"
    same = figures(gateway_url, folder, ranker, ranker, "own.queries.jsonl.gz")
    assert same["nDCG@10"]["a"] > 0.9 and same["right first"]["difference"] == 0, same


def test_models_of_two_apis(gateway_url: str, folder: Path) -> None:
    ended = compare(gateway_url, folder, PLAIN, "retort/latent-v4", "own_valid.smi.gz")
    assert ended.returncode == 1 and "of the embedding API, and retort/latent-v4 of the latent API" in ended.stderr
