"""Writes the folder that infinity serves: the graph and the tokenizer of a ranking entry of the model repository.

    .venv-peer/bin/python scripts/bench/peer/ranker.py ENTRY FOLDER

The weights of the graph are fp32: ONNX Runtime folds the stored int8 or fp16 weights, as it does when Triton loads the
entry. infinity's cross-encoder sends no token types, so the graph computes them from the separators. The benchmark
checks that both servers return the same logits.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


def with_token_types(model: onnx.ModelProto, sep: int) -> onnx.ModelProto:
    """Computes the input token_type_ids in the graph: 0 to the first separator, then 1, and 0 for padding."""
    graph = model.graph
    for i, tensor in enumerate(graph.input):
        if tensor.name == "token_type_ids":
            del graph.input[i]
            break
    for name, value in (("peer_sep", sep), ("peer_one", 1), ("peer_axis", 1)):
        graph.initializer.append(numpy_helper.from_array(np.array(value, np.int64), name))
    nodes = [
        helper.make_node("Equal", ["input_ids", "peer_sep"], ["peer_is_sep"]),
        helper.make_node("Cast", ["peer_is_sep"], ["peer_counted"], to=onnx.TensorProto.INT64),
        helper.make_node("CumSum", ["peer_counted", "peer_axis"], ["peer_before"], exclusive=1),
        helper.make_node("Min", ["peer_before", "peer_one"], ["peer_segment"]),
        helper.make_node("Mul", ["peer_segment", "attention_mask"], ["token_type_ids"]),
    ]
    for node in reversed(nodes):
        graph.node.insert(0, node)
    return model


def main() -> None:
    entry, folder = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = onnxruntime.SessionOptions()
    # Folds constants but fuses no operators.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "model.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(entry / "1" / "model.onnx"), options, providers=["CPUExecutionProvider"])
    tokenizer = json.loads((entry / "tokenizer.json").read_text())
    onnx.save(
        with_token_types(onnx.load(str(folder / "model.onnx")), sep=tokenizer["model"]["vocab"]["[SEP]"]),
        str(folder / "model.onnx"),
    )
    parameters = dict(
        re.findall(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', (entry / "config.pbtxt").read_text())
    )
    longest = int(parameters.get("max_model_len", "512"))
    shutil.copy(entry / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "BertTokenizerFast",
                "model_max_length": longest,
                "do_lower_case": True,
                "unk_token": "[UNK]",
                "sep_token": "[SEP]",
                "pad_token": "[PAD]",
                "cls_token": "[CLS]",
                "mask_token": "[MASK]",
            }
        )
    )
    (folder / "config.json").write_text(
        json.dumps(
            {
                "model_type": "bert",
                "architectures": ["BertForSequenceClassification"],
                "id2label": {"0": "LABEL_0"},
                "label2id": {"LABEL_0": 0},
                "vocab_size": len(tokenizer["model"]["vocab"]),
                "hidden_size": 384,
                "num_hidden_layers": 6,
                "num_attention_heads": 12,
                "intermediate_size": 1536,
                "max_position_embeddings": longest,
                "type_vocab_size": 2,
                "pad_token_id": 0,
            }
        )
    )


if __name__ == "__main__":
    main()
