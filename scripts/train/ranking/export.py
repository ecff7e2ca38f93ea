"""Exports a trained ranker as a model repository entry: ONNX with int8 storage and fp32 arithmetic.

    python -m scripts.train.ranking.export --run runs/ranking --id retort/rankqa-minilm-vN

Weights are interpolated from the untrained (alpha 0) to the trained ranker (alpha 1); alpha is chosen on the
development splits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from scripts.train import checkpoint
from scripts.train.embedding import bert, vectors
from scripts.train.embedding.export import INPUTS, PADDING_COST, graph, repository_entry, write_entry, write_reference
from scripts.train.entry import Tensor, check_new, creation_day
from scripts.train.ranking import pairs
from scripts.train.ranking.ranker import Ranker


def trained_ranker(run: Path, alpha: float) -> Ranker:
    """Returns the ranker of a run, interpolated with the untrained one: alpha 0 is the late interaction of the
    two-mode model."""
    trained = checkpoint.weights(run)
    weights = {k.removeprefix("encoder."): v for k, v in trained.items() if k.startswith("encoder.")}
    layers = 1 + max(int(k.split(".")[1]) for k in weights if k.startswith("layers."))
    encoder = bert.Encoder(bert.Shape(num_hidden_layers=layers, intermediate_size=len(weights["layers.0.up.weight"])))
    encoder.load_state_dict(weights)
    fresh = Ranker(
        encoder,
        trained["turn"],
        trained["metric"],
        trained["rarity"],
        (trained["query_prefix"], trained["passage_prefix"]),
    )
    return checkpoint.blend(fresh, trained, alpha)


def batch_error(file: Path, rows: int = 24, seed: int = 1) -> float:
    """Returns the largest difference of a logit alone and in a padded batch, over random pairs of 8 to 512 tokens."""
    random = np.random.default_rng(seed)
    examples = []
    for length in random.integers(8, 513, rows):
        ids = [101, *random.integers(1000, 20000, length - 3).tolist(), 102]
        query_length = int(random.integers(3, min(length - 2, 40)))
        examples.append((ids[:query_length] + [102] + ids[query_length:], query_length + 1))
    session = onnxruntime.InferenceSession(str(file))

    def run(part):
        return session.run(None, dict(zip(INPUTS, (t.numpy() for t in pairs.stack(part)))))[0][:, 0]

    together = np.concatenate([run(examples[i : i + 8]) for i in range(0, rows, 8)])
    alone = np.concatenate([run([row]) for row in examples])
    return float(np.abs(together - alone).max())


def hidden_mask(graph: onnx.ModelProto) -> str:
    """Returns the name of the mask of hidden states in a ranker's graph: prefixes and pair."""
    return next(n.output[0] for n in graph.graph.node if n.op_type == "Concat" and "attention_mask" in n.input)


EXAMPLES = [
    (query, passage)
    for query in ("What is a retort?", "Which drug eases pain?")
    for passage in (
        "A retort is a vessel in which substances are distilled.",
        "Aspirin is an analgesic.",
        "Caffeine is a stimulant.",
    )
]


def reference_cases(model: Ranker, tokenizer, texts: list[tuple[str, str]]) -> list[dict]:
    """Returns query, passage, ids of the pair, length of its first segment and logit, for each pair of texts."""
    cases = []
    for query, passage in texts:
        query_ids, passage_ids = vectors.token_ids(tokenizer, [query, passage], 256)
        row, first = pairs.join(query_ids, passage_ids, 512)
        with torch.inference_mode():
            logit = float(model(*pairs.stack([(row, first)]))[0, 0])
        cases.append({"query": query, "passage": passage, "ids": row, "first": first, "logit": round(logit, 4)})
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--embedding",
        type=Path,
        default=Path("model_repository/minilm_embed_qa"),
        help="repository entry, for its tokenizer.json",
    )
    parser.add_argument("--run", type=Path, default=Path("runs/ranking"))
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path("model_repository/minilm_rank_qa"))
    parser.add_argument("--id", help="public id of the model; it must be new")
    parser.add_argument("--reference", type=Path, help="also write torch's logits of a few pairs here")
    args = parser.parse_args()
    check_new(args.id, args.out.parent)
    model = trained_ranker(args.run, args.alpha)
    parameters = {
        "retort_api": "ranking",
        "model_id": args.id,
        "owned_by": "retort",
        "created": creation_day(args.run),
        "max_model_len": "512",
        "padding_cost": PADDING_COST,
        "tokenizer": "tokenizer.json",
    }
    output = Tensor("logits", "FP32", (1,))
    entry = repository_entry(
        args.out, "Relevance of a passage to a query, trained from minilm_embed_qa.", output, parameters
    )
    ranker_graph = graph(model, output.name)
    file = write_entry(args.out, entry, ranker_graph, args.embedding / "tokenizer.json", hidden_mask(ranker_graph))
    error = batch_error(file)
    print(f"logits of a pair alone and in a padded batch differ by at most {error:.1e}; none may differ")
    if error > 0:
        sys.exit("export: a logit depends on the rest of its batch")
    if args.reference:
        tokenizer = vectors.load_tokenizer(args.embedding / "tokenizer.json")
        write_reference(args.reference, reference_cases(model, tokenizer, EXAMPLES), "scripts.train.ranking.export")


if __name__ == "__main__":
    main()
