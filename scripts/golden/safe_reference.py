"""Selects golden SAFE strings of the reference, safe-mol 0.2.1 (github.com/datamol-io/safe):

    python3 scripts/golden/safe_reference.py DATA

It writes rows of DATA/safe_golden_encode.tsv.gz and DATA/safe_golden_decode.tsv.gz, the reference's results for 2,000
molecules, into chem/safe/testdata/encode.tsv and decode.tsv. This compares all rows:

    go test ./chem/safe -run Reference -reference DATA
"""

from __future__ import annotations

import gzip
import random
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "chem" / "safe" / "testdata"


def choose(rows: list[str], answer: int) -> list[str]:
    """Returns 140 rows that the reference answers and 15 that it refuses (empty `answer`), in order."""
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
