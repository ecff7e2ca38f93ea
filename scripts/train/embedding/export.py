"""Exports a trained embedding model as a model repository entry, after scripts.train.embedding.report measured it:

    python -m scripts.train.embedding.export --run runs/embedding --entry own_embedding --id own/embedding-v1
    python -m scripts.train.embedding.export --entry own_embedding      # makes 1/model.onnx again

The first writes model.safetensors, config.json (scripts.train.stored), tokenizer.json, config.pbtxt and CARD.md. Both
make 1/model.onnx of the first two. Matrices are stored in fp16, or in int8 (--int8), and computed in fp32: see
scripts.train.embedding.precision.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import onnx
import torch
from torch import nn

from scripts.lint import cards
from scripts.train import card, files, stored
from scripts.train.embedding import bert, precision, report, twomode, vectors
from scripts.train.entry import Entry, Tensor, add_arguments, check_new, creation_day, draft, report_errors

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
OUTPUT = "sentence_embedding"
OPSET = 17

MODEL = """{parameters:.1f} M parameters: BERT, {num_hidden_layers} layers, {hidden_size} wide, {num_attention_heads}
heads; mean over the tokens; a linear map; divided by the L2 norm. A query begins with `query: `, a passage with
`passage: `. Trained from {start}."""
INTERPOLATED = " The weights are interpolated between those at the start (0) and the trained ones (1): {alpha:g}."

PADDING_COST = "0.4"
"""Cost of a padding token relative to a token of text, in a graph whose linear maps skip padding: 0.06 in rows of 12
tokens, 0.4 in rows of 128, because of attention."""


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


def write_graph(
    entry: Path, model: onnx.ModelProto, tensors: dict[str, torch.Tensor], mask: str = "attention_mask"
) -> Path:
    """Writes 1/model.onnx with the numbers of the stored tensors.

    mask: the name of the mask in the graph by which linear maps skip padding.
    """
    from scripts.convert.batch_invariant import batch_invariant
    from scripts.convert.unpadded import unpadded
    from scripts.convert.w8 import store

    rounded = store(model, precision.known(tensors))
    file = entry / "1" / "model.onnx"
    files.replace(file, batch_invariant(unpadded(rounded, mask)).SerializeToString())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    print(f"{entry.name}/1/{file.name}: {file.stat().st_size:,} bytes, sha256 {digest}")
    return file


def write_onnx(entry: Path) -> None:
    """Makes 1/model.onnx of the model.safetensors and config.json of an entry."""
    write_graph(entry, graph(twomode.load(entry), OUTPUT), stored.tensors(entry))


def write_tokenizer(source: Path, entry: Path) -> None:
    """Writes tokenizer.json without its published truncation and padding."""
    settings = json.loads((source / "tokenizer.json").read_text())
    settings["truncation"] = settings["padding"] = None
    text = json.dumps(settings, ensure_ascii=False, separators=(",", ":")) + "\n"
    files.replace(entry / "tokenizer.json", text.encode())


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


def card_model(figures: dict, parameters: int, shape: bert.Shape) -> str:
    """Returns the section card-model."""
    text = MODEL.format(parameters=parameters / 1e6, start=figures["start"], **vars(shape))
    return text + ("" if figures["alpha"] == 1 else INTERPOLATED.format(alpha=figures["alpha"]))


def write_run(run: Path, folder: Path, model_id: str, is_int8: bool) -> None:
    """Writes all of an entry but its graph."""
    figures, start = card.read_figures(run), report.start_of(run)
    model = report.two_mode(run, figures["alpha"])
    width = model.encoder.shape.hidden_size
    parameters = {
        "retort_api": "embedding",
        "model_id": model_id,
        "owned_by": "retort",
        "created": creation_day(run),
        "modes": "two",
        "query_prefix": twomode.QUERY_PREFIX,
        "passage_prefix": twomode.PASSAGE_PREFIX,
        "max_model_len": "256",
        "padding_cost": PADDING_COST,
        "dimensions": f"{min(twomode.MATRYOSHKA)}-{width}",
        "pooling": "mean",
        "tokenizer": "tokenizer.json",
    }
    section = card_model(figures, sum(p.numel() for p in model.parameters()), model.encoder.shape)
    command = "python -m scripts.train.embedding.report --data DATA"
    table = report.table(figures, {"start": "{}, start", "trained": "{}, trained"}, command)
    card.write(
        folder / cards.CARD, "sentence-similarity", section, run, figures["training"], table, tags="sentence-embedding"
    )
    twomode.store(folder, model, is_int8)
    write_tokenizer(start, folder)
    output = Tensor(OUTPUT, "FP32", (width,))
    repository_entry(folder, "Two-mode sentence embeddings for retrieval.", output, parameters).write(folder.parent, {})


def export(
    arguments: list[str] | None,
    program: tuple[str, str | None, str],
    write_run: Callable[[Path, Path, str, bool], None],
    write_onnx: Callable[[Path], None],
    cases: Callable[[Path], list[dict]],
) -> None:
    """Runs the export of an embedding model or of a ranker.

    program: its module, its description and the default entry. cases: returns torch's results of an entry.
    """
    module, description, name = program
    parser = argparse.ArgumentParser(
        prog=f"python -m {module}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser, name)
    parser.add_argument("--int8", action="store_true", help=precision.HELP)
    parser.add_argument("--reference", type=Path, help="also write torch's results for a few texts here")
    given = parser.parse_args(arguments)
    if given.run:
        check_new(given.id, given.repository)
    elif given.int8:
        parser.error("--int8 needs --run: an entry without it keeps its weights")
    with contextlib.ExitStack() as stack:
        stack.enter_context(report_errors(given.run or given.repository / given.entry))
        repository = given.repository
        if given.run:
            repository = stack.enter_context(draft(repository, [given.entry], given.run))
            write_run(given.run, repository / given.entry, given.id, given.int8)
        folder = repository / given.entry
        write_onnx(folder)
        if given.reference:
            write_reference(given.reference, cases(folder), module)
        if given.run:
            cards.write(repository, [given.entry])


def reference_of(folder: Path) -> list[dict]:
    """Returns the reference cases of an entry."""
    return reference_cases(twomode.load(folder), vectors.load_tokenizer(folder / "tokenizer.json"), EXAMPLES)


def main(arguments: list[str] | None = None) -> None:
    export(
        arguments,
        ("scripts.train.embedding.export", __doc__, "minilm_embed_qa"),
        write_run,
        write_onnx,
        reference_of,
    )


if __name__ == "__main__":
    main()
