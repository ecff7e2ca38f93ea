"""Trains the ranker from MiniLM, on the examples that were mined with the embedding model.

    python -m scripts.train.embedding.examples --data DIR --weights DIR     # once: mined examples
    python -m scripts.train.ranking --weights DIR --minutes 40              # again to resume
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scripts.train import training
from scripts.train.embedding import bert, vectors
from scripts.train.embedding.examples import load_sets
from scripts.train.ranking import pairs, ranker

PRESETS = {
    "cpu": dict(batch=10, lr=6e-5, warmup=200, ema=0.99, candidates=5, pair_tokens=160, query_tokens=48, frozen=3),
    "gpu": dict(batch=64, lr=6e-5, warmup=4000, ema=0.999, candidates=8, pair_tokens=256, query_tokens=96, frozen=0),
}
ABSOLUTE = 0.2  # weight of the pairwise part: it gives a logit a meaning across lists (above 0: rather right)


def loss(model: nn.Module, batch: pairs.Lists) -> tuple[Tensor, dict[str, Tensor]]:
    """Softmax over each list, its first candidate being right, and a binary part a pair."""
    scores = model(*batch.rows).float().view(-1, batch.candidates)
    right = torch.zeros(len(scores), dtype=torch.int64, device=scores.device)
    listwise = F.cross_entropy(scores, right)
    wanted = F.one_hot(right, batch.candidates).float()
    balance = torch.tensor(float(batch.candidates - 1), device=scores.device)
    absolute = F.binary_cross_entropy_with_logits(scores, wanted, pos_weight=balance) / 2
    first = (scores.argmax(1) == 0).float().mean()
    return listwise + ABSOLUTE * absolute, {"listwise": listwise.detach(), "absolute": absolute.detach(), "first": first}


def build(weights: Path, sets, tokenizer, dropout: float, frozen: int) -> ranker.Ranker:
    """The untrained ranker; the rarity of tokens is that of the training passages."""
    encoder = bert.load_encoder(weights, dropout)
    rows = [r for s in sets for r in vectors.token_ids(tokenizer, s.passages, 160)]
    model = ranker.Ranker(encoder, ranker.rarity_of(rows, encoder.shape.vocab_size))
    model.freeze(frozen)
    return model


def main() -> None:
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--preset", choices=PRESETS, default="cpu", help="step size and lengths")
    preset = PRESETS[first.parse_known_args()[0].preset]
    parser = argparse.ArgumentParser(description=__doc__, parents=[first], formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = {k: v for k, v in preset.items() if k in ("batch", "lr", "warmup", "ema")}
    training.add_arguments(parser, name="ranking", decay=0.4, **shared)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM (config.json, model.safetensors)")
    parser.add_argument("--examples", type=Path, default=Path("runs/examples"))
    for key, text in {"candidates": "passages a query", "pair_tokens": "longest pair", "query_tokens": "longest query",
                      "frozen": "lower layers kept as they are"}.items():
        parser.add_argument("--" + key.replace("_", "-"), type=int, default=preset[key], help=text)
    args = parser.parse_args()
    options = training.from_arguments(args)
    torch.manual_seed(options.seed)
    tokenizer = vectors.load_tokenizer(args.weights / "tokenizer.json")
    sets = load_sets(args.examples)
    model = build(args.weights, sets, tokenizer, 0.05, args.frozen)
    cut = lambda texts, longest: vectors.token_ids(tokenizer, texts, longest)
    sampler = pairs.Sampler(sets, cut, options.batch, args.candidates, args.pair_tokens, args.query_tokens, options.seed)
    device = options.torch_device()

    def evaluate(network, step):
        watched = [loss(network, sampler(10**6 + i).to(device))[1] for i in range(4)]
        return {f"watched_{k}": float(torch.stack([f[k] for f in watched]).mean()) for k in watched[0]}

    training.run(options, model, sampler, lambda network, batch: loss(network, batch.to(device)), evaluate)


if __name__ == "__main__":
    main()
