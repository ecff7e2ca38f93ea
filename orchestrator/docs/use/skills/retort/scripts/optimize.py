"""Prints molecules similar to a seed with a better property: score, similarity, SMILES."""

from __future__ import annotations

import argparse
import json

from service import call


def objective(text: str) -> object:
    """A name of a property, or JSON."""
    return json.loads(text) if text.lstrip().startswith(("[", "{")) else text


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("smiles", help="the seed molecule")
parser.add_argument(
    "--objective", type=objective, default="QED", help="a property, or JSON with several (default: QED)"
)
parser.add_argument("--minimize", action="store_true", help="lower values are better")
parser.add_argument("--similarity", type=float, default=0.4, help="least similarity to the seed, 0 to 0.7")
parser.add_argument("--count", type=int, default=10, help="molecules, 1 to 100")
parser.add_argument("--seed", type=int, help="makes the answer repeatable")
options = parser.parse_args()
body = {
    "smi": options.smiles,
    "objective": options.objective,
    "minimize": options.minimize,
    "min_similarity": options.similarity,
    "num_molecules": options.count,
    "include_scores": True,
}
if options.seed is not None:
    body["seed"] = options.seed
for molecule in call("/latent/generate", body)["generated"]:
    print(f"{molecule['score']:.3f}\t{molecule['similarity']:.2f}\t{molecule['smiles']}")
