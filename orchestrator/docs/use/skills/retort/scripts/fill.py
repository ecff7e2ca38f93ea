"""Prints molecules that fill the masks of a template: score, SMILES."""

from __future__ import annotations

import argparse

from service import call

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("template", help="SMILES or SAFE, with masks such as [*{5-12}]")
parser.add_argument("--scoring", choices=("QED", "LogP"), default="QED", help="what molecules are ranked by")
parser.add_argument("--count", type=int, default=10, help="molecules, 1 to 1000")
parser.add_argument("--noise", type=float, default=1.0, help="0 to 2; more is more diverse")
parser.add_argument("--seed", type=int, help="makes the answer repeatable")
options = parser.parse_args()
body = {
    "smiles": options.template,
    "num_molecules": options.count,
    "scoring": options.scoring,
    "noise": options.noise,
    "unique": True,
}
if options.seed is not None:
    body["seed"] = options.seed
for molecule in call("/masked/generate", body)["molecules"]:
    print(f"{molecule['score']:.3f}\t{molecule['smiles']}")
