"""Selects the examples of each step's batch.

The selection is a pure function of (seed, step): a resumed run reads the same examples as an uninterrupted one, and its
checkpoint has only the step number. The rows of a batch have similar lengths, which saves padding; the order of batches
is random.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils import data


class Buckets:
    """Splits each pass over the data into batches of rows of similar length.

    A pass shuffles all rows, sorts blocks of `span` batches by length, splits them into batches and shuffles the
    batches. The incomplete last batch of a pass is dropped.
    """

    def __init__(self, lengths: np.ndarray, batch: int, seed: int, span: int = 64) -> None:
        if len(lengths) < batch:
            raise SystemExit(f"training: the data has {len(lengths)} rows, fewer than one batch (--batch {batch})")
        self.lengths, self.batch, self.seed, self.span = np.asarray(lengths), batch, seed, span
        self.per_pass = len(lengths) // batch
        self._pass, self._order = -1, np.empty((0, batch), np.int64)

    def rows(self, step: int) -> np.ndarray:
        """Returns the row numbers, int64 [batch], of a step (from 0)."""
        number, position = divmod(step, self.per_pass)
        if number != self._pass:
            self._pass, self._order = number, self._shuffled(number)
        return self._order[position]

    def _shuffled(self, number: int) -> np.ndarray:
        random = np.random.default_rng((self.seed, number))
        order = random.permutation(len(self.lengths))[: self.per_pass * self.batch]
        block = self.span * self.batch
        for start in range(0, len(order), block):
            part = order[start : start + block]
            order[start : start + block] = part[np.argsort(self.lengths[part], kind="stable")]
        batches = order.reshape(self.per_pass, self.batch)
        return batches[random.permutation(self.per_pass)]


def pad(rows: list[np.ndarray], fill: int, multiple: int = 8, over: int = 0) -> np.ndarray:
    """Pads rows of token ids to one int64 array [len(rows), width].

    The width is rounded up to a multiple of `multiple`, plus `over`. Few different widths keep compiled kernels and
    library caches warm.
    """
    width = max(map(len, rows)) - over
    width = -(-width // multiple) * multiple + over
    out = np.full((len(rows), width), fill, np.int64)
    for padded, row in zip(out, rows):
        padded[: len(row)] = row
    return out


class Prefetcher:
    """Prepares the next batches in worker processes: prefetcher(number) is batch(number).

    For a GPU that consumes batches faster than one process prepares them. batch must be a pure function of the number
    that returns CPU tensors; the numbers of the calls are those given, in order.
    """

    def __init__(self, batch: Callable[[int], Any], numbers: range, workers: int) -> None:
        loader = data.DataLoader(
            _Batches(batch),
            batch_size=None,  # An item of the data set is a whole batch.
            sampler=numbers,
            collate_fn=_as_is,
            num_workers=workers,
            prefetch_factor=3,
            multiprocessing_context="fork",  # The data is shared, not copied.
            worker_init_fn=_ignore_signals,
            generator=torch.Generator(),  # Leaves the global random state alone.
        )
        self._batches, self._numbers = iter(loader), iter(numbers)

    def __call__(self, number: int) -> Any:
        expected = next(self._numbers)
        if number != expected:
            raise ValueError(f"batches: got number {number}, the next one is {expected}")
        return next(self._batches)


class _Batches(data.Dataset):
    def __init__(self, batch: Callable[[int], Any]) -> None:
        self.batch = batch

    def __getitem__(self, number: int) -> Any:
        return self.batch(number)


def _ignore_signals(_: int) -> None:
    """Ignores the signals of a process group in a worker: the parent ends its workers after it has saved the run."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _as_is(batch: Any) -> Any:
    return batch


def send(batch: Any, device: torch.device) -> Any:
    """Copies a batch (a tensor, or a tuple, list or dict of batches) to the device."""
    if isinstance(batch, torch.Tensor):
        return (
            batch.pin_memory().to(device, non_blocking=True)
            if device.type == "cuda" and batch.device.type == "cpu"
            else batch.to(device)
        )
    if isinstance(batch, dict):
        return {key: send(value, device) for key, value in batch.items()}
    return type(batch)(send(value, device) for value in batch) if isinstance(batch, (tuple, list)) else batch
