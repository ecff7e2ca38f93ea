"""Fits a rotation of MiniLM's vectors that moves what retrieval needs into the first dimensions.

A rotation keeps the cosines of full vectors and improves truncated ones. The fit to the mined examples with the
nested loss needs only vectors, takes about a minute, and saves the encoder from learning the rotation.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal

from scripts.train.embedding import twomode
from scripts.train.embedding.examples import Mined


def fit(sets: list[Mined], seed: int, steps: int = 300, batch: int = 96, bank: int = 512, rate: float = 3e-3) -> Tensor:
    """Returns an orthogonal matrix [H,H]; a vector v becomes matrix @ v."""
    torch.manual_seed(seed)
    width = sets[0].query_vectors.shape[1]
    rotation = orthogonal(nn.Linear(width, width, bias=False), orthogonal_map="cayley")
    with torch.no_grad():
        rotation.weight = principal_rotation(np.concatenate([s.passage_vectors for s in sets]))
    optimiser = torch.optim.Adam(rotation.parameters(), lr=rate)
    random = np.random.default_rng(seed)
    for step in range(steps):
        mined = sets[int(random.integers(len(sets)))]
        rows = random.permutation(len(mined.queries))[:batch]
        passages, target, allowed = twomode.draw_candidates(mined, rows, 1, bank, random)
        for group in optimiser.param_groups:
            group["lr"] = rate * (1 - step / steps)
        queries = rotation(torch.from_numpy(mined.query_vectors[rows]))
        loss = twomode.nested_loss(
            queries, rotation(torch.from_numpy(mined.passage_vectors[passages])), target, allowed
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return rotation.weight.detach().clone()


def principal_rotation(vectors: np.ndarray) -> Tensor:
    """Returns the rotation onto the principal axes, largest variance first: the initial value of the fit."""
    _, axes = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    axes = axes[:, ::-1].T.copy()
    axes[0] *= np.sign(np.linalg.det(axes))  # The Cayley map reaches rotations, not reflections.
    return torch.from_numpy(axes).float()
