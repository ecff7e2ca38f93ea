"""Trains the encoder's second output: a vector whose cosine says how alike two molecules are.

    python -m scripts.train.latent.similarity --run runs/latent      # writes runs/latent/similarity.pt

The latent holds a text token by token, so that two molecules with much in common may have latents that are far apart. This head
reads the token states of the finished encoder, whose weights stay as they are, and learns that the cosine of two vectors is the
Tanimoto similarity of the molecules' Morgan fingerprints (radius 2, 2048 bits, without chirality): on pairs drawn at random, of which
most are hardly alike, and on molecules with the nearest ones to them. Train it again after the encoder has been trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from torch.nn import functional

from scripts.train import batches, checkpoint
from scripts.train.latent.model import Encoder, Similarity
from scripts.train.latent.report import load, trained_on
from scripts.train.latent.tokens import PAD, Vocabulary

LONGEST = 24
"""Tokens of a molecule to learn from: longer ones are few, and cost the whole batch their length."""
NEAREST = 3
"""Neighbours of a molecule that it is shown with."""
BATCH = 512
"""Molecules a step: half of them drawn at random, half in groups of a molecule and its neighbours."""


def fingerprints(molecules: list[str]) -> torch.Tensor:
    """Morgan fingerprints as float32 0 or 1 [molecules, 2048]."""
    maker = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return torch.from_numpy(
        np.array([maker.GetFingerprintAsNumPy(Chem.MolFromSmiles(smiles)) for smiles in molecules], np.float32)
    )


def tanimoto(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Similarities [rows of a, rows of b] of fingerprints."""
    shared = a @ b.T
    return shared / (a.sum(1)[:, None] + b.sum(1) - shared).clamp(min=1)


def nearest(prints: torch.Tensor, part: int = 500) -> torch.Tensor:
    """The NEAREST other rows of every row, int64 [rows, NEAREST]."""
    found = []
    for start in range(0, len(prints), part):
        alike = tanimoto(prints[start : start + part], prints)
        alike[torch.arange(len(alike)), torch.arange(start, start + len(alike))] = -1
        found.append(alike.topk(NEAREST).indices)
    return torch.cat(found)


@torch.no_grad()
def states(encoder: Encoder, vocabulary: Vocabulary, molecules: list[str], part: int = 256) -> list[torch.Tensor]:
    """The token states of every molecule, bfloat16 [tokens, width] each."""
    order = sorted(range(len(molecules)), key=lambda i: len(molecules[i]))
    found: list[torch.Tensor] = [torch.empty(0)] * len(order)
    for start in range(0, len(order), part):
        rows = [vocabulary.encode(molecules[i]) for i in order[start : start + part]]
        ids = torch.from_numpy(batches.pad(rows, PAD))
        held = encoder.states(ids, (ids != PAD).long())[0].bfloat16()
        for place, row, value in zip(order[start : start + part], rows, held):
            found[place] = value[: len(row)].clone()
    return found


def vectors(head: Similarity, held: list[torch.Tensor]) -> torch.Tensor:
    """The head's vectors of molecules by their token states, float32 [molecules, latent]."""
    x = torch.nn.utils.rnn.pad_sequence(held, batch_first=True)
    present = torch.arange(x.shape[1]) < torch.tensor([len(one) for one in held])[:, None]
    with torch.autocast("cpu", torch.bfloat16):
        return head(x, present.long()).float()


def loss(found: torch.Tensor, prints: torch.Tensor) -> torch.Tensor:
    """Vectors of unit length [rows, size] against fingerprints: the mean square of cosine less Tanimoto similarity, in units of the
    latter's variance, plus 1 less the correlation of the two over the first half of the rows, which are drawn at random."""
    above = torch.ones(len(found), len(found), dtype=torch.bool).triu(1)
    cosine, wanted = found @ found.T, tanimoto(prints, prints)
    far = above.clone()
    far[:, len(found) // 2 :] = False
    together = torch.corrcoef(torch.stack([cosine[far], wanted[far]]))[0, 1]
    return functional.mse_loss(cosine[above], wanted[above]) / wanted[above].var() + 1 - together


def train(held: list[torch.Tensor], prints: torch.Tensor, latent: int, steps: int, seed: int = 1) -> Similarity:
    """The head, trained on token states and fingerprints of the same molecules."""
    torch.manual_seed(seed)
    head, close = Similarity(held[0].shape[1], latent), nearest(prints)
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.01)
    fall = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps, pct_start=0.05)
    for step in range(steps):
        first = torch.randint(len(held), (BATCH // 2,))
        grouped = torch.randint(len(held), (BATCH // 2 // (NEAREST + 1), 1))
        rows = torch.cat([first, torch.cat([grouped, close[grouped[:, 0]]], 1).flatten()])
        optimiser.zero_grad()
        value = loss(vectors(head, [held[row] for row in rows.tolist()]), prints[rows])
        value.backward()
        optimiser.step()
        fall.step()
        if step % 250 == 0:
            print(f"step {step}: loss {value.item():.3f}", flush=True)
    return head.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.similarity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run whose encoder is read")
    parser.add_argument("--molecules", type=int, default=30_000, help="molecules of the run's mix to learn from")
    parser.add_argument("--steps", type=int, default=4000, help=f"steps of {BATCH} molecules")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model, vocabulary = load(given.run)
    molecules = list(
        dict.fromkeys(
            m for m in trained_on(given.run, vocabulary, given.molecules) if len(vocabulary.encode(m)) <= LONGEST
        )
    )
    head = train(states(model.encoder, vocabulary, molecules), fingerprints(molecules), model.shape.latent, given.steps)
    checkpoint.save(head.state_dict(), given.run / "similarity.pt")


if __name__ == "__main__":
    main()
