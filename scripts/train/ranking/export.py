"""Writes a trained ranker as a model repository entry: ONNX with int8 storage and fp32 arithmetic.

    python -m scripts.train.ranking.export --run runs/ranking --out model_repository/minilm_rank_qa --id retort/rankqa-minilm-vN

alpha is the share of the trained weights in the mix with the untrained ranker's, chosen on the development splits.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from scripts.train.checkpoint import blended
from scripts.train.embedding import bert, vectors
from scripts.train.embedding.export import INPUTS, PADDING_COST, graph, repository_entry, write_entry, write_reference
from scripts.train.entry import Tensor, check_new, created
from scripts.train.ranking import pairs
from scripts.train.ranking.ranker import Ranker


def trained_ranker(run: Path, alpha: float) -> Ranker:
    """The ranker of a run, blended with the untrained one; alpha 0 is the two-mode model's late interaction as it is."""
    trained = torch.load(run / "weights.pt", map_location="cpu", weights_only=True)
    own = {k.removeprefix("encoder."): v for k, v in trained.items() if k.startswith("encoder.")}
    layers = 1 + max(int(k.split(".")[1]) for k in own if k.startswith("layers."))
    encoder = bert.Encoder(bert.Shape(num_hidden_layers=layers, intermediate_size=len(own["layers.0.up.weight"])))
    encoder.load_state_dict(own)
    fresh = Ranker(
        encoder,
        trained["turn"],
        trained["metric"],
        trained["rarity"],
        (trained["query_prefix"], trained["passage_prefix"]),
    )
    return blended(fresh, trained, alpha)


def batch_error(file: Path, rows: int = 24, seed: int = 1) -> float:
    """The largest change of a pair's logit between alone and in a padded batch, over made-up pairs of 8 to 512 tokens."""
    random = np.random.default_rng(seed)
    made = []
    for length in random.integers(8, 513, rows):
        ids = [101, *random.integers(1000, 20000, length - 3).tolist(), 102]
        asked = int(random.integers(3, min(length - 2, 40)))
        made.append((ids[:asked] + [102] + ids[asked:], asked + 1))
    session = onnxruntime.InferenceSession(str(file))

    def run(part):
        return session.run(None, dict(zip(INPUTS, (t.numpy() for t in pairs.stacked(part)))))[0][:, 0]

    together = np.concatenate([run(made[i : i + 8]) for i in range(0, rows, 8)])
    alone = np.concatenate([run([row]) for row in made])
    return float(np.abs(together - alone).max())


def mask_of_all(made: onnx.ModelProto) -> str:
    """The mask of the hidden states in a ranker's graph: that of the pair behind the tokens that the ranker puts before it."""
    return next(n.output[0] for n in made.graph.node if n.op_type == "Concat" and "attention_mask" in n.input)


EXAMPLES = [
    (query, passage)
    for query in ("What is a retort?", "Which drug eases pain?")
    for passage in (
        "A retort is a vessel in which substances are distilled.",
        "Aspirin is an analgesic.",
        "Caffeine is a stimulant.",
    )
]


def logits_of(model: Ranker, tokenizer, texts: list[tuple[str, str]]) -> list[dict]:
    """Query and passage, the ids of the pair, the length of its first segment, and the logit."""
    cases = []
    for query, passage in texts:
        query_ids, passage_ids = vectors.token_ids(tokenizer, [query, passage], 256)
        row, first = pairs.paired(query_ids, passage_ids, 512)
        with torch.inference_mode():
            logit = float(model(*pairs.stacked([(row, first)]))[0, 0])
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
        "created": created(args.run),
        "max_model_len": "512",
        "padding_cost": PADDING_COST,
        "tokenizer": "tokenizer.json",
    }
    output = Tensor("logits", "FP32", (1,))
    entry = repository_entry(
        args.out, "Relevance of a passage to a query, trained from minilm_embed_qa.", output, parameters
    )
    made = graph(model, output.name)
    file = write_entry(args.out, entry, made, args.embedding / "tokenizer.json", mask_of_all(made))
    error = batch_error(file)
    print(f"a pair alone and in a padded batch: logits differ by at most {error:.1e}")
    if error > 1e-4:
        sys.exit("a logit depends on what else is in the batch")
    if args.reference:
        tokenizer = vectors.load_tokenizer(args.embedding / "tokenizer.json")
        write_reference(args.reference, logits_of(model, tokenizer, EXAMPLES), "scripts.train.ranking.export")


if __name__ == "__main__":
    main()
