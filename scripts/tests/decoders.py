"""The decoder families of folders.py: small models with seeded weights, in the names of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np

HIDDEN, INNER, HEADS, GROUPS, HEAD, LAYERS = 32, 64, 4, 2, 16, 2

PLAIN_TEMPLATE = "query: {query} passage: {passage}"
# The prompt of Qwen3-Reranker's model card.
QWEN_TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n'
    "<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
)

# family -> model type, tokenizer of embedding and of ranking, vocabulary of both, padding, pooling, prompts,
# members of config.json, and the template of pairs.
FAMILIES: dict[str, dict[str, Any]] = {
    "qwen2": {
        "type": "qwen2",
        "tokenizers": ("bpe-qwen2", "bpe-qwen2"),
        "padding": 2500,
        "pooling": "lasttoken",
        "prompts": {"query": "Instruct: find\nQuery: "},
        "config": {"rope_theta": 1000000.0, "use_sliding_window": True, "sliding_window": 40, "max_window_layers": 1},
        "template": PLAIN_TEMPLATE,
    },
    "qwen2_bidirectional": {
        "type": "qwen2",
        "tokenizers": ("bpe-qwen2", "bpe-qwen2"),
        "padding": 2500,
        "pooling": "lasttoken",
        "prompts": {},
        "config": {"rope_theta": 1000000.0, "is_causal": False, "use_sliding_window": False, "sliding_window": 40},
        "template": PLAIN_TEMPLATE,
    },
    "qwen3": {
        "type": "qwen3",
        "tokenizers": ("bpe-qwen3", "bpe-qwen2"),
        "padding": 1500,
        "pooling": "lasttoken",
        "prompts": {"query": "Instruct: Given a web search query, retrieve passages\nQuery:", "document": ""},
        "config": {"rope_theta": 1000000, "tie_word_embeddings": True, "use_sliding_window": False},
        "template": QWEN_TEMPLATE,
    },
    "gemma3": {
        "type": "gemma3_text",
        "tokenizers": ("bpe-gemma3", "bpe-gemma3"),
        "padding": 0,
        "pooling": "mean",
        "prompts": {"query": "task: search result | query: ", "document": "title: none | text: "},
        "config": {
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
            "query_pre_attn_scalar": 24,
            "sliding_window": 64,
            "use_bidirectional_attention": True,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        "template": PLAIN_TEMPLATE,
    },
    "gemma3_causal": {
        "type": "gemma3_text",
        "tokenizers": ("bpe-gemma3", "bpe-gemma3"),
        "padding": 0,
        "pooling": "mean",
        "prompts": {},
        "config": {
            "rope_theta": 1000000.0,
            "rope_local_base_freq": 10000.0,
            "rope_scaling": {"rope_type": "linear", "factor": 8.0},
            "query_pre_attn_scalar": 16,
            "sliding_window": 20,
            "sliding_window_pattern": 2,
        },
        "template": PLAIN_TEMPLATE,
    },
    "mistral": {
        "type": "mistral",
        "tokenizers": ("bpe-mistral", "bpe-tekken"),
        "padding": 2,
        "pooling": "lasttoken",
        "prompts": {"query": "Instruct: find\nQuery: "},
        "config": {"rope_theta": 10000.0, "sliding_window": 32},
        "template": PLAIN_TEMPLATE,
    },
    "llama": {
        "type": "llama",
        "tokenizers": ("bpe-llama3", "bpe-llama2"),
        "padding": None,
        "pooling": "mean",
        "prompts": {},
        "config": {
            "rope_theta": 500000.0,
            "attention_bias": True,
            "mlp_bias": True,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        },
        "template": PLAIN_TEMPLATE,
    },
    "llama_bidirectional": {
        "type": "llama_bidirec",
        "tokenizers": ("bpe-llama3", "bpe-llama3"),
        "padding": 1,
        "pooling": "mean",
        "prompts": {"query": "query:", "passage": "passage:"},
        "config": {
            "rope_theta": 500000.0,
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 32.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
            "pooling": "avg",
            "temperature": 0.5,
        },
        "template": "question:{query} \n \n passage:{passage}",
    },
}
CLASSES = {"qwen2": "Qwen2", "qwen3": "Qwen3", "gemma3_text": "Gemma3Text", "mistral": "Mistral", "llama": "Llama"}
VOCABULARY = 2504  # rows of the word table


def tokenizer(family: str, api: str) -> str:
    """The name of the folder in tokenizers/testdata."""
    return FAMILIES[family]["tokenizers"][api == "ranking"]


def rename_last_token(model: dict[str, Any], name: str) -> None:
    """Gives the last token of a BPE vocabulary another name. No merge makes it then."""
    token = max(model["vocab"], key=model["vocab"].get)
    model["vocab"][name] = model["vocab"].pop(token)
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    model["merges"] = [pair for pair in pairs if token not in (*pair, "".join(pair))]


def emphasize_passage(name: str, values: np.ndarray, tokens: list[int]) -> np.ndarray:
    """Scales a tensor of the Qwen3 ranker. tokens: the ids of yes and no.

    The prompt ends alike for all passages, and its last token ranks. With small word embeddings and large values of
    attention, the state of this token depends on the passage more than on the token. Large rows of yes and no spread
    the logits.
    """
    if name.endswith("v_proj.weight"):
        return values * np.float32(2)
    if name.endswith("embed_tokens.weight"):
        values = values * np.float32(0.1)
        values[tokens] *= np.float32(40)
    return values


def template_options(family: str, api: str) -> list[str]:
    """The options of `retort model import` for a ranker whose template is not the default of its model type."""
    known = FAMILIES.get(family, {}).get("template") == PLAIN_TEMPLATE
    return ["--pair-template", PLAIN_TEMPLATE] if known and api == "ranking" else []


def is_causal_lm(family: str, api: str) -> bool:
    """Whether the ranker compares the logits of the tokens yes and no."""
    return family == "qwen3" and api == "ranking"


def config(family: str, api: str) -> dict[str, Any]:
    """The content of config.json."""
    described = FAMILIES[family]
    name = CLASSES.get(described["type"], "LlamaBidirectional")
    head = "ForCausalLM" if is_causal_lm(family, api) else "ForSequenceClassification"
    gemma = described["type"] == "gemma3_text"
    values = {
        "model_type": described["type"],
        "architectures": [name + ("Model" if api == "embedding" else head)],
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": GROUPS,
        "head_dim": HEAD,
        "intermediate_size": INNER,
        "hidden_activation" if gemma else "hidden_act": "gelu_pytorch_tanh" if gemma else "silu",
        "max_position_embeddings": 1024,
        "rms_norm_eps": 1e-6,
        "pad_token_id": described["padding"],
        **described["config"],
    }
    if api == "ranking" and not is_causal_lm(family, api):
        values |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    return values


def shapes(family: str, api: str) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors by name."""
    kind, settings = FAMILIES[family]["type"], FAMILIES[family]["config"]
    sizes = {
        "self_attn.q_proj": (HEADS * HEAD, HIDDEN),
        "self_attn.k_proj": (GROUPS * HEAD, HIDDEN),
        "self_attn.v_proj": (GROUPS * HEAD, HIDDEN),
        "self_attn.o_proj": (HIDDEN, HEADS * HEAD),
        "mlp.gate_proj": (INNER, HIDDEN),
        "mlp.up_proj": (INNER, HIDDEN),
        "mlp.down_proj": (HIDDEN, INNER),
        "input_layernorm": (HIDDEN,),
        "post_attention_layernorm": (HIDDEN,),
    }
    if kind in ("qwen3", "gemma3_text"):
        sizes |= {"self_attn.q_norm": (HEAD,), "self_attn.k_norm": (HEAD,)}
    if kind == "gemma3_text":
        sizes |= {"pre_feedforward_layernorm": (HIDDEN,), "post_feedforward_layernorm": (HIDDEN,)}
    biased = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"] if kind == "qwen2" else []
    if settings.get("attention_bias"):
        biased += [name for name in sizes if name.endswith("_proj")]
    found: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (VOCABULARY, HIDDEN), "norm.weight": (HIDDEN,)}
    for i in range(LAYERS):
        for name, shape in sizes.items():
            found[f"layers.{i}.{name}.weight"] = shape
            if name in biased:
                found[f"layers.{i}.{name}.bias"] = shape[:1]
    if api == "ranking":
        found = {f"model.{name}": shape for name, shape in found.items()}
        if not is_causal_lm(family, api):
            found["score.weight"] = (1, HIDDEN)
    return found


def pair(family: str, query: str, passage: str) -> tuple[str, str]:
    """The text of a pair, and the part of it after the passage, which is never truncated."""
    head, _, end = FAMILIES[family]["template"].partition("{passage}")
    return head.replace("{query}", query) + passage, end
