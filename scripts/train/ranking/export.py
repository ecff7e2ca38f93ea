"""Exports a trained ranker as a model repository entry, after scripts.train.ranking.report measured it:

    python -m scripts.train.ranking.export --run runs/ranking --entry own_ranking --id own/ranking-v1
    python -m scripts.train.ranking.export --entry own_ranking      # makes 1/model.onnx again

As scripts.train.embedding.export. model.safetensors has only the tensors that differ from those of the embedding model,
which config.json names, with the SHA-256 of its weights; it must be an entry of the same repository.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

from scripts.lint import cards
from scripts.train import card
from scripts.train.embedding import report, vectors
from scripts.train.embedding.export import (
    INPUTS,
    INTERPOLATED,
    PADDING_COST,
    export,
    graph,
    repository_entry,
    write_graph,
    write_tokenizer,
)
from scripts.train.entry import Tensor, creation_day
from scripts.train.ranking import pairs, ranker
from scripts.train.ranking import report as ranking_report
from scripts.train.ranking.ranker import Ranker

OUTPUT = "logits"
MODEL = """The frozen encoder of `{embedding}`, in which query and passage do not attend to each other, and a copy of
its top layers with trained weights, in which they do: {trained:.1f} M trained parameters. The logit is a sum of nine
features of both. Trained from {start}."""


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


def write_onnx(entry: Path) -> None:
    """Makes 1/model.onnx of the model.safetensors and config.json of an entry, and of its embedding model."""
    made = graph(ranker.load(entry), OUTPUT)
    error = batch_error(write_graph(entry, made, ranker.tensors(entry), hidden_mask(made)))
    print(f"logits of a pair alone and in a padded batch differ by at most {error:.1e}; none may differ")
    if error > 0:
        raise ValueError("a logit depends on the rest of its batch")


def write_run(run: Path, folder: Path, model_id: str, is_int8: bool) -> None:
    """Writes all of an entry but its graph."""
    figures, embedding = card.read_figures(run), ranking_report.embedding_of(run)
    if not (folder.parent / embedding.name).exists() or not embedding.samefile(folder.parent / embedding.name):
        raise ValueError(f"{embedding}: the embedding model of the ranker must be an entry of the same repository")
    model = ranking_report.trained_ranker(run, figures["alpha"])
    parameters = {
        "retort_api": "ranking",
        "model_id": model_id,
        "owned_by": "retort",
        "created": creation_day(run),
        "max_model_len": "512",
        "padding_cost": PADDING_COST,
        "tokenizer": "tokenizer.json",
    }
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    section = MODEL.format(trained=trained / 1e6, embedding=embedding.name, start=figures["start"])
    section += "" if figures["alpha"] == 1 else INTERPOLATED.format(alpha=figures["alpha"])
    command = "python -m scripts.train.ranking.report --data DATA"
    columns = {"embedding": "{}, embedding", "start": "{}, ranker at the start", "trained": "{}, trained"}
    table = report.table(figures, columns, command)
    card.write(folder / cards.CARD, "text-ranking", section, run, figures["training"], table, tags="reranker")
    ranker.store(folder, model, embedding, is_int8)
    write_tokenizer(embedding, folder)
    output = Tensor(OUTPUT, "FP32", (1,))
    repository_entry(folder, "Relevance of a passage to a query.", output, parameters).write(folder.parent, {})


def reference_of(folder: Path) -> list[dict]:
    """Returns the reference cases of an entry."""
    return reference_cases(ranker.load(folder), vectors.load_tokenizer(folder / "tokenizer.json"), EXAMPLES)


def main(arguments: list[str] | None = None) -> None:
    export(
        arguments,
        ("scripts.train.ranking.export", __doc__, "minilm_rank_qa"),
        write_run,
        write_onnx,
        reference_of,
    )


if __name__ == "__main__":
    main()
