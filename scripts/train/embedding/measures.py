"""Figures of rankings, as trec_eval computes them (https://ir-measur.es). Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ir_measures import R, nDCG

Judged = Sequence[Mapping[str, int]]
"""The grades of relevant items of each query, by id."""
Ranked = Sequence[Sequence[str]]
"""The ids of the results of each query, best first."""


def ndcg(judged: Judged, ranked: Ranked) -> list[float]:
    """Returns nDCG at rank 10 of each query, with linear gains."""
    return values(nDCG @ 10, judged, ranked)


def recall(judged: Judged, ranked: Ranked) -> list[float]:
    """Returns the share of each query's relevant items among its first 10 results."""
    return values(R @ 10, judged, ranked)


def values(measure, judged: Judged, ranked: Ranked) -> list[float]:
    """Returns the values of a measure for each query."""
    qrels = {str(query): grades for query, grades in enumerate(judged)}
    run = {str(query): {item: -float(rank) for rank, item in enumerate(ids)} for query, ids in enumerate(ranked)}
    found = {result.query_id: result.value for result in measure.iter_calc(qrels, run)}
    return [found[query] for query in run]
