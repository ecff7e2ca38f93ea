"""Trains the encoder's second output: vectors whose cosine is the similarity of two molecules.

    python -m scripts.train.latent.similarity --run runs/latent      # writes runs/latent/similarity.pt

The latent vector encodes a text token by token, so similar molecules may have distant latent vectors. This head reads
the token states of the finished, frozen encoder. The cosine of two vectors learns the Tanimoto similarity of Morgan
fingerprints (radius 2, 2048 bits, without chirality), on random pairs, most of which are dissimilar, and on molecules
with their nearest neighbours. Train it again whenever the encoder has changed.
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
from scripts.train.latent.report import training_molecules
from scripts.train.latent.tokens import PAD, Vocabulary
from scripts.train.latent.weights import load

MAX_TOKENS = 24
"""Longer molecules are skipped: they are few, and pad the complete batch to their length."""
NEIGHBOURS = 3
"""Nearest neighbours in a group."""
BATCH = 512
"""Molecules a step: half are random, half are groups of a molecule and its neighbours."""


def fingerprints(molecules: list[str]) -> torch.Tensor:
    """Returns Morgan fingerprints as float32 0 or 1, [molecules, 2048]."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    return torch.from_numpy(
        np.array([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(smiles)) for smiles in molecules], np.float32)
    )


def tanimoto(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the Tanimoto similarities of fingerprints, [rows of a, rows of b]."""
    shared = a @ b.T
    return shared / (a.sum(1)[:, None] + b.sum(1) - shared).clamp(min=1)


def nearest(prints: torch.Tensor, part: int = 500) -> torch.Tensor:
    """Returns the nearest NEIGHBOURS of each row, int64 [rows, NEIGHBOURS]."""
    neighbours = []
    for start in range(0, len(prints), part):
        similar = tanimoto(prints[start : start + part], prints)
        similar[torch.arange(len(similar)), torch.arange(start, start + len(similar))] = -1
        neighbours.append(similar.topk(NEIGHBOURS).indices)
    return torch.cat(neighbours)


@torch.no_grad()
def token_states(encoder: Encoder, vocabulary: Vocabulary, molecules: list[str], part: int = 256) -> list[torch.Tensor]:
    """Returns the token states of each molecule, bfloat16 [tokens, width]."""
    order = sorted(range(len(molecules)), key=lambda i: len(molecules[i]))
    states: list[torch.Tensor] = [torch.empty(0)] * len(order)
    for start in range(0, len(order), part):
        rows = [vocabulary.encode(molecules[i]) for i in order[start : start + part]]
        ids = torch.from_numpy(batches.pad(rows, PAD))
        padded = encoder.states(ids, (ids != PAD).long())[0].bfloat16()
        for place, row, value in zip(order[start : start + part], rows, padded):
            states[place] = value[: len(row)].clone()
    return states


def vectors(head: Similarity, states: list[torch.Tensor]) -> torch.Tensor:
    """Returns the vectors of molecules from their token states, float32 [molecules, latent]."""
    x = torch.nn.utils.rnn.pad_sequence(states, batch_first=True)
    present = torch.arange(x.shape[1]) < torch.tensor([len(tokens) for tokens in states])[:, None]
    with torch.autocast("cpu", torch.bfloat16):
        return head(x, present.long()).float()


def loss(vectors: torch.Tensor, prints: torch.Tensor) -> torch.Tensor:
    """Compares unit vectors [rows, size] with fingerprints.

    The loss is the mean squared error of the cosine against the Tanimoto similarity, divided by the variance of the
    latter, plus 1 minus the correlation of both over the first half of the rows, which are random.
    """
    pairs = torch.ones(len(vectors), len(vectors), dtype=torch.bool).triu(1)
    cosine, target = vectors @ vectors.T, tanimoto(prints, prints)
    random_pairs = pairs.clone()
    random_pairs[:, len(vectors) // 2 :] = False
    correlation = torch.corrcoef(torch.stack([cosine[random_pairs], target[random_pairs]]))[0, 1]
    return functional.mse_loss(cosine[pairs], target[pairs]) / target[pairs].var() + 1 - correlation


def train(states: list[torch.Tensor], prints: torch.Tensor, latent: int, steps: int, seed: int = 1) -> Similarity:
    """Trains the head on token states and fingerprints of the same molecules. Exits if they are too few."""
    if len(states) <= NEIGHBOURS:
        raise SystemExit(f"similarity: {len(states)} training molecules have at most {MAX_TOKENS} tokens, too few")
    torch.manual_seed(seed)
    head, neighbours = Similarity(states[0].shape[1], latent), nearest(prints)
    optimiser = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps, pct_start=max(0.05, 2 / steps))
    for step in range(steps):
        single = torch.randint(len(states), (BATCH // 2,))
        grouped = torch.randint(len(states), (BATCH // 2 // (NEIGHBOURS + 1), 1))
        rows = torch.cat([single, torch.cat([grouped, neighbours[grouped[:, 0]]], 1).flatten()])
        optimiser.zero_grad()
        value = loss(vectors(head, [states[row] for row in rows.tolist()]), prints[rows])
        value.backward()
        optimiser.step()
        schedule.step()
        if step % 250 == 0:
            print(f"step {step}: loss {value.item():.3f}", flush=True)
    return head.eval()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.latent.similarity",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run", type=Path, default=Path("runs/latent"), help="folder of the run with the encoder")
    parser.add_argument("--molecules", type=int, default=30_000, help="training molecules of the run")
    parser.add_argument("--steps", type=int, default=4000, help=f"steps of {BATCH} molecules")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    model, vocabulary = load(given.run)
    molecules = list(
        dict.fromkeys(
            m
            for m in training_molecules(given.run, vocabulary, given.molecules)
            if len(vocabulary.encode(m)) <= MAX_TOKENS
        )
    )
    head = train(
        token_states(model.encoder, vocabulary, molecules), fingerprints(molecules), model.shape.latent, given.steps
    )
    checkpoint.save(head.state_dict(), given.run / "similarity.pt")


if __name__ == "__main__":
    main()
