"""Where vectors and logits come from: a model repository entry, a training run, or a server's HTTP API.

A source is written as
    minilm:DIR              plain MiniLM, no prefixes, from its published folder
    run:DIR@ALPHA           a training run, blended by alpha with MiniLM (needs --weights)
    onnx:FOLDER             a model repository entry (config.pbtxt, tokenizer.json, 1/model.onnx)
    http://HOST:PORT#MODEL  POST /v1/embeddings or /v1/ranking of a server
"""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Protocol, Sequence

import numpy as np
import onnxruntime
import torch

from scripts.train.embedding import bert, export, vectors
from scripts.train.embedding.twomode import PASSAGE_PREFIX, QUERY_PREFIX
from scripts.train.ranking import export as ranking_export
from scripts.train.ranking import pairs

RUN_TOKENS = 2048  # padded tokens a call


class Embedder(Protocol):
    """Texts to unit vectors [texts, H] float32; mode is "query" or "passage"."""

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray: ...


class Scorer(Protocol):
    """A query and passages to one logit a passage, float32 [passages]."""

    def logits(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]: ...


class LocalEmbedder:
    """A graph or a torch module behind a tokenizer."""

    def __init__(self, embed: vectors.Embed, tokenizer, prefixes: dict[str, str], longest: int):
        self.embed, self.tokenizer, self.prefixes, self.longest = embed, tokenizer, prefixes, longest

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray:
        prefix = self.prefixes[mode]
        rows = vectors.token_ids(self.tokenizer, [prefix + t for t in texts], self.longest)
        return vectors.encode(self.embed, rows, RUN_TOKENS)


class LocalScorer:
    """Pairs cut to `longest` tokens, the passage giving way."""

    def __init__(self, score: pairs.Logits, tokenizer, longest: int):
        self.score, self.tokenizer, self.longest = score, tokenizer, longest

    def logits(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]:
        rows = []
        for query, passages in asked:
            first, *rest = vectors.token_ids(self.tokenizer, [query, *passages], self.longest)
            rows += [pairs.paired(first[: self.longest // 2 - 1] + first[-1:] if len(first) > self.longest // 2 else first, r, self.longest) for r in rest]
        found = pairs.logits_of(self.score, rows, RUN_TOKENS)
        return np.split(found, np.cumsum([len(p) for _, p in asked])[:-1])


class HttpEmbedder:
    """POST {base}/v1/embeddings."""

    def __init__(self, base: str, model: str):
        self.url, self.model = base.rstrip("/") + "/v1/embeddings", model

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray:
        found = []
        for start in range(0, len(texts), 64):
            body = {"model": self.model, "input": list(texts[start : start + 64]), "input_type": mode, "truncate": "END"}
            data = sorted(post(self.url, body)["data"], key=lambda d: d["index"])
            found += [d["embedding"] for d in data]
        return np.array(found, np.float32)


class HttpScorer:
    """POST {base}/v1/ranking."""

    def __init__(self, base: str, model: str):
        self.url, self.model = base.rstrip("/") + "/v1/ranking", model

    def logits(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]:
        return [self.one(query, passages) for query, passages in asked]

    def one(self, query: str, passages: Sequence[str]) -> np.ndarray:
        body = {"model": self.model, "query": {"text": query}, "passages": [{"text": p} for p in passages], "truncate": "END"}
        found = np.empty(len(passages), np.float32)
        for entry in post(self.url, body)["rankings"]:
            found[entry["index"]] = entry["logit"]
        return found


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def session(folder: Path, threads: int):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(str(folder / "1" / "model.onnx"), options)


def parameters(folder: Path) -> dict[str, str]:
    """The parameters of a config.pbtxt."""
    pattern = r'key:\s*"([^"]+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"'
    return dict(re.findall(pattern, (folder / "config.pbtxt").read_text()))


def embedder(source: str, weights: Path | None, threads: int) -> Embedder:
    """The embedder that a source names."""
    kind, _, rest = source.partition(":")
    if kind in ("http", "https"):
        return HttpEmbedder(*source.split("#", 1))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if kind == "minilm":
        tokenizer = vectors.load_tokenizer(Path(rest) / "tokenizer.json")
        embed = vectors.torch_embed(bert.load_encoder(Path(rest)).eval().to(device), device)
        return LocalEmbedder(embed, tokenizer, {"query": "", "passage": ""}, 256)
    if kind == "run":
        folder, alpha = rest.split("@")
        model = export.two_mode(weights, Path(folder), float(alpha)).to(device)
        prefixes = {"query": QUERY_PREFIX, "passage": PASSAGE_PREFIX}
        return LocalEmbedder(vectors.module_embed(model, device), vectors.load_tokenizer(weights / "tokenizer.json"), prefixes, 256)
    told, run = parameters(Path(rest)), session(Path(rest), threads)
    prefixes = {m: told.get(f"{m}_prefix", "") for m in ("query", "passage")}

    def embed(ids, mask):
        feed = dict(zip(export.INPUTS, (ids.numpy(), mask.numpy(), np.zeros_like(ids.numpy()))))
        return torch.from_numpy(run.run(None, feed)[0])

    return LocalEmbedder(embed, vectors.load_tokenizer(Path(rest) / "tokenizer.json"), prefixes, int(told["max_model_len"]))


def scorer(source: str, weights: Path | None, threads: int, longest: int) -> Scorer:
    """The ranker that a source names; pairs are cut to `longest` tokens, or less where the model takes less."""
    kind, _, rest = source.partition(":")
    if kind in ("http", "https"):
        return HttpScorer(*source.split("#", 1))
    if kind == "run":
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        folder, alpha = rest.split("@")
        model = ranking_export.trained_ranker(weights, Path(folder), float(alpha)).to(device)

        def by_torch(*rows):
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16):
                return model(*(r.to(device) for r in rows)).float().cpu()

        return LocalScorer(by_torch, vectors.load_tokenizer(weights / "tokenizer.json"), longest)
    told, run = parameters(Path(rest)), session(Path(rest), threads)

    def by_onnx(*rows):
        return run.run(None, dict(zip(export.INPUTS, (r.numpy() for r in rows))))[0]

    return LocalScorer(by_onnx, vectors.load_tokenizer(Path(rest) / "tokenizer.json"), min(longest, int(told["max_model_len"])))
