"""Measures reconstruction and samples of a latent space through /hidden, /decode and /sampling.

The figures are those of the MolMIM model card: exact: the decoded SMILES is the same molecule; validity: the share of
texts that are molecules; uniqueness: distinct over valid; non-identical: valid and not the seed, over valid.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from scripts.eval.molecules import canonical

RADII = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
SCALED_RADII = (0.7, 1.0, 1.5, 2.0)
SEEDS, EACH, ROWS = 200, 5, 500
"""Molecules sampled around, samples of each, and rows of a request."""

Post = Callable[[str, dict], dict]


def hidden(post: Post, smiles: list[str]) -> list[list[float]]:
    """Returns the hidden state of each molecule."""
    states: list[list[float]] = []
    for start in range(0, len(smiles), ROWS):
        states += [row[0] for row in post("/hidden", {"sequences": smiles[start : start + ROWS]})["hiddens"]]
    return states


def decode(post: Post, states: list[list[float]]) -> list[str]:
    """Returns the SMILES of each hidden state."""
    texts: list[str] = []
    for start in range(0, len(states), ROWS):
        part = states[start : start + ROWS]
        texts += post("/decode", {"hiddens": [[s] for s in part], "mask": [[True]] * len(part)})["generated"]
    return texts


def reconstruction(smiles: list[str], back: list[str]) -> dict[str, float]:
    """Returns the shares of molecules that come back exact, exact but for chirality, and valid."""
    valid = [canonical(b) for b in back]
    exact = sum(v is not None and v == canonical(s) for s, v in zip(smiles, valid))
    flat = sum(v is not None and canonical(v, False) == canonical(s, False) for s, v in zip(smiles, valid))
    count = len(smiles)
    return {"exact": exact / count, "exact_no_stereo": flat / count, "valid": sum(v is not None for v in valid) / count}


def around(post: Post, smiles: list[str], states: list[list[float]], radius: float, seed: int) -> dict[str, float]:
    """Measures EACH samples around each molecule: its hidden state plus normal noise."""
    noise = random.Random(seed)
    points = [[v + radius * noise.gauss(0, 1) for v in state] for state in states for _ in range(EACH)]
    return {"radius": radius, **quality(smiles, decode(post, points))}


def served(post: Post, smiles: list[str], scaled_radius: float, seed: int) -> dict[str, float]:
    """Measures EACH samples of /sampling around each molecule, which replaces samples that are invalid or not new."""
    body = {"sequences": smiles, "num_molecules": EACH, "scaled_radius": scaled_radius, "seed": seed}
    return {
        "scaled_radius": scaled_radius,
        **quality(smiles, [text for texts in post("/sampling", body)["generated"] for text in texts]),
    }


def quality(smiles: list[str], texts: list[str]) -> dict[str, float]:
    """Returns the figures of EACH texts around each molecule."""
    found, starts = [canonical(text) for text in texts], [canonical(s) for s in smiles for _ in range(EACH)]
    valid = [(m, s) for m, s in zip(found, starts, strict=True) if m is not None]
    return {
        "validity": len(valid) / len(found),
        "uniqueness": len({m for m, _ in valid}) / max(1, len(valid)),
        "non_identical": sum(m != s for m, s in valid) / max(1, len(valid)),
    }


def measure(post: Post, smiles: list[str], seed: int) -> dict:
    """Returns all figures."""
    states = hidden(post, smiles)
    seeds = slice(0, SEEDS)
    return {
        "molecules": len(smiles),
        **reconstruction(smiles, decode(post, states)),
        "radii": [around(post, smiles[seeds], states[seeds], radius, seed) for radius in RADII],
        "served": [served(post, smiles[seeds], radius, seed) for radius in SCALED_RADII],
    }
