"""Trains a small tokenizer of each family that the Go package reads, like the published models of the family."""

import base64
import collections
import io
import itertools
import json
import tempfile

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
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


def split_bytes(pattern):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


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
    tok = byte_bpe(texts, size, split_bytes(QWEN2), [])
    tok.normalizer = normalizers.NFC()
    tok.post_processor = processors.ByteLevel(trim_offsets=False, add_prefix_space=False)
    tok.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return tok


def qwen3(texts, size):
    """Trains as Qwen3-Embedding: Qwen2 with a token at the end."""
    tok = qwen2(texts, size)
    tok.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    end = ("<|endoftext|>", tok.token_to_id("<|endoftext|>"))
    tok.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False, add_prefix_space=False),
            processors.TemplateProcessing(
                single=f"$A {end[0]}", pair=f"$A {end[0]} $B:1 {end[0]}:1", special_tokens=[end]
            ),
        ]
    )
    return tok


def tekken(texts, size):
    """Trains as Mistral NeMo, with the pattern of Tekken."""
    tok = with_model(byte_bpe(texts, size, split_bytes(TEKKEN), ["<unk>", "<s>", "</s>"]), ignore_merges=True)
    tok.add_special_tokens(["[INST]", "[/INST]"])
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return tok


def modernbert(texts, size):
    """Trains as ModernBERT: OLMo's BPE, with runs of spaces among the added tokens."""
    first = ["|||IP_ADDRESS|||", "<|padding|>"]
    tok = byte_bpe(texts, size, pre_tokenizers.ByteLevel(add_prefix_space=False), first)
    data = json.loads(tok.to_str())
    data["added_tokens"][0] |= {"special": False, "normalized": True}
    tok = Tokenizer.from_str(json.dumps(data))
    tok.normalizer = normalizers.NFC()
    tok.add_special_tokens(["<|endoftext|>"])
    tok.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    tok.add_tokens([AddedToken(f"|||{name}|||", normalized=True) for name in ("EMAIL_ADDRESS", "PHONE_NUMBER")])
    tok.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]", AddedToken("[MASK]", lstrip=True, normalized=False)])
    tok.add_tokens([AddedToken("[unused0]", normalized=True)])
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tok.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tok


def llama3(texts, size):
    tok = with_model(byte_bpe(texts, size, split_bytes(LLAMA3), SPECIAL), ignore_merges=True)
    tok.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True, add_prefix_space=False),
            template("<s> $A <s>:1 $B:1", [("<s>", 0), ("</s>", 2)]),
        ]
    )
    return tok


def fallback_bpe(texts, size, special):
    """Trains with byte fallback and without a pre-tokenizer: models of these families tokenize whole texts."""
    tok = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()  # only for training
    tok.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, special_tokens=[*special, *BYTES], limit_alphabet=300, show_progress=False
        ),
    )
    data = json.loads(tok.to_str())
    data["pre_tokenizer"] = None
    data["added_tokens"] = [t for t in data["added_tokens"] if not t["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(data))


def gemma3(texts, size):
    """Trains as EmbeddingGemma. Runs of line ends and of the replaced space are added tokens."""
    runs = ["\n" * n for n in range(1, 5)] + ["▁" * n for n in range(2, 6)]
    tok = fallback_bpe(texts, size, ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *runs])
    data = json.loads(tok.to_str())
    for token in data["added_tokens"]:
        token["special"] = token["content"] not in runs
    tok = Tokenizer.from_str(json.dumps(data))
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tok.add_special_tokens(["<start_of_turn>"])
    tok.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>",
        pair="<bos> $A <eos> <bos>:1 $B:1 <eos>:1",
        special_tokens=[("<bos>", 2), ("<eos>", 1)],
    )
    return tok


def mistral(texts, size):
    """Trains as Mistral 7B v0.3: SentencePiece's BPE, with a space before the text only."""
    tok = fallback_bpe(texts, size, ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"])
    tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return tok


def llama2(texts, size):
    tok = fallback_bpe(texts, size, ["<unk>", "<s>", "</s>"])
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
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


def sentencepiece_unigram(texts, size, **options):
    """Returns the model that sentencepiece trains, as a protocol buffer."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(t.replace("\0", "")[:1000] for t in texts if t),
        model_writer=out,
        vocab_size=size,
        character_coverage=0.9995,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    return sentencepiece_model_pb2.ModelProto.FromString(out.getvalue())


def camembert(texts, size):
    """Trains as CamemBERT: XLM-RoBERTa's pipeline with another order of tokens. The normalization table is a small one,
    because that of nmt_nfkc, which unigram-xlmr has, is 200 KB."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        for source, target in [("\t", " "), ("\n", " "), ("\u00a0", " "), ("\u3000", " "), ("ﬁ", "fi"), ("２", "2")]:
            rules.write(" ".join(f"{ord(c):X}" for c in source) + f"\t{' '.join(f'{ord(c):X}' for c in target)}\n")
        rules.flush()
        proto = sentencepiece_unigram(texts, size, normalization_rule_tsv=rules.name)
    pieces = [("<s>NOTUSED", 0.0), ("<pad>", 0.0), ("</s>NOTUSED", 0.0), ("<unk>", 0.0), ("<unk>NOTUSED", -100.0)]
    pieces += [(p.piece, p.score) for p in proto.pieces[1:]] + [("<mask>", 0.0)]
    tok = Tokenizer(models.Unigram(pieces, 3, False))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tok.post_processor = template(ids=[(name, tok.token_to_id(name)) for name in ("<s>", "</s>")])
    tok.add_special_tokens(
        [
            "<s>NOTUSED",
            "<pad>",
            "</s>NOTUSED",
            "<unk>",
            "<s>",
            "</s>",
            AddedToken("<mask>", lstrip=True, normalized=False),
        ]
    )
    data = json.loads(tok.to_str())
    table = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
    data["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": table}
    return Tokenizer.from_str(json.dumps(data))


def xlmr(texts, size):
    """Trains a sentencepiece model like XLM-RoBERTa's, with a normalization table and fairseq's order of tokens."""
    proto = sentencepiece_unigram(texts, size, normalization_rule_name="nmt_nfkc")
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
    "bpe-qwen3": qwen3,
    "bpe-tekken": tekken,
    "bpe-modernbert": modernbert,
    "bpe-gemma3": gemma3,
    "bpe-mistral": mistral,
    "unigram-nfkc": nfkc,
    "unigram-fallback": fallback,
    "unigram-xlmr": xlmr,
    "unigram-camembert": camembert,
}

# Families with small files: 1,500 tokens, code points below U+20000, and fewer texts, of which these are a part.
SMALL = {
    "bpe-qwen3": ["<think>\n\nfine\n</think>\n\n ok", "<|im_start|>user\nÅ A\u030a<|im_end|>", "12345 a1b22"],
    "bpe-tekken": [
        "HELLOworld HelloWORLD helloWorld",
        "ABCdef ABC ǅa aǅ A\u0301b \u0301Ab \u0301 \u0301A !Ab !AB",
        "日本Ab AB日本 ab日本 ʰAʰb ABʰ \u0301\u0301",
        "a//\n b/ /c\r\n/ [INST] x [/INST]1234",
    ],
    "bpe-modernbert": [
        "def f():\n    return  1" + " " * 40 + "x",
        "  |||IP_ADDRESS|||  |||EMAIL_ADDRESS|||a [MASK]",
        "x  [MASK]  y [unused0] <|endoftext|>",
    ],
    "bpe-gemma3": ["a\n\n\n\n\n\nb  c", "▁▁▁ a ▁▁▁▁▁▁▁b", "<start_of_turn>user\n  x<eos>", "𒀀𒀁𒀂 x", " a ", "\n"],
    "bpe-mistral": ["[INST] a b [/INST] c", "<s> a", "  a", "▁a", "𒀀x", "\n a"],
    "unigram-camembert": ["ﬁn２\u00a0x", "<s>NOTUSED <s> </s> <mask>", "x <mask> y", "<unk>NOTUSED", "日日x"],
}


def train(name, texts, size):
    """Returns the tokenizer.json of a family, on one line.

    It is trained without rare characters, because a Unigram model has a token for each character.
    """
    counts = collections.Counter(itertools.chain.from_iterable(texts))
    rare = {ord(c): None for c, _ in counts.most_common()[size // 4 :]}
    return FAMILIES[name]([t.translate(rare) for t in texts], size).to_str()
