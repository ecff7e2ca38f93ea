"""Writes the golden files of the Go package tokenizers, and compares it with the reference library on many lines.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    python scripts/golden/tokenizers_golden.py golden [--train] [--only NAME ...]  # rewrites tokenizers/testdata
    python scripts/golden/tokenizers_golden.py trial [--text FILE ...]  # counts differences on 20,000 lines

"truncation" and "padding" of a file are switched off in the reference, because the Go package ignores them. Half of
the lines of the trial are real texts: of FILE, with one text per line or JSON lines with "text" or "query", else the
source of the Python library.
"""

import argparse
import gzip
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizers_families
import tokenizers_texts

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tokenizers" / "testdata"


def load(path):
    raw = path.read_bytes()
    tok = tokenizers.Tokenizer.from_str((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode())
    tok.no_padding()
    tok.no_truncation()
    return tok


def write(path, rows):
    """Writes rows with gzip and without a time, so that the same rows give the same file."""
    text = "".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{path}: {len(rows)} rows, {path.stat().st_size} bytes", file=sys.stderr)


def text_row(tok, text):
    return {"text": text, "ids": tok.encode(text).ids}


def truncated_row(tok, rng, texts):
    """Returns a row of a random pair or text with random truncation, without ids if the library refuses it."""
    a, b = rng.choice(texts), rng.choice(texts)
    row = {
        "text": a,
        "max": rng.randint(2, 40),
        "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
        "direction": rng.choice(["left", "right"]),
    }
    if rng.random() < 0.8:
        row["pair"] = b
    room = row["max"] - tok.num_special_tokens_to_add("pair" in row)
    if room < 1 or row["strategy"] == "only_second" and "pair" not in row:
        return None
    tok.no_truncation()
    row["length"] = len(tok.encode(a, row.get("pair")).ids)
    tok.enable_truncation(row["max"], strategy=row["strategy"], direction=row["direction"])
    try:
        e = tok.encode(a, row.get("pair"))
        row |= {"ids": e.ids, "types": e.type_ids}
    except Exception:  # the library raises a bare Exception
        pass
    tok.no_truncation()
    return row


def code_points(tok, end):
    """Returns a digest for each 1,024 code points below end, of the ids of the texts "x", code point, "y"."""
    out = []
    for start in range(0, end, 1024):
        digest = hashlib.sha256()
        texts = [f"x{chr(c)}y" for c in range(start, start + 1024) if not 0xD800 <= c <= 0xDFFF]
        for e in tok.encode_batch(texts):
            digest.update(" ".join(map(str, e.ids)).encode() + b"\n")
        out.append({"from": start, "sha256": digest.hexdigest()[:16]})
    return out


def scores():
    """Returns numbers in a file with the values that the library reads, which are not always the nearest."""
    rng = random.Random(24)
    texts = [repr(-rng.random() * 10 ** rng.randint(-3, 3)) for _ in range(180)]
    texts += [
        "-0.0",
        "0.0",
        "-5",
        "7",
        "1e-5",
        "-2.5E+3",
        "-12345678901234567890.5",
        "-123456789012345678901234.5",
        "-0.00000000000000000000012345",
        "-1.2345678901234567890123456789",
        "18446744073709551615",
        "18446744073709551616",
        "-3.4e-300",
        "9.87654321e30",
    ]
    vocab = ",".join(f'["t{i}",{t}]' for i, t in enumerate(texts))
    tok = tokenizers.Tokenizer.from_str(
        '{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,'
        '"pre_tokenizer":null,"post_processor":null,"decoder":null,'
        '"model":{"type":"Unigram","unk_id":0,"vocab":[' + vocab + "]}}"
    )
    read = [score for _, score in json.loads(tok.to_str())["model"]["vocab"]]
    return [{"text": t, "value": float(v)} for t, v in zip(texts, read)]


def make_tokenizer(path, name, texts, size):
    """Trains a tokenizer and writes its file. That of "wordpiece" is all-MiniLM-L6-v2's and is only copied."""
    if name == "wordpiece":
        path.write_bytes((DATA / name / "tokenizer.json.gz").read_bytes())
    else:
        path.write_bytes(gzip.compress(tokenizers_families.train(name, texts, size).encode(), 9, mtime=0))
    return load(path)


def golden(args):
    corpus = tokenizers_texts.prose() + tokenizers_texts.Texts(seed=19).lines(3000)
    write(DATA / "scores.jsonl.gz", scores())
    for name in args.only or ["wordpiece", *tokenizers_families.FAMILIES]:
        folder = DATA / name
        folder.mkdir(exist_ok=True)
        path, many, own = folder / "tokenizer.json.gz", name == "wordpiece", tokenizers_families.SMALL.get(name, [])
        size = 1500 if own else 2500
        tok = load(path) if path.exists() and not args.train else make_tokenizer(path, name, corpus, size)
        texts = own + tokenizers_texts.Texts(seed=20).lines(700 if many else 200 if own else 300)
        rng = random.Random(21)
        write(folder / "golden.jsonl.gz", [text_row(tok, t) for t in texts])
        rows = [truncated_row(tok, rng, texts) for _ in range(500 if many else 60 if own else 150)]
        write(folder / "pairs.jsonl.gz", [r for r in rows if r])
        write(folder / "codepoints.jsonl.gz", code_points(tok, 0x20000 if own else 0x110000))


def read_texts(paths):
    for path in paths:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as f:
            for line in f:
                row = json.loads(line) if ".jsonl" in path.name else line.rstrip("\n")
                yield row if isinstance(row, str) else row.get("text") or row.get("query")


def trial(args):
    real = list(read_texts(args.text)) or tokenizers_texts.prose()
    texts = random.Random(22).sample(real, min(args.lines // 2, len(real)))
    texts += tokenizers_texts.Texts(seed=23, real=real).lines(args.lines - len(texts))
    corpus = real[:20000] + texts[-5000:]
    with tempfile.TemporaryDirectory() as tmp:
        for name in args.only or ["wordpiece", *tokenizers_families.FAMILIES]:
            out = pathlib.Path(tmp) / name
            out.mkdir()
            tok = make_tokenizer(out / "tokenizer.json.gz", name, corpus, args.vocabulary)
            write(out / "golden.jsonl.gz", [text_row(tok, t) for t in texts])
        command = ["go", "test", "./tokenizers", "-count=1", "-run", "^TestGoldenTexts$", "-v", "-golden", tmp]
        sys.exit(subprocess.run(command, cwd=ROOT).returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    g = commands.add_parser("golden")
    g.add_argument("--train", action="store_true", help="also train the small tokenizers again")
    g.add_argument("--only", nargs="*", choices=["wordpiece", *tokenizers_families.FAMILIES])
    g.set_defaults(run=golden)
    t = commands.add_parser("trial")
    t.add_argument("--lines", type=int, default=20000)
    t.add_argument(
        "--vocabulary", type=int, default=12000, help="tokens of the tokenisers that are trained for the trial"
    )
    t.add_argument("--only", nargs="*", choices=["wordpiece", *tokenizers_families.FAMILIES])
    t.add_argument("--text", type=pathlib.Path, nargs="*", default=[])
    t.set_defaults(run=trial)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
