"""Writes the vectors of a text of 8,192 tokens that transformers computes with small models of
scripts/tests/folders.py.

    make .venv-export/stamp
    .venv-export/bin/python scripts/golden/long_texts.py scripts/tests/testdata/long_texts.json
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import decoder_models
import torch
import transformers

from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import decoders  # noqa: E402
import folders  # noqa: E402


def states(folder: Path, family: str, ids: list[int]) -> torch.Tensor:
    """The token states of the last layer: [tokens, hidden]."""
    if family in decoders.FAMILIES:
        return decoder_models.Decoder(folder, family, "embedding").states(ids)[0]
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="sdpa").eval()
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids])).last_hidden_state[0]


def main() -> None:
    transformers.logging.set_verbosity_error()
    golden = {}
    with tempfile.TemporaryDirectory() as temporary:
        for family in folders.LONG_FAMILIES:
            folder = folders.make_long(Path(temporary, family), family)
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            tokenizer.no_padding()
            tokenizer.enable_truncation(folders.LONG)
            prompts = folders.RECIPES[family]["prompts"]
            ids = tokenizer.encode(prompts.get("document", "") + folders.LONG_TEXT).ids
            assert len(ids) == folders.LONG
            pooling = folders.RECIPES[family]["pooling"]
            found = states(folder, family, ids)
            vector = {"mean": found.mean(0), "cls": found[0], "lasttoken": found[-1]}[pooling]
            golden[family] = [round(float(x), 7) for x in vector / vector.norm()]
    Path(sys.argv[1]).write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
