"""Generates texts to test tokenizers with: prose, code, and difficult Unicode. The same seed gives the same texts."""

import pathlib
import random
import sysconfig
import unicodedata

MARKS = [chr(c) for c in range(0x300, 0x20000) if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me")]
ASSIGNED = [c for c in range(0x21, 0x323B0) if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
SPECIALS = [
    "[SEP]",
    "[CLS]",
    "[MASK]",
    "[PAD]",
    "[UNK]",
    "[sep]",
    "[ SEP ]",
    "[[SEP]]",
    "[SEP",
    "<s>",
    "</s>",
    "<mask>",
    "<pad>",
    "<unk>",
    "<S>",
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "▁",
    "##",
    "##ing",
    "<0x41>",
    "<ls>",
    "<rs>",
    "<both>",
    "solo",
    "<Norm\u00c9>",
    "<norm\u00e9>",
    "<NormE\u0301>",
    "<Nor",
    "  <both> <ls> ",
    " <rs>\u3000<both>",
]
SPACES = [
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r\n",
    "\n\n",
    " \n ",
    "\u00a0",
    "\u3000",
    "\u2028",
    "\u200b",
    "\x0b",
    "\x0c",
    "\x85",
    "\u1680",
]
CONTROLS = [
    "\x00",
    "\x01",
    "\x1b",
    "\x7f",
    "\x80",
    "\x9f",
    "\ufeff",
    "\ufffd",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2060",
    "\ue000",
    "\U000f0000",
    "\U000e0001",
    "\u00ad",
    "\ufff9",
    "\U0010fffd",
    "\uffff",
    "\ufdd0",
]
CASES = [
    "İstanbul",
    "ﬁancé",
    "STRASSE straße ẞ",
    "ǅ ǆ Ǆ",
    "ΣΊΣΥΦΟΣ",
    "\u212a \u212b \u2126",
    "Ⅷ ⅷ",
    "ŉ",
    "Ａｂｃ１２３",
    "ﷺ",
    "㎏㍿",
    "①②⑳",
    "½ ¾ ²³",
    "ﬃ",
    "Ǖǘ",
    "ЁЖЙ",
    "ÅÄÖ",
    "ﻼ",
    "ｶﾞﾊﾟ",
    "e\u0301 E\u0301",
    "\u1e9b\u0323",
    "q\u0307\u0323",
    "\u0344\u0345",
    "\u2126",
]
SCRIPTS = [
    "Привет, как дела?",
    "Γειά σου Κόσμε",
    "שָׁלוֹם עֲלֵיכֶם",
    "السَّلَامُ عَلَيْكُمْ",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก",
    "안녕하세요 세계",
    "각\u1100\u1161\u11a8",
    "こんにちは世界",
    "カタカナ",
    "你好，世界。",
    "漢字㐀𠀀丽",
    "ສະບາຍດີ",
    "မင်္ဂလာပါ",
    "გამარჯობა",
    "Բարեւ",
    "ኢትዮጵያ",
    "བཀྲ་ཤིས",
    "ខ្មែរ",
    "தமிழ்",
    "తెలుగు",
    "ಕನ್ನಡ",
    "മലയാളം",
    "සිංහල",
    "Tiếng Việt",
    "Český ďábel",
    "ÇĞIİÖŞÜ",
    "ℌ𝔢𝔩𝔩𝔬 𝒲𝓸𝓻𝓵𝓭",
    "𐌰𐌱𐌲",
    "𒀀𒀁",
]
EMOJI = ["👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷🇯", "❤️", "☎︎", "1️⃣", "🫠", "🧑🏿‍🚀", "😀😁", "©️", "⌚"]
SHORT = [
    "I'm",
    "you'll",
    "we've",
    "they're",
    "isn't",
    "it's",
    "I'd",
    "'S",
    "'LL",
    "’s",
    "o'clock",
    "''",
    "'ſ",
    "'t5",
    "x's's",
]


def prose():
    """Sentences of the Python library's own documentation: real English, and code."""
    out, library = [], pathlib.Path(sysconfig.get_path("stdlib"))
    for name in (
        "argparse",
        "asyncio",
        "collections",
        "datetime",
        "decimal",
        "email",
        "http.client",
        "inspect",
        "json",
        "logging",
        "os",
        "pickle",
        "random",
        "re",
        "ssl",
        "statistics",
        "string",
        "subprocess",
        "tarfile",
        "textwrap",
        "threading",
        "turtle",
        "typing",
        "unittest.mock",
        "urllib.parse",
        "zipfile",
        "difflib",
        "doctest",
        "heapq",
        "optparse",
    ):
        path = library.joinpath(*name.split("."))  # not imported, because turtle needs a display
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        out += [line for line in source.read_text(encoding="utf-8").splitlines() if line.strip()]
    return out


class Texts:
    def __init__(self, seed, real=()):
        self.rng = random.Random(seed)
        self.real = list(real) or prose()

    def pick(self, some, most=1):
        return "".join(self.rng.choice(some) for _ in range(self.rng.randint(1, most)))

    def word(self):
        return self.rng.choice(self.rng.choice(self.real).split() or ["x"])

    def block(self):
        start = self.rng.choice(ASSIGNED) & ~0x7F
        chars = [chr(c) for c in range(start, start + 128) if not 0xD800 <= c <= 0xDFFF]
        return "".join(self.rng.choice(chars + [" "] * 20) for _ in range(self.rng.randint(1, 30)))

    def combining(self):
        return "".join(
            self.rng.choice("aeiouxАеאक가語 1.") + self.pick(MARKS, 4) for _ in range(self.rng.randint(1, 8))
        )

    def anything(self):
        return "".join(chr(self.rng.choice(ASSIGNED)) for _ in range(self.rng.randint(1, 20)))

    def long_word(self):
        return self.pick(["a", "ab", "é", "日", "क्", "1", "=", "ß", "-", "x\u0301"]) * self.rng.choice(
            [20, 49, 50, 51, 99, 100, 101, 200]
        )

    def number(self):
        return self.rng.choice(
            ["1234567890", "3.14159", "1,000,000", "0x1F", "２０２４", "१२३", "¹²³", "5e-7", "12:30", "10%", "$9.99"]
        )

    def special(self):
        return (
            self.pick(SPACES[:3] + ["", "a", "."]) + self.rng.choice(SPECIALS) + self.pick(SPACES[:3] + ["", "a", "."])
        )

    def part(self):
        r = self.rng.random()
        if r < 0.35:
            return " ".join(self.word() for _ in range(self.rng.randint(1, 8)))
        makers = [
            self.block,
            self.combining,
            self.anything,
            self.long_word,
            self.number,
            self.special,
            lambda: self.pick(CONTROLS, 3),
            lambda: self.pick(CASES, 2),
            lambda: self.pick(SCRIPTS, 2),
            lambda: self.pick(EMOJI, 3),
            lambda: self.pick(SHORT, 2),
            lambda: self.pick(SPACES, 4),
            lambda: self.word().upper(),
            lambda: self.word().title(),
        ]
        return self.rng.choice(makers)()

    def line(self):
        if self.rng.random() < 0.3:
            return self.rng.choice(self.real)
        joint = self.rng.choice([" ", "", " ", self.rng.choice(SPACES)])
        return joint.join(self.part() for _ in range(self.rng.randint(1, 6)))

    def lines(self, n):
        fixed = [
            "",
            " ",
            "\n",
            "a",
            "é",
            "\u0301",
            "\x00",
            "\ufffd",
            " a",
            "a ",
            "  a  b  ",
            *SPECIALS,
            *CASES,
            *SCRIPTS,
            *EMOJI,
            *SHORT,
        ]
        return fixed[:n] + [self.line() for _ in range(max(0, n - len(fixed)))]
