"""Vectors and logits of the decoder families of scripts/tests/decoders.py, computed by transformers, for imports.py.

Bidirectional attention of Qwen2 and Llama is the causal model of transformers with a mask of zeros, as in the public
code of Alibaba-NLP/gte-Qwen2 (is_causal false) and nvidia/llama-nemotron-embed-1b-v2 (LlamaBidirectionalModel).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers

from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import decoders  # noqa: E402
import folders  # noqa: E402


class Decoder:
    """The model of a folder, for one text at a time."""

    def __init__(self, folder: Path, family: str, api: str):
        self.family, self.api, self.folder = family, api, folder
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(folders.LONGEST)
        self.tokenizer.no_padding()
        values = json.loads((folder / "config.json").read_text())
        self.bidirectional = values["model_type"] == "llama_bidirec" or values.get("is_causal") is False
        self.temperature, options = values.pop("temperature", 1.0), {}
        kind = transformers.AutoModel
        if api == "ranking":
            kind = transformers.AutoModelForSequenceClassification
            if decoders.is_causal_lm(family, api):
                kind = transformers.AutoModelForCausalLM
        if values.pop("model_type") == "llama_bidirec":
            del values["pooling"]
            options["config"] = transformers.LlamaConfig(**values)
            kind = transformers.LlamaModel if api == "embedding" else transformers.LlamaForSequenceClassification
        self.model, info = kind.from_pretrained(
            folder, attn_implementation="eager", output_loading_info=True, dtype=torch.float32, **options
        )
        if info["missing_keys"] or info["unexpected_keys"] or info["mismatched_keys"]:
            sys.exit(f"{folder}: {info}")
        self.model.eval()

    def inputs(self, ids: list[int]) -> dict[str, torch.Tensor]:
        mask = torch.ones(1, len(ids), dtype=torch.int64)
        if self.bidirectional:
            mask = torch.zeros(1, 1, len(ids), len(ids))
        return {"input_ids": torch.tensor([ids]), "attention_mask": mask}

    def states(self, ids: list[int]) -> torch.Tensor:
        """The token states of the last layer: [1, tokens, hidden]."""
        with torch.no_grad():
            return self.model(**self.inputs(ids)).last_hidden_state

    def logit(self, passage: str) -> float:
        """The logit of folders.QUERY and a passage."""
        ids, _ = folders.encode_pair(self.tokenizer, self.family, passage)
        with torch.no_grad():
            if self.family == "llama_bidirectional":  # LlamaBidirectionalForSequenceClassification
                pooled = self.model.model(**self.inputs(ids)).last_hidden_state.mean(1)
                return float(self.model.score(pooled)[0, 0]) / self.temperature
            logits = self.model(**self.inputs(ids)).logits
        if decoders.is_causal_lm(self.family, self.api):  # the model card of Qwen3-Reranker
            vocabulary = self.tokenizer.get_vocab()
            return float(logits[0, -1, vocabulary["yes"]] - logits[0, -1, vocabulary["no"]])
        return float(logits[0, 0])
