"""Trains the ranker from the two-mode embedding model, on the examples that were mined for that.

python -m scripts.train.embedding.examples --data DIR --weights DIR     # once: mined examples
python -m scripts.train.embedding --weights DIR --minutes 30            # the embedding model
python -m scripts.train.ranking --minutes 30                            # again to resume
python -m scripts.train.ranking --start model_repository/minilm_rank_qa --name further --minutes 30     # the ranker that is served, trained on
python -m scripts.train.ranking --start … --short 12000 --selqa DIR --data DIR --minutes 30      # with short questions too, see short.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scripts.train import checkpoint, training
from scripts.train.embedding import start as embedding_start
from scripts.train.embedding import twomode, vectors
from scripts.train.embedding.examples import load_sets
from scripts.train.ranking import kept, metric, pairs, ranker, short, start

PRESETS = {
    "cpu": dict(batch=10, lr=1e-4, warmup=300, ema=0.98, candidates=6, passage_tokens=384, query_tokens=48),
    "gpu": dict(batch=64, lr=1e-4, warmup=4000, ema=0.999, candidates=12, passage_tokens=384, query_tokens=96),
}
# Shares of the steps. Every kind of question needs its own; those that the embedding does worst gain most.
SHARES = {
    "nq_gold": 0.16,
    "medquad": 0.22,
    "banking77": 0.16,
    "chebi20": 0.11,
    "pubmedqa": 0.05,
    "dictionary": 0.2,
    "sentences": 0.4,
    "selqa": 0.4,
}
BINARY = 0.2  # weight of the binary part: it gives a logit a meaning across lists (above 0: rather right)


def loss(model: pairs.Logits, batch: pairs.Lists, binary: float = BINARY) -> tuple[Tensor, dict[str, Tensor]]:
    """Softmax over each right passage and all wrong ones of its list, and a binary part a pair."""
    scores = model(*batch.rows).float().view(-1, batch.candidates)
    right, wrong = scores[:, : batch.right], scores[:, batch.right :]
    listwise = F.softplus(wrong.logsumexp(1, keepdim=True) - right).mean()
    absolute = (F.softplus(-right).mean() + F.softplus(wrong).mean()) / 2
    first = (scores.argmax(1) < batch.right).float().mean()
    return listwise + binary * absolute, {"listwise": listwise.detach(), "absolute": absolute.detach(), "first": first}


def fitted_metric(model: twomode.TwoMode, sets: list[pairs.Asked], tokenizer, options: training.Options) -> Tensor:
    """The fitted map, kept in the run's folder so that a resumed run need not fit it again."""
    file = options.folder / "metric.pt"
    if not file.exists():
        checkpoint.save({"metric": metric.fit(model, sets, tokenizer, options.seed)}, file)
    return checkpoint.load(file)["metric"]


def build(model: twomode.TwoMode, sets: list[pairs.Asked], tokenizer, options: training.Options) -> ranker.Ranker:
    """The untrained ranker; the rarity of tokens is that of the training passages."""
    rows = [r for s in sets for r in vectors.token_ids(tokenizer, s.mined.passages, 160)]
    rarity = ranker.rarity_of(rows, model.encoder.shape.vocab_size)
    turned = fitted_metric(model, sets, tokenizer, options)
    return ranker.Ranker(model.encoder, model.turn.weight.detach(), turned, rarity, start.prefixes(tokenizer))


def main() -> None:
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--preset", choices=PRESETS, default="cpu", help="step size and lengths")
    preset = PRESETS[first.parse_known_args()[0].preset]
    parser = argparse.ArgumentParser(
        description=__doc__, parents=[first], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = {k: v for k, v in preset.items() if k in ("batch", "lr", "warmup", "ema")}
    training.add_arguments(parser, name="ranking", decay=0.4, **shared)
    parser.add_argument(
        "--embedding",
        type=Path,
        default=Path("model_repository/minilm_embed_qa"),
        help="repository entry of the two-mode model to begin from",
    )
    parser.add_argument(
        "--start", type=Path, help="repository entry of a ranker on that model, to train on; without it a fresh one"
    )
    parser.add_argument("--examples", type=Path, default=Path("runs/examples"))
    parser.add_argument(
        "--binary", type=float, default=BINARY, help=f"weight of the binary part of the loss (default: {BINARY})"
    )
    parser.add_argument(
        "--short",
        type=int,
        default=0,
        help="lists of short questions out of WordNet, and half as many of single sentences of --data (default: 0)",
    )
    parser.add_argument(
        "--selqa", type=Path, help="folder of selqa-ass-dev.json and the like: lists of single sentences"
    )
    for key, text in {
        "candidates": "passages a query",
        "passage_tokens": "longest passage",
        "query_tokens": "longest query",
    }.items():
        parser.add_argument("--" + key.replace("_", "-"), type=int, default=preset[key], help=text)
    args = parser.parse_args()
    options = training.from_arguments(args)
    if options.threads:
        torch.set_num_threads(options.threads)  # before the metric is fitted: the loop would set it too late
    torch.manual_seed(options.seed)
    tokenizer = vectors.load_tokenizer(args.embedding / "tokenizer.json")
    sets = [pairs.asked(mined) for mined in load_sets(args.examples)]
    if args.short:
        single = list(short.sentences(Path(options.data), args.short // 4, options.seed))
        sets += [short.dictionary(args.short, options.seed), short.of_lists("sentences", single)]
    if args.selqa:
        sets.append(short.of_lists("selqa", list(short.selqa(args.selqa, options.seed))))
    base = embedding_start.model(args.embedding)
    model = start.model(args.start, base, tokenizer) if args.start else build(base, sets, tokenizer, options)
    device = options.torch_device()
    reader = kept.Kept(model, vectors.CPU_TOKENS if device.type == "cpu" else vectors.GPU_TOKENS)

    def cut(texts, longest):
        return vectors.token_ids(tokenizer, texts, longest)

    sampler = pairs.Sampler(
        sets, SHARES, cut, options.batch, args.candidates, args.passage_tokens, args.query_tokens, options.seed
    )

    def listed(_, batch):  # the reader holds the network
        return loss(reader, batch.to(device), args.binary)

    def evaluate(network, step):
        watched = [
            listed(network, sampler.assemble(s, range(options.batch), np.random.default_rng(1)))[1]
            for s in range(len(sets))
        ]
        return {f"watched_{k}": float(torch.stack([f[k] for f in watched]).mean()) for k in watched[0]}

    training.run(options, model, sampler, listed, evaluate)


if __name__ == "__main__":
    main()
