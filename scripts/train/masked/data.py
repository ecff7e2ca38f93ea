"""Training strings: drug-like molecules, every one written from several of its cut bonds, kept in a cache file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Contrib.SA_Score import sascorer

from scripts.train import batches, training
from scripts.train.latent.tokens import read_molecules
from scripts.train.masked import broad, safe, vocabulary
from scripts.train.masked.vocabulary import BOS, EOS, PAD, QUALITY, Vocabulary

WRITTEN = 8
"""Strings kept of a molecule, each from another end where it has so many."""


class Strings:
    """All strings of all molecules as one flat array of ids without [BOS] and [EOS]: string s is
    ids[starts[s]:starts[s + 1]], and molecule m has the strings WRITTEN * m to WRITTEN * (m + 1) - 1."""

    def __init__(
        self,
        ids: np.ndarray,
        starts: np.ndarray,
        tokens: Vocabulary,
        good: np.ndarray | None = None,
        own: int | None = None,
    ) -> None:
        self.ids, self.starts, self.vocabulary = ids, starts, tokens
        self.good = np.zeros(len(starts) - 1, bool) if good is None else good  # Strings that may begin with [QUALITY].
        self.own = len(self) if own is None else own
        """The strings from this one on always do: they are the model's own."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> np.ndarray:
        """Tokens of every string."""
        return np.diff(self.starts)

    def published(self) -> np.ndarray:
        """The length of every string in the published tokenisation."""
        return np.add.reduceat(self.vocabulary.published()[self.ids], self.starts[:-1])

    def string(self, number: int) -> np.ndarray:
        """[BOS] string [EOS], int64."""
        ids = self.ids[self.starts[number] : self.starts[number + 1]].astype(np.int64)
        return np.concatenate([[BOS], ids, [EOS]])


def table(strings: Strings) -> np.ndarray:
    """The kinds of length, int64 [kinds, 4]: tokens, published tokens, how many strings have both, how many of them are of quality."""
    kinds, kind = np.unique(np.stack([strings.lengths(), strings.published()], 1), axis=0, return_inverse=True)
    counts = [np.bincount(kind.ravel(), weights, len(kinds)).astype(np.int64) for weights in (None, strings.good)]
    return np.column_stack([kinds, *counts])


def lengths(table: np.ndarray, quality: bool) -> np.ndarray:
    """The lengths of all strings of `table`, or of those of quality where there are some, in tokens and in published ones [strings, 2]."""
    return np.repeat(table[:, :2], table[:, 3 if quality and table[:, 3].any() else 2], 0)


def drug_like(molecules: list[str], qed: float, sa: float, cache: Path) -> list[str]:
    """Those with at least this QED and at most this SA score; both are computed once (a few ms each) and kept in `cache`,
    a line for each molecule."""
    if not cache.exists():
        from tqdm import tqdm

        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_suffix(".partial")
        with partial.open("w") as file:
            for smiles in tqdm(molecules, disable=None, desc="scoring"):
                molecule = Chem.MolFromSmiles(smiles)
                file.write(f"{smiles} {QED.qed(molecule):.4f} {sascorer.calculateScore(molecule):.4f}\n")
        os.replace(partial, cache)
    rows = (line.split() for line in cache.read_text().splitlines())
    return [smiles for smiles, q, s in rows if float(q) >= qed and float(s) <= sa]


def mixed(options: training.Options, runs: int, count: int, tokens: Vocabulary | None = None) -> Strings:
    """Reads the cache file of a run on molecules of every kind (broad.py), or makes it; tokens: those to begin with."""
    path = options.folder / "strings.npz"
    if not path.exists():
        from tqdm import tqdm

        chosen = broad.molecules(Path(options.data), count, options.seed)
        cuts = [broad.sides(smiles) for smiles in tqdm(chosen, disable=None, desc="cutting")]
        good = np.array([broad.good(smiles) for smiles in tqdm(chosen, disable=None, desc="scoring")])
        if tokens:
            tokens = tokens.grown(Counter(side.text for one in cuts for side in one), runs)
        write(cuts, path, runs, options.seed, tokens, good, times=2)
    return read(path)


def prepare(
    options: training.Options, runs: int, muv: bool, qed: float, sa: float, tokens: Vocabulary | None = None
) -> Strings:
    """Reads the cache file of a run, or makes it: some minutes, with the tokens given or with new ones."""
    path = options.folder / "strings.npz"
    if not path.exists():
        chosen: list[str] = []
        for name in ("zinc250k_train", "muv_druglike")[: 1 + muv]:
            chosen += drug_like(
                read_molecules(Path(options.data) / f"{name}.smi.gz"), qed, sa, options.folder / f"{name}.scores"
            )
        write(cut(chosen), path, runs, options.seed, tokens)
    return read(path)


def read(path: Path) -> Strings:
    with np.load(path) as held:
        return Strings(
            held["ids"], held["starts"], Vocabulary(held["tokens"].tolist()), held["good"] if "good" in held else None
        )


def joined(strings: Strings, own: Strings, share: float) -> Strings:
    """Strings with those of `own` among them, repeated or left out so that they are `share` of all. Both have the same tokens."""
    if own.vocabulary.tokens != strings.vocabulary.tokens:
        raise ValueError("the strings have other tokens")
    number = round(len(strings) * share / (1 - share))
    rows = np.resize(np.arange(len(own)), number)
    more = [own.string(row)[1:-1].astype(np.uint16) for row in rows.tolist()]
    starts = np.concatenate([strings.starts, strings.starts[-1] + np.cumsum([len(row) for row in more])])
    marks = np.concatenate([strings.good, np.ones(number, bool)])
    return Strings(np.concatenate([strings.ids, *more]), starts, strings.vocabulary, marks, len(strings))


def cut(molecules: list[str]) -> list[list[safe.Side]]:
    """The sides of all molecules' cuts; one side, of no bond, where there is nothing to cut. About 1 ms each."""
    from tqdm import tqdm

    return [
        safe.sides(smiles) or [safe.Side(safe.whole(smiles), ())]
        for smiles in tqdm(molecules, disable=None, desc="cutting")
    ]


def write(
    cuts: list[list[safe.Side]],
    path: Path,
    runs: int,
    seed: int,
    tokens: Vocabulary | None = None,
    good: np.ndarray | None = None,
    times: int = WRITTEN,
) -> None:
    """Writes the cache file: `times` strings of every molecule. good: which molecules may begin with [QUALITY]; strings of more than
    broad.LARGEST tokens are left out where it is given."""
    counts = Counter(side.text for sides in cuts for side in sides)
    tokens = tokens or vocabulary.build(counts, runs, good is not None)
    known = {text: np.array(tokens.piece(text), np.uint16) for text in counts}
    random = np.random.default_rng(seed)
    strings, marks = [], []
    for number, sides in enumerate(cuts):
        first = random.permutation(len(sides)) if len(sides) > 1 else np.zeros(1, int)
        for begin in np.resize(first, times).tolist():
            pieces = safe.nested(sides, begin) if len(sides) > 1 else [sides[0].text]
            string = np.concatenate([known[piece] for piece in pieces])
            if good is None or len(string) <= broad.LARGEST:
                strings.append(string)
                marks.append(good is not None and bool(good[number]))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial.npz")
    np.savez_compressed(
        partial,
        ids=np.concatenate(strings),
        starts=np.cumsum([0, *map(len, strings)]),
        tokens=np.array(tokens.tokens),
        good=np.array(marks),
    )
    os.replace(partial, path)


def held(data: Path, folder: Path, tokens: Vocabulary, count: int = 500) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch that is not trained on: strings of ZINC250k's validation molecules, masked once and for all."""
    path = folder / "held.npz"
    if not path.exists():
        molecules = read_molecules(data / "zinc250k_valid.smi.gz")[::10]
        good = [
            m
            for m in molecules[: 2 * count]
            if QED.qed(Chem.MolFromSmiles(m)) >= 0.6 and sascorer.calculateScore(Chem.MolFromSmiles(m)) <= 4
        ]
        write(cut(good[:count]), path, 0, 1, tokens)
    strings = read(path)
    options = training.Options(seed=1, batch=len(strings) // WRITTEN)
    rows = Strings(strings.ids, strings.starts, tokens)
    return Batches(rows, options).masked(
        [rows.string(WRITTEN * m) for m in range(options.batch)], np.random.default_rng(1)
    )


class Batches:
    """batch(step) is (ids int64 [B, L], masked bool [B, L]): whole strings, and which of their tokens are to be masked."""

    spans = 0.25
    """Part of the rows whose masks are one run, as in a template with given fragments."""
    asked = 0.75
    """Part of the rows of a molecule of quality that begin with [QUALITY]."""
    told = 0.75
    """Part of the rows that end with [LENGTH n], where the vocabulary has them."""

    def __init__(self, strings: Strings, options: training.Options) -> None:
        self.strings, self.seed = strings, options.seed
        self.buckets = batches.Buckets(strings.lengths(), options.batch, options.seed)
        self.lengths = strings.published()

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        random, numbers = np.random.default_rng((self.seed, step, 1)), self.buckets.rows(step)
        rows = [self.strings.string(number) for number in numbers]
        if self.strings.vocabulary.reserved > QUALITY:
            asked = (random.random(len(rows)) < self.asked) | (np.asarray(numbers) >= self.strings.own)
            for row, chosen in zip(rows, self.strings.good[numbers] & asked):
                row[0] = QUALITY if chosen else BOS
            for row, told, length in zip(rows, random.random(len(rows)) < self.told, self.lengths[numbers]):
                row[-1] = self.strings.vocabulary.length(length) if told else EOS
        return self.masked(rows, random)

    def masked(self, rows: list[np.ndarray], random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """How many tokens of a row are masked is uniform from 1 to all, and spread evenly over the rows of a batch, so that
        every batch covers all levels."""
        ids = batches.pad(rows, PAD, 1)
        lengths = np.array([len(row) - 2 for row in rows])
        level = random.permutation((random.random() + np.arange(len(rows))) / len(rows) % 1.0)
        count = 1 + (level * lengths).astype(np.int64)
        places = np.arange(ids.shape[1])[None]
        begin = 1 + (random.random(len(rows)) * (lengths - count + 1)).astype(np.int64)
        run = random.random(len(rows)) < self.spans
        order = np.where(run[:, None], (places - begin[:, None]) % 1000, random.random(ids.shape))
        order[(places < 1) | (places > lengths[:, None])] = np.inf
        chosen = order.argsort(1).argsort(1) < count[:, None]
        return torch.from_numpy(ids), torch.from_numpy(chosen)
