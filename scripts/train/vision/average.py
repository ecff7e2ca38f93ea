"""Averages the weights of a run with the served ones that it started from (WiSE-FT: Wortsman et al. 2022, arXiv
2109.01903), or with those of another run with the same start (a model soup: Wortsman et al. 2022, arXiv 2203.05482):

    python -m scripts.train.vision.average --run runs/vision --start model_repository/molecule_reader
    python -m scripts.train.vision.average --run runs/vision --other runs/second

writes runs/averaged (--to), for scripts.train.vision.export --run runs/averaged. The means and variances of the batch
norms are computed anew, on batches as in training. The new run has the configuration and provenance of --run.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

from scripts.train import checkpoint, configuration, provenance, reader
from scripts.train.latent.corpus import parse_shares
from scripts.train.vision import corpus
from scripts.train.vision.batches import Batches, Programs
from scripts.train.vision.export import load_run
from scripts.train.vision.model import Model

NORM_BATCHES = 24
"""Batches of 48 drawings for the statistics of the norms."""


@torch.no_grad()
def average(first: Model, second: Model, share: float, batches: Iterable[dict[str, torch.Tensor]]) -> Model:
    """Moves the first model's weights towards the second's by `share`, and returns it in eval mode."""
    checkpoint.blend(first, second.state_dict(), share)
    for norm in first.modules():
        if isinstance(norm, nn.BatchNorm1d):
            norm.reset_running_stats()
            norm.momentum = None  # The mean of all batches.
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
    second.add_argument("--start", type=Path, help="entry of a model repository that the run started from")
    second.add_argument("--other", type=Path, help="folder of another run with the same start")
    parser.add_argument("--share", type=float, default=0.5, help="weight of the run (default: 0.5)")
    parser.add_argument("--to", type=Path, default=Path("runs/averaged"), help="output folder")
    parser.add_argument("--seed", type=int, default=77)
    given = parser.parse_args()
    options = configuration.load(given.run)
    data = Path(options["data"])
    molecules = corpus.load(data, parse_shares(options.get("molecules"), corpus.FILES))
    programs = Programs(parse_shares(options["programs"], {}), data)
    batches = Batches(molecules, programs, 48, given.seed, 4)
    trained = load_run(given.run)
    other = reader.load_drawings(given.start, trained.shape) if given.start else load_run(given.other)
    model = average(other, trained, given.share, (batches.batch(300 + step) for step in range(NORM_BATCHES)))
    given.to.mkdir(parents=True, exist_ok=True)
    for name in ("shape.json", "checkpoint.pt", configuration.NAME, provenance.NAME):
        shutil.copy(given.run / name, given.to)
    checkpoint.save_weights(model.state_dict(), given.to / checkpoint.WEIGHTS)


if __name__ == "__main__":
    main()
