"""Writes tokenizers/unicode.txt: the properties of each code point in the reference library.

The reference (PyPI `tokenizers`) has tables of several Unicode versions: normalization of Unicode 9, general categories
of an older version, regular expressions and lower case of newer ones. No single version, and no Go release, agrees with
all of them. So this script tests each of the 1,112,064 code points in the library, through its public interface, and
writes the results. With them the Go package agrees with the reference, whatever Unicode version Go has.

    pip install tokenizers==0.23.3
    python scripts/golden/tokenizers_unicode.py            # writes the table, and prints where Python differs
    python scripts/golden/tokenizers_unicode.py --check    # exits with 1 if the table does not agree with the library
"""

import argparse
import pathlib
import sys
import unicodedata

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

TABLE = pathlib.Path(__file__).resolve().parents[2] / "tokenizers" / "unicode.txt"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL = range(0xAC00, 0xD7A4)


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**(flags | on))


def where(test):
    return [c for c in POINTS if test(chr(c))]


def regex_class(pattern):
    """Returns the code points that a pattern of one character matches in the library's regular expressions."""
    splitter = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    around = "a" if pattern == r"\s" else "!"
    return where(lambda s: len(splitter.pre_tokenize_str(around + s + around)) == 3)


def word_characters():
    """Returns the code points beside which an added token with single_word=True is not found: \\w of another engine."""
    tok = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tok.add_tokens([AddedToken("\x01", single_word=True, normalized=False)])
    token = tok.token_to_id("\x01")
    return where(lambda s: token not in tok.encode("\x01" + s).ids)


def changed(normalizer, skip=()):
    """Returns the normalized text of each code point that the normalizer changes when it is alone."""
    images = ((c, normalizer.normalize_str(chr(c))) for c in POINTS if c not in skip)
    return {c: [ord(x) for x in image] for c, image in images if image != chr(c)}


def combining_classes(nfd):
    """Returns the class of each combining code point, found by the marks that canonical ordering swaps."""
    order = normalizers.NFD()

    def swaps(a, b):
        return a != b and order.normalize_str(a + b) == b + a

    low, high = "\u0334", "\u0345"  # class 1, the lowest, and class 240, the highest
    marks = [c for c in POINTS if c not in nfd and c not in HANGUL and (swaps(high, chr(c)) or swaps(chr(c), low))]
    anchors: dict[int, str] = {}
    for c in marks:
        anchors.setdefault(unicodedata.combining(chr(c)), chr(c))
    anchors.pop(0, None)
    found = {}
    for c in marks:
        s = chr(c)
        exact = [k for k, a in anchors.items() if not swaps(a, s) and not swaps(s, a)]
        if len(exact) != 1:
            sys.exit(f"U+{c:04X} is in no known combining class, or in several")
        found[c] = exact[0]
    return found


def compositions(nfd):
    """Returns the pair of code points that canonical composition joins into each composed one."""
    nfc = normalizers.NFC()
    pairs = {}
    for c, parts in nfd.items():
        text = "".join(map(chr, parts))
        if len(parts) < 2 or nfc.normalize_str(text) != chr(c):
            continue
        head = nfc.normalize_str(text[:-1])
        if len(head) == 1 and nfc.normalize_str(head + text[-1]) == chr(c):
            pairs[c] = [ord(head), parts[-1]]
    return pairs


def ranges(points):
    spans: list[list[int]] = []
    for c in sorted(points):
        if spans and spans[-1][1] == c - 1:
            spans[-1][1] = c
        else:
            spans.append([c, c])
    return [f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in spans]


def lines(name, words, per_line=16):
    return [" ".join([name, *words[i : i + per_line]]) for i in range(0, len(words), per_line)]


def report(name, reference, here):
    extra, missing = set(reference) - set(here), set(here) - set(reference)
    print(
        f"{name}: {len(set(reference))} code points; {len(extra)} of them not in Unicode "
        f"{unicodedata.unidata_version}, {len(missing)} only there",
        file=sys.stderr,
    )


def category(*wanted):
    return [c for c in POINTS if unicodedata.category(chr(c)) in wanted]


def build():
    nfd = changed(normalizers.NFD(), HANGUL)
    nfkd = changed(normalizers.NFKD(), HANGUL)
    clean, strip, punct = bert(clean_text=True), bert(strip_accents=True), pre_tokenizers.BertPreTokenizer()
    classes = {
        "control": where(lambda s: clean.normalize_str(s) == ""),
        "whitespace": where(lambda s: len(pre_tokenizers.WhitespaceSplit().pre_tokenize_str("a" + s + "a")) == 2),
        "mark": [c for c in POINTS if c not in nfd and strip.normalize_str(chr(c)) == ""],
        "punctuation": where(lambda s: len(punct.pre_tokenize_str("a" + s + "a")) == 3),
        "letter": regex_class(r"\p{L}"),
        "number": regex_class(r"\p{N}"),
        "space": regex_class(r"\s"),
        "uppercase": regex_class(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
        "lowercase": regex_class(r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
        "word": word_characters(),
        "combining": where(lambda s: normalizers.StripAccents().normalize_str(s) == ""),
        "digit": where(
            lambda s: len(pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str("a" + s + "a")) == 3
        ),
    }
    report("control", classes["control"], category("Cc", "Cf", "Co"))
    report("mark", classes["mark"], [c for c in category("Mn") if c not in nfd])
    report("letter", classes["letter"], category("Lu", "Ll", "Lt", "Lm", "Lo"))
    report("number", classes["number"], category("Nd", "Nl", "No"))
    report("punctuation", classes["punctuation"], category("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"))
    ccc = combining_classes(nfd)
    report("combining class", ccc, where(lambda s: unicodedata.combining(s)))
    report(
        "decomposition", nfd, [c for c in POINTS if c not in HANGUL and unicodedata.normalize("NFD", chr(c)) != chr(c)]
    )
    lower = changed(normalizers.Lowercase())
    report("lower", lower, where(lambda s: s.lower() != s))
    out = [
        f"# Code point properties as tokenizers {tokenizers.__version__} has them (hexadecimal).",
        "# Made by scripts/golden/tokenizers_unicode.py; not to be edited.",
    ]
    for name, points in classes.items():
        out += lines(name, ranges(points))
    for k in sorted(set(ccc.values())):
        out += lines(f"class {k}", ranges([c for c, v in ccc.items() if v == k]))
    mappings = {
        "nfd": nfd,
        "nfkd": {c: d for c, d in nfkd.items() if d != nfd.get(c)},
        "compose": compositions(nfd),
        "lower": lower,
    }
    for name, mapping in mappings.items():
        out += lines(name, [f"{c:x}=" + "+".join(f"{x:x}" for x in image) for c, image in sorted(mapping.items())], 10)
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    table = build()
    if args.check:
        sys.exit(0 if TABLE.read_text() == table else f"{TABLE.name} does not agree with tokenizers")
    TABLE.write_text(table)
    print(f"{TABLE.name}: {len(table)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
