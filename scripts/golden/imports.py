"""Writes the vectors and logits that transformers and sentence-transformers compute with the small models of
scripts/tests/folders.py.

    make .venv-export/stamp
    .venv-export/bin/python scripts/golden/imports.py scripts/tests/testdata/imports.json \
        --jina .../jinaBert_model.py [--only NAME ...]

--jina names the file of public code that computes JinaBERT: see jinabert.py. With --only, the others of the
families, `modules` and `sharded` keep their numbers. Each text is a batch of its own, in fp32. The Hugging Face
tokenizers library makes its token ids, of which at most folders.LONGEST are used. This script puts the prompts before
the texts. sentence-transformers does all this itself for the modules with prompts (EmbeddingGemma).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import decoder_models
import jinabert
import sentence_transformers
import torch
import transformers
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import decoders  # noqa: E402
import folders  # noqa: E402


def load(folder: Path, api: str):
    """Loads the tokenizer and model of a folder with transformers, or JinaBERT with its own code."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(folders.LONGEST)
    tokenizer.no_padding()
    config = json.loads((folder / "config.json").read_text())
    if "feed_forward_type" in config:
        return tokenizer, jinabert.JinaBert(folder, api, ARGUMENTS.jina)
    kind, options = transformers.AutoModel, {}
    if api == "ranking":
        kind = transformers.AutoModelForSequenceClassification
    if config["model_type"] in ("new", "gte"):
        kind = transformers.GteModel if api == "embedding" else transformers.GteForSequenceClassification
        options = {"config": gte(config)}
    model, info = kind.from_pretrained(folder, attn_implementation="eager", output_loading_info=True, **options)
    missing = [key for key in info["missing_keys"] if not key.startswith("pooler.")]  # BERT's pooler is not used
    if missing or info["unexpected_keys"] or info["mismatched_keys"]:
        sys.exit(f"{folder.name}: {info}")
    return tokenizer, model.eval()


def gte(config: dict[str, Any]) -> transformers.GteConfig:
    """Returns a published config.json of Alibaba-NLP/new-impl as transformers has it.

    NTK-aware scaling by f multiplies the base by f and divides the frequencies by f^(2/d) for heads of size d
    (NTKScalingRotaryEmbedding of new-impl). transformers divides them with linear scaling.
    """
    rope = {"rope_type": "default", "rope_theta": config["rope_theta"]}
    if scaling := config["rope_scaling"]:
        size = config["hidden_size"] // config["num_attention_heads"]
        rope = {
            "rope_type": "linear",
            "rope_theta": config["rope_theta"] * scaling["factor"],
            "factor": scaling["factor"] ** (2 / size),
        }
    names = ("rope_theta", "rope_scaling", "model_type", "position_embedding_type")
    return transformers.GteConfig(**{k: v for k, v in config.items() if k not in names}, rope_parameters=rope)


def inputs(encoded, segments: int) -> dict[str, torch.Tensor]:
    """Returns the input tensors of a batch of one. segments: the number of segment ids that the model has."""
    tensors = {
        "input_ids": torch.tensor([encoded.ids]),
        "attention_mask": torch.ones(1, len(encoded.ids), dtype=torch.int64),
    }
    return tensors | ({"token_type_ids": torch.tensor([encoded.type_ids])} if segments > 1 else {})


def load_modules(folder: Path) -> list[torch.nn.Module]:
    """Loads the modules after the encoder with sentence-transformers."""
    described = json.loads((folder / "modules.json").read_text())[1:]
    kinds = {"Pooling": Pooling, "Dense": Dense, "Normalize": Normalize}
    return [kinds[m["type"].rpartition(".")[2]].load(str(folder), subfolder=m["path"]) for m in described]


def vectors(folder: Path, family: str, prefix: str) -> list[list[float]]:
    """Returns the sentence embedding of each of folders.TEXTS. prefix: the prompt."""
    if family in decoders.FAMILIES:
        decoder = decoder_models.Decoder(folder, family, "embedding")
        tokenizer = decoder.tokenizer
    else:
        tokenizer, model = load(folder, "embedding")
    modules, answers = load_modules(folder), []
    for text in folders.TEXTS:
        encoded = tokenizer.encode(prefix + text)
        features = inputs(encoded, folders.FAMILIES[family][3])
        with torch.no_grad():
            if family in decoders.FAMILIES:
                features["token_embeddings"] = decoder.states(encoded.ids)
            else:
                features["token_embeddings"] = model(**features).last_hidden_state
            for module in modules:
                features = module(features)
        answers.append([round(float(x), 7) for x in features["sentence_embedding"][0]])
    return answers


def modes(recipe: dict[str, Any]) -> dict[str, str]:
    """Returns the prompts of a recipe by mode of the API, or "" by "" if it has none."""
    prompts = dict(recipe.get("prompts", {}))
    prompts.setdefault("passage", prompts.pop("document", ""))
    return {mode: prompts.get(mode, "") for mode in ("query", "passage")} if any(prompts.values()) else {"": ""}


def vectors_by_mode(folder: Path, family: str, recipe: dict[str, Any]) -> dict[str, list[list[float]]]:
    return {mode: vectors(folder, family, prefix) for mode, prefix in modes(recipe).items()}


def whole_vectors(folder: Path) -> dict[str, list[list[float]]]:
    """Returns what sentence-transformers computes with the whole folder: its tokenizer, prompts, model and modules."""
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    found = {}
    for mode, prompt in (("query", "query"), ("passage", "document")):
        rows = [model.encode([text], prompt_name=prompt)[0] for text in folders.TEXTS]
        found[mode] = [[round(float(x), 7) for x in row] for row in rows]
    return found


def logits(folder: Path, family: str) -> list[float]:
    """Returns the logit of each of folders.TEXTS as a passage for folders.QUERY."""
    if family in decoders.FAMILIES:
        decoder = decoder_models.Decoder(folder, family, "ranking")
        return [round(decoder.logit(text), 7) for text in folders.TEXTS]
    tokenizer, model = load(folder, "ranking")
    answers = []
    for text in folders.TEXTS:
        encoded = tokenizer.encode(folders.QUERY, text)
        with torch.no_grad():
            output = model(**inputs(encoded, folders.FAMILIES[family][3]))
        answers.append(round(float(output.logits[0, 0]), 7))
    return answers


def main() -> None:
    transformers.logging.set_verbosity_error()
    golden: dict[str, Any] = json.loads(ARGUMENTS.output.read_text()) if ARGUMENTS.only else {}
    golden["made_by"] = (
        f"scripts/golden/imports.py: transformers {transformers.__version__}, sentence-transformers "
        f"{sentence_transformers.__version__}, torch {torch.__version__}, fp32; JinaBERT: {jinabert.SOURCE}"
    )
    with tempfile.TemporaryDirectory() as temporary:
        wanted = ARGUMENTS.only or [*folders.FAMILIES, "modules", "sharded"]
        for family in folders.FAMILIES:
            if family not in wanted:
                continue
            folder = folders.make(Path(temporary, family, "embedding"), family, "embedding")
            golden[family] = {
                "vectors": vectors_by_mode(folder, family, folders.RECIPES[family]),
                "logits": logits(folders.make(Path(temporary, family, "ranking"), family, "ranking"), family),
            }
        if "modules" in wanted:
            golden["modules"] = {}
            for name, recipe in folders.MODULES.items():
                folder = folders.make_modules(Path(temporary, "modules", name), name)
                family = recipe.get("family", "roberta")
                golden["modules"][name] = (
                    whole_vectors(folder) if recipe.get("prompts") else vectors_by_mode(folder, family, recipe)
                )
        if "sharded" in wanted:
            folder = folders.make_sharded(Path(temporary, "sharded"), folders.SHARDED)
            recipe = folders.RECIPES[folders.SHARDED]
            golden["sharded"] = vectors_by_mode(folder, folders.SHARDED, recipe)
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
    ARGUMENTS.output.write_text("{\n" + lines + "\n}\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("output", type=Path)
    parser.add_argument("--jina", type=Path)
    parser.add_argument("--only", nargs="*", choices=[*folders.FAMILIES, "modules", "sharded"])
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = parse()
    main()
