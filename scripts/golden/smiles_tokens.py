"""Writes the golden file of the tokens of molecules, from the training code:

    python -m scripts.golden.smiles_tokens --data DATA

The first line of tokenizers/molecules/testdata/smiles.jsonl is the vocabulary, each other line a molecule with its ids.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from scripts.train.latent.tokens import Vocabulary
from scripts.train.molecules import read_molecules


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.golden.smiles_tokens",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--molecules", type=int, default=400, help="validation molecules to write")
    options = parser.parse_args()
    molecules = read_molecules(Path(options.data) / "zinc250k_valid.smi.gz")[: options.molecules]
    vocabulary = Vocabulary.build(molecules, 200)
    lines = [vocabulary.tokens, *({"smiles": s, "ids": vocabulary.encode(s).tolist()} for s in molecules)]
    path = Path(__file__).parents[2] / "tokenizers" / "molecules" / "testdata" / "smiles.jsonl"
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


if __name__ == "__main__":
    main()
