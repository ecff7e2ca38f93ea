"""Texts of the decoder's own for points around molecules, for it to learn from: those that are molecules.

    python -m scripts.train.latent.rejection --run runs/latent --minutes 8      # writes runs/latent/own.pt
    python -m scripts.train.latent --data DATA --start ... --own runs/latent/own.pt

Training shows the decoder beginnings of true molecules only. Far from any molecule it follows beginnings of its own, and what
the latent says no longer fits what it has written: rings stay open. So the points of training molecules under noise are decoded;
a point whose greedy text is no molecule is drawn from again, hotter each time, until one is; texts that are molecules are
learned (rejection sampling fine-tuning: Dong et al. 2023, arXiv 2304.06767).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from scripts.train import checkpoint
from scripts.train.latent import decoding, evaluation
from scripts.train.latent.model import Model
from scripts.train.latent.report import load, trained_on
from scripts.train.latent.tokens import EOS, PAD, Vocabulary

TEMPERATURES = (0.0, 0.4, 0.6, 0.8, 1.0, 1.0)
"""Of the draws at a point, until one is a molecule."""
EASY = 1 / 3
"""Share of the greedy texts that is kept: they teach less than those that took more draws."""
NOISE = (1.5, 4.0)
"""Least and greatest standard deviation of the noise."""


@torch.no_grad()
def around(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> torch.Tensor:
    """One point a molecule, under noise, z [rows, latent]."""
    z = evaluation.encode(model, vocabulary, molecules)
    return z + (NOISE[0] + (NOISE[1] - NOISE[0]) * torch.rand(len(z), 1)) * torch.randn_like(z)


@torch.no_grad()
def texts(
    z: torch.Tensor, vocabulary: Vocabulary, decode: decoding.Decode
) -> tuple[torch.Tensor, list[torch.Tensor], list[int]]:
    """The texts of points z [rows, latent], ids as decoded, and the points that gave one. Also how many texts each temperature gave,
    kept or not."""
    found: list[tuple[int, torch.Tensor]] = []
    left, counts = torch.arange(len(z)), []
    for temperature in TEMPERATURES:
        ids = decode(z[left], temperature)
        good = [EOS in row and evaluation.sound(vocabulary.decode(row)) for row in ids.tolist()]
        kept = torch.rand(len(good)).tolist()
        found += [
            (int(left[i]), ids[i][ids[i] != PAD])
            for i, g in enumerate(good)
            if g and (temperature > 0 or kept[i] < EASY)
        ]
        counts.append(sum(good))
        left = left[[not g for g in good]]
        if not len(left):
            break
    return z[[i for i, _ in found]], [ids for _, ids in found], counts + [0] * (len(TEMPERATURES) - len(counts))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.rejection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run whose weights decode")
    parser.add_argument("--out", type=Path, help="file to write (default: own.pt in the run's folder)")
    parser.add_argument("--minutes", type=float, default=8, help="time to spend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    model, vocabulary = load(given.run)
    decode = decoding.exported(model.decoder, given.threads)
    molecules = trained_on(given.run, vocabulary, 100_000)
    order = torch.randperm(len(molecules)).tolist()
    end, points, ids, total = time.monotonic() + 60 * given.minutes, [], [], [0] * len(TEMPERATURES)
    for start in range(0, len(order), 250):
        part = [molecules[i] for i in order[start : start + 250]]
        z, rows, counts = texts(around(model, vocabulary, part), vocabulary, decode)
        points.append(z.half())
        ids += [row.short() for row in rows]
        total = [a + b for a, b in zip(total, counts)]
        if time.monotonic() > end:
            break
    checkpoint.save({"z": torch.cat(points), "ids": ids}, given.out or given.run / "own.pt")
    print(f"{len(ids)} texts of {start + 250} points; by temperature {dict(enumerate(total))}")


if __name__ == "__main__":
    main()
