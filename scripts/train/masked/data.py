"""Training strings: each molecule written from several of its cut bonds, in a cache file."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from rdkit import Chem
from rdkit.Chem import QED
from rdkit.Contrib.SA_Score import sascorer

from scripts.train import batches, training
from scripts.train.latent import corpus
from scripts.train.masked import broad, safe, vocabulary
from scripts.train.masked.vocabulary import BOS, EOS, PAD, QUALITY, Vocabulary

Result = TypeVar("Result")

DRUGLIKE = {"zinc250k_train.smi.gz": 1.0}
"""Files of the drug-like mix."""
STRINGS_PER_MOLECULE = 8
"""Strings of each molecule, from different ends if it has that many."""


class Strings:
    """All strings of all molecules as one flat array of ids without [BOS] and [EOS].

    String s is ids[starts[s]:starts[s + 1]]. Molecule m has the strings STRINGS_PER_MOLECULE * m to
    STRINGS_PER_MOLECULE * (m + 1) - 1.
    """

    def __init__(
        self,
        ids: np.ndarray,
        starts: np.ndarray,
        tokens: Vocabulary,
        good: np.ndarray | None = None,
        generated_from: int | None = None,
    ) -> None:
        self.ids, self.starts, self.vocabulary = ids, starts, tokens
        self.good = np.zeros(len(starts) - 1, bool) if good is None else good
        """Which strings may start with [QUALITY]."""
        self.generated_from = len(self) if generated_from is None else generated_from
        """Index of the first string that the model generated; these always start with [QUALITY]."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def lengths(self) -> np.ndarray:
        """Returns the number of tokens of each string."""
        return np.diff(self.starts)

    def published_lengths(self) -> np.ndarray:
        """Returns the length of each string in the published tokenisation."""
        return np.add.reduceat(self.vocabulary.published_lengths()[self.ids], self.starts[:-1])

    def string(self, number: int) -> np.ndarray:
        """Returns [BOS] string [EOS], int64."""
        ids = self.ids[self.starts[number] : self.starts[number + 1]].astype(np.int64)
        return np.concatenate([[BOS], ids, [EOS]])


def count_lengths(strings: Strings) -> np.ndarray:
    """Returns the distinct lengths, int64 [lengths, 4]: tokens, published tokens, strings, strings with quality."""
    kinds, kind = np.unique(np.stack([strings.lengths(), strings.published_lengths()], 1), axis=0, return_inverse=True)
    counts = [np.bincount(kind.ravel(), weights, len(kinds)).astype(np.int64) for weights in (None, strings.good)]
    return np.column_stack([kinds, *counts])


def lengths(length_counts: np.ndarray, quality: bool) -> np.ndarray:
    """Returns the lengths of all strings in tokens and published tokens, [strings, 2].

    length_counts: from count_lengths. quality: only strings with quality, if there are any.
    """
    counts = length_counts[:, 3 if quality and length_counts[:, 3].any() else 2]
    return np.repeat(length_counts[:, :2], counts, 0)


def drug_like(molecules: list[str], qed: float, sa: float, cache: Path) -> list[str]:
    """Returns the molecules with at least this QED and at most this SA score.

    Scores take a few ms each and are cached, one line a molecule.
    """
    if not cache.exists():
        from tqdm import tqdm

        cache.parent.mkdir(parents=True, exist_ok=True)
        partial = cache.with_name(cache.name + ".partial")
        with partial.open("w") as file:
            for smiles in tqdm(molecules, disable=None, desc="scoring"):
                molecule = Chem.MolFromSmiles(smiles)
                file.write(f"{smiles} {QED.qed(molecule):.4f} {sascorer.calculateScore(molecule):.4f}\n")
        os.replace(partial, cache)
    rows = (line.split() for line in cache.read_text().splitlines())
    return [smiles for smiles, q, s in rows if float(q) >= qed and float(s) <= sa]


def prepare_broad(
    options: training.Options,
    shares: dict[str, float],
    merges: int,
    count: int,
    start_vocabulary: Vocabulary | None = None,
) -> Strings:
    """Reads the cached strings of a run on molecules of every kind (broad.py), or writes them."""
    path = options.folder / "strings.npz"
    if not path.exists():
        chosen = broad.molecules(Path(options.data), shares, count, options.seed)
        distinct = list(dict.fromkeys(chosen))
        sides = dict(zip(distinct, in_processes(broad.sides, distinct, "cutting")))
        quality = dict(zip(distinct, in_processes(broad.has_quality, distinct, "scoring")))
        cuts = [sides[smiles] for smiles in chosen]
        good = np.array([quality[smiles] for smiles in chosen])
        if start_vocabulary:
            pieces = Counter(side.text for parts in cuts for side in parts)
            start_vocabulary = start_vocabulary.extended(pieces, merges)
        write(cuts, path, merges, options.seed, start_vocabulary, good, times=2)
    return read(path)


def prepare_druglike(
    options: training.Options,
    files: list[str],
    merges: int,
    qed: float,
    sa: float,
    start_vocabulary: Vocabulary | None = None,
) -> Strings:
    """Reads the cached strings of a run on drug-like molecules, or writes them, which takes some minutes."""
    path = options.folder / "strings.npz"
    if not path.exists():
        chosen: list[str] = []
        for name, (molecules, _) in zip(files, corpus.read(Path(options.data), dict.fromkeys(files, 1.0))):
            chosen += drug_like(molecules, qed, sa, options.folder / f"{name.replace('/', '_')}.scores")
        if not chosen:
            raise SystemExit(f"training: no molecule of {', '.join(files)} has QED >= {qed} and SA <= {sa}")
        write(cut(chosen), path, merges, options.seed, start_vocabulary)
    return read(path)


def read(path: Path) -> Strings:
    with np.load(path) as cache:
        good = cache["good"] if "good" in cache else None
        return Strings(cache["ids"], cache["starts"], Vocabulary(cache["tokens"].tolist()), good)


def mix_in(strings: Strings, generated: Strings, share: float) -> Strings:
    """Appends generated strings, repeated or dropped so that they are `share` of all. Both have the same vocabulary."""
    if generated.vocabulary.tokens != strings.vocabulary.tokens:
        raise ValueError("data: the generated strings have another vocabulary")
    number = round(len(strings) * share / (1 - share))
    rows = np.resize(np.arange(len(generated)), number)
    more = [generated.string(row)[1:-1].astype(np.uint16) for row in rows.tolist()]
    starts = np.concatenate([strings.starts, strings.starts[-1] + np.cumsum([len(row) for row in more])])
    marks = np.concatenate([strings.good, np.ones(number, bool)])
    return Strings(np.concatenate([strings.ids, *more]), starts, strings.vocabulary, marks, len(strings))


def cut(molecules: list[str]) -> list[list[safe.Side]]:
    """Returns the sides of each molecule's cuts; one side, which has no bond, without cuts. About 1 ms a molecule."""
    return in_processes(_cut, molecules, "cutting")


def _cut(smiles: str) -> list[safe.Side]:
    return safe.sides(smiles) or [safe.Side(safe.encode_uncut(smiles), ())]


def in_processes(function: Callable[[str], Result], molecules: list[str], what: str) -> list[Result]:
    """Returns function(molecule) of each molecule, by a process for each CPU; `what` names the bar."""
    from tqdm import tqdm

    with multiprocessing.get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        return list(tqdm(pool.imap(function, molecules, chunksize=64), total=len(molecules), disable=None, desc=what))


def write(
    cuts: list[list[safe.Side]],
    path: Path,
    merges: int,
    seed: int,
    tokens: Vocabulary | None = None,
    good: np.ndarray | None = None,
    times: int = STRINGS_PER_MOLECULE,
) -> None:
    """Writes the cache file: `times` strings of each molecule.

    tokens: the vocabulary, by default one built with `merges` merges. good: which molecules may start with [QUALITY];
    if given, strings of more than broad.MAX_TOKENS tokens are dropped.
    """
    counts = Counter(side.text for sides in cuts for side in sides)
    tokens = tokens or vocabulary.build(counts, merges, good is not None)
    known = {text: np.array(tokens.encode_piece(text), np.uint16) for text in counts}
    random = np.random.default_rng(seed)
    strings, marks = [], []
    for number, sides in enumerate(cuts):
        first = random.permutation(len(sides)) if len(sides) > 1 else np.zeros(1, int)
        for root in np.resize(first, times).tolist():
            pieces = safe.nested_pieces(sides, root) if len(sides) > 1 else [sides[0].text]
            string = np.concatenate([known[piece] for piece in pieces])
            if good is None or len(string) <= broad.MAX_TOKENS:
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


def held_out(file: Path, folder: Path, tokens: Vocabulary, count: int = 500) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns a held-out batch: strings of a file's molecules with fixed masks, of those with quality if it has any."""
    path = folder / "held_out.npz"
    if not path.exists():
        molecules = corpus.read_file(file.parent, file.name)
        molecules = molecules[:: max(1, len(molecules) // 2400)]
        good = [
            m
            for m in molecules[: 2 * count]
            if QED.qed(Chem.MolFromSmiles(m)) >= 0.6 and sascorer.calculateScore(Chem.MolFromSmiles(m)) <= 4
        ]
        write(cut((good or molecules)[:count]), path, 0, 1, tokens)
    strings = read(path)
    options = training.Options(seed=1, batch=len(strings) // STRINGS_PER_MOLECULE)
    rows = Strings(strings.ids, strings.starts, tokens)
    return Batches(rows, options).mask(
        [rows.string(STRINGS_PER_MOLECULE * m) for m in range(options.batch)], np.random.default_rng(1)
    )


class Batches:
    """batch(step) is (ids int64 [B, L], masked bool [B, L]): complete strings, and which of their tokens to mask."""

    span_share = 0.25
    """Share of rows with contiguous masks, as in a template with fragments."""
    quality_share = 0.75
    """Share of the rows of molecules with quality that start with [QUALITY]."""
    length_share = 0.75
    """Share of rows that end with [LENGTH n], if the vocabulary has these tokens."""

    def __init__(self, strings: Strings, options: training.Options) -> None:
        self.strings, self.seed = strings, options.seed
        self.buckets = batches.Buckets(strings.lengths(), options.batch, options.seed)
        self.lengths = strings.published_lengths()

    def batch(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        random, numbers = np.random.default_rng((self.seed, step, 1)), self.buckets.rows(step)
        rows = [self.strings.string(number) for number in numbers]
        if self.strings.vocabulary.reserved > QUALITY:
            generated = np.asarray(numbers) >= self.strings.generated_from
            with_quality = (random.random(len(rows)) < self.quality_share) | generated
            for row, chosen in zip(rows, self.strings.good[numbers] & with_quality):
                row[0] = QUALITY if chosen else BOS
            with_length = random.random(len(rows)) < self.length_share
            for row, chosen, length in zip(rows, with_length, self.lengths[numbers]):
                row[-1] = self.strings.vocabulary.length(length) if chosen else EOS
        return self.mask(rows, random)

    def mask(self, rows: list[np.ndarray], random: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Masks 1 to all tokens of each row, uniformly; the counts are spread evenly over a batch, which covers all
        levels."""
        ids = batches.pad(rows, PAD, 1)
        lengths = np.array([len(row) - 2 for row in rows])
        level = random.permutation((random.random() + np.arange(len(rows))) / len(rows) % 1.0)
        count = 1 + (level * lengths).astype(np.int64)
        places = np.arange(ids.shape[1])[None]
        first = 1 + (random.random(len(rows)) * (lengths - count + 1)).astype(np.int64)
        contiguous = random.random(len(rows)) < self.span_share
        order = np.where(contiguous[:, None], (places - first[:, None]) % 1000, random.random(ids.shape))
        order[(places < 1) | (places > lengths[:, None])] = np.inf
        chosen = order.argsort(1).argsort(1) < count[:, None]
        return torch.from_numpy(ids), torch.from_numpy(chosen)
