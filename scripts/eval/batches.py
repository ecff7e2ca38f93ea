"""Measures whether the result of a text depends on the batch that it shares, bit for bit:

    PYTHONPATH=.:scripts/tests .venv-tests/bin/python -m scripts.eval.batches minilm_embed_qa minilm_rank_qa

It starts a Triton with the included models and their int8 versions (retort model quantize), and sends rows of 1 to 512
random tokens, short ones more often than long ones, as in text: first each row alone, then all of them in other batches
each time. A batch has at most 16,384 tokens with padding, as by default at the gateway. Needs bin/retort and
.venv-triton. 10,000 rows in 20 ways take about an hour a model on two cores.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from test_raw_tensors import inputs

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
    infer: Callable[[list[list[int]]], np.ndarray], rows: list[list[int]], ways: int, random: np.random.Generator
) -> int:
    """Returns how many rows have another result in one of the ways to batch them than alone."""
    lengths = np.array([len(row) for row in rows])
    alone = np.concatenate([infer([row]) for row in rows])
    differ = np.zeros(len(rows), bool)
    for _ in range(ways):
        order = random.permutation(len(rows)).tolist()
        if random.random() < 0.5:
            order.sort(key=lambda i: lengths[i])  # batches of similar lengths, as the gateway forms them
        for batch in batches(order, lengths, int(random.integers(2, 65))):
            differ[batch] |= (infer([rows[i] for i in batch]) != alone[batch]).any(axis=1)
    return int(differ.sum())


def infer(client, entry: str, rows: list[list[int]]) -> np.ndarray:
    """Returns the results of a batch; of a ranker, the first third of a row is the query."""
    if "rank" in entry:
        return client.infer(entry, inputs(rows, [len(row) // 3 + 1 for row in rows])).as_numpy("logits")
    return client.infer(entry, inputs(rows)).as_numpy("sentence_embedding")


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
            quantize = [ROOT / "bin/retort", "model", "quantize", entry, "--repository", folder]
            subprocess.run([*quantize, "--id", f"int8/{entry}", "--name", f"{entry}_int8"], check=True)
        print("| entry | rows | ways | rows with another result in a batch than alone |\n| --- | --- | --- | --- |")
        with Triton(repository) as triton:
            for entry in sorted(path.name for path in repository.iterdir()):
                random = np.random.default_rng(1)
                longest = 512 if "rank" in entry else 256
                drawn = np.exp(random.uniform(np.log(3), np.log(longest + 1), args.rows)).astype(int)
                rows = [random.integers(1000, 30000, n).tolist() for n in drawn]
                differ = changed(partial(infer, triton.client, entry), rows, args.ways, random)
                print(f"| {entry} | {args.rows} | {args.ways} | {differ} |", flush=True)


if __name__ == "__main__":
    main()
