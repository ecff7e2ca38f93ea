"""Writes the golden files of decoding of the Go package tokenizers.

    pip install tokenizers==0.23.3
    python scripts/golden/tokenizers_decoders.py

FOLDER/decoded.jsonl.gz of each tokenizer in tokenizers/testdata has ids with their text and tokens: those of texts, and
random ones, which are often no valid UTF-8. decoders.jsonl.gz has decoders with random tokens.
"""

import json
import random

from tokenizers_golden import DATA, load, write
from tokenizers_texts import Texts

import tokenizers

DECODERS = [
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "ByteFallback"},
    {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "", "cleanup": False},
    {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 2, "stop": 0},
        ],
    },
]
PIECES = [
    *(
        "▁",
        "▁▁",
        "▁a",
        "b▁",
        "c",
        "##d",
        "##",
        "e</w>",
        "</w>",
        "<0xE2>",
        "<0x82>",
        "<0xAC>",
        "<0x41>",
        "<0xZZ>",
        "<0x4>",
    ),
    *(" ", "  f ", ".", ",", "'", "n't", "'s", "Ġg", "âĤ¬", "âĤ", "é", "ð", "Ł", "ĺ", "Ģ", "中", "do", "not", ""),
]


def decoded_row(tok, ids, skip):
    return {
        "ids": ids,
        "skip": skip,
        "text": tok.decode(ids, skip_special_tokens=skip),
        "tokens": [tok.id_to_token(i) or "" for i in ids],
    }


def with_decoder(decoder):
    return tokenizers.Tokenizer.from_str(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": [],
                "decoder": decoder,
                "model": {"type": "BPE", "vocab": {}, "merges": []},
            }
        )
    ).decoder


def main():
    for path in sorted(DATA.glob("*/tokenizer.json.gz")):
        tok, rng = load(path), random.Random(43)
        rows = [
            decoded_row(tok, tok.encode(text).ids, skip) for text in Texts(seed=44).lines(40) for skip in (False, True)
        ]
        for n in range(60):
            ids = [rng.randrange(tok.get_vocab_size() + 5) for _ in range(rng.randint(0, 12))]
            rows.append(decoded_row(tok, ids, n % 2 == 0))
        write(path.parent / "decoded.jsonl.gz", rows)
    rows, rng = [], random.Random(45)
    for decoder in DECODERS:
        reference = with_decoder(decoder)
        for _ in range(100):
            tokens = [rng.choice(PIECES) for _ in range(rng.randint(0, 8))]
            rows.append({"decoder": decoder, "tokens": tokens, "text": reference.decode(tokens)})
    write(DATA / "decoders.jsonl.gz", rows)


if __name__ == "__main__":
    main()
