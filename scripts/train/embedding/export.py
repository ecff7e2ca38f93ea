"""Writes a trained two-mode model as a model repository entry: ONNX with int8 storage and fp32 arithmetic.

    python -m scripts.train.embedding.export --weights DIR --run runs/embedding --alpha 0.8 --out model_repository/retort_embedqa

alpha is the share of the trained weights in the mix with MiniLM's own (Wortsman et al. 2022,
https://arxiv.org/abs/2109.01903): it is chosen on the development splits and keeps what training forgot.
"""

from __future__ import annotations

import argparse
import io
import json
import time
import warnings
from pathlib import Path

import onnx
import torch
from torch import nn

from scripts.train.embedding import bert, twomode

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
OPSET = 17


def blended(fresh: nn.Module, trained: dict[str, torch.Tensor], alpha: float) -> nn.Module:
    """The module with each weight moved from its own value towards the trained one by alpha."""
    own = fresh.state_dict()
    fresh.load_state_dict({k: torch.lerp(v.float(), trained[k].float(), alpha) for k, v in own.items()})
    return fresh.eval()


def two_mode(weights: Path, run: Path, alpha: float) -> twomode.TwoMode:
    """The model of a run, blended with the MiniLM it began from."""
    trained = torch.load(run / "weights.pt", map_location="cpu", weights_only=True)
    return blended(twomode.TwoMode(bert.load_encoder(weights), trained["first_turn"]), trained, alpha)


def graph(model: nn.Module, output: str) -> onnx.ModelProto:
    """The ONNX graph: three int64 [batch, tokens] in, fp32 `output` [batch, ...] out."""
    ids = torch.full((2, 12), 2003)
    mask = torch.ones_like(ids)
    segments = torch.zeros_like(ids)
    segments[:, 6:] = 1
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {output: {0: "batch"}}
    file = io.BytesIO()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (ids, mask, segments), file, input_names=INPUTS, output_names=[output],
                          dynamic_axes=axes, opset_version=OPSET, dynamo=False)
    return onnx.load_from_string(file.getvalue())


def write_entry(folder: Path, model: onnx.ModelProto, tokenizer: Path, config: str) -> None:
    """1/model.onnx, config.pbtxt and tokenizer.json, the latter without the cutting and padding it was published with."""
    from scripts.convert.w8 import store_int8

    (folder / "1").mkdir(parents=True, exist_ok=True)
    onnx.save(store_int8(model), str(folder / "1" / "model.onnx"))
    told = json.loads(tokenizer.read_text())
    told["truncation"] = told["padding"] = None
    (folder / "tokenizer.json").write_text(json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n")
    (folder / "config.pbtxt").write_text(config)


def config(name: str, title: str, output: str, width: int, parameters: dict[str, str]) -> str:
    """The text of config.pbtxt."""
    inputs = ",\n".join(f'  {{ name: "{n}"  data_type: TYPE_INT64  dims: [ -1 ] }}' for n in INPUTS)
    told = "\n".join(f'parameters {{ key: "{k}"  value {{ string_value: "{v}" }} }}' for k, v in parameters.items())
    return f"""# {title} Data, steps and figures: CARD.md.
name: "{name}"
backend: "onnxruntime"
max_batch_size: 256

input [
{inputs}
]
output [
  {{ name: "{output}"  data_type: TYPE_FP32  dims: [ {width} ] }}
]

# RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS replaces the number in the live config.
dynamic_batching {{ max_queue_delay_microseconds: 100 }}

{told}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True, help="folder of MiniLM")
    parser.add_argument("--run", type=Path, default=Path("runs/embedding"))
    parser.add_argument("--alpha", type=float, default=1.0)
    parser.add_argument("--created", type=int, default=int(time.time()), help="unix time that /v1/models tells")
    parser.add_argument("--out", type=Path, default=Path("model_repository/retort_embedqa"))
    args = parser.parse_args()
    model = two_mode(args.weights, args.run, args.alpha)
    parameters = {
        "retort_api": "embedding", "model_id": "retort/embedqa-minilm-v1", "owned_by": "retort", "created": str(args.created),
        "modes": "two", "query_prefix": twomode.QUERY_PREFIX, "passage_prefix": twomode.PASSAGE_PREFIX,
        "max_model_len": "256", "dimensions": "32-384", "pooling": "mean", "tokenizer": "tokenizer.json",
    }
    output = "sentence_embedding"
    text = config(args.out.name, "Two-mode sentence embeddings for retrieval, trained from all-MiniLM-L6-v2.", output, 384, parameters)
    write_entry(args.out, graph(model, output), args.weights / "tokenizer.json", text)


if __name__ == "__main__":
    main()
