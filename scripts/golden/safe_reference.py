"""Golden files of SAFE strings by the reference, safe-mol 0.2.1 (github.com/datamol-io/safe):

    python3 scripts/golden/safe_reference.py DATA

takes rows of DATA/safe_golden_encode.tsv.gz and DATA/safe_golden_decode.tsv.gz, the reference's answers for 2,000
molecules, and writes chem/safe/testdata/encode.tsv and decode.tsv. All rows are compared by

    go test ./chem/safe -run Reference -reference DATA
"""

from __future__ import annotations

import gzip
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "chem" / "safe" / "testdata"


def choose(rows: list[str], answer: int) -> list[str]:
    """140 rows that the reference answers and 15 that it refuses (empty `answer`), in the order of the file."""
    refused = [i for i, row in enumerate(rows) if not row.split("\t")[answer]]
    answered = sorted(set(range(len(rows))) - set(refused))
    draw = random.Random(1)
    return [rows[i] for i in sorted(draw.sample(answered, 140) + draw.sample(refused, 15))]


def main() -> None:
    for name in ("encode", "decode"):
        with gzip.open(Path(sys.argv[1]) / f"safe_golden_{name}.tsv.gz", "rt") as file:
            header, *rows = file.read().splitlines()
        (FOLDER / f"{name}.tsv").write_text("\n".join([header, *choose(rows, 1)]) + "\n")


if __name__ == "__main__":
    main()
