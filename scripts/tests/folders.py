"""Makes small models for the tests of `retort model import`: folders as on the Hub, in each tokenizer family, with
seeded weights. scripts/golden/imports.py runs them with transformers, the tests with Retort.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

TOKENIZERS = Path(__file__).resolve().parents[2] / "tokenizers" / "testdata"
LAYERS, HIDDEN, INNER, HEADS, POSITIONS = 2, 32, 64, 4, 520
LONGEST = 512  # tokens of a row

# family -> folder of the tokenizer, its vocabulary, model_type, segments, padding
FAMILIES = {
    "bert": ("wordpiece-cased", 18031, "bert", 2, 0),
    "roberta": ("bpe-roberta", 2501, "roberta", 1, 1),
    "xlmr": ("unigram-xlmr", 2502, "xlm-roberta", 1, 1),
    "camembert": ("unigram-xlmr", 2502, "camembert", 1, 1),
}
CLASSES = {"bert": "Bert", "roberta": "Roberta", "xlm-roberta": "XLMRoberta", "camembert": "Camembert"}

# Pooling, normalisation, prompts and activation of each family.
RECIPES: dict[str, dict[str, Any]] = {
    "bert": {
        "pooling": "mean",
        "normalize": True,
        "prompts": {"query": "query: ", "passage": 'say "this": '},
        "act": "gelu",
    },
    "roberta": {"pooling": "cls", "normalize": True, "prompts": {}, "act": "gelu_new"},
    "xlmr": {"pooling": "mean", "normalize": False, "prompts": {"query": "", "document": ""}, "act": "relu"},
    "camembert": {"pooling": "mean", "normalize": True, "prompts": {}, "act": "gelu"},
}


def words(count: int) -> str:
    """A text of that many words."""
    text = "One retort holds water and another holds benzene while seven glass vessels stay dry.".split()
    return " ".join(text[i % len(text)] for i in range(count))


# The last text has more than LONGEST tokens in every tokenizer here.
TEXTS = [
    "A retort is a vessel in which substances are distilled.",
    "benzene",
    "Wie löst man Natriumchlorid in Wasser? 塩は水に溶ける。",
    "one two three four five six seven eight nine ten eleven twelve",
    "a",
    words(40),
    words(150),
    words(600),
]
QUERY = "How are substances distilled?"


def make(folder: Path, family: str, api: str) -> Path:
    """Writes the folder of a family's model for an API."""
    tokenizer, vocabulary, kind, segments, padding = FAMILIES[family]
    recipe = RECIPES[family]
    folder.mkdir(parents=True)
    head = "Model" if api == "embedding" else "ForSequenceClassification"
    write(
        folder / "config.json",
        {
            "model_type": kind,
            "architectures": [CLASSES[kind] + head],
            "vocab_size": vocabulary,
            "hidden_size": HIDDEN,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": HEADS,
            "intermediate_size": INNER,
            "hidden_act": recipe["act"],
            "layer_norm_eps": 1e-5,
            "max_position_embeddings": POSITIONS,
            "type_vocab_size": segments,
            "pad_token_id": padding,
            **({} if api == "embedding" else {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}),
        },
    )
    with gzip.open(TOKENIZERS / tokenizer / "tokenizer.json.gz", "rt") as file:
        described = json.load(file)
    described["truncation"] = {
        "max_length": 5,
        "strategy": "LongestFirst",
        "stride": 0,
        "direction": "Right",
    }  # not to be followed
    write(folder / "tokenizer.json", described)
    write(folder / "tokenizer_config.json", {"model_max_length": LONGEST})
    if api == "embedding":
        modules = ["Transformer", "Pooling"] + ["Normalize"] * recipe["normalize"]
        write(
            folder / "modules.json",
            [
                {"idx": i, "name": str(i), "path": f"{i}_{m}" if i else "", "type": f"sentence_transformers.models.{m}"}
                for i, m in enumerate(modules)
            ],
        )
        write(
            folder / "1_Pooling/config.json",
            {
                f"pooling_mode_{mode}": mode.startswith(recipe["pooling"])
                for mode in ("cls_token", "mean_tokens", "max_tokens")
            },
        )
        write(folder / "sentence_bert_config.json", {"max_seq_length": LONGEST, "do_lower_case": False})
        write(folder / "config_sentence_transformers.json", {"prompts": recipe["prompts"], "default_prompt_name": None})
    save(folder / "model.safetensors", weights(family, api))
    return folder


def weights(family: str, api: str) -> dict[str, np.ndarray]:
    """fp32 tensors under the names that transformers gives them; those of a layer's norm are near 1."""
    _, vocabulary, kind, segments, _ = FAMILIES[family]
    shapes = {
        "embeddings.word_embeddings.weight": (vocabulary, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (segments, HIDDEN),
        **norm("embeddings.LayerNorm"),
    }
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."
        for name in ("query", "key", "value"):
            shapes |= linear(f"{at}attention.self.{name}", HIDDEN, HIDDEN)
        shapes |= linear(f"{at}attention.output.dense", HIDDEN, HIDDEN) | norm(f"{at}attention.output.LayerNorm")
        shapes |= (
            linear(f"{at}intermediate.dense", HIDDEN, INNER)
            | linear(f"{at}output.dense", INNER, HIDDEN)
            | norm(f"{at}output.LayerNorm")
        )
    if api == "ranking":
        prefix = "bert." if kind == "bert" else "roberta."
        shapes = {prefix + name: shape for name, shape in shapes.items()}
        dense, last = (
            ("bert.pooler.dense", "classifier") if kind == "bert" else ("classifier.dense", "classifier.out_proj")
        )
        shapes |= linear(dense, HIDDEN, HIDDEN) | linear(last, HIDDEN, 1)
    return {name: tensor(name, shape) for name, shape in shapes.items()}


def linear(name: str, inner: int, outer: int) -> dict:
    return {f"{name}.weight": (outer, inner), f"{name}.bias": (outer,)}


def norm(name: str) -> dict:
    return {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}


def tensor(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers seeded by the name. RandomState's stream never changes."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    values = random.standard_normal(shape) * 0.25 + ("LayerNorm.weight" in name)
    return values.astype(np.float32)


def save(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """A safetensors file."""
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in tensors.values()))


def write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False))
