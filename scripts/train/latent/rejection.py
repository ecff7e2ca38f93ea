"""Texts of the decoder's own for points around molecules, for it to learn from: those that are molecules.

    python -m scripts.train.latent.rejection --run runs/latent --minutes 8      # writes runs/latent/own.pt
    python -m scripts.train.latent --data DATA --start ... --own runs/latent/own.pt

Training shows the decoder beginnings of true molecules only. Far from any molecule it follows beginnings of its own, and what
the latent says no longer fits what it has written: rings stay open. So the points of training molecules under noise are decoded;
a point whose greedy text is no molecule is drawn from again, hotter each time, until one is; texts that are molecules are
learned (rejection sampling fine-tuning: Dong et al. 2023, arXiv 2304.06767).

Between two molecules the decoder would write the nearer one up to the middle and the other one from there. So that a way through
the space passes molecules that have parts of both, a share of the points (--between) is w a + (1 - w) b with w from 1/2 to 1, and its
text is a molecule that begins as the text of a does, for about w of its tokens, and ends as that of b.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
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
REACH = 3
"""Tokens that a cut between two molecules may be off."""
NOISE = (1.5, 4.0)
"""Least and greatest standard deviation of the noise."""


def splices(a: np.ndarray, b: np.ndarray, share: float) -> list[np.ndarray]:
    """The first `share` of a's tokens with the last 1 - share of b's, and the same with either cut up to REACH tokens off, the nearest
    to the share first."""
    first, last = round(share * len(a)), round(share * len(b))
    cuts = [(i, j) for i in range(max(1, first - REACH), min(len(a), first + REACH) + 1) for j in range(max(0, last - REACH), min(len(b), last + REACH) + 1)]
    return [np.concatenate((a[:i], b[j:])) for i, j in sorted(cuts, key=lambda cut: abs(cut[0] - first) + abs(cut[1] - last))]


@torch.no_grad()
def between(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A point on the way from each molecule to the next one of the list, z [rows, latent], and its text's ids with [EOS]; none where no
    splice of the two is a molecule."""
    ids = [vocabulary.encode(molecule) for molecule in molecules]
    z = evaluation.encode(model, vocabulary, molecules)
    points, found = [], []
    for row, share in enumerate((0.5 + 0.5 * torch.rand(len(ids))).tolist()):
        other = (row + 1) % len(ids)
        texts = (vocabulary.decode(splice.tolist()) for splice in splices(ids[row], ids[other], share))
        text = next((text for text in texts if evaluation.sound(text)), None)
        if text is not None:
            points.append(share * z[row] + (1 - share) * z[other])
            found.append(torch.tensor([*vocabulary.encode(text)[: model.shape.positions - 1], EOS]))
    return torch.stack(points) if points else z[:0], found


@torch.no_grad()
def around(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> torch.Tensor:
    """One point a molecule, under noise, z [rows, latent]."""
    z = evaluation.encode(model, vocabulary, molecules)
    return z + (NOISE[0] + (NOISE[1] - NOISE[0]) * torch.rand(len(z), 1)) * torch.randn_like(z)


@torch.no_grad()
def texts(z: torch.Tensor, vocabulary: Vocabulary, decode: decoding.Decode) -> tuple[torch.Tensor, list[torch.Tensor], list[int]]:
    """The texts of points z [rows, latent], ids as decoded, and the points that gave one. Also how many texts each temperature gave,
    kept or not."""
    found: list[tuple[int, torch.Tensor]] = []
    left, counts = torch.arange(len(z)), []
    for temperature in TEMPERATURES:
        ids = decode(z[left], temperature)
        good = [EOS in row and evaluation.sound(vocabulary.decode(row)) for row in ids.tolist()]
        kept = torch.rand(len(good)).tolist()
        found += [(int(left[i]), ids[i][ids[i] != PAD]) for i, g in enumerate(good) if g and (temperature > 0 or kept[i] < EASY)]
        counts.append(sum(good))
        left = left[[not g for g in good]]
        if not len(left):
            break
    return z[[i for i, _ in found]], [ids for _, ids in found], counts + [0] * (len(TEMPERATURES) - len(counts))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.train.latent.rejection", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run whose weights decode")
    parser.add_argument("--out", type=Path, help="file to write (default: own.pt in the run's folder)")
    parser.add_argument("--minutes", type=float, default=8, help="time to spend")
    parser.add_argument("--between", type=float, default=0.4, help="share of the points that are between two molecules (default: 0.4)")
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
    end, points, ids, total, crossed = time.monotonic() + 60 * given.minutes, [], [], [0] * len(TEMPERATURES), 0
    for start in range(0, len(order), 250):
        part = [molecules[i] for i in order[start : start + 250]]
        cut = round(given.between * len(part))
        z, rows, counts = texts(around(model, vocabulary, part[cut:]), vocabulary, decode)
        ways, spliced = between(model, vocabulary, part[:cut])
        points += [z.half(), ways.half()]
        ids += [row.short() for row in [*rows, *spliced]]
        total = [a + b for a, b in zip(total, counts)]
        crossed += len(spliced)
        if time.monotonic() > end:
            break
    checkpoint.save({"z": torch.cat(points), "ids": ids}, given.out or given.run / "own.pt")
    print(f"{len(ids)} texts of {start + 250} points; by temperature {dict(enumerate(total))}, between molecules {crossed}")


if __name__ == "__main__":
    main()
