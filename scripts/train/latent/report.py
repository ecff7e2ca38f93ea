"""Measures a trained latent model and writes <run>/figures.json:

    python -m scripts.train.latent.report --run runs/latent --data DATA

reconstruction of all of zinc250k_valid (or --molecules of it), samples around --seeds molecules at radii 0.5 to 4, and the mean
and standard deviation of every latent dimension over training molecules (latent.json, for optimisers that search in
whitened coordinates), with --radius, the noise that the API calls scaled radius 1.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import torch

from scripts.train import checkpoint
from scripts.train.latent import evaluation
from scripts.train.latent.model import Model, Shape
from scripts.train.latent.tokens import Vocabulary, read_molecules

RADII = (0.5, 1.0, 1.5, 1.75, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0)


def load(run: Path) -> tuple[Model, Vocabulary]:
    """The averaged weights of a run in eval mode (weights.pt, or the parts that --export-parts wrote), and its tokens."""
    model = Model(Shape(**json.loads((run / "shape.json").read_text())))
    whole = run / "weights.pt"
    model.load_state_dict(checkpoint.load(whole) if whole.exists() else checkpoint.join_parts(run))
    return model.eval(), Vocabulary.read(run / "vocab.txt")


def whitening(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> dict[str, list[float]]:
    """Mean and standard deviation of z over the molecules, dimension by dimension."""
    z = evaluation.encode(model, vocabulary, molecules)
    return {"mean": [round(v, 5) for v in z.mean(0).tolist()], "sd": [round(v, 5) for v in z.std(0).tolist()]}


def measure(model: Model, vocabulary: Vocabulary, valid: list[str], seeds: int) -> dict[str, object]:
    around = {str(r): evaluation.sampling(model, vocabulary, valid[:seeds], r, 5) for r in RADII}
    return {"molecules": len(valid), "seeds": seeds, "reconstruction": evaluation.reconstruction(model, vocabulary, valid), "radius": around}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--molecules", type=int, default=0, help="validation molecules (0: all)")
    parser.add_argument("--seeds", type=int, default=200, help="molecules to sample around")
    parser.add_argument("--radius", type=float, default=2.0, help="standard deviation of the noise that scaled_radius 1 stands for")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model, vocabulary = load(given.run)
    valid = read_molecules(Path(given.data) / "zinc250k_valid.smi.gz")
    figures = measure(model, vocabulary, valid[: given.molecules or None], given.seeds)
    state = checkpoint.load(given.run / "checkpoint.pt")
    figures["training"] = {**{k: state[k] for k in ("step", "samples", "seconds", "falling")}, "options": state["options"]}
    train = read_molecules(Path(given.data) / "zinc250k_train.smi.gz")
    (given.run / "latent.json").write_text(json.dumps({**whitening(model, vocabulary, train[::100]), "radius": given.radius}) + "\n")
    (given.run / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
