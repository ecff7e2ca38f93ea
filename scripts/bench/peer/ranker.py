"""Make the folder in which infinity serves a ranking entry of the model repository: its very graph.

    .venv-peer/bin/python scripts/bench/peer/ranker.py ENTRY FOLDER

ONNX Runtime folds the stored int8 or fp16 weights to fp32, as it does when Triton loads the entry, and writes the
graph down so; tokenizer.json is the entry's.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import onnxruntime


def main() -> None:
    entry, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # constants folded, operators as they are
    options.optimized_model_filepath = str(folder / "model.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(entry / "1" / "model.onnx"), options, providers=["CPUExecutionProvider"])
    told = dict(re.findall(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', (entry / "config.pbtxt").read_text()))
    longest = int(told.get("max_model_len", "512"))
    tokenizer = json.loads((entry / "tokenizer.json").read_text())
    shutil.copy(entry / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "BertTokenizerFast", "model_max_length": longest, "do_lower_case": True,
        "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}))
    (folder / "config.json").write_text(json.dumps({
        "model_type": "bert", "architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
        "vocab_size": len(tokenizer["model"]["vocab"]), "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
        "intermediate_size": 1536, "max_position_embeddings": longest, "type_vocab_size": 2, "pad_token_id": 0}))


if __name__ == "__main__":
    main()
