"""Which examples make up the batch of a given step.

The answer is a pure function of (seed, step): a run that is stopped and resumed reads the very examples it
would have read, with nothing but the step number in its checkpoint. Batches hold rows of similar length, so that
little of the work goes into padding; their order is random.
"""

from __future__ import annotations

import numpy as np


class Buckets:
    """Cuts every pass over the data into batches of rows of similar length.

    A pass shuffles all rows, sorts blocks of `span` batches by length, cuts them into batches and shuffles those.
    The last, incomplete batch of a pass is left out.
    """

    def __init__(self, lengths: np.ndarray, batch: int, seed: int, span: int = 64) -> None:
        if len(lengths) < batch:
            raise ValueError(f"batches: {len(lengths)} rows do not fill one batch of {batch}")
        self.lengths, self.batch, self.seed, self.span = np.asarray(lengths), batch, seed, span
        self.per_pass = len(lengths) // batch
        self._pass, self._order = -1, np.empty((0, batch), np.int64)

    def rows(self, step: int) -> np.ndarray:
        """The row numbers, int64 [batch], of the given step (counted from 0)."""
        number, position = divmod(step, self.per_pass)
        if number != self._pass:
            self._pass, self._order = number, self._cut(number)
        return self._order[position]

    def _cut(self, number: int) -> np.ndarray:
        random = np.random.default_rng((self.seed, number))
        order = random.permutation(len(self.lengths))[: self.per_pass * self.batch]
        block = self.span * self.batch
        for start in range(0, len(order), block):
            part = order[start : start + block]
            order[start : start + block] = part[np.argsort(self.lengths[part], kind="stable")]
        batches = order.reshape(self.per_pass, self.batch)
        return batches[random.permutation(self.per_pass)]


def pad(rows: list[np.ndarray], fill: int, multiple: int = 8) -> np.ndarray:
    """Rows of token ids as one int64 array [len(rows), longest rounded up to `multiple`].

    Few different widths keep compiled kernels and library caches warm.
    """
    width = max(map(len, rows))
    width = -(-width // multiple) * multiple
    out = np.full((len(rows), width), fill, np.int64)
    for line, row in zip(out, rows):
        line[: len(row)] = row
    return out
