"""Trains a small tokenizer of each family that the Go package reads, like the published models of the family."""

import base64
import collections
import io
import itertools
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")
BYTES = [f"<0x{c:02X}>" for c in range(256)]
# Added tokens with all kinds of matching, which the texts of tokenizers_texts.py contain.
MATCHING_TOKENS = [
    AddedToken("<ls>", lstrip=True, normalized=False),
    AddedToken("<rs>", rstrip=True, normalized=False),
    AddedToken("<both>", lstrip=True, rstrip=True, special=True, normalized=False),
    AddedToken("solo", single_word=True, normalized=False),
    AddedToken("<Norm\u00c9>", normalized=True),
    AddedToken("<Nor", normalized=True),
    AddedToken("\U0001f600", normalized=False),
]


def template(pair="<s> $A </s> </s> $B </s>", ids=(("<s>", 0), ("</s>", 2))):
    return processors.TemplateProcessing(single="<s> $A </s>", pair=pair, special_tokens=list(ids))


def byte_bpe(texts, size, pre, special):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return tok


def with_model(tok, **members):
    """Returns the tokenizer with changed members of its model."""
    data = json.loads(tok.to_str())
    data["model"] |= members
    return Tokenizer.from_str(json.dumps(data))


def roberta(texts, size):
    tok = byte_bpe(texts, size, pre_tokenizers.ByteLevel(add_prefix_space=False), SPECIAL)
    tok.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    return tok


def prefixed(texts, size):
    """Trains with a space before each piece, single digits, and a processor that only trims offsets."""
    pre = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    )
    tok = byte_bpe(texts, size, pre, ["<|endoftext|>"])
    tok.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tok.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=True)
    tok.add_tokens(MATCHING_TOKENS)
    return tok


def qwen2(texts, size):
    pre = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok = byte_bpe(texts, size, pre, [])
    tok.normalizer = normalizers.NFC()
    tok.post_processor = processors.ByteLevel(trim_offsets=False, add_prefix_space=False)
    tok.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tok


def llama3(texts, size):
    pre = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tok = with_model(byte_bpe(texts, size, pre, SPECIAL), ignore_merges=True)
    tok.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
            template("<s> $A <s>:1 $B:1", [("<s>", 0), ("</s>", 2)]),
        ]
    )
    return tok


def llama2(texts, size):
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    split = pre_tokenizers.Metaspace()  # only for training: models of this family tokenize whole texts
    tok.pre_tokenizer = split
    tok.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, special_tokens=["<unk>", "<s>", "</s>", *BYTES], limit_alphabet=300, show_progress=False
        ),
    )
    data = json.loads(tok.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = [t for t in data["added_tokens"] if not t["content"].startswith("<0x")]
    tok = Tokenizer.from_str(json.dumps(data))
    tok.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return tok


def unigram(texts, size, special=tuple(SPECIAL)):
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.NFKC()
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    tok.train_from_iterator(
        texts,
        trainers.UnigramTrainer(vocab_size=size, special_tokens=list(special), unk_token="<unk>", show_progress=False),
    )
    return tok


def nfkc(texts, size):
    tok = unigram(texts, size)
    tok.post_processor = template("<s> $A </s> $B:1 </s>:1")
    tok.add_tokens(MATCHING_TOKENS)
    return tok


def fallback(texts, size):
    """Trains with byte fallback, a prefix of the first piece only, single spaces, and no spaces at the right end."""
    tok = with_model(unigram(texts, size, [*SPECIAL, *BYTES]), byte_fallback=True)
    data = json.loads(tok.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if not t["content"].startswith("<0x")]
    tok = Tokenizer.from_str(json.dumps(data))
    tok.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(Regex(" {2,}"), "▁"),
        ]
    )
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tok.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="first")])
    tok.post_processor = template("<s> $A </s> </s> $B </s>")
    return tok


def xlmr(texts, size):
    """Trains a sentencepiece model like XLM-RoBERTa's, with a normalization table and fairseq's order of tokens."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(t.replace("\0", "")[:1000] for t in texts if t),
        model_writer=out,
        vocab_size=size,
        character_coverage=0.9995,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(out.getvalue())
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)] + [
        (p.piece, p.score) for p in proto.pieces[3:]
    ]
    pieces.append(("<mask>", 0.0))
    tok = Tokenizer(models.Unigram(pieces, 3, False))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tok.decoder = decoders.Metaspace()
    tok.post_processor = template()
    tok.add_special_tokens([*SPECIAL, AddedToken("<mask>", lstrip=True, normalized=False)])
    data = json.loads(tok.to_str())
    table = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    data["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": table}
    return Tokenizer.from_str(json.dumps(data))


def cased(texts, size):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=50))
    tok.normalizer = normalizers.BertNormalizer(handle_chinese_chars=False, lowercase=False)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece(cleanup=False)
    tok.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
        ),
    )
    tok.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tok.add_tokens(MATCHING_TOKENS)
    return tok


FAMILIES = {
    "wordpiece-cased": cased,
    "bpe-roberta": roberta,
    "bpe-prefixed": prefixed,
    "bpe-qwen2": qwen2,
    "bpe-llama3": llama3,
    "bpe-llama2": llama2,
    "unigram-nfkc": nfkc,
    "unigram-fallback": fallback,
    "unigram-xlmr": xlmr,
}


def train(name, texts, size):
    """Returns the tokenizer.json of a family, on one line.

    It is trained without rare characters, because a Unigram model has a token for each character.
    """
    counts = collections.Counter(itertools.chain.from_iterable(texts))
    rare = {ord(c): None for c, _ in counts.most_common()[size // 4 :]}
    return FAMILIES[name]([t.translate(rare) for t in texts], size).to_str()
