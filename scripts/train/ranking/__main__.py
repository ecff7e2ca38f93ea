"""Trains the ranker further, or a new one on an embedding model, on the examples mined for the embedding.

    python -m scripts.train.embedding.examples --data DIR                             # once: mined examples
    python -m scripts.train.ranking --config cpu --data DIR                           # again to resume
    python -m scripts.train.ranking --config cpu --data DIR --embedding model_repository/own_embedding

The first starts from the shipped ranker, or from --start. The third trains a new ranker on an embedding model. The
evaluation during the training sorts the best passages for queries of the collections' dev splits. With short questions
(see short.py):

    python -m scripts.train.ranking --config cpu --data DIR --short 12000 --selqa DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from scripts.train import checkpoint, processes, provenance, training
from scripts.train.embedding import evaluation, twomode, vectors
from scripts.train.embedding.examples import load_sets, source_files
from scripts.train.ranking import cached_encoder, intent_projection, pairs, ranker, report, short

START = Path("model_repository/minilm_rank_qa")
TOP = 20
"""Passages of a query that the evaluation during the training sorts."""
# Share of each set in the steps. Each kind of question needs some, and most where the embedding is worst.
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
BINARY = 0.2  # Weight of the binary loss, which makes logits comparable across lists: above 0 means relevant.


def loss(model: pairs.Logits, batch: pairs.Lists, binary: float = BINARY) -> tuple[Tensor, dict[str, Tensor]]:
    """Returns the softmax loss of each right passage against the wrong ones of its list, plus a binary loss of
    each pair."""
    scores = model(*batch.rows).float().view(-1, batch.candidates)
    right, wrong = scores[:, : batch.right], scores[:, batch.right :]
    listwise = F.softplus(wrong.logsumexp(1, keepdim=True) - right).mean()
    absolute = (F.softplus(-right).mean() + F.softplus(wrong).mean()) / 2
    first = (scores.argmax(1) < batch.right).float().mean()
    return listwise + binary * absolute, {"listwise": listwise.detach(), "absolute": absolute.detach(), "first": first}


def fit_projection(model: twomode.TwoMode, sets: list[pairs.QuerySet], tokenizer, options: training.Options) -> Tensor:
    """Fits the intent projection, or reads it from the run folder."""
    file = options.folder / "metric.pt"
    if not file.exists():
        checkpoint.save({"metric": intent_projection.fit(model, sets, tokenizer, options.seed)}, file)
    return checkpoint.load(file)["metric"]


def build(entry: Path, sets: list[pairs.QuerySet], tokenizer, options: training.Options) -> ranker.Ranker:
    """Returns the untrained ranker on an embedding model, with token rarity from the training passages."""
    base = twomode.load(entry)
    rows = [r for s in sets for r in vectors.token_ids(tokenizer, s.mined.passages, 160)]
    rarity = ranker.rarity_of(rows, base.encoder.shape.vocab_size)
    return ranker.on_embedding(entry, fit_projection(base, sets, tokenizer, options), rarity)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.ranking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    training.add_arguments(parser, name="ranking", batch=10, lr=1e-4, warmup=300, ema=0.98, decay=0.4)
    parser.add_argument(
        "--start", type=Path, default=START, help=f"entry of the ranker to start from (default: {START})"
    )
    parser.add_argument(
        "--embedding", type=Path, help="train a new ranker on the embedding model of this entry, in place of --start"
    )
    parser.add_argument("--examples", type=Path, default=Path("runs/examples"))
    parser.add_argument("--binary", type=float, default=BINARY, help=f"weight of the binary loss (default: {BINARY})")
    parser.add_argument(
        "--short",
        type=int,
        default=0,
        help="lists of short questions from WordNet; a quarter as many single sentences (default: 0)",
    )
    parser.add_argument("--selqa", type=Path, help="folder of selqa-ass-*.json: lists of single sentences")
    for name, default, text in (
        ("candidates", 6, "passages for each query"),
        ("passage-tokens", 384, "most tokens of a passage"),
        ("query-tokens", 48, "most tokens of a query"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default: {default})")
    return parser


def main() -> None:
    args, options = training.parse(arguments())
    if options.threads:
        torch.set_num_threads(options.threads)  # Before the fit; the loop sets it too late.
    torch.manual_seed(options.seed)
    data = Path(options.data)
    try:
        embedding = args.embedding or ranker.embedding_of(args.start)
        base = twomode.load(embedding)
        tokenizer = vectors.load_tokenizer(embedding / "tokenizer.json")
        mined = load_sets(args.examples)
        names = [one.name for one in mined]
        held = evaluation.read(data, names, "dev", evaluation.QUERIES // 2, evaluation.DISTRACTORS)
        sets = [pairs.query_set(one) for one in mined]
        if args.short:
            single = list(short.sentences(data, args.short // 4, options.seed))
            sets += [short.dictionary(args.short, options.seed), short.query_set_of("sentences", single)]
        if args.selqa:
            sets.append(short.query_set_of("selqa", list(short.selqa(args.selqa, options.seed))))
        with processes.first_alone():
            model = build(embedding, sets, tokenizer, options) if args.embedding else ranker.load(args.start)
    except (OSError, ValueError) as error:
        raise SystemExit(f"training: {error}") from error
    files = [file.name for name in names for file in source_files(data, name)]
    provenance.record(options, files, prepared=args.examples)
    device = options.torch_device()
    cached = cached_encoder.CachedEncoder(model, vectors.CPU_TOKENS if device.type == "cpu" else vectors.GPU_TOKENS)

    def token_ids(texts, most):
        return vectors.token_ids(tokenizer, texts, most)

    sampler = pairs.Sampler(
        sets, SHARES, token_ids, options.batch, args.candidates, args.passage_tokens, args.query_tokens, options.seed
    )

    search = evaluation.Search(held, tokenizer, args.query_tokens, args.passage_tokens)
    orders = search.orders(vectors.module_embed(base.to(device), device), TOP)

    def list_loss(_, batch):  # cached wraps the network.
        return loss(cached, batch.to(device), args.binary)

    def evaluate(network, step):
        figures = [
            list_loss(
                network, sampler.assemble(s, range(min(options.batch, len(sets[s].queries))), np.random.default_rng(1))
            )[1]
            for s in range(len(sets))
        ]
        fixed = {f"fixed_{k}": float(torch.stack([f[k] for f in figures]).mean()) for k in figures[0]}
        ranked = evaluation.reranked(held, orders, report.scorer(cached, tokenizer, device))
        return evaluation.mean(ranked) | fixed

    training.run(options, model, sampler, list_loss, evaluate)


if __name__ == "__main__":
    main()
