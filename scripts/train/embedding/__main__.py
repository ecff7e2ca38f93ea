"""Trains the two-mode embedding model from MiniLM.

    python -m scripts.train.embedding.examples --data DIR --weights DIR     # once: mined examples
    python -m scripts.train.embedding --weights DIR --minutes 30            # again to resume

A batch has queries of one set, so its passages are near misses of each other.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from scripts.train import checkpoint, training
from scripts.train.embedding import bert, rotation, twomode, vectors
from scripts.train.embedding.examples import Mined, load_sets

# Steps on a GPU have more in-batch negatives and longer passages.
PRESETS = {
    "cpu": dict(
        batch=48, lr=5e-5, warmup=1000, ema=0.99, hard=2, bank=512, live=24, passage_tokens=128, query_tokens=48
    ),
    "gpu": dict(
        batch=256, lr=6e-5, warmup=10_000, ema=0.999, hard=3, bank=4096, live=1024, passage_tokens=256, query_tokens=64
    ),
}


class Sampler:
    """The batch of a step: a pure function of (seed, step)."""

    def __init__(
        self,
        sets: list[Mined],
        tokenizer,
        batch: int,
        hard: int,
        bank: int,
        live: int,
        passage_tokens: int,
        query_tokens: int,
        seed: int,
    ):
        self.sets, self.batch, self.hard, self.bank, self.live, self.seed = sets, batch, hard, bank, live, seed

        def token_ids(texts, prefix, most):
            return vectors.token_ids(tokenizer, [prefix + t for t in texts], most)

        self.passages = [token_ids(s.passages, twomode.PASSAGE_PREFIX, passage_tokens) for s in sets]
        self.queries = [token_ids(s.queries, twomode.QUERY_PREFIX, query_tokens) for s in sets]
        self.wrong_mode_queries = [token_ids(s.queries, twomode.PASSAGE_PREFIX, query_tokens) for s in sets]
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
        numbers, target, allowed = twomode.draw_candidates(mined, rows, self.hard, self.bank, random)

        def part(table, chosen_rows):
            return vectors.pad([table[chosen][n] for n in chosen_rows])

        return twomode.Batch(
            part(self.queries, rows),
            part(self.wrong_mode_queries, rows),
            part(self.passages, numbers[: self.live]),
            target,
            allowed,
            torch.from_numpy(mined.query_vectors[rows]),
            torch.from_numpy(mined.passage_vectors[numbers]),
        )


def fixed_batches(sampler: Sampler) -> list[twomode.Batch]:
    """Returns the same batch of each set in each evaluation: its loss falls smoothly, while that of steps jumps
    between sets."""
    return [
        sampler.assemble(
            s, np.random.default_rng(s).permutation(len(m.queries))[: sampler.batch], np.random.default_rng(s)
        )
        for s, m in enumerate(sampler.sets)
    ]


def first_rotation(sets: list[Mined], options: training.Options) -> torch.Tensor:
    """Fits the rotation, or reads it from the run folder."""
    file = options.folder / "rotation.pt"
    if not file.exists():
        checkpoint.save({"rotation": rotation.fit(sets, options.seed)}, file)
    return checkpoint.load(file)["rotation"]


def main() -> None:
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--preset", choices=PRESETS, default="cpu", help="step size and lengths")
    preset = PRESETS[first.parse_known_args()[0].preset]
    parser = argparse.ArgumentParser(
        description=__doc__, parents=[first], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shared = {k: v for k, v in preset.items() if k in ("batch", "lr", "warmup", "ema")}
    training.add_arguments(parser, name="embedding", decay=0.4, **shared)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM (config.json, model.safetensors)")
    parser.add_argument("--examples", type=Path, default=Path("runs/examples"))
    for key, text in {
        "hard": "hard negatives for each query",
        "bank": "candidates in a step",
        "live": "candidates in a step to encode",
        "passage_tokens": "most tokens of a passage",
        "query_tokens": "most tokens of a query",
    }.items():
        parser.add_argument("--" + key.replace("_", "-"), type=int, default=preset[key], help=text)
    for key, value in vars(twomode.Weights()).items():
        parser.add_argument("--" + key.replace("_", "-"), type=float, default=value, help="weight in the loss")
    args = parser.parse_args()
    options = training.from_arguments(args)
    weights = twomode.Weights(args.anchor, args.mode, args.mode_margin)
    if options.threads:
        torch.set_num_threads(options.threads)  # Before the fit; the loop sets it too late.
    torch.manual_seed(options.seed)
    tokenizer = vectors.load_tokenizer(args.weights / "tokenizer.json")
    sets = load_sets(args.examples)
    sampler = Sampler(
        sets,
        tokenizer,
        options.batch,
        args.hard,
        args.bank,
        args.live,
        args.passage_tokens,
        args.query_tokens,
        options.seed,
    )
    device = options.torch_device()
    model = twomode.TwoMode(bert.load_encoder(args.weights, dropout=0.05), first_rotation(sets, options))

    def loss(network, batch):
        return twomode.loss(network, batch.to(device), weights)

    def evaluate(network, step):
        figures = [loss(network, batch)[1] for batch in fixed_batches(sampler)]
        return {f"fixed_{k}": float(torch.stack([f[k] for f in figures]).mean()) for k in figures[0]}

    training.run(options, model, sampler, loss, evaluate)


if __name__ == "__main__":
    main()
