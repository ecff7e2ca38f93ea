"""Writes small published models of random weights with the families' own code, and what they compute.

    .venv-export/bin/python scripts/tests/export/checkpoints.py FOLDER

Each model is a folder as on the Hub. FOLDER/expected.json has its vectors or logits for the texts of
scripts/tests/folders.py, in fp32.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import sentence_transformers.models  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import folders  # noqa: E402

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": folders.POSITIONS,
    "initializer_range": 0.3,
}
DEBERTA = {
    "relative_attention": True,
    "position_buckets": 32,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
}
PROMPTS = {"query": "find: ", "document": "text: "}
# model -> configuration beside SIZES, and prompts of the embedding model
FAMILIES: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "electra": ({"embedding_size": 16}, {}),
    "albert": ({"embedding_size": 16, "classifier_dropout_prob": 0.0}, {}),
    "deberta-v2": (DEBERTA, PROMPTS),
    "bert": ({}, PROMPTS),  # a family whose graph `retort model import` builds
}


def tokenizer(family: str) -> Any:
    """The tokenizer of a family, with a vocabulary of tokenizers/testdata."""
    unigram = family in ("albert", "deberta-v2")
    path = folders.TOKENIZERS / ("unigram-xlmr" if unigram else "wordpiece-cased") / "tokenizer.json.gz"
    vocabulary = json.loads(gzip.open(path, "rt").read())["model"]["vocab"]
    if not unigram:
        made = transformers.BertTokenizer(vocab=vocabulary, do_lower_case=False)
        made.model_max_length = folders.LONGEST
        return made
    pieces = [(piece, score) for piece, score in vocabulary if not piece.startswith(("<", "["))]
    special = (
        ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"] if family == "albert" else ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    )
    kind = transformers.AlbertTokenizer if family == "albert" else transformers.DebertaV2Tokenizer
    made = kind(vocab=[(piece, 0.0) for piece in special] + pieces)
    made.model_max_length = folders.LONGEST
    return made


def make(folder: Path, family: str, api: str) -> list[Any]:
    """Writes a model and returns what it computes: vectors by mode, or logits."""
    torch.manual_seed(1)
    words = tokenizer(family)
    configuration = transformers.AutoConfig.for_model(
        family, vocab_size=len(words), pad_token_id=words.pad_token_id, **SIZES | FAMILIES[family][0]
    )
    if api == "ranking":
        configuration.num_labels = 1
        model = transformers.AutoModelForSequenceClassification.from_config(configuration).eval()
        words.save_pretrained(folder)
        model.save_pretrained(folder)
        features = [
            words(folders.QUERY, t, truncation="only_second", max_length=folders.LONGEST) for t in folders.TEXTS
        ]
        with torch.no_grad():
            return [float(model(**{k: torch.tensor([v]) for k, v in f.items()}).logits[0, 0]) for f in features]
    encoder = folder.parent / f"{folder.name}.encoder"
    words.save_pretrained(encoder)
    transformers.AutoModel.from_config(configuration).save_pretrained(encoder)
    first = sentence_transformers.models.Transformer(str(encoder), max_seq_length=folders.LONGEST)
    modules = [
        first,
        sentence_transformers.models.Pooling(SIZES["hidden_size"]),
        sentence_transformers.models.Normalize(),
    ]
    prompts = FAMILIES[family][1]
    whole = sentence_transformers.SentenceTransformer(modules=modules, device="cpu", prompts=prompts)
    whole.save_pretrained(str(folder), create_model_card=False)
    modes = prompts.values() or [None]
    return [[whole.encode([text], prompt=prompt)[0].tolist() for text in folders.TEXTS] for prompt in modes]


def main() -> None:
    transformers.logging.set_verbosity_error()
    target, expected = Path(sys.argv[1]), {}
    for family in FAMILIES:
        for api in ("embedding", "ranking"):
            expected[f"{family}_{api}"] = make(target / f"{family}_{api}", family, api)
    (target / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
