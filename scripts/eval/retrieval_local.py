"""Embeds and ranks in this process with a model repository entry, a training run, or MiniLM's published folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from scripts.train.embedding import bert, export, report, vectors
from scripts.train.embedding.twomode import PASSAGE_PREFIX, QUERY_PREFIX
from scripts.train.ranking import pairs
from scripts.train.ranking import report as ranking_report

RUN_TOKENS = 1024  # most padded tokens in a call: larger batches exceed the cache of a CPU


class LocalEmbedder:
    """An embedder with a tokenizer and a graph or torch module."""

    def __init__(self, embed: vectors.Embed, tokenizer, prefixes: dict[str, str], longest: int):
        self.embed, self.tokenizer, self.prefixes, self.longest = embed, tokenizer, prefixes, longest

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray:
        prefix = self.prefixes[mode]
        rows = vectors.token_ids(self.tokenizer, [prefix + t for t in texts], self.longest)
        return vectors.encode(self.embed, rows, RUN_TOKENS)


class LocalScorer:
    """A ranker that truncates a query to half of `longest` tokens, and the passage so that the pair fits."""

    def __init__(self, score: pairs.Logits, tokenizer, longest: int):
        self.score, self.tokenizer, self.longest = score, tokenizer, longest

    def logits(self, queries: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]:
        rows = []
        for query, passages in queries:
            first, *others = vectors.token_ids(self.tokenizer, [query, *passages], self.longest)
            if len(first) > self.longest // 2:
                first = first[: self.longest // 2 - 1] + first[-1:]
            rows += [pairs.join(first, other, self.longest) for other in others]
        found = pairs.logits_of(self.score, rows, RUN_TOKENS)
        return np.split(found, np.cumsum([len(passages) for _, passages in queries])[:-1])


def session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(folder / "1" / "model.onnx"), options)


def parameters(folder: Path) -> dict[str, str]:
    """Returns the parameters of a config.pbtxt."""
    pattern = r'key:\s*"([^"]+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"'
    return dict(re.findall(pattern, (folder / "config.pbtxt").read_text()))


def embedder(source: str, threads: int) -> LocalEmbedder:
    """Returns the embedder of a source."""
    torch.set_num_threads(threads)
    kind, _, rest = source.partition(":")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if kind == "minilm":
        tokenizer = vectors.load_tokenizer(Path(rest) / "tokenizer.json")
        embed = vectors.torch_embed(bert.load_encoder(Path(rest)).eval().to(device), device)
        return LocalEmbedder(embed, tokenizer, {"query": "", "passage": ""}, 256)
    if kind == "run":
        folder, alpha = rest.split("@")
        model = report.two_mode(Path(folder), float(alpha)).to(device)
        tokenizer = vectors.load_tokenizer(report.start_of(Path(folder)) / "tokenizer.json")
        prefixes = {"query": QUERY_PREFIX, "passage": PASSAGE_PREFIX}
        return LocalEmbedder(vectors.module_embed(model, device), tokenizer, prefixes, 256)
    config, run = parameters(Path(rest)), session(Path(rest), threads)
    prefixes = {mode: config.get(f"{mode}_prefix", "") for mode in ("query", "passage")}

    def embed_by_onnx(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        feed = dict(zip(export.INPUTS, (ids.numpy(), mask.numpy(), np.zeros_like(ids.numpy()))))
        return torch.from_numpy(run.run(None, feed)[0])

    return LocalEmbedder(
        embed_by_onnx, vectors.load_tokenizer(Path(rest) / "tokenizer.json"), prefixes, int(config["max_model_len"])
    )


def scorer(source: str, threads: int, longest: int) -> LocalScorer:
    """Returns the ranker of a source."""
    torch.set_num_threads(threads)
    kind, _, rest = source.partition(":")
    if kind == "run":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        folder, alpha = rest.split("@")
        model = ranking_report.trained_ranker(Path(folder), float(alpha)).to(device)
        tokenizer = vectors.load_tokenizer(ranking_report.embedding_of(Path(folder)) / "tokenizer.json")

        def score_by_torch(*rows: torch.Tensor) -> torch.Tensor:
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
                return model(*(r.to(device) for r in rows)).float().cpu()

        return LocalScorer(score_by_torch, tokenizer, longest)
    config, run = parameters(Path(rest)), session(Path(rest), threads)

    def score_by_onnx(*rows: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(run.run(None, dict(zip(export.INPUTS, (r.numpy() for r in rows))))[0])

    return LocalScorer(
        score_by_onnx, vectors.load_tokenizer(Path(rest) / "tokenizer.json"), min(longest, int(config["max_model_len"]))
    )
