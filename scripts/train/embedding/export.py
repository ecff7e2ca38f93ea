"""Exports a trained two-mode model as a model repository entry: ONNX with int8 storage and fp32 arithmetic.

    python -m scripts.train.embedding.export --weights DIR --run runs/embedding --id retort/minilm-embedqa-vN

Weights are interpolated from MiniLM (alpha 0) to the trained model (alpha 1), which recovers what training forgot
(Wortsman et al. 2022, https://arxiv.org/abs/2109.01903); alpha is chosen on the development splits.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import warnings
from pathlib import Path

import onnx
import torch
from torch import nn

from scripts.train import checkpoint
from scripts.train.embedding import bert, twomode, vectors
from scripts.train.entry import Entry, Tensor, check_new, creation_day

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
OPSET = 17

PADDING_COST = "0.4"
"""Cost of a padding token relative to a token of text, in a graph whose linear maps skip padding: 0.06 in rows of 12
tokens, 0.4 in rows of 128, because of attention."""


def two_mode(weights: Path, run: Path, alpha: float) -> twomode.TwoMode:
    """Returns the model of a run, interpolated with the MiniLM it started from."""
    trained = checkpoint.weights(run)
    return checkpoint.blend(twomode.TwoMode(bert.load_encoder(weights), trained["first_turn"]), trained, alpha)


def graph(model: nn.Module, output: str) -> onnx.ModelProto:
    """Returns the ONNX graph: three int64 [batch, tokens] in, fp32 `output` [batch, ...] out."""
    ids = torch.full((2, 12), 2003)
    mask = torch.ones_like(ids)
    segments = torch.zeros_like(ids)
    segments[:, 6:] = 1
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {output: {0: "batch"}}
    file = io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (ids, mask, segments),
            file,
            input_names=INPUTS,
            output_names=[output],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_from_string(file.getvalue())


def repository_entry(folder: Path, comment: str, output: Tensor, parameters: dict[str, str]) -> Entry:
    """Returns the entry of a model over rows of token ids."""
    return Entry(folder.name, comment, 256, tuple(Tensor(n, "INT64", (-1,)) for n in INPUTS), (output,), parameters)


def write_entry(
    folder: Path, entry: Entry, model: onnx.ModelProto, tokenizer: Path, mask: str = "attention_mask"
) -> Path:
    """Writes 1/model.onnx, config.pbtxt and tokenizer.json, without its published truncation and padding.

    mask: the name of the mask in the graph by which linear maps skip padding.
    """
    from scripts.convert.batch_invariant import batch_invariant
    from scripts.convert.unpadded import unpadded
    from scripts.convert.w8 import store_int8

    file = folder / "1" / "model.onnx"
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(batch_invariant(unpadded(store_int8(model), mask)), str(file))
    settings = json.loads(tokenizer.read_text())
    settings["truncation"] = settings["padding"] = None
    (folder / "tokenizer.json").write_text(json.dumps(settings, ensure_ascii=False, separators=(",", ":")) + "\n")
    (folder / "config.pbtxt").write_text(entry.config())
    print(f"{file}: {file.stat().st_size:,} bytes, sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}")
    return file


def write_reference(file: Path, cases: list[dict], made_by: str) -> None:
    """Writes the fp32 results of torch, which tests compare with the served model."""
    file.write_text(
        json.dumps({"made_by": f"{made_by} --reference: PyTorch fp32", "cases": cases}, ensure_ascii=False) + "\n"
    )


def reference_cases(model: twomode.TwoMode, tokenizer, texts: tuple[tuple[str, str], ...]) -> list[dict]:
    """Returns text with prefix, its ids and its vector."""
    cases = []
    for prefix, text in texts:
        ids = vectors.token_ids(tokenizer, [prefix + text], 256)[0]
        with torch.inference_mode():
            vector = model(*vectors.pad([ids]))[0]
        cases.append({"text": prefix + text, "ids": ids, "vector": [round(float(x), 6) for x in vector]})
    return cases


EXAMPLES = (
    (twomode.QUERY_PREFIX, "What is a retort?"),
    (twomode.PASSAGE_PREFIX, "A retort is a vessel in which substances are distilled."),
    (twomode.PASSAGE_PREFIX, "Wie löst man Natriumchlorid in Wasser?"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM")
    parser.add_argument("--run", type=Path, default=Path("runs/embedding"))
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path("model_repository/minilm_embed_qa"))
    parser.add_argument("--id", help="public id of the model; it must be new")
    parser.add_argument("--reference", type=Path, help="also write torch's vectors of a few texts here")
    args = parser.parse_args()
    check_new(args.id, args.out.parent)
    model = two_mode(args.weights, args.run, args.alpha)
    parameters = {
        "retort_api": "embedding",
        "model_id": args.id,
        "owned_by": "retort",
        "created": creation_day(args.run),
        "modes": "two",
        "query_prefix": twomode.QUERY_PREFIX,
        "passage_prefix": twomode.PASSAGE_PREFIX,
        "max_model_len": "256",
        "padding_cost": PADDING_COST,
        "dimensions": f"{min(twomode.MATRYOSHKA)}-384",
        "pooling": "mean",
        "tokenizer": "tokenizer.json",
    }
    output = Tensor("sentence_embedding", "FP32", (384,))
    entry = repository_entry(
        args.out, "Two-mode sentence embeddings for retrieval, trained from all-MiniLM-L6-v2.", output, parameters
    )
    write_entry(args.out, entry, graph(model, output.name), args.weights / "tokenizer.json")
    if args.reference:
        tokenizer = vectors.load_tokenizer(args.weights / "tokenizer.json")
        write_reference(args.reference, reference_cases(model, tokenizer, EXAMPLES), "scripts.train.embedding.export")


if __name__ == "__main__":
    main()
