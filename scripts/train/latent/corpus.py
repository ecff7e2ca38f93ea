"""The training molecules of the latent model, mixed by weight and kept as token ids.

Every source has a share of the rows of a pass (SHARES), so that small files of common chemicals count beside a million
screening compounds. Within a source a molecule weighs more if it has a rare token (boron, silicon, selenium, odd charges), and if it
is very small or very large: what is rare would otherwise be met a few times in a whole training. A weight becomes a number
of copies in the pass, rounded up or down at random; a share smaller than the source leaves molecules out.

Beside the files there are two sources made from them (scripts.train.latent.variants): isotopes, and salts with counter-ions that
the files lack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from scripts.train.latent import variants
from scripts.train.latent.tokens import Vocabulary, read_molecules, split

SHARES = {
    "zinc250k_train.smi.gz": 0.17,
    "broad_train.smi.gz": 0.57,
    "broad_salts.smi.gz": 0.07,
    "everyday_train.smi": 0.14,
    "muv_druglike.smi.gz": 0.02,
}
"""Share of the files among the rows of a pass."""
ISOTOPES, IONS = 0.02, 0.01
"""Share of the molecules with isotopes, and of the salts with other counter-ions."""
PASS = 1_200_000
"""Rows of a pass."""
COMMON, LARGEST = 20_000, 8.0
"""A token met in fewer than COMMON molecules gives its molecules the weight sqrt(COMMON / molecules), LARGEST at most."""
SMALL, LARGE = 10, 70
"""Up to SMALL simple tokens a molecule counts double, from LARGE on half as much again."""


def sources(folder: Path, shares: dict[str, float], seed: int) -> list[tuple[list[str], float]]:
    """Molecules and share of every source."""
    files = {name: read_molecules(folder / name) for name in shares}
    out = [(files[name], share) for name, share in shares.items()]
    if "everyday_train.smi" in files and "broad_salts.smi.gz" in files:
        random = np.random.default_rng((seed, 1))
        out.append((variants.isotopes(files["everyday_train.smi"], random), ISOTOPES))
        out.append((variants.ions(files["broad_salts.smi.gz"], random), IONS))
    return out


def weights(rows: list[list[str]], counts: Counter[str]) -> np.ndarray:
    """The weight of every row of simple tokens, 1 for an ordinary one; counts: in how many rows each token is."""
    by_token = {token: min(max((COMMON / count) ** 0.5, 1.0), LARGEST) for token, count in counts.items()}
    out = np.array([max(by_token[token] for token in set(row)) for row in rows])
    sizes = np.array([len(row) for row in rows])
    return out * np.where(sizes <= SMALL, 2.0, np.where(sizes >= LARGE, 1.5, 1.0))


def copies(weight: np.ndarray, rows: float, random: np.random.Generator) -> np.ndarray:
    """How often each molecule is in a pass, int64, so that there are about `rows` of them."""
    wanted = weight * rows / weight.sum()
    return (wanted + random.random(len(wanted))).astype(np.int64)


class Corpus:
    """Rows of token ids; corpus[i] is row i of a pass, int64 [tokens]."""

    def __init__(self, tokens: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> None:
        self.tokens, self.bounds, self.order = tokens, bounds, order

    @classmethod
    def build(cls, molecules: Iterable[str], vocabulary: Vocabulary, times: np.ndarray | None = None) -> Corpus:
        """Row i of the molecules times[i] times (once without times); one that is left out is not encoded."""
        rows = [
            vocabulary.encode(m) if times is None or times[i] else np.empty(0, np.int64)
            for i, m in enumerate(molecules)
        ]
        bounds = np.cumsum([0, *(len(row) for row in rows)])
        order = np.repeat(np.arange(len(rows)), 1 if times is None else times)
        return cls(np.concatenate(rows).astype(np.int16), bounds, order)

    @classmethod
    def load(cls, file: Path) -> Corpus:
        with np.load(file) as held:
            return cls(held["tokens"], held["bounds"], held["order"])

    def save(self, file: Path) -> None:
        np.savez(file, tokens=self.tokens, bounds=self.bounds, order=self.order)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, row: int) -> np.ndarray:
        place = self.order[row]
        return self.tokens[self.bounds[place] : self.bounds[place + 1]].astype(np.int64)

    def lengths(self) -> np.ndarray:
        return np.diff(self.bounds)[self.order]


def mixed(mix: list[tuple[list[str], float]], seed: int, total: int = PASS) -> tuple[list[str], np.ndarray]:
    """All molecules of the sources, and how often each is in a pass of about `total` rows."""
    random = np.random.default_rng((seed, 2))
    counts: Counter[str] = Counter()
    for molecules, _ in mix:
        counts.update(token for smiles in molecules for token in set(split(smiles)))
    shares = sum(share for _, share in mix)
    times = [
        copies(weights([split(m) for m in molecules], counts), total * share / shares, random)
        for molecules, share in mix
    ]
    return [smiles for molecules, _ in mix for smiles in molecules], np.concatenate(times)
