"""Runs a published model with its own code, for `retort model import --python`.

    python published.py export TASK.json      writes the ONNX graph of a model
    python published.py compare TASK.json     compares the graph of an entry with the model

TASK.json is written by orchestrator/modelimport/published.go, which embeds this file. The result is a JSON object in
the file that the task names as `result`. A model that cannot be run ends the program with a message on standard error.

Nothing is downloaded. Code in the folder of the model runs only if the task says `trust_remote_code`.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", ORT_DISABLE_TELEMETRY="1")

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

UNUSED = ("pooler.", "classifier.", "lm_head.", "cls.", "embeddings.position_ids")
"""Parts of a checkpoint that an encoder may leave out."""

ROWS, TOKENS = "batch", "tokens"
"""Names of the free dimensions of the graph."""

PADDED_TOKENS = 200
"""The longest row of the padded batch."""


def main() -> None:
    transformers.logging.set_verbosity_error()
    command, task = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    result = {"export": export, "compare": compare}[command](task)
    result["versions"] = ", ".join(f"{m.__name__} {m.__version__}" for m in (transformers, torch, onnxruntime))
    Path(task["result"]).write_text(json.dumps(result))


def load(task: dict[str, Any], kind: Any) -> Any:
    """Loads the model in fp32. Ends the program if the checkpoint lacks weights that the outputs depend on."""
    model, info = kind.from_pretrained(
        task["folder"],
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
        local_files_only=True,
        trust_remote_code=task["trust_remote_code"],
    )
    unused = UNUSED if kind is transformers.AutoModel else UNUSED[-1:]
    missing = sorted(key for key in info["missing_keys"] if not key.startswith(unused))
    if missing or info["mismatched_keys"]:
        sys.exit(f"the weights lack {missing} or have other shapes ({info['mismatched_keys']})")
    return model.eval()


def load_tokenizer(task: dict[str, Any]) -> Any:
    return transformers.AutoTokenizer.from_pretrained(
        task["folder"], local_files_only=True, trust_remote_code=task["trust_remote_code"], **special_tokens(task)
    )


def special_tokens(task: dict[str, Any]) -> dict[str, bool]:
    """The special tokens that tokenizer_config.json adds. transformers 5 reads these keys for some classes of
    tokenizers only, unless they are arguments; version 4 read them for all.
    """
    file = Path(task["folder"], "tokenizer_config.json")
    config = json.loads(file.read_text()) if file.exists() else {}
    return {key: True for key in ("add_bos_token", "add_eos_token") if config.get(key) is True}


def auto_class(task: dict[str, Any]) -> Any:
    return transformers.AutoModelForSequenceClassification if task["api"] == "ranking" else transformers.AutoModel


class Named(torch.nn.Module):
    """A model with positional inputs and one output."""

    def __init__(self, model: torch.nn.Module, inputs: list[str], output: str) -> None:
        super().__init__()
        self.model, self.inputs, self.output = model, inputs, output

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.inputs, tensors)), return_dict=True)[self.output]


def export(task: dict[str, Any]) -> dict[str, Any]:
    """Writes the graph of the token states (embedding) or logits (ranking) to the file `graph`."""
    model = load(task, auto_class(task))
    if model.config.is_encoder_decoder:
        sys.exit("config.json: is_encoder_decoder is set: only encoders are supported")
    tokenizer = load_tokenizer(task)
    inputs = ["input_ids", "attention_mask"]
    # A model whose tokenizer returns no token types computes with zeros, and so does its graph.
    if "token_type_ids" in tokenizer("a", "b") and (getattr(model.config, "type_vocab_size", 0) or 0) > 1:
        inputs += [name for name in ["token_type_ids"] if name in inspect.signature(model.forward).parameters]
    # Two rows of different lengths, so that the exporter sees a batch with padding.
    row = tokenizer("A retort is a vessel in which substances are distilled.")["input_ids"]
    ids = torch.tensor([row, row])
    mask = torch.ones_like(ids)
    mask[1, len(row) // 2 :] = 0
    output = "logits" if task["api"] == "ranking" else "last_hidden_state"
    program = torch.onnx.export(
        Named(model, inputs, output),
        (ids, mask, torch.zeros_like(ids))[: len(inputs)],
        dynamo=True,
        input_names=inputs,
        output_names=[output],
        dynamic_shapes=(tuple({0: ROWS, 1: TOKENS} for _ in inputs),),
        verbose=False,
    )
    for node in program.model.graph.all_nodes():
        node.metadata_props.clear()  # stack traces with paths of this machine
    program.save(task["graph"])
    return {}


def compare(task: dict[str, Any]) -> dict[str, Any]:
    """Compares token ids and outputs. Returns the first problem, or "", and the largest difference of the outputs."""
    tokenizer = load_tokenizer(task)
    problem = compare_tokens(task, tokenizer)
    if problem:
        return {"problem": problem}
    rows = [row for row in task["rows"] if row["run"]]
    expected = logits(task, tokenizer, rows) if task["api"] == "ranking" else vectors(task, rows)
    session = onnxruntime.InferenceSession(task["graph"], providers=["CPUExecutionProvider"])
    alone = [run(session, task, [row], 0)[0] for row in rows]
    short = [i for i, row in enumerate(rows) if len(row["ids"]) <= PADDED_TOKENS]
    padding = tokenizer.pad_token_id or 0
    padded = run(session, task, [rows[i] for i in short], padding)
    worst = 0.0
    for i, (label, vector) in enumerate([*enumerate(alone), *zip(short, padded)]):
        difference = distance(task["api"], vector, expected[label])
        worst = max(worst, difference)
        if not difference <= task["bound"]:
            batch = "in a padded batch" if i >= len(alone) else "alone"
            return {
                "problem": f"{name(rows[label])}, {batch}: the output differs from that of the published code by "
                f"{difference:.2g} (at most {task['bound']:g} is allowed)"
            }
    return {"problem": "", "worst": worst}


def encode(task: dict[str, Any], tokenizer: Any, row: dict[str, Any]) -> dict[str, list[int]]:
    """Tokenizes a text, or a passage for the query. A pair template makes one text of both, whose end is kept."""
    limit, template = task["max_length"], task["template"]
    if task["api"] == "embedding":
        return tokenizer(row["prefix"] + row["text"], truncation="longest_first", max_length=limit)
    if not template:
        return tokenizer(task["query"], row["text"], truncation="only_second", max_length=limit)
    head, _, end = template.partition("{passage}")
    text = head.replace("{query}", task["query"]) + row["text"]
    if not end:
        return {"input_ids": tokenizer(text, truncation=True, max_length=limit)["input_ids"]}
    ids = tokenizer(text + end)["input_ids"]
    if len(ids) > limit:
        last = tokenizer(end, add_special_tokens=False)["input_ids"]
        ids = ids[: limit - len(last)] + last
    return {"input_ids": ids}


def compare_tokens(task: dict[str, Any], tokenizer: Any) -> str:
    """Returns the first difference of the token ids, or ""."""
    for row in task["rows"]:
        encoded = encode(task, tokenizer, row)
        for key, ours in (("input_ids", row["ids"]), ("token_type_ids", row["types"])):
            theirs = encoded.get(key, ours)
            if theirs != ours:
                at = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
                return (
                    f"{name(row)}: {key} differ at token {at}: tokenizer.json gives {ours[at : at + 5]}, "
                    f"{type(tokenizer).__name__} {theirs[at : at + 5]}"
                )
    return ""


def name(row: dict[str, Any]) -> str:
    """Names a row in a message."""
    text = row["text"] if len(row["text"]) <= 60 else f"{row['text'][:60]}… ({len(row['text'])} characters)"
    return f"text {text!r}" + (f" as a {row['mode']}" if row["mode"] else "")


def distance(api: str, ours: np.ndarray, theirs: np.ndarray) -> float:
    """Returns the difference of two logits relative to the larger of 1 and theirs; of two vectors, half the squared
    distance relative to their length, which is 1 - cosine if both have the same length.
    """
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    if ours.shape != theirs.shape:
        return float("inf")
    if api == "ranking":
        return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))
    return float(((ours - theirs) ** 2).sum() / (2 * (theirs**2).sum()))


def run(session: Any, task: dict[str, Any], rows: list[dict[str, Any]], padding: int) -> np.ndarray:
    """Runs the graph of the entry on a batch."""
    shape = (len(rows), max(len(row["ids"]) for row in rows))
    feed = {"input_ids": np.full(shape, padding, np.int64)}
    feed |= {name: np.zeros(shape, np.int64) for name in ("attention_mask", "token_type_ids")}
    for i, row in enumerate(rows):
        length = len(row["ids"])
        feed["input_ids"][i, :length] = row["ids"]
        feed["token_type_ids"][i, :length] = row["types"]
        feed["attention_mask"][i, :length] = 1
    wanted = {tensor.name for tensor in session.get_inputs()}
    return session.run([task["output"]], {name: feed[name] for name in feed if name in wanted})[0]


def logits(task: dict[str, Any], tokenizer: Any, rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """The logits of the published classifier, one row at a time. A causal language model that ranks by the tokens yes
    and no has the difference of their logits after the last token.
    """
    kind = transformers.AutoModelForCausalLM if task["yes_no"] else transformers.AutoModelForSequenceClassification
    model = load(task, kind)
    answers = []
    for row in rows:
        encoded = encode(task, tokenizer, row)
        features = {key: torch.tensor([values]) for key, values in encoded.items()}
        features["attention_mask"] = torch.ones_like(features["input_ids"])
        with torch.no_grad():
            found = model(**features).logits
        if task["yes_no"]:
            yes, no = (found[:, -1, i] for i in tokenizer.convert_tokens_to_ids(["yes", "no"]))
            found = (yes - no)[:, None]
        answers.append(found[0].numpy())
    return answers


def vectors(task: dict[str, Any], rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """The vectors of the published model, one row at a time: with its own modules, unless the task overrides them."""
    import sentence_transformers
    from sentence_transformers import models

    options = {
        "model_kwargs": {"dtype": torch.float32, "attn_implementation": "eager"},
        "trust_remote_code": task["trust_remote_code"],
        "local_files_only": True,
    }
    parameters = inspect.signature(sentence_transformers.SentenceTransformer.__init__).parameters
    options["processor_kwargs" if "processor_kwargs" in parameters else "tokenizer_kwargs"] = special_tokens(task)
    model = sentence_transformers.SentenceTransformer(task["folder"], device="cpu", **options)
    if task["pooling"]:
        pooling = models.Pooling(task["hidden"], pooling_mode=task["pooling"])
        modules = [model[0], pooling] + ([models.Normalize()] if task["normalize"] else [])
        model = sentence_transformers.SentenceTransformer(modules=modules, device="cpu")
    model.max_seq_length = task["max_length"]
    return [model.encode([row["text"]], prompt=row["prefix"] or None)[0] for row in rows]


if __name__ == "__main__":
    main()
