"""Embeds and ranks with a source: an HTTP API, a model repository entry, or a training run.

A source is one of
    http://HOST:PORT#MODEL  POST /v1/embeddings or /v1/ranking of a server
    onnx:FOLDER             a model repository entry (config.pbtxt, tokenizer.json, 1/model.onnx)
    run:DIR@ALPHA           a training run, interpolated with the weights it started from by alpha
    minilm:DIR              plain MiniLM, no prefixes, from its published folder
All but the first need the environment of training (`retrieval_local`).
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from typing import Protocol

import numpy as np

TEXTS = 64  # texts of a request


class Embedder(Protocol):
    """Maps texts to unit vectors, float32 [texts, H]; mode is "query" or "passage"."""

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray: ...


class Scorer(Protocol):
    """Maps pairs of a query and its passages to logits, float32 [passages] per pair."""

    def logits(self, queries: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]: ...


class HttpEmbedder:
    """An embedder behind {base}/v1/embeddings; modes: the model has query and passage modes."""

    def __init__(self, base: str, model: str, modes: bool):
        self.url, self.model, self.modes = base.rstrip("/") + "/v1/embeddings", model, modes

    def vectors(self, texts: Sequence[str], mode: str) -> np.ndarray:
        found = []
        for start in range(0, len(texts), TEXTS):
            body = {"model": self.model, "input": list(texts[start : start + TEXTS]), "truncate": "END"}
            data = post(self.url, body | ({"input_type": mode} if self.modes else {}))["data"]
            found += [d["embedding"] for d in sorted(data, key=lambda d: d["index"])]
        return np.array(found, np.float32)


class HttpScorer:
    """A ranker behind {base}/v1/ranking."""

    def __init__(self, base: str, model: str):
        self.url, self.model = base.rstrip("/") + "/v1/ranking", model

    def logits(self, queries: Sequence[tuple[str, Sequence[str]]]) -> list[np.ndarray]:
        return [self.rank(query, passages) for query, passages in queries]

    def rank(self, query: str, passages: Sequence[str]) -> np.ndarray:
        body = {
            "model": self.model,
            "query": {"text": query},
            "passages": [{"text": p} for p in passages],
            "truncate": "END",
        }
        found = np.empty(len(passages), np.float32)
        for entry in post(self.url, body)["rankings"]:
            found[entry["index"]] = entry["logit"]
        return found


def post(url: str, body: dict) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def embedder(source: str, threads: int, modes: bool = True) -> Embedder:
    """Returns the embedder of a source; modes: it has query and passage modes."""
    if source.startswith(("http:", "https:")):
        base, _, model = source.partition("#")
        return HttpEmbedder(base, model, modes)
    from scripts.eval import retrieval_local

    return retrieval_local.embedder(source, threads)


def scorer(source: str, threads: int, longest: int) -> Scorer:
    """Returns the ranker of a source; a local one truncates pairs to `longest` tokens or the limit of the model."""
    if source.startswith(("http:", "https:")):
        base, _, model = source.partition("#")
        return HttpScorer(base, model)
    from scripts.eval import retrieval_local

    return retrieval_local.scorer(source, threads, longest)
