"""A folder like MiniLM's with a tiny network, and the tokenizer of the shipped models."""

import json
import shutil
from pathlib import Path

import safetensors.torch
import torch

from scripts.train.embedding import bert

REPOSITORY = Path(__file__).parents[3] / "model_repository"
SIZES = {
    "vocab_size": 30522,
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 512,
}


def write_minilm(folder: Path, seed: int = 1) -> None:
    """Writes config.json, model.safetensors and tokenizer.json."""
    folder.mkdir(exist_ok=True)
    torch.manual_seed(seed)
    encoder = bert.Encoder(bert.Shape(**SIZES))
    weights = {bert.published_name(name): value for name, value in encoder.state_dict().items()}
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **SIZES}))
    safetensors.torch.save_file(weights, folder / "model.safetensors")
    shutil.copy(REPOSITORY / "minilm_embed_qa" / "tokenizer.json", folder)
