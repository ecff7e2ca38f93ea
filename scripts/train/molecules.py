"""Makes the training and the held-out file of a model of molecules from files with a SMILES per line:

    python -m scripts.train.molecules assay.smi vendor.smi.gz --data DATA --name own

writes DATA/own_train.smi.gz and DATA/own_valid.smi.gz: canonical SMILES (RDKit), each molecule once, shuffled. What
follows the SMILES on a line, such as a name, is ignored. A molecule is held out by the hash of its text without
stereochemistry, so that the same molecule is always in the same file, whatever other molecules there are.

The line that is printed counts what was left out: lines that RDKit cannot read, mixtures (--mixtures keeps them),
molecules of fewer than 2 or more than --heaviest heavy atoms, with dative bonds (the models have no token for them),
and repeated molecules.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger

from scripts.train import files

LONGEST = 50
"""Characters of a SMILES for each heavy atom; a longer one has more atoms, and RDKit takes minutes for 200,000."""


def read_molecules(path: Path) -> list[str]:
    """Returns the SMILES of a .smi or .smi.gz file: the first word of each line that is not empty.

    OSError, which names the file: it cannot be read.
    """
    # Names may have any encoding.
    return [line.split(maxsplit=1)[0] for line in files.read_lines(path, errors="replace") if line.strip()]


def clean(texts: Iterable[str], heaviest: int, mixtures: bool, left_out: Counter[str]) -> Iterator[str]:
    """Yields the canonical SMILES of the molecules to train on, each once; counts the others."""
    seen = set()
    for smiles in texts:
        if len(smiles) > LONGEST * heaviest:
            left_out["too small or large"] += 1
            continue
        molecule = Chem.MolFromSmiles(smiles)
        if molecule is None:
            left_out["invalid"] += 1
            continue
        text = Chem.MolToSmiles(molecule)
        if "." in text and not mixtures:
            left_out["mixtures"] += 1
        elif not 2 <= molecule.GetNumHeavyAtoms() <= heaviest:
            left_out["too small or large"] += 1
        elif text in seen:
            left_out["repeated"] += 1
        else:
            seen.add(text)
            yield text


def shuffle(molecules: list[str]) -> list[str]:
    """Returns the molecules in a random order, the same each time."""
    return [molecules[i] for i in np.random.default_rng(1).permutation(len(molecules))]


def has_dative_bond(smiles: str) -> bool:
    """Reports whether a molecule has a bond for which the models have no token."""
    return "->" in smiles or "<-" in smiles


def is_held_out(smiles: str, share: float) -> bool:
    """Reports whether a molecule is held out; stereoisomers are held out together."""
    return files.is_held_out(Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False), share)


def write(path: Path, molecules: list[str]) -> None:
    """Writes a .smi.gz file, with the same bytes for the same molecules."""
    files.replace(path, gzip.compress("".join(f"{smiles}\n" for smiles in molecules).encode(), mtime=0))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.molecules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", type=Path, nargs="+", help=".smi or .smi.gz, a SMILES per line")
    parser.add_argument("--data", type=Path, required=True, help="folder to write to")
    parser.add_argument("--name", default="own", help="name of the two files (default: own)")
    parser.add_argument("--heaviest", type=int, default=60, help="heavy atoms of the largest molecule (default: 60)")
    parser.add_argument(
        "--held-out", type=float, default=0.02, help="share of the molecules to hold out (default: 0.02)"
    )
    parser.add_argument("--mixtures", action="store_true", help="keep salts and other mixtures")
    given = parser.parse_args()
    if given.name != Path(given.name).name or not given.name:
        parser.error(f"--name {given.name}: a file name without folders is expected")
    RDLogger.DisableLog("rdApp.*")
    left_out: Counter[str] = Counter()
    try:
        lines = [line for path in given.files for line in read_molecules(path)]
    except OSError as error:
        sys.exit(f"molecules: {error}")
    molecules = list(clean(lines, given.heaviest, given.mixtures, left_out))
    training: list[str] = []
    held_out: list[str] = []
    for smiles in shuffle(molecules):
        if has_dative_bond(smiles):
            left_out["with dative bonds"] += 1
            continue
        (held_out if is_held_out(smiles, given.held_out) else training).append(smiles)
    details = ", ".join(f"{count} {reason}" for reason, count in sorted(left_out.items())) or "none"
    if not held_out or not training:
        sys.exit(
            f"molecules: too few of {len(lines)} lines: {len(training)} for training, {len(held_out)} held out "
            f"(--held-out); left out: {details}"
        )
    write(given.data / f"{given.name}_train.smi.gz", training)
    write(given.data / f"{given.name}_valid.smi.gz", held_out)
    print(f"{len(lines)} lines: {len(training)} for training, {len(held_out)} held out; left out: {details}")


if __name__ == "__main__":
    main()
