"""Figures of de novo sampling, as GenMol defines them (arXiv 2501.06158, section 5.1).

validity    valid outputs over requested, lenient (invalid pieces are dropped) and strict (the complete string is valid)
uniqueness  distinct over valid
quality     distinct with QED >= 0.6 and SA <= 4, over requested
diversity   mean pairwise Tanimoto distance of the distinct (Morgan radius 2, 1024 bits)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, rdFingerprintGenerator
from rdkit.Contrib.SA_Score import sascorer

from scripts.train.batches import send
from scripts.train.masked import safe, sampler, structure
from scripts.train.masked.model import Model, loss
from scripts.train.masked.vocabulary import BOS, EOS, MASK, PAD, QUALITY, Vocabulary

RDLogger.DisableLog("rdApp.*")
_MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)


def masked_templates(lengths: np.ndarray) -> np.ndarray:
    """Returns de novo templates: [BOS], `length` masks, [EOS], padding; int64 [B, longest + 2]."""
    out = np.full((len(lengths), int(lengths.max()) + 2), PAD, np.int64)
    for row, length in zip(out, lengths):
        row[0], row[1 : length + 1], row[length + 1] = BOS, MASK, EOS
    return out


Fill = Callable[[sampler.Rows], np.ndarray]
"""Unmasks templates and returns ids int64 [B, L] (sampler.unmask, or the exported graph)."""


def de_novo(
    fill: Fill,
    vocabulary: Vocabulary,
    lengths: np.ndarray,
    count: int,
    temperature: float = 0.5,
    noise: float = 0.5,
    quality: bool = True,
    step: int = 1,
    seed: int = 7,
    batch: int = 100,
) -> list[str]:
    """Samples `count` strings.

    lengths: [strings, 2] in tokens and published tokens, to draw from. quality: request molecules with quality, if the
    vocabulary has a token for it.
    """
    has_conditions = vocabulary.reserved > QUALITY
    drawn, published = np.random.default_rng(seed).choice(lengths, count).T
    order = np.argsort(drawn, kind="stable")
    texts = []
    for start in range(0, count, batch):
        part = order[start : start + batch]
        size = len(part)
        ids = masked_templates(drawn[part])
        if has_conditions:
            ids[:, 0] = QUALITY if quality else BOS
            ids[np.arange(size), drawn[part] + 1] = [vocabulary.length(length) for length in published[part]]
        rows = sampler.Rows(
            ids,
            np.full(size, temperature, np.float32),
            np.full(size, noise, np.float32),
            np.full(size, step, np.int64),
            np.full(size, 0, np.float32),
            seed * 1_000_003 + part,
        )
        texts += [vocabulary.decode(ids) for ids in fill(rows).tolist()]
    return texts


def figures(texts: list[str]) -> dict[str, float]:
    """Returns the figures described at the top of the module."""
    lenient = [m for m in (safe.decode(t, lenient=True) for t in texts) if m]
    strict = sum(safe.decode(t) is not None for t in texts)
    distinct = sorted(set(lenient))
    molecules = [Chem.MolFromSmiles(s) for s in distinct]
    good = sum(QED.qed(m) >= 0.6 and sascorer.calculateScore(m) <= 4 for m in molecules)
    return {
        "validity": len(lenient) / len(texts),
        "strict": strict / len(texts),
        "uniqueness": len(distinct) / max(len(lenient), 1),
        "quality": good / len(texts),
        "diversity": diversity(molecules),
    }


def diversity(molecules: list[Chem.Mol]) -> float:
    prints = [_MORGAN.GetFingerprint(m) for m in molecules]
    rows = [1 - np.mean(DataStructs.BulkTanimotoSimilarity(p, prints[:i])) for i, p in enumerate(prints) if i]
    weights = np.arange(1, len(prints))
    return float(np.average(rows, weights=weights)) if rows else 0.0


def quick(
    model: Model, vocabulary: Vocabulary, lengths: np.ndarray, count: int, held_out: tuple[torch.Tensor, torch.Tensor]
) -> dict[str, float]:
    """Returns the figures reported during training: those of `count` samples, and the losses of a held-out batch."""
    _, losses = loss(model, send(held_out, next(model.parameters()).device))
    table = structure.balance_table(vocabulary.tokens)
    return {
        **figures(de_novo(lambda rows: sampler.unmask(model, rows, table).cpu().numpy(), vocabulary, lengths, count)),
        **{f"held_out_{name}": float(value) for name, value in losses.items()},
    }
