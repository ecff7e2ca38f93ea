"""Generates texts with the decoder at points around molecules, to train it on the valid ones.

    python -m scripts.train.latent.rejection --run runs/latent --minutes 8      # writes runs/latent/self_generated.pt
    python -m scripts.train.latent --data DATA --start ... --self-generated runs/latent/self_generated.pt

Training shows the decoder only prefixes of true molecules. Far from any molecule it continues prefixes that it
generated, which the latent vector no longer fits: rings stay open. Rejection sampling fine-tuning (Dong et al. 2023,
arXiv 2304.06767) decodes noisy points around training molecules. If the greedy text of a point is invalid, the point
is sampled again at rising temperatures until a text is valid. The valid texts become training data.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from scripts.train import checkpoint
from scripts.train.latent import decoding, evaluation
from scripts.train.latent.model import Model
from scripts.train.latent.report import training_molecules
from scripts.train.latent.tokens import EOS, PAD, Vocabulary
from scripts.train.latent.weights import load

TEMPERATURES = (0.0, 0.4, 0.6, 0.8, 1.0, 1.0)
"""Temperatures of the samples at a point, until one is valid."""
GREEDY_SHARE = 1 / 3
"""Share of the valid greedy texts to keep: they teach less than texts that took more samples."""
NOISE = (1.5, 4.0)
"""Minimum and maximum standard deviation of the noise."""


@torch.no_grad()
def noisy_points(model: Model, vocabulary: Vocabulary, molecules: list[str]) -> torch.Tensor:
    """Returns one noisy point for each molecule, z [rows, latent]."""
    z = evaluation.encode(model, vocabulary, molecules)
    return z + (NOISE[0] + (NOISE[1] - NOISE[0]) * torch.rand(len(z), 1)) * torch.randn_like(z)


@torch.no_grad()
def valid_texts(
    z: torch.Tensor, vocabulary: Vocabulary, decode: decoding.Decode
) -> tuple[torch.Tensor, list[torch.Tensor], list[int]]:
    """Decodes points z [rows, latent].

    Returns the points with a text to keep, the ids of these texts, and the number of valid texts by temperature.
    """
    chosen: list[tuple[int, torch.Tensor]] = []
    pending, counts = torch.arange(len(z)), []
    for temperature in TEMPERATURES:
        ids = decode(z[pending], temperature)
        valid = [EOS in row and evaluation.is_valid(vocabulary.decode(row)) for row in ids.tolist()]
        chance = torch.rand(len(valid)).tolist()
        chosen += [
            (int(pending[i]), ids[i][ids[i] != PAD])
            for i, is_valid in enumerate(valid)
            if is_valid and (temperature > 0 or chance[i] < GREEDY_SHARE)
        ]
        counts.append(sum(valid))
        pending = pending[[not is_valid for is_valid in valid]]
        if not len(pending):
            break
    return z[[i for i, _ in chosen]], [ids for _, ids in chosen], counts + [0] * (len(TEMPERATURES) - len(counts))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.rejection",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run to decode with")
    parser.add_argument("--out", type=Path, help="file to write (default: self_generated.pt in --run)")
    parser.add_argument("--minutes", type=float, default=8, help="time to spend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    model, vocabulary = load(given.run)
    decode = decoding.graph_decoder(model.decoder, given.threads)
    molecules = training_molecules(given.run, vocabulary, 100_000)
    order = torch.randperm(len(molecules)).tolist()
    end, points, ids, total = time.monotonic() + 60 * given.minutes, [], [], [0] * len(TEMPERATURES)
    for start in range(0, len(order), 250):
        part = [molecules[i] for i in order[start : start + 250]]
        z, rows, counts = valid_texts(noisy_points(model, vocabulary, part), vocabulary, decode)
        points.append(z.half())
        ids += [row.short() for row in rows]
        total = [a + b for a, b in zip(total, counts)]
        if time.monotonic() > end:
            break
    checkpoint.save({"z": torch.cat(points), "ids": ids}, given.out or given.run / "self_generated.pt")
    print(f"{len(ids)} texts of {start + 250} points; valid at each of TEMPERATURES: {total}")


if __name__ == "__main__":
    main()
