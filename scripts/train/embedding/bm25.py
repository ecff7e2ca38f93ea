"""BM25 over a collection (Robertson & Zaragoza 2009, k1 = 1.2, b = 0.75): for lexical negatives and as a baseline."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from .corpora import words

K1, B = 1.2, 0.75


class Index:
    """An inverted index of passages."""

    def __init__(self, passages: Sequence[str]):
        counts = [Counter(words(p)) for p in passages]
        lengths = np.array([sum(c.values()) for c in counts], np.float32)
        self.norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1))
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, count in enumerate(counts):
            for word, times in count.items():
                self.postings[word].append((row, times))

    def scores(self, query: str) -> np.ndarray:
        """Returns the BM25 score of each passage for a query, float32 [passages]."""
        total = np.zeros(len(self.norm), np.float32)
        for word in set(words(query)):
            postings = np.array(self.postings.get(word, ()), np.int64).reshape(-1, 2)
            if len(postings):
                rows, times = postings.T
                idf = np.log(1 + (len(total) - len(rows) + 0.5) / (len(rows) + 0.5))
                total[rows] += idf * times * (K1 + 1) / (times + self.norm[rows])
        return total
