"""The cells of orchestrator/NOTEBOOK.md, run unchanged but for the addresses of the running stack."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from rdkit import Chem
from servers import APIS, ROOT, Gateway
from waiting import PATIENCE

CELLS = re.findall(
    r"^## ([^\n]*)\n.*?^```python\n(.*?)^```", (ROOT / "orchestrator/NOTEBOOK.md").read_text(), re.DOTALL | re.MULTILINE
)


def ran(stack: Gateway, about: str) -> list[str]:
    (cell,) = [cell for title, cell in CELLS if about in title]
    addresses = {"localhost:8000": stack.url, "localhost:8701": stack.triton}
    addresses |= {f"localhost:{port}": stack.urls[api] for port, api in enumerate(APIS, 8001)}
    for written, real in addresses.items():
        cell = cell.replace(written, real.removeprefix("http://"))
    ended = subprocess.run([sys.executable, "-c", cell], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_requests(stack) -> None:
    rows = [line.split() for line in ran(stack, "`requests`")]
    assert len(rows) == 10 and all(
        float(similarity) >= 0.3 and Chem.MolFromSmiles(smiles) for _, similarity, smiles in rows
    )
    assert [score for score, _, _ in rows] == sorted((score for score, _, _ in rows), reverse=True)


def test_openai(stack) -> None:
    sizes, answer = ran(stack, "`openai`")
    assert sizes == "2 384" and "Cn1c(=O)c2c(ncn2C)n(C)c1=O" in answer


def test_langchain(stack) -> None:
    sizes, ranked = ran(stack, "`langchain-nvidia-ai-endpoints`")
    assert sizes == "3 384" and ranked.startswith("['Aspirin is an analgesic.'")


def test_tritonclient(stack) -> None:
    assert ran(stack, "`tritonclient`") == ["(1, 384)"]


def test_cma(stack) -> None:
    rows = [line.split() for line in ran(stack, "`cma`")]
    scores = [float(score) for _, score, _ in rows]
    assert len(rows) == 10 and scores == sorted(scores) and Chem.MolFromSmiles(rows[-1][2])
    assert scores[-1] > 0.56, "no better than aspirin itself"


@pytest.mark.parametrize("title", [title for title, _ in CELLS])
def test_no_cell_is_left_out(title: str) -> None:
    assert any(
        f"`{name}`" in title for name in ("requests", "openai", "langchain-nvidia-ai-endpoints", "tritonclient", "cma")
    )
