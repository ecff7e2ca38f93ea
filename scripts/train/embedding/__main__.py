"""Trains the two-mode embedding model from MiniLM.

    python -m scripts.train.embedding.examples --data DIR --weights DIR     # once: mined examples
    python -m scripts.train.embedding --weights DIR --minutes 30            # again to resume

A batch holds queries of one set, so that its passages are near misses of each other.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from scripts.train import training
from scripts.train.embedding import bert, twomode, vectors
from scripts.train.embedding.examples import Mined

# The big step for a GPU holds more in-batch negatives and longer passages.
PRESETS = {
    "cpu": dict(batch=48, lr=4e-5, warmup=1000, ema=0.99, hard=1, passage_tokens=104, query_tokens=40),
    "gpu": dict(batch=256, lr=6e-5, warmup=10_000, ema=0.999, hard=4, passage_tokens=256, query_tokens=64),
}


class Sampler:
    """The batch of a step: a pure function of (seed, step)."""

    def __init__(self, sets: list[Mined], tokenizer, batch: int, hard: int, passage_tokens: int, query_tokens: int, seed: int):
        self.sets, self.batch, self.hard, self.seed = sets, batch, hard, seed
        cut = lambda texts, prefix, most: vectors.token_ids(tokenizer, [prefix + t for t in texts], most)
        self.passages = [cut(s.passages, twomode.PASSAGE_PREFIX, passage_tokens) for s in sets]
        self.queries = [cut(s.queries, twomode.QUERY_PREFIX, query_tokens) for s in sets]
        self.misread = [cut(s.queries, twomode.PASSAGE_PREFIX, query_tokens) for s in sets]
        self.per_set = [len(s.queries) // batch for s in sets]

    def __call__(self, step: int) -> twomode.Batch:
        number, position = divmod(step, sum(self.per_set))
        random = np.random.default_rng((self.seed, number))
        plan = [(s, i) for s, count in enumerate(self.per_set) for i in range(count)]
        orders = [random.permutation(len(s.queries)) for s in self.sets]
        chosen, place = plan[random.permutation(len(plan))[position]]
        rows = orders[chosen][place * self.batch : (place + 1) * self.batch]
        return self.assemble(chosen, rows, np.random.default_rng((self.seed, step, 1)))

    def assemble(self, chosen: int, rows: np.ndarray, random: np.random.Generator) -> twomode.Batch:
        mined = self.sets[chosen]
        passages = [mined.positives[r] for r in rows]
        for row in rows:
            pool = mined.negatives[row]
            passages += [int(p) for p in random.permutation(pool)[: self.hard]]
        groups = np.array([mined.groups[p] for p in passages])
        allowed = groups[None] != groups[: len(rows), None]
        allowed[np.arange(len(rows)), np.arange(len(rows))] = True
        part = lambda table, numbers: vectors.padded([table[chosen][n] for n in numbers])
        return twomode.Batch(
            part(self.queries, rows), part(self.misread, rows), part(self.passages, passages), torch.from_numpy(allowed),
            torch.from_numpy(mined.query_vectors[rows]), torch.from_numpy(mined.passage_vectors[passages]))


def load_sets(file: Path) -> list[Mined]:
    """The sets that `examples` wrote."""
    stored = torch.load(file, weights_only=True)
    return [Mined(**{k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in s.items()}) for s in stored]


def held_out(sampler: Sampler, batches: int = 1) -> list[twomode.Batch]:
    """Fixed batches to watch the loss on: one a set, from steps that no run reaches."""
    return [sampler.assemble(s, np.random.default_rng((s, b)).permutation(len(m.queries))[: sampler.batch], np.random.default_rng(s))
            for s, m in enumerate(sampler.sets) for b in range(batches)]


def main() -> None:
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--preset", choices=PRESETS, default="cpu", help="step size and lengths")
    preset = PRESETS[first.parse_known_args()[0].preset]
    parser = argparse.ArgumentParser(description=__doc__, parents=[first], formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = {k: v for k, v in preset.items() if k in ("batch", "lr", "warmup", "ema")}
    training.add_arguments(parser, name="embedding", decay=0.4, **shared)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM (config.json, model.safetensors)")
    parser.add_argument("--examples", type=Path, default=Path("runs/examples.pt"))
    parser.add_argument("--hard", type=int, default=preset["hard"], help="hard negatives a query")
    parser.add_argument("--passage-tokens", type=int, default=preset["passage_tokens"])
    parser.add_argument("--query-tokens", type=int, default=preset["query_tokens"])
    for key, value in vars(twomode.Weights()).items():
        parser.add_argument("--" + key.replace("_", "-"), type=float, default=value, help="weight in the loss")
    args = parser.parse_args()
    options = training.from_arguments(args)
    weights = twomode.Weights(args.anchor, args.mode, args.mode_margin)
    torch.manual_seed(options.seed)
    tokenizer = vectors.load_tokenizer(args.weights / "tokenizer.json")
    sampler = Sampler(load_sets(args.examples), tokenizer, options.batch, args.hard, args.passage_tokens, args.query_tokens, options.seed)
    device = options.torch_device()
    model = twomode.TwoMode(bert.load_encoder(args.weights, dropout=0.05))

    def loss(network, batch):
        return twomode.loss(network, batch.to(device), weights)

    def evaluate(network, step):
        found = [loss(network, batch)[1] for batch in held_out(sampler)]
        return {f"fixed_{k}": float(torch.stack([f[k] for f in found]).mean()) for k in found[0]}

    training.run(options, model, sampler, loss, evaluate)


if __name__ == "__main__":
    main()
