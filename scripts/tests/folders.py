"""Makes small models for the tests of `retort model import`: folders as on the Hub, in each tokenizer family, with
seeded weights. scripts/golden/imports.py runs them with transformers, the tests with Retort.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

import decoders
import numpy as np

from tokenizers import Tokenizer

# Sentence Transformers' modules after the encoder, by the name of their test. The default family is roberta.
MODULES: dict[str, dict[str, Any]] = {
    "max": {"pooling": "max"},
    "weightedmean": {"pooling": "weightedmean", "normalize": True},
    "lasttoken": {"pooling": "lasttoken", "normalize": True},
    "dense": {"pooling": "mean", "dense": [(48, True, "Tanh"), (24, False, "Identity")], "normalize": True},
    "embeddinggemma": {  # the modules of google/embeddinggemma-300m
        "family": "gemma3",
        "pooling": "mean",
        "dense": [(128, False, "Identity"), (32, False, "Identity")],
        "normalize": True,
        "prompts": decoders.FAMILIES["gemma3"]["prompts"],
    },
}
# The decoder family of make_sharded in tests.
SHARDED = "mistral"

TOKENIZERS = Path(__file__).resolve().parents[2] / "tokenizers" / "testdata"
LAYERS, HIDDEN, INNER, HEADS, POSITIONS = 2, 32, 64, 4, 520
LONGEST = 512  # tokens of a row

# family -> folder of the tokenizer, its vocabulary, layout, segments, padding
FAMILIES = {
    "bert": ("wordpiece-cased", 18031, "bert", 2, 0),
    "roberta": ("bpe-roberta", 2501, "roberta", 1, 1),
    "xlmr": ("unigram-xlmr", 2502, "xlm-roberta", 1, 1),
    "camembert": ("unigram-camembert", 1505, "camembert", 1, 1),
    "distilbert": ("wordpiece", 30522, "distilbert", 0, 0),
    "mpnet": ("wordpiece", 30527, "mpnet", 0, 1),
    "nomicbert": ("wordpiece", 30528, "nomic_bert", 2, 0),
    "modernbert": ("bpe-modernbert", 1532, "modernbert", 0, 1529),
    "modernbert_mean": ("bpe-modernbert", 1532, "modernbert", 0, 1529),
    "jinabert": ("wordpiece", 30528, "jinabert", 2, 0),
    "jinabert_code": ("bpe-roberta", 2501, "jinabert_code", 2, 1),
    "gte": ("wordpiece", 30528, "new", 0, 0),
    "gte_multilingual": ("unigram-xlmr", 2502, "gte", 1, 1),
}
FAMILIES |= {
    family: (decoders.tokenizer(family, "embedding"), decoders.VOCABULARY, family, 0, described["padding"] or 0)
    for family, described in decoders.FAMILIES.items()
}
MODEL_TYPES = {"jinabert": "bert", "jinabert_code": "bert"}  # of layouts with another name
CLASSES = {
    "bert": "Bert",
    "roberta": "Roberta",
    "xlm-roberta": "XLMRoberta",
    "camembert": "Camembert",
    "distilbert": "DistilBert",
    "mpnet": "MPNet",
    "nomic_bert": "NomicBert",
    "modernbert": "ModernBert",
    "jinabert": "JinaBert",
    "jinabert_code": "JinaBert",
    "new": "New",
    "gte": "Gte",
}

BERT_NAMES = {
    "layers": "encoder.layer",
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mix": "attention.output.dense",
    "mix_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "outer_norm": "output.LayerNorm",
}
ROBERTA_HEAD = ("classifier.dense", "classifier.out_proj")
GTE_NAMES = {
    "layers": "encoder.layer",
    "fused": "attention.qkv_proj",
    "mix": "attention.o_proj",
    "mix_norm": "attn_ln",
    "fused_gate": "mlp.up_gate_proj",
    "outer": "mlp.down_proj",
    "outer_norm": "mlp_ln",
}
# layout -> names of a layer's tensors, prefix of the encoder in a classifier, layers of the classification head
LAYOUTS: dict[str, tuple[dict[str, str], str, tuple[str, str]]] = {
    "bert": (BERT_NAMES, "bert", ("bert.pooler.dense", "classifier")),
    "roberta": (BERT_NAMES, "roberta", ROBERTA_HEAD),
    "xlm-roberta": (BERT_NAMES, "roberta", ROBERTA_HEAD),
    "camembert": (BERT_NAMES, "roberta", ROBERTA_HEAD),
    "distilbert": (
        {
            "layers": "transformer.layer",
            "query": "attention.q_lin",
            "key": "attention.k_lin",
            "value": "attention.v_lin",
            "mix": "attention.out_lin",
            "mix_norm": "sa_layer_norm",
            "inner": "ffn.lin1",
            "outer": "ffn.lin2",
            "outer_norm": "output_layer_norm",
        },
        "distilbert",
        ("pre_classifier", "classifier"),
    ),
    "mpnet": (
        {
            "layers": "encoder.layer",
            "query": "attention.attn.q",
            "key": "attention.attn.k",
            "value": "attention.attn.v",
            "mix": "attention.attn.o",
            "mix_norm": "attention.LayerNorm",
            "inner": "intermediate.dense",
            "outer": "output.dense",
            "outer_norm": "output.LayerNorm",
        },
        "mpnet",
        ROBERTA_HEAD,
    ),
    "nomic_bert": (
        {
            "layers": "encoder.layers",
            "fused": "attn.Wqkv",
            "mix": "attn.out_proj",
            "mix_norm": "norm1",
            "gate": "mlp.fc12",
            "inner": "mlp.fc11",
            "outer": "mlp.fc2",
            "outer_norm": "norm2",
        },
        "nomic_bert",
        ("nomic_bert.pooler.dense", "classifier"),
    ),
    "modernbert": (
        {
            "layers": "layers",
            "fused": "attn.Wqkv",
            "mix": "attn.Wo",
            "mix_norm": "attn_norm",
            "fused_gate": "mlp.Wi",
            "outer": "mlp.Wo",
            "outer_norm": "mlp_norm",
        },
        "model",
        ("head.dense", "classifier"),
    ),
    "jinabert": (
        {
            **{part: name for part, name in BERT_NAMES.items() if not part.startswith(("inner", "outer"))},
            "fused_gate": "mlp.gated_layers",
            "outer": "mlp.wo",
            "outer_norm": "mlp.layernorm",
        },
        "bert",
        ("bert.pooler.dense", "classifier"),
    ),
    "jinabert_code": (
        {
            **{part: name for part, name in BERT_NAMES.items() if not part.startswith(("inner", "outer"))},
            "query_norm": "attention.self.layer_norm_q",
            "key_norm": "attention.self.layer_norm_k",
            "residual_norm": "layer_norm_1",
            "fused_gate": "mlp.up_gated_layer",
            "outer": "mlp.down_layer",
            "outer_norm": "layer_norm_2",
        },
        "bert",
        ("bert.pooler.dense", "classifier"),
    ),
    "new": (GTE_NAMES, "new", ("new.pooler.dense", "classifier")),
    "gte": (GTE_NAMES, "new", ("new.pooler.dense", "classifier")),
}
# layout -> names of keys in config.json that differ from BERT's
KEYS = {
    "modernbert": {"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"},
    "distilbert": {
        "hidden_size": "dim",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "intermediate_size": "hidden_dim",
        "hidden_act": "activation",
    },
}

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
    "distilbert": {"pooling": "cls", "normalize": False, "prompts": {"query": "find: "}, "act": "gelu"},
    "mpnet": {"pooling": "mean", "normalize": True, "prompts": {}, "act": "gelu"},
    "nomicbert": {
        "pooling": "mean",
        "normalize": True,
        "prompts": {"query": "search_query: ", "document": "search_document: "},
        "act": "silu",
    },
    "modernbert": {"pooling": "cls", "normalize": True, "prompts": {}, "act": "gelu"},
    "modernbert_mean": {"pooling": "mean", "normalize": False, "prompts": {}, "act": "gelu"},
    "jinabert": {"pooling": "mean", "normalize": False, "prompts": {}, "act": "gelu"},
    "jinabert_code": {"pooling": "mean", "normalize": True, "prompts": {}, "act": "gelu"},
    "gte": {"pooling": "cls", "normalize": True, "prompts": {}, "act": "gelu"},
    "gte_multilingual": {"pooling": "cls", "normalize": True, "prompts": {"query": "query: "}, "act": "gelu"},
}

RECIPES |= {
    family: {"pooling": described["pooling"], "normalize": True, "prompts": described["prompts"]}
    for family, described in decoders.FAMILIES.items()
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


# Families whose small models read long texts, and a text of more than LONG tokens in each of their tokenizers.
LONG_FAMILIES = ("modernbert", "qwen2", "gemma3")
LONG = 8192
LONG_TEXT = words(8000)


def make_long(folder: Path, family: str) -> Path:
    """Writes the folder of a family's embedding model for texts of LONG tokens."""
    make(folder, family, "embedding")
    described = json.loads((folder / "config.json").read_text())
    write(folder / "config.json", described | {"max_position_embeddings": LONG})
    write(folder / "tokenizer_config.json", {"model_max_length": LONG})
    write(folder / "sentence_bert_config.json", {"max_seq_length": LONG})
    return folder


def make(folder: Path, family: str, api: str, recipe: dict[str, Any] | None = None) -> Path:
    """Writes the folder of a family's model for an API. recipe replaces that of the family."""
    tokenizer, recipe = FAMILIES[family][0], recipe or RECIPES[family]
    if family in decoders.FAMILIES:
        tokenizer = decoders.tokenizer(family, api)
    folder.mkdir(parents=True)
    write(folder / "config.json", config(family, api))
    with gzip.open(TOKENIZERS / tokenizer / "tokenizer.json.gz", "rt") as file:
        described = json.load(file)
    if family == "mpnet":
        use_fairseq_tokens(described)
    if family in decoders.FAMILIES and decoders.is_causal_lm(family, api):
        decoders.rename_last_token(described["model"], "yes")
    described["truncation"] = {
        "max_length": 5,
        "strategy": "LongestFirst",
        "stride": 0,
        "direction": "Right",
    }  # not to be followed
    write(folder / "tokenizer.json", described)
    write(folder / "tokenizer_config.json", {"model_max_length": LONGEST})
    if api == "embedding":
        write_modules(folder, recipe)
        write(folder / "sentence_bert_config.json", {"max_seq_length": LONGEST, "do_lower_case": False})
        write(
            folder / "config_sentence_transformers.json",
            {"prompts": recipe.get("prompts", {}), "default_prompt_name": None},
        )
    tensors = weights(family, api)
    if family in decoders.FAMILIES and decoders.is_causal_lm(family, api):
        tokens = [described["model"]["vocab"][token] for token in ("yes", "no")]
        tensors = {name: decoders.emphasize_passage(name, values, tokens) for name, values in tensors.items()}
    save(folder / "model.safetensors", tensors)
    return folder


def make_sharded(folder: Path, family: str) -> Path:
    """Writes a family's embedding model in BF16, with an index and a file for each half of the tensors."""
    make(folder, family, "embedding")
    (folder / "model.safetensors").unlink()
    tensors = [(name, to_bf16(values)) for name, values in weights(family, "embedding").items()]
    half = len(tensors) // 2
    files: dict[str, str] = {}
    for i, shard in enumerate((tensors[:half], tensors[half:]), start=1):
        file = f"model-{i:05}-of-00002.safetensors"
        save(folder / file, dict(shard))
        files |= dict.fromkeys(dict(shard), file)
    size = sum(values.nbytes for _, values in tensors)
    write(folder / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": files})
    return folder


def to_bf16(values: np.ndarray) -> np.ndarray:
    """The bits of fp32 numbers in BF16, rounded to the nearest, ties to even."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def encode_pair(tokenizer: Tokenizer, family: str, passage: str) -> tuple[list[int], list[int]]:
    """The ids and the token types of QUERY and a passage with at most LONGEST tokens."""
    if family not in decoders.FAMILIES:
        tokenizer.enable_truncation(LONGEST)
        row = tokenizer.encode(QUERY, passage)
        return row.ids, row.type_ids
    head, end = decoders.pair(family, QUERY, passage)
    tokenizer.no_truncation()
    last = tokenizer.encode(end, add_special_tokens=False).ids
    tokenizer.enable_truncation(LONGEST - len(last))
    ids = tokenizer.encode(head).ids + last
    return ids, [0] * len(ids)


def write_modules(folder: Path, recipe: dict[str, Any]) -> None:
    """Writes modules.json and the folders that it names."""
    layers = recipe.get("dense", [])
    modules = ["Transformer", "Pooling"] + ["Dense"] * len(layers) + ["Normalize"] * recipe.get("normalize", False)
    write(
        folder / "modules.json",
        [
            {"idx": i, "name": str(i), "path": f"{i}_{m}" if i else "", "type": f"sentence_transformers.models.{m}"}
            for i, m in enumerate(modules)
        ],
    )
    flags = ("cls_token", "mean_tokens", "max_tokens", "weightedmean_tokens", "lasttoken")
    write(
        folder / "1_Pooling/config.json",
        {"word_embedding_dimension": HIDDEN}
        | {f"pooling_mode_{flag}": flag.split("_")[0] == recipe["pooling"] for flag in flags},
    )
    width = HIDDEN
    for i, (out, bias, activation) in enumerate(layers, start=2):
        module = "linear.Identity" if activation == "Identity" else f"activation.{activation}"
        write(
            folder / f"{i}_Dense/config.json",
            {
                "in_features": width,
                "out_features": out,
                "bias": bias,
                "activation_function": f"torch.nn.modules.{module}",
            },
        )
        tensors = {"linear.weight": tensor(f"dense{i}", (out, width))}
        if bias:
            tensors["linear.bias"] = tensor(f"dense{i}.bias", (out,))
        save(folder / f"{i}_Dense/model.safetensors", tensors)
        width = out


def make_modules(folder: Path, name: str) -> Path:
    """Writes the embedding model with the modules of that name."""
    recipe = MODULES[name]
    return make(folder, recipe.get("family", "roberta"), "embedding", recipe)


def use_fairseq_tokens(tokenizer: dict[str, Any]) -> None:
    """Gives ids of a WordPiece tokenizer to MPNet's special tokens, and MPNet's template to texts."""
    names = {0: "<s>", 1: "<pad>", 2: "</s>", 3: "<unk>", 103: "<mask>"}
    vocabulary = tokenizer["model"]["vocab"]
    tokenizer["model"]["vocab"] = {names.get(i, token): i for token, i in vocabulary.items()}
    unknown = tokenizer["model"]["unk_token"]
    added = {**names, vocabulary[unknown]: unknown}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    tokenizer["added_tokens"] = [
        {"id": i, "content": name, **flags, "lstrip": name == "<mask>", "special": True}
        for i, name in sorted(added.items())
    ]
    tokenizer["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": False,
    }


def config(family: str, api: str) -> dict[str, Any]:
    """The content of config.json, with the family's own names of keys."""
    if family in decoders.FAMILIES:
        return decoders.config(family, api)
    _, vocabulary, kind, segments, padding = FAMILIES[family]
    bert = {
        "model_type": MODEL_TYPES.get(kind, kind),
        "architectures": [CLASSES[kind] + ("Model" if api == "embedding" else "ForSequenceClassification")],
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "hidden_act": RECIPES[family]["act"],
        "max_position_embeddings": POSITIONS,
        "pad_token_id": padding,
    }
    if kind != "distilbert":
        bert["layer_norm_eps"] = 1e-5
    if segments:
        bert["type_vocab_size"] = segments
    if kind == "nomic_bert":
        bert["rope_parameters"] = {"rope_type": "default", "rope_theta": 1000.0}
    if kind == "modernbert":  # the keys of the published folders
        bert |= {"global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "local_attention": 128}
        bert |= {"global_attn_every_n_layers": 3, "norm_bias": False, "attention_bias": False, "mlp_bias": False}
        bert |= {"classifier_pooling": RECIPES[family]["pooling"], "classifier_activation": "gelu"}
        bert |= {"bos_token_id": 1527, "cls_token_id": 1527, "eos_token_id": 1528, "sep_token_id": 1528}
    if kind.startswith("jinabert"):
        bert |= {"position_embedding_type": "alibi", "feed_forward_type": "geglu", "attn_implementation": None}
    if kind in ("new", "gte"):
        bert |= {"position_embedding_type": "rope", "rope_theta": 500000 if kind == "new" else 160000}
        bert |= {"rope_scaling": {"factor": 2.0, "type": "ntk"} if kind == "new" else None, "type_vocab_size": segments}
        bert |= {"layer_norm_type": "layer_norm", "pack_qkv": True, "unpad_inputs": False}
        bert |= {"logn_attention_scale": False, "logn_attention_clip1": False, "use_memory_efficient_attention": False}
    if api == "ranking":
        bert |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    return {KEYS.get(kind, {}).get(key, key): value for key, value in bert.items()}


def weights(family: str, api: str) -> dict[str, np.ndarray]:
    """fp32 tensors under the names that transformers gives them; those of a layer's norm are near 1."""
    if family in decoders.FAMILIES:
        return {name: tensor(name, shape) for name, shape in decoders.shapes(family, api).items()}
    _, vocabulary, kind, segments, _ = FAMILIES[family]
    names, prefix, head = LAYOUTS[kind]
    shapes: dict[str, tuple[int, ...]] = {}
    if kind == "modernbert":
        shapes["embeddings.tok_embeddings.weight"] = (vocabulary, HIDDEN)
        shapes |= norm("embeddings.norm") | norm("final_norm")
    else:
        shapes["embeddings.word_embeddings.weight"] = (vocabulary, HIDDEN)
        shapes |= norm("emb_ln" if kind == "nomic_bert" else "embeddings.LayerNorm")
        if kind not in ("nomic_bert", "jinabert", "jinabert_code", "new", "gte"):
            shapes["embeddings.position_embeddings.weight"] = (POSITIONS, HIDDEN)
    if kind == "mpnet":
        shapes["encoder.relative_attention_bias.weight"] = (32, HEADS)
    if segments:
        shapes["embeddings.token_type_embeddings.weight"] = (segments, HIDDEN)
    sizes = {
        "fused": (HIDDEN, 3 * HIDDEN),
        "gate": (HIDDEN, INNER),
        "inner": (HIDDEN, INNER),
        "fused_gate": (HIDDEN, 2 * INNER),
        "outer": (INNER, HIDDEN),
    }
    for i in range(LAYERS):
        for part, name in names.items():
            name = f"{names['layers']}.{i}.{name}"
            if part.endswith("norm"):
                shapes |= norm(name)
            elif part != "layers":
                bias = part != "fused_gate" and ("fused" not in names or names is GTE_NAMES)
                shapes |= linear(name, *sizes.get(part, (HIDDEN, HIDDEN)), bias=bias)
    if api == "ranking":
        shapes = {f"{prefix}.{name}": shape for name, shape in shapes.items()}
        shapes |= linear(head[0], HIDDEN, HIDDEN) | linear(head[1], HIDDEN, 1)
    if kind == "modernbert":  # no biases but that of the classifier, and the first layer's input is normalized already
        if api == "ranking":
            shapes |= norm("head.norm")
        shapes = {n: s for n, s in shapes.items() if n == "classifier.bias" or not n.endswith(".bias")}
        shapes = {n: s for n, s in shapes.items() if not n.endswith("layers.0.attn_norm.weight")}
    return {name: tensor(name, shape) for name, shape in shapes.items()}


def linear(name: str, inner: int, outer: int, bias: bool = True) -> dict:
    return {f"{name}.weight": (outer, inner)} | ({f"{name}.bias": (outer,)} if bias else {})


def norm(name: str) -> dict:
    return {f"{name}.weight": (HIDDEN,), f"{name}.bias": (HIDDEN,)}


def tensor(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers seeded by the name. RandomState's stream never changes."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    is_norm = re.search(r"(norm[12]?|layernorm|layer_norm_[12qk]|(emb|attn|mlp)_ln)\.weight$", name.lower())
    values = random.standard_normal(shape) * 0.25 + bool(is_norm)
    return values.astype(np.float32)


def save(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """A safetensors file. Tensors of uint16 are the bits of BF16."""
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": "BF16" if array.dtype == np.uint16 else "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in tensors.values()))


def write(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False))
