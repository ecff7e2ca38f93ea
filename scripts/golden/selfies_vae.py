"""Writes scripts/tests/testdata/selfies_vae: the files of a tiny autoencoder, for the tests of latent models.

    PYTHONPATH=. .venv-train/bin/python scripts/golden/selfies_vae.py

The molecules are those of `retort model check` and rings with one or two substituents, which this script writes.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts/tests/testdata/selfies_vae"
DEFAULTS = ROOT / "orchestrator/modelcheck/molecules.smi"
RINGS = (
    "c1ccc({0})cc1",
    "c1cc({0})cc({1})c1",
    "c1ccc({0})c({1})c1",
    "c1nc({0})ccc1{1}",
    "C1CCN({0})CC1",
    "C1CC({0})CCC1{1}",
)
GROUPS = ("C", "CC", "O", "OC", "N", "F", "C(=O)O", "C(N)=O", "C#N", "S(C)(=O)=O")


def main() -> None:
    pairs = itertools.combinations_with_replacement(GROUPS, 2)
    molecules = DEFAULTS.read_text().split()
    molecules += [ring.format(*pair) for pair in pairs for ring in RINGS]
    with tempfile.NamedTemporaryFile("w", suffix=".smi") as file:
        file.write("\n".join(dict.fromkeys(molecules)))
        file.flush()
        options = "--longest 28 --latent 16 --width 64 --batch 64 --beta 0.02 --rate 4e-3 --steps 4000".split()
        command = [sys.executable, "-m", "scripts.train.selfies_vae", "--molecules", file.name, "--run", str(FOLDER)]
        subprocess.run([*command, *options], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
