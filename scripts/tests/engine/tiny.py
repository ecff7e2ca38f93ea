"""Makes a vision-language model of LLaVA's architecture with random weights, about half a million parameters.

It writes the files of transformers into the folder on the command line. The model's answers make no sense: it serves to
test engines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

MARKS = ["<pad>", "<s>", "<|end|>", "<image>", "<|system|>", "<|user|>", "<|assistant|>"]
IMAGE, PATCH = 28, 14  # pixels of a side
LENGTH = 32_768  # tokens of prompt and answer


def tokenizer(marks: list[str], **names: object) -> PreTrainedTokenizerFast:
    """Every byte is a token, and the marks. names are arguments of PreTrainedTokenizerFast, such as eos_token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(marks)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def make(folder: Path) -> None:
    words = tokenizer(
        MARKS,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="<|end|>",
        extra_special_tokens={"image_token": "<image>"},
    )
    torch.manual_seed(1)
    vision = CLIPVisionConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=IMAGE,
        patch_size=PATCH,
        projection_dim=64,
    )
    text = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=LENGTH,
        initializer_range=0.5,
        tie_word_embeddings=False,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
        pad_token_id=words.pad_token_id,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_seq_length=(IMAGE // PATCH) ** 2,
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
    )
    size = {"height": IMAGE, "width": IMAGE}
    pictures = CLIPImageProcessor(size={"shortest_edge": IMAGE}, crop_size=size)
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    rename(folder / "model.safetensors")
    LlavaProcessor(
        pictures, words, patch_size=PATCH, vision_feature_select_strategy="default", num_additional_image_tokens=1
    ).save_pretrained(folder)


def rename(file: Path) -> None:
    """Gives the weights of the vision tower the names that published models have, which vLLM knows."""
    weights = load_file(file)
    save_file(
        {name.replace("vision_tower.", "vision_tower.vision_model."): value for name, value in weights.items()},
        file,
        {"format": "pt"},
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]))
