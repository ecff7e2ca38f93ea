"""Measures how well OSRA (Filippov and Nicklaus 2009, doi 10.1021/ci800067r) reads drawings, with Debian's package:

    python -m scripts.eval.osra --scanned FOLDER --drawings FOLDER [--programs openchemlib,pikachu --count 200 --write]

The drawings are scanned patents and drawings by programs with default settings, as in scripts.eval.drawings. OSRA gives
no warnings. --write writes the table into its section of the model's EVALUATION.md. It needs the default programs
and at least MIN_COUNT drawings of each kind.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from rdkit import Chem, RDLogger

from scripts import sections
from scripts.eval import drawing_sets
from scripts.train import served

SECTION = "eval-osra"
PROGRAMS = "openchemlib,pikachu"
MIN_COUNT = 200


def grade(item: tuple[str, bytes]) -> str:
    """Runs OSRA on a picture and returns exact, unreadable or wrong."""
    truth, file = item
    with tempfile.NamedTemporaryFile(suffix=".png") as image:
        image.write(file)
        image.flush()
        found = subprocess.run(
            ["osra", "-f", "can", image.name], capture_output=True, text=True, check=False
        ).stdout.split()
    molecule = Chem.MolFromSmiles(".".join(found)) if found else None
    if molecule is None:
        return "unreadable"
    return "exact" if Chem.MolToSmiles(molecule) == truth else "wrong"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.osra", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scanned", type=Path, required=True, help="folder of scanned drawings and their mol files")
    parser.add_argument("--drawings", type=Path, required=True, help="folder of the drawings by other programs")
    parser.add_argument("--programs", default=PROGRAMS, help="some of " + ", ".join(drawing_sets.PROGRAMS))
    parser.add_argument("--count", type=int, default=200, help="drawings of each kind")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.write:
        if given.programs != PROGRAMS or given.count < MIN_COUNT:
            parser.error(f"--write needs --programs {PROGRAMS} and at least --count {MIN_COUNT}")
        sections.check(given.page, SECTION)
    RDLogger.DisableLog("rdApp.*")
    kinds = {
        f"{name}{drawing_sets.PLAIN}": drawing_sets.drawn_by(given.drawings / f"{name}-plain.jsonl", given.count)[1]
        for name in given.programs.split(",")
    }
    lines = ["| drawings | number | exact SMILES | no SMILES | wrong |", "| --- | --- | --- | --- | --- |"]
    for kind, pictures in (drawing_sets.scanned(given.scanned, given.count) | kinds).items():
        with ThreadPoolExecutor(given.threads) as pool:
            grades = list(pool.map(grade, pictures))
        shares = (f"{100 * grades.count(name) / len(grades):.1f}%" for name in ("exact", "unreadable", "wrong"))
        lines.append(f"| {kind} | {len(grades)} | " + " | ".join(shares) + " |")
        print(lines[-1], flush=True)
    if given.write:
        version = subprocess.run(["osra", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
        command = f"python -m scripts.eval.osra --scanned FOLDER --drawings FOLDER --count {given.count} --write"
        sections.write(
            given.page, SECTION, f"`{command}` (OSRA {version}), {datetime.now(UTC):%Y-%m-%d}:\n\n" + "\n".join(lines)
        )


if __name__ == "__main__":
    main()
