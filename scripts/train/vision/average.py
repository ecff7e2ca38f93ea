"""Averages the weights of a run with those that it began from, the served ones (as WiSE-FT, Wortsman et al. 2022, arXiv 2109.01903), or
with those of another run that began from the same (a soup of models, Wortsman et al. 2022, arXiv 2203.05482):

    python -m scripts.train.vision.average --run runs/vision --start model_repository/molecule_reader --data DATA --to runs/averaged
    python -m scripts.train.vision.average --run runs/vision --other runs/second --data DATA --to runs/averaged

The norms' means and variances are taken anew, on batches as in training. Write the result into the repository with
scripts.train.vision.export --run runs/averaged.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from scripts.train import checkpoint
from scripts.train.vision import corpus, start
from scripts.train.vision.data import Batches, Foreign
from scripts.train.vision.export import load
from scripts.train.vision.model import Model

BATCHES = 24
"""On which the norms are taken, 48 drawings each."""


@torch.no_grad()
def averaged(first: Model, second: Model, share: float, batches: Iterable[dict[str, torch.Tensor]]) -> Model:
    """The first model with its weights moved by share towards the second's, in eval mode."""
    checkpoint.blended(first, second.state_dict(), share)
    for norm in first.modules():
        if isinstance(norm, nn.BatchNorm1d):
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
    first.train()
    for batch in batches:
        first(batch)
    return first.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.vision.average",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/vision"), help="folder of the run")
    second = parser.add_mutually_exclusive_group(required=True)
    second.add_argument("--start", type=Path, help="entry of a model repository that the run began from")
    second.add_argument("--other", type=Path, help="folder of another run from the same start")
    parser.add_argument("--share", type=float, default=0.5, help="of the run's weights (default: 0.5)")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument(
        "--drawings", type=Path, default=Path("runs/drawings"), help="folder of the drawings by other programs"
    )
    parser.add_argument("--to", type=Path, default=Path("runs/averaged"), help="folder")
    parser.add_argument("--seed", type=int, default=77)
    given = parser.parse_args()
    batches = Batches(corpus.molecules(Path(given.data)), Foreign(given.drawings), 48, given.seed, 4)
    trained, other = load(given.run), load(given.other or given.run)
    if given.start:
        start.fill(other, given.start / "1", batches.batch(200))
    model = averaged(other, trained, given.share, (batches.batch(300 + step) for step in range(BATCHES)))
    given.to.mkdir(parents=True, exist_ok=True)
    shutil.copy(given.run / "shape.json", given.to)
    checkpoint.save(model.state_dict(), given.to / "weights.pt")


if __name__ == "__main__":
    main()
