#!/usr/bin/env python3
"""Writes golden files of SAFE in nested order for tokenizers/molecules and chem/safe, from the training code:

    .venv-train/bin/python -m scripts.golden.safe_nested DATA

It writes tokenizers/molecules/testdata/safe/vocab.txt and pieces.tsv (piece, ids), and chem/safe/testdata/ends.tsv (a
molecule without stereo, its pieces from each end, sorted).
"""

import gzip
import random
import sys
from collections import Counter
from pathlib import Path

from rdkit import Chem

from scripts.train.masked import safe, vocabulary


def main() -> None:
    with gzip.open(Path(sys.argv[1]) / "zinc250k_valid.smi.gz", "rt") as file:
        molecules = random.Random(1).sample(file.read().split(), 600)
    flat = []
    for smiles in molecules:
        molecule = Chem.MolFromSmiles(smiles)
        Chem.RemoveStereochemistry(molecule)
        flat.append(Chem.MolToSmiles(molecule))
    sides = {smiles: [side.text for side in safe.sides(smiles)] for smiles in flat}
    tokens = vocabulary.build(Counter(text for texts in list(sides.values())[:300] for text in texts), 200)
    folder = Path("tokenizers/molecules/testdata/safe")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("".join(t + "\n" for t in tokens.tokens))
    pieces = sorted({text for texts in sides.values() for text in texts})
    known = [text for text in pieces if vocabulary.UNK not in tokens.encode_piece(text)]
    (folder / "pieces.tsv").write_text(
        "".join(f"{text}\t{' '.join(map(str, tokens.encode_piece(text)))}\n" for text in known)
    )
    ends = (f"{smiles}\t{' '.join(sorted(texts))}\n" for smiles, texts in list(sides.items())[:200])
    Path("chem/safe/testdata/ends.tsv").write_text("".join(ends))


if __name__ == "__main__":
    main()
