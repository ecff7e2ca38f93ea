"""Measures how well vectors of each embedding_type find what float vectors find: recall by faiss against a service.

    python -m scripts.eval.embedding_types --url http://127.0.0.1:8003 --data DATA/retrieval --write

For each query the ten nearest passages by exact search of float vectors are the truth. Recall is the share of them
among the ten nearest, or first, by another type or index. int8 and uint8 are searched as faiss stores them, without
decoding; binary by Hamming distance, alone and with its best 40 sorted by the float vector of the query and the signs
or the int8 vector of the passage. A text is embedded once, as float; the other types are computed as the service
computes them, which is checked with some texts. --write replaces the section of model_repository/RETRIEVAL.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import faiss
import numpy as np

from scripts import sections
from scripts.eval.service import Service

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "model_repository" / "RETRIEVAL.md"
SECTION = "eval-embedding-types"
SETS = ("medquad", "nq_gold", "squadshifts_new_wiki", "pubmedqa")
BATCH = 64
TIMEOUT = 600.0
BEST = 10
SORTED = 40
CHECKED = 64
"""Passages whose vectors are requested in each type."""
DTYPES = {"float": np.float32, "int8": np.int8, "uint8": np.uint8, "ubinary": np.uint8}


def rows(path: Path, field: str, most: int) -> Iterator[str]:
    """Yields at most that many texts of a file, evenly spaced."""
    with gzip.open(path, "rt") as file:
        texts = [json.loads(line)[field] for line in file]
    yield from texts[:: max(1, len(texts) // most)][:most]


class Embedder:
    """A model of a service."""

    def __init__(self, url: str, model: str):
        self.service, self.model = Service(url, TIMEOUT), model

    def vectors(self, texts: Sequence[str], mode: str, kind: str) -> np.ndarray:
        """Returns the vectors of texts in an embedding_type."""
        found = []
        for start in range(0, len(texts), BATCH):
            body = {
                "model": self.model,
                "input": texts[start : start + BATCH],
                "input_type": mode,
                "truncate": "END",
                "embedding_type": kind,
            }
            found += [datum["embedding"] for datum in self.service.post("/v1/embeddings", body)["data"]]
        return np.array(found, DTYPES[kind])


def quantized(floats: np.ndarray, kind: str) -> np.ndarray:
    """Returns float vectors in another type: orchestrator/embedding/quantize.go."""
    if kind == "float":
        return floats
    if kind == "ubinary":
        return np.packbits(floats > 0, axis=1)
    bound = 6 / np.sqrt(floats.shape[1])
    steps = np.floor(255 * (np.clip(floats, -bound, bound) + bound) / (2 * bound))
    return (steps if kind == "uint8" else steps - 128).astype(DTYPES[kind])


def check(embedder: Embedder, passages: list[str], stored: dict[str, np.ndarray]) -> None:
    """Raises ValueError unless the service gives nearly the same numbers in each type."""
    for kind, vectors in stored.items():
        served = embedder.vectors(passages[:CHECKED], "passage", kind)
        same = np.mean(np.abs(served.astype(float) - vectors[:CHECKED].astype(float)) <= (kind != "ubinary"))
        if same < 0.98:
            raise ValueError(f"{kind}: only {same:.1%} of the numbers are those of the service")


def search(index: faiss.Index, passages: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Returns the best passages of each query in an index."""
    index.train(passages.astype(np.float32))
    index.add(passages.astype(np.float32))
    return index.search(queries.astype(np.float32), BEST)[1]


def binary(passages: np.ndarray, queries: np.ndarray, best: int) -> np.ndarray:
    """Returns the best passages of each query by Hamming distance."""
    index = faiss.IndexBinaryFlat(8 * passages.shape[1])
    index.add(passages)
    return index.search(queries, best)[1]


def sorted_by(passages: np.ndarray, candidates: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Returns the best candidates by the dot product of a float query and a passage in another form."""
    best = [row[np.argsort(-(passages[row] @ query))[:BEST]] for row, query in zip(candidates, queries)]
    return np.array(best)


def recall(truth: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """Returns the share of the true passages that are found, and of queries whose first passage is the true one."""
    shares = [len(set(a) & set(b)) / BEST for a, b in zip(truth, found)]
    return float(np.mean(shares)), float(np.mean(truth[:, 0] == found[:, 0]))


def table(embedder: Embedder, passages: list[str], queries: list[str]) -> list[str]:
    """Returns the rows of the table."""
    passage_vectors = embedder.vectors(passages, "passage", "float")
    query_vectors = embedder.vectors(queries, "query", "float")
    stored = {kind: quantized(passage_vectors, kind) for kind in DTYPES}
    asked = {kind: quantized(query_vectors, kind) for kind in DTYPES}
    check(embedder, passages, stored)
    width = stored["float"].shape[1]
    direct, signed = faiss.ScalarQuantizer.QT_8bit_direct, faiss.ScalarQuantizer.QT_8bit_direct_signed
    truth = search(faiss.IndexFlatIP(width), stored["float"], asked["float"])
    graph: Callable[[], faiss.Index] = lambda: faiss.IndexHNSWFlat(width, 32, faiss.METRIC_INNER_PRODUCT)  # noqa: E731
    coarse = binary(stored["ubinary"], asked["ubinary"], SORTED)
    found = {
        ("float", "graph (HNSW)", 4 * width): search(graph(), stored["float"], asked["float"]),
        ("int8", "exact, dot product", width): search(
            faiss.IndexScalarQuantizer(width, signed, faiss.METRIC_INNER_PRODUCT), stored["int8"], asked["int8"]
        ),
        ("int8", "graph (HNSW), dot product", width): search(
            faiss.IndexHNSWSQ(width, signed, 32, faiss.METRIC_INNER_PRODUCT), stored["int8"], asked["int8"]
        ),
        ("uint8", "exact, distance", width): search(
            faiss.IndexScalarQuantizer(width, direct, faiss.METRIC_L2), stored["uint8"], asked["uint8"]
        ),
        ("ubinary", "exact, Hamming distance", width // 8): coarse[:, :BEST],
        ("ubinary", f"best {SORTED} sorted by the float query", width // 8): sorted_by(
            2.0 * np.unpackbits(stored["ubinary"], axis=1) - 1, coarse, asked["float"]
        ),
        ("ubinary", f"best {SORTED} sorted by the float query and `int8`", width // 8 + width): sorted_by(
            stored["int8"].astype(np.float32), coarse, asked["float"]
        ),
    }
    lines = [
        "| type | search | bytes a vector | recall of the best ten | same first passage |",
        "|---|---|---:|---:|---:|",
    ]
    for (kind, how, size), ids in found.items():
        share, first = recall(truth, ids)
        lines.append(f"| `{kind}` | {how} | {size} | {100 * share:.1f} % | {100 * first:.1f} % |")
    beyond = np.mean(np.abs(stored["float"]) > 6 / np.sqrt(width))
    lines += [
        "",
        f"{len(queries)} queries and {len(passages)} passages of `{embedder.model}`; {beyond:.4%} of the numbers",
    ]
    lines[-1] += " are beyond the range of `int8`."
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8003", help="the embedding API")
    parser.add_argument("--model", default="retort/minilm-embedqa-v2", help="a model with two modes")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("RETORT_DATA", "data")) / "retrieval")
    parser.add_argument("--passages", type=int, default=1500, help="the most of each set")
    parser.add_argument("--queries", type=int, default=200, help="the most of each set")
    parser.add_argument("--write", action="store_true", help=f"replace the section of {PAGE.relative_to(ROOT)}")
    args = parser.parse_args()
    passages = [text for name in SETS for text in rows(args.data / f"{name}.passages.jsonl.gz", "text", args.passages)]
    queries = [text for name in SETS for text in rows(args.data / f"{name}.queries.jsonl.gz", "query", args.queries)]
    lines = table(Embedder(args.url, args.model), passages, queries)
    print("\n".join(lines))
    if args.write:
        sections.write(PAGE, SECTION, "\n".join(lines))


if __name__ == "__main__":
    main()
