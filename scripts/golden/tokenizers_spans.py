"""Writes the golden files of the places of tokens of the Go package tokenizers.

    pip install tokenizers==0.23.3
    python scripts/golden/tokenizers_spans.py

FOLDER/spans.jsonl.gz of each tokenizer in tokenizers/testdata has texts with the bytes of each token.
"""

import random

from tokenizers_golden import DATA, load, write
from tokenizers_texts import Texts


def byte_offsets(text):
    """The byte at which each character starts, and the length of the text."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + len(character.encode()))
    return offsets


def row(tok, text):
    encoding = tok.encode(text)
    offsets = byte_offsets(text)
    return {
        "text": text,
        "ids": encoding.ids,
        "special": encoding.special_tokens_mask,
        "spans": [[offsets[start], offsets[stop]] for start, stop in encoding.offsets],
    }


def main():
    for path in sorted(DATA.glob("*/tokenizer.json.gz")):
        tok = load(path)
        texts = ["", " two  words ", "Ünïcode, naïve café 東京", "[SEP] <s> </s>", *Texts(seed=46).lines(40)]
        random.Random(47).shuffle(texts)
        write(path.parent / "spans.jsonl.gz", [row(tok, text) for text in texts])


if __name__ == "__main__":
    main()
