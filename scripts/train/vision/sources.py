"""What the drawings of a training are made of: the flags of the molecules and programs, and what they name."""

from __future__ import annotations

import argparse
from pathlib import Path

from scripts.train import provenance, training
from scripts.train.latent.corpus import parse_shares
from scripts.train.vision import corpus, evaluation
from scripts.train.vision.batches import RDKIT, Programs, drawings_file


def add_arguments(parser: argparse.ArgumentParser, uses: int) -> None:
    """Adds the flags. uses: the default of --uses."""
    parser.add_argument(
        "--molecules",
        nargs="+",
        metavar="FILE=SHARE",
        help="files of the data folder, and their shares of the molecules (default: those of corpus.py)",
    )
    parser.add_argument(
        "--valid", nargs="+", metavar="FILE", default=evaluation.VALID, help="files of held-out molecules"
    )
    parser.add_argument(
        "--programs",
        nargs="+",
        metavar="NAME=SHARE",
        default=[RDKIT],
        help="programs that draw, and their shares of the drawings; rdkit, or the name of a file of DATA/drawings "
        "without .jsonl (default: rdkit)",
    )
    parser.add_argument("--uses", type=int, default=uses, help=f"times that a drawing is used (default: {uses})")


def load(given: argparse.Namespace, options: training.Options) -> tuple[corpus.Corpus, Programs, list[str]]:
    """Returns the molecules to draw, the programs, and the held-out molecules for tuning. Records the files of the run.

    Exits if a file cannot be read or is named twice.
    """
    data = Path(options.data)
    shares = parse_shares(given.molecules, corpus.FILES)
    programs = parse_shares(given.programs, {}, "--programs")
    files = [*shares, *given.valid, *(drawings_file(name) for name in programs if name != RDKIT)]
    if repeated := {*shares} & {*given.valid}:
        raise SystemExit(f"training: {', '.join(repeated)}: a file of --molecules cannot be one of --valid")
    drawn = Programs(programs, data)
    provenance.record(options, files)
    _, tuning = evaluation.held_out(data, given.valid)
    return corpus.load(data, shares), drawn, tuning
