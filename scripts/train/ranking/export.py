"""Writes a trained ranker as a model repository entry: ONNX with int8 storage and fp32 arithmetic.

    python -m scripts.train.ranking.export --weights DIR --run runs/ranking --alpha 0.8 --out model_repository/retort_rank

alpha is the share of the trained weights in the mix with the untrained ranker's, chosen on the development splits.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.train.embedding import bert
from scripts.train.embedding.export import INPUTS, blended, config, graph, write_entry
from scripts.train.ranking import pairs
from scripts.train.ranking.ranker import Ranker


def trained_ranker(weights: Path, run: Path, alpha: float) -> Ranker:
    """The ranker of a run, blended with the untrained one; alpha 0 is late interaction with MiniLM as it is."""
    trained = torch.load(run / "weights.pt", map_location="cpu", weights_only=True)
    return blended(Ranker(bert.load_encoder(weights), trained["rarity"]), trained, alpha)


def batch_error(file: Path, rows: int = 24, seed: int = 1) -> float:
    """The largest change of a pair's logit between alone and in a padded batch, over made-up pairs of 8 to 512 tokens."""
    random = np.random.default_rng(seed)
    made = []
    for length in random.integers(8, 513, rows):
        ids = [101, *random.integers(1000, 20000, length - 3).tolist(), 102]
        asked = int(random.integers(3, min(length - 2, 40)))
        made.append((ids[:asked] + [102] + ids[asked:], asked + 1))
    session = onnxruntime.InferenceSession(str(file))
    run = lambda part: session.run(None, dict(zip(INPUTS, (t.numpy() for t in pairs.stacked(part)))))[0][:, 0]
    together = np.concatenate([run(made[i : i + 8]) for i in range(0, rows, 8)])
    alone = np.concatenate([run([row]) for row in made])
    return float(np.abs(together - alone).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM")
    parser.add_argument("--run", type=Path, default=Path("runs/ranking"))
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--created", type=int, default=int(time.time()), help="unix time that /v1/models tells")
    parser.add_argument("--out", type=Path, default=Path("model_repository/retort_rank"))
    args = parser.parse_args()
    parameters = {
        "retort_api": "ranking", "model_id": "retort/rankqa-minilm-v1", "owned_by": "retort", "created": str(args.created),
        "max_model_len": "512", "tokenizer": "tokenizer.json",
    }
    text = config(args.out.name, "Relevance of a passage to a query, trained from all-MiniLM-L6-v2.", "logits", 1, parameters)
    write_entry(args.out, graph(trained_ranker(args.weights, args.run, args.alpha), "logits"), args.weights / "tokenizer.json", text)
    error = batch_error(args.out / "1" / "model.onnx")
    print(f"a pair alone and in a padded batch: logits differ by at most {error:.1e}")
    if error > 1e-4:
        sys.exit("a logit depends on what else is in the batch")


if __name__ == "__main__":
    main()
