"""Trains the two-mode embedding model further, or a new one from MiniLM.

    python -m scripts.train.embedding.examples --data DIR          # once: mined examples
    python -m scripts.train.embedding --config cpu --data DIR      # again to resume

Both have --start: an entry, by default the shipped one, or the folder of MiniLM. The evaluation during the training
searches the queries of the collections' dev splits. A batch has queries of one set, so its passages are near misses of
each other.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from scripts.train import checkpoint, processes, provenance, training
from scripts.train.embedding import evaluation, rotation, twomode, vectors
from scripts.train.embedding.examples import Mined, load_sets, source_files


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
        if not any(self.per_set):
            most = max(len(s.queries) for s in sets)
            raise SystemExit(f"training: no set has a batch of {batch} queries (--batch); the largest has {most}")

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


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.embedding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    training.add_arguments(parser, name="embedding", batch=48, lr=5e-5, warmup=1000, ema=0.99, decay=0.4)
    parser.add_argument("--start", type=Path, default=twomode.START, help=twomode.START_HELP)
    parser.add_argument("--examples", type=Path, default=Path("runs/examples"))
    for name, default, text in (
        ("hard", 2, "hard negatives for each query"),
        ("bank", 512, "candidates in a part of a step"),
        ("live", 24, "candidates in a part of a step to encode"),
        ("passage-tokens", 128, "most tokens of a passage"),
        ("query-tokens", 48, "most tokens of a query"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default: {default})")
    for key, value in vars(twomode.Weights()).items():
        parser.add_argument("--" + key.replace("_", "-"), type=float, default=value, help="weight in the loss")
    return parser


def main() -> None:
    args, options = training.parse(arguments())
    weights = twomode.Weights(args.anchor, args.mode, args.mode_margin)
    if options.threads:
        torch.set_num_threads(options.threads)  # Before the fit; the loop sets it too late.
    torch.manual_seed(options.seed)
    try:
        sets = load_sets(args.examples, args.start)
        turn = None
        if not twomode.is_entry(args.start):
            with processes.first_alone():
                turn = first_rotation(sets, options)
        model = twomode.load(args.start, 0.05, turn)
        tokenizer = vectors.load_tokenizer(args.start / "tokenizer.json")
        names = [mined.name for mined in sets]
        held = evaluation.read(Path(options.data), names, "dev", evaluation.QUERIES, evaluation.DISTRACTORS)
    except (OSError, ValueError) as error:
        raise SystemExit(f"training: {error}") from error
    files = [file.name for name in names for file in source_files(Path(options.data), name)]
    provenance.record(options, files, prepared=args.examples)
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
    search = evaluation.Search(held, tokenizer, args.query_tokens, args.passage_tokens)

    def loss(network, batch):
        return twomode.loss(network, batch.to(device), weights)

    def evaluate(network, step):
        figures = [loss(network, batch)[1] for batch in fixed_batches(sampler)]
        fixed = {f"fixed_{k}": float(torch.stack([f[k] for f in figures]).mean()) for k in figures[0]}
        return evaluation.mean(search.measure(vectors.module_embed(network, device))) | fixed

    training.run(options, model, sampler, loss, evaluate)


if __name__ == "__main__":
    main()
