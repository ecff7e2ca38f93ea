"""Measures a trained latent model and writes <run>/figures.json:

    python -m scripts.train.latent.report --run runs/latent --data DATA

It measures the reconstruction of --molecules of each held-out file of the run, and samples around
--seeds molecules of each at several radii. latent.json gets the mean and standard deviation of each latent dimension
over training molecules, for optimisers that search in whitened coordinates. Radii and latent.json are in the scale of
the entries: 1 there is --unit inside the model (see scripts.train.latent.export).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from pathlib import Path

import torch

from scripts.train import checkpoint, configuration
from scripts.train.latent import decoding, evaluation
from scripts.train.latent.corpus import Corpus
from scripts.train.latent.model import Model
from scripts.train.latent.tokens import Vocabulary
from scripts.train.latent.weights import load

RADII = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)


def whitening(model: Model, vocabulary: Vocabulary, molecules: list[str], unit: float) -> dict[str, list[float]]:
    """Returns the mean and standard deviation of each dimension of the hidden states of the molecules."""
    z = evaluation.encode(model, vocabulary, molecules) / unit
    return {"mean": [round(v, 5) for v in z.mean(0).tolist()], "sd": [round(v, 5) for v in z.std(0).tolist()]}


def measure(
    model: Model, vocabulary: Vocabulary, valid: list[str], seeds: int, unit: float, graph: decoding.Decode
) -> dict[str, object]:
    """Returns the figures of one set of molecules."""
    chosen = random.Random(7).sample(valid, min(seeds, len(valid)))
    around = {str(r): evaluation.sampling(model, vocabulary, chosen, r * unit, 5, graph=graph) for r in RADII}
    return {
        "molecules": len(valid),
        "seeds": len(chosen),
        "reconstruction": evaluation.reconstruction(model, vocabulary, valid, graph),
        "radius": around,
    }


def training_molecules(run: Path, vocabulary: Vocabulary, count: int) -> list[str]:
    """Returns about `count` training molecules of the run."""
    corpus = Corpus.load(run / "corpus.npz")
    return [vocabulary.decode(corpus[row]) for row in range(0, len(corpus), max(1, len(corpus) // count))]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--molecules", type=int, default=2000, help="validation molecules of each set (default: 2000)")
    parser.add_argument("--seeds", type=int, default=100, help="molecules of each set to sample around")
    parser.add_argument("--unit", type=float, default=2.2, help="the number inside the model that is 1 in the entries")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model, vocabulary = load(given.run)
    files = configuration.load(given.run).get("valid", evaluation.VALID)
    sets = evaluation.read_sets(Path(given.data), files, given.molecules)
    figures: dict[str, object] = {"unit": given.unit}
    graph = decoding.graph_decoder(model.decoder, given.threads)
    figures["sets"] = {
        name: measure(model, vocabulary, valid, given.seeds, given.unit, graph) for name, valid in sets.items()
    }
    state = checkpoint.load(given.run / "checkpoint.pt")
    figures["training"] = {
        **{k: state[k] for k in ("step", "samples", "seconds", "falling")},
        "options": state["options"],
    }
    space = whitening(model, vocabulary, training_molecules(given.run, vocabulary, 3000), given.unit)
    (given.run / "latent.json").write_text(
        json.dumps({**space, "radius": 1.0, "length": round(math.sqrt(len(space["mean"])) / given.unit, 4)}) + "\n"
    )
    (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
