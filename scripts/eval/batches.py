"""Measures whether the result of a row depends on the batch that it shares, bit for bit:

    PYTHONPATH=.:scripts/tests .venv-tests/bin/python -m scripts.eval.batches minilm_embed_qa latent_decoder

It starts a Triton with the included models, those of text also in int8 (retort model quantize), and sends random rows:
texts of 1 to 512 tokens, short ones more often than long ones, or the rows of molecule models in
scripts/tests/test_reproducibility.py. First it sends each row alone, then all of them in other batches each time. A
batch has at most 16,384 tokens with padding, as by default at the gateway. Needs bin/retort and .venv-triton. 10,000
texts in 20 ways take about an hour a model on two cores.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from test_raw_tensors import inputs
from test_reproducibility import ENTRIES, results

Row = Any
"""What Triton receives for a row: see texts and ENTRIES."""

ROOT = Path(__file__).resolve().parents[2]
MAX_TOKENS = 16384


def batches(order: list[int], lengths: np.ndarray, size: int) -> Iterator[list[int]]:
    """Cuts an order of rows into batches of at most size rows and MAX_TOKENS tokens with padding."""
    batch: list[int] = []
    for i in order:
        widest = max([lengths[j] for j in batch] + [lengths[i]])
        if batch and (len(batch) == size or widest * (len(batch) + 1) > MAX_TOKENS):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def changed(
    infer: Callable[[list[Row]], list], rows: list[Row], lengths: np.ndarray, ways: int, random: np.random.Generator
) -> int:
    """Returns how many rows have another result in one of the ways to batch them than alone."""
    alone = [infer([row])[0] for row in rows]
    differ: set[int] = set()
    for _ in range(ways):
        order = random.permutation(len(rows)).tolist()
        if random.random() < 0.5:
            order.sort(key=lambda i: lengths[i])  # batches of similar lengths, as the gateway forms them
        for batch in batches(order, lengths, int(random.integers(2, 65))):
            differ.update(i for i, result in zip(batch, infer([rows[i] for i in batch])) if result != alone[i])
    return len(differ)


def infer(client, entry: str, rows: list[list[int]]) -> list[bytes]:
    """Returns the results of a batch of texts; of a ranker, the first third of a row is the query."""
    if "rank" in entry:
        answer = client.infer(entry, inputs(rows, [len(row) // 3 + 1 for row in rows])).as_numpy("logits")
    else:
        answer = client.infer(entry, inputs(rows)).as_numpy("sentence_embedding")
    return [row.tobytes() for row in answer]


def texts(entry: str, count: int, random: np.random.Generator) -> tuple[list[list[int]], np.ndarray]:
    """Returns rows of token ids, and their lengths."""
    longest = 512 if "rank" in entry else 256
    lengths = np.exp(random.uniform(np.log(3), np.log(longest + 1), count)).astype(int)
    return [random.integers(1000, 30000, n).tolist() for n in lengths], lengths


def main() -> None:
    from servers import Triton

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("entries", nargs="+", help="entries of the model repository")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--ways", type=int, default=20)
    parser.add_argument("--repository", type=Path, default=ROOT / "model_repository")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        for entry in args.entries:
            shutil.copytree(args.repository / entry, repository / entry)
            if entry in ENTRIES:
                continue
            quantize = [ROOT / "bin/retort", "model", "quantize", entry, "--repository", folder]
            subprocess.run([*quantize, "--id", f"int8/{entry}", "--name", f"{entry}_int8"], check=True)
        print("| entry | rows | ways | rows with another result in a batch than alone |\n| --- | --- | --- | --- |")
        with Triton(repository) as triton:
            for entry in sorted(path.name for path in repository.iterdir()):
                random = np.random.default_rng(1)
                if entry in ENTRIES:
                    rows = [ENTRIES[entry](random) for _ in range(args.rows)]
                    lengths = np.array([row["input_ids"].size if "input_ids" in row else 1 for row in rows])
                    run = partial(results, triton.client, entry)
                else:
                    rows, lengths = texts(entry, args.rows, random)
                    run = partial(infer, triton.client, entry)
                differ = changed(run, rows, lengths, args.ways, random)
                print(f"| {entry} | {args.rows} | {args.ways} | {differ} |", flush=True)


if __name__ == "__main__":
    main()
