"""The shipped models reach the figures of their cards on small committed samples."""

from __future__ import annotations

import json
import math
import re
import subprocess

import requests
from everyday import canonical
from servers import ROOT
from waiting import PATIENCE

READER = ROOT / "model_repository/molecule_reader/1"


def lower_bound(share: float, count: int) -> float:
    """The lower bound of Wilson's 95 % interval, which a sample of this size seldom misses."""
    z = 1.96
    centre, spread = (
        share + z * z / (2 * count),
        z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)),
    )
    return (centre - spread) / (1 + z * z / count)


def test_molecules_come_back_as_the_card_says(stack) -> None:
    """The round trip restores enough molecules of encode.tsv (ZINC250k validation) for the card's figure."""
    card = (ROOT / "model_repository/latent_encoder/CARD.md").read_text()
    published = float(re.search(r"^\| zinc \| [\d,]+ \| ([\d.]+)% \|", card, re.MULTILINE)[1]) / 100
    smiles = [line.partition("\t")[0] for line in (ROOT / "chem/safe/testdata/encode.tsv").read_text().splitlines()[1:]]
    hidden = requests.post(stack.urls["latent"] + "/hidden", json={"sequences": smiles}, timeout=PATIENCE).json()
    back = requests.post(stack.urls["latent"] + "/decode", json=hidden, timeout=PATIENCE).json()["generated"]
    wrong = [text for text, found in zip(smiles, back, strict=True) if canonical(found) != canonical(text)]
    assert len(smiles) > 100 and 1 - len(wrong) / len(smiles) >= lower_bound(published, len(smiles)), wrong


def test_the_held_out_wordings_are_understood_as_published() -> None:
    """With the served network and code in Triton's environment. One wording may differ on another processor."""
    python = ROOT / ".venv-triton/bin/python3"
    assert python.exists(), "scripts/triton/serve.py --prepare makes Triton's environment"
    run = subprocess.run(
        [python, "-m", "scripts.train.phrases.measure"], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 0, run.stderr
    found, published = json.loads(run.stdout), json.loads((READER / "phrases.json").read_text())["figures"]
    assert found["phrases"] == published["phrases"]
    assert abs(found["held_out_phrases"] - published["held_out_phrases"]) <= 1.01 / published["phrases"]
    assert f"{100 * published['held_out_phrases']:.1f} %" in (READER.parent / "CARD.md").read_text()
