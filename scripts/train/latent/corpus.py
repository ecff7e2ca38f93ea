"""The training molecules of the latent model, mixed by weight, as token ids.

Each source has a share of the rows of a pass (SHARES), so a small file of common chemicals counts next to a million
screening compounds. Within a source, molecules with a rare token (boron, silicon, selenium, unusual charges) and very
small or large ones weigh more; a training would otherwise see them only a few times. A weight becomes a number of
copies in the pass, rounded up or down at random; molecules are dropped if the share is smaller than the source.

Two more sources derive from the files (scripts.train.latent.variants): isotopes, and salts with other counter-ions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from scripts.train.latent import variants
from scripts.train.latent.tokens import Vocabulary, split
from scripts.train.molecules import read_molecules

SHARES = {
    "zinc250k_train.smi.gz": 0.17,
    "chembl_subsets_train.smi.gz": 0.45,
    "coconut_subsets_train.smi.gz": 0.12,
    "chembl_subsets_salts.smi.gz": 0.07,
    "common_chemicals_train.smi.gz": 0.14,
    "muv_druglike.smi.gz": 0.02,
}
"""Share of each file among the rows of a pass."""
ISOTOPES = ("common_chemicals_train.smi.gz", 0.02)
"""File of the molecules that get isotopes, and their share, if the file is among those of the run."""
IONS = ("chembl_subsets_salts.smi.gz", 0.01)
"""File of the salts that get other counter-ions, and their share, likewise."""
PASS = 1_200_000
"""Rows of a pass."""
COMMON, MAX_WEIGHT = 20_000, 8.0
"""Molecules with a token that n < COMMON molecules have get the weight sqrt(COMMON / n), at most MAX_WEIGHT."""
SMALL, LARGE = 10, 70
"""The weight doubles up to SMALL SMILES tokens, and is multiplied by 1.5 from LARGE on."""


def parse_shares(items: list[str] | None, default: dict[str, float], flag: str = "--molecules") -> dict[str, float]:
    """Returns the share of each file of --molecules FILE or FILE=SHARE (1 without a share), or the default."""
    if not items:
        return default
    shares = {}
    for item in items:
        name, _, share = item.partition("=")
        try:
            shares[name] = float(share or 1)
        except ValueError:
            shares[name] = 0.0
        if not 0 < shares[name] < float("inf"):
            raise SystemExit(f"training: {flag} {item}: the share must be a positive number")
    return shares


def sources(folder: Path, shares: dict[str, float], seed: int) -> list[tuple[list[str], float]]:
    """Returns the molecules and the share of each source: the files, and what derives from them."""
    out = read(folder, shares)
    files = dict(zip(shares, (molecules for molecules, _ in out)))
    random = np.random.default_rng((seed, 1))
    for (name, share), derive in ((ISOTOPES, variants.with_isotopes), (IONS, variants.with_other_ions)):
        if name in files:
            out.append((derive(files[name], random), share))
    return out


def read(folder: Path, shares: dict[str, float]) -> list[tuple[list[str], float]]:
    """Returns the molecules and the share of each file."""
    return [(read_file(folder, name), share) for name, share in shares.items()]


def read_file(folder: Path, name: str) -> list[str]:
    """Returns the molecules of a file. Exits if it cannot be read, is empty, or has a line that is no SMILES."""
    try:
        molecules = read_molecules(folder / name)
        for smiles in molecules:
            split(smiles)
    except (OSError, ValueError) as error:
        hint = "; python -m scripts.train.molecules prepares a file" if isinstance(error, ValueError) else ""
        raise SystemExit(f"training: {name}: {error}{hint}") from error
    if not molecules:
        raise SystemExit(f"training: {name} has no molecules")
    return molecules


def weights(rows: list[list[str]], counts: Counter[str]) -> np.ndarray:
    """Returns the weight of each row of SMILES tokens, 1 for an ordinary one; counts: rows by token."""
    by_token = {token: min(max((COMMON / count) ** 0.5, 1.0), MAX_WEIGHT) for token, count in counts.items()}
    out = np.array([max(by_token[token] for token in set(row)) for row in rows])
    sizes = np.array([len(row) for row in rows])
    return out * np.where(sizes <= SMALL, 2.0, np.where(sizes >= LARGE, 1.5, 1.0))


def copies(weight: np.ndarray, rows: float, random: np.random.Generator) -> np.ndarray:
    """Returns the copies of each molecule in a pass of about `rows` rows, int64."""
    expected = weight * rows / weight.sum()
    return (expected + random.random(len(expected))).astype(np.int64)


class Corpus:
    """Rows of token ids; corpus[i] is row i of a pass, int64 [tokens]."""

    def __init__(self, tokens: np.ndarray, bounds: np.ndarray, order: np.ndarray) -> None:
        self.tokens, self.bounds, self.order = tokens, bounds, order

    @classmethod
    def build(cls, molecules: Iterable[str], vocabulary: Vocabulary, times: np.ndarray | None = None) -> Corpus:
        """Encodes the molecules; molecule i occurs times[i] times, or once without times."""
        rows = [
            vocabulary.encode(m) if times is None or times[i] else np.empty(0, np.int64)
            for i, m in enumerate(molecules)
        ]
        bounds = np.cumsum([0, *(len(row) for row in rows)])
        order = np.repeat(np.arange(len(rows)), 1 if times is None else times)
        return cls(np.concatenate(rows).astype(np.int16), bounds, order)

    @classmethod
    def load(cls, file: Path) -> Corpus:
        with np.load(file) as cache:
            return cls(cache["tokens"], cache["bounds"], cache["order"])

    def save(self, file: Path) -> None:
        np.savez(file, tokens=self.tokens, bounds=self.bounds, order=self.order)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, row: int) -> np.ndarray:
        place = self.order[row]
        return self.tokens[self.bounds[place] : self.bounds[place + 1]].astype(np.int64)

    def lengths(self) -> np.ndarray:
        return np.diff(self.bounds)[self.order]


def mix(mix: list[tuple[list[str], float]], seed: int, total: int = PASS) -> tuple[list[str], np.ndarray]:
    """Returns all molecules of the sources, and the copies of each in a pass of about `total` rows."""
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
