"""Makes the folder of a tiny vision-language model with random weights, as transformers saves one, and what the
family's own processor makes of conversations.

    families.py qwen2_5_vl|gemma3 FOLDER EXPECTED

EXPECTED is a JSON file: for each of the CONVERSATIONS, the text of the processor's apply_chat_template and the token
ids that its tokenizer and image processor make of it. Images are white, of the sizes in the conversations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tiny
import torch
from PIL import Image
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessor,
    Gemma3Processor,
    GenerationConfig,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

from tokenizers import processors

TEMPLATES = Path(__file__).resolve().parents[3] / "orchestrator/chat/prompt/testdata/templates"

# Lists of messages. A pair of numbers is the width and the height of an image.
CONVERSATIONS: dict[str, list] = {
    "text": [["user", "What is aspirin?"]],
    "image": [["user", (64, 48), "What is this?"]],
    "image last": [["user", "What is this?", (96, 64)]],
    "two images": [["user", (64, 48), "Are these the same as", (120, 40), "?"]],
    "turns": [
        ["system", "Be brief."],
        ["user", (64, 48), "How many rings?"],
        ["assistant", "2"],
        ["user", "And here?", (80, 80)],
    ],
}

LENGTH = 1024
TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "initializer_range": 0.5,
    "max_position_embeddings": LENGTH,
}


def qwen2_5_vl(folder: Path) -> Qwen2_5_VLProcessor:
    marks = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vision = ["<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
    words = tiny.tokenizer([*marks, *vision], pad_token="<|endoftext|>", eos_token="<|im_end|>")
    start, end, _, image, video = words.convert_tokens_to_ids(vision)
    text = TEXT | {
        "vocab_size": len(words),
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [4, 6, 6]},
    }
    eye = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64}
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=eye | {"fullatt_block_indexes": [1], "window_size": 56},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    save(
        Qwen2_5_VLForConditionalGeneration(config),
        folder,
        words,
        do_sample=True,
        temperature=0.1,
        top_k=1,
        repetition_penalty=1.05,
    )
    pixels = {"min_pixels": 56 * 56, "max_pixels": 112 * 112}
    return Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(**pixels),
        words,
        Qwen2VLVideoProcessor(**pixels),
        chat_template=(TEMPLATES / "qwen2-vl.jinja").read_text(),
    )


def gemma3(folder: Path) -> Gemma3Processor:
    marks = ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"]
    vision = ["<start_of_image>", "<end_of_image>", "<image_soft_token>"]
    names = dict(zip(["boi_token", "eoi_token", "image_token"], vision, strict=True))
    words = tiny.tokenizer(
        [*marks, *vision], pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", extra_special_tokens=names
    )
    words.add_tokens(["\n" * n for n in range(1, 5)])  # as in Gemma's vocabulary: vLLM joins newlines beside an image
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos> $B", special_tokens=[("<bos>", words.bos_token_id)]
    )
    start, end, image = words.convert_tokens_to_ids(vision)
    text = TEXT | {
        "vocab_size": len(words),
        "head_dim": 32,
        "query_pre_attn_scalar": 32,
        "sliding_window": 512,
        "layer_types": ["sliding_attention", "full_attention"],
        "pad_token_id": words.pad_token_id,
        "eos_token_id": words.eos_token_id,
        "bos_token_id": words.bos_token_id,
    }
    eye = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Gemma3Config(
        text_config=text,
        vision_config=eye | {"image_size": 56, "patch_size": 14},
        mm_tokens_per_image=4,
        boi_token_index=start,
        eoi_token_index=end,
        image_token_index=image,
    )
    model = Gemma3ForConditionalGeneration(config)
    model.get_input_embeddings().weight.data.mul_(0.1)  # small, as the output shares it
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight)  # it is zero until trained
    save(model, folder, words, do_sample=True, top_k=64, top_p=0.95)
    tiny.rename(folder / "model.safetensors")
    return Gemma3Processor(
        Gemma3ImageProcessor(size={"height": 56, "width": 56}),
        words,
        chat_template=(TEMPLATES / "gemma-3.jinja").read_text(),
        image_seq_length=4,
    )


def save(model, folder: Path, words, **settings: object) -> None:
    """Saves the weights and the generation configuration: all capital letters end an answer."""
    capitals = words.convert_tokens_to_ids(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    model.generation_config = GenerationConfig(
        **settings, eos_token_id=[words.eos_token_id, *capitals], pad_token_id=words.pad_token_id
    )
    model.save_pretrained(folder)


def expected(processor, conversation: list) -> dict:
    images = [
        Image.new("RGB", part, "white") for _, *parts in conversation for part in parts if isinstance(part, tuple)
    ]
    messages = [
        {
            "role": role,
            "content": [{"type": "text", "text": p} if isinstance(p, str) else {"type": "image"} for p in parts],
        }
        for role, *parts in conversation
    ]
    text = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    bos = processor.tokenizer.bos_token or ""
    ids = processor(text=text.removeprefix(bos) if bos else text, images=images or None)["input_ids"][0]
    return {"conversation": conversation, "text": text, "ids": [int(i) for i in ids]}


def main(family: str, folder: str, file: str) -> None:
    torch.manual_seed(1)
    processor = {"qwen2_5_vl": qwen2_5_vl, "gemma3": gemma3}[family](Path(folder))
    processor.save_pretrained(folder)
    results = {name: expected(processor, messages) for name, messages in CONVERSATIONS.items()}
    Path(file).write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
