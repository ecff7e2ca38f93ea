"""Makes the golden files of the Go package tokenizers, and tries it against the reference library on many lines.

    pip install tokenizers==0.23.3
    python scripts/golden/tokenizers_golden.py golden                # rewrites tokenizers/testdata
    python scripts/golden/tokenizers_golden.py trial [--lines 20000] [--text FILE ...]   # runs both and counts the lines that differ

The reference's "truncation" and "padding" are switched off: the Go package reads past them. FILE holds one text per line, or
JSON lines with "text" or "query"; without it the real half of the trial is the Python library's own source.
"""
import argparse
import gzip
import hashlib
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import tokenizers
import tokenizers_texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tokenizers" / "testdata"


def load(path):
    raw = path.read_bytes()
    tok = tokenizers.Tokenizer.from_str((gzip.decompress(raw) if path.suffix == ".gz" else raw).decode())
    tok.no_padding()
    tok.no_truncation()
    return tok


def write(path, rows):
    """Gzip with no time in it, so that the same rows give the same file."""
    text = "".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{path}: {len(rows)} rows, {path.stat().st_size} bytes", file=sys.stderr)


def single(tok, text):
    e = tok.encode(text)
    return {"text": text, "ids": e.ids, "offsets": e.offsets, "decoded": tok.decode(e.ids, skip_special_tokens=True)}


def cut(tok, rng, texts):
    """A pair or a single text with every kind of truncation; a row without ids is one the library refuses."""
    a, b = rng.choice(texts), rng.choice(texts)
    row = {"text": a, "max": rng.randint(2, 40), "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
           "direction": rng.choice(["left", "right"])}
    if rng.random() < 0.8:
        row["pair"] = b
    spare = row["max"] - tok.num_special_tokens_to_add("pair" in row)
    if spare < 1 or row["strategy"] == "only_second" and "pair" not in row:
        return None
    tok.no_truncation()
    row["length"] = len(tok.encode(a, row.get("pair")).ids)
    tok.enable_truncation(row["max"], strategy=row["strategy"], direction=row["direction"])
    try:
        e = tok.encode(a, row.get("pair"))
        row |= {"ids": e.ids, "types": e.type_ids, "offsets": e.offsets}
    except Exception:  # the library raises a bare Exception
        pass
    tok.no_truncation()
    return row


def bare(tok, rng, texts):
    """Without the tokens that the post-processor adds."""
    a, b = rng.choice(texts), rng.choice(texts)
    e = tok.encode(a, b, add_special_tokens=False)
    return {"text": a, "pair": b, "bare": True, "length": len(e.ids), "ids": e.ids, "types": e.type_ids, "offsets": e.offsets}


def code_points(tok):
    """A digest for each 1,024 code points, of the ids and offsets of "x", the code point, "y"."""
    out = []
    for start in range(0, 0x110000, 1024):
        digest = hashlib.sha256()
        texts = [f"x{chr(c)}y" for c in range(start, start + 1024) if not 0xD800 <= c <= 0xDFFF]
        for e in tok.encode_batch(texts):
            digest.update(" ".join(f"{i}:{a}:{b}" for i, (a, b) in zip(e.ids, e.offsets)).encode() + b"\n")
        out.append({"from": start, "sha256": digest.hexdigest()[:16]})
    return out


def golden():
    for folder in sorted(p for p in DATA.iterdir() if (p / "tokenizer.json.gz").exists()):
        tok = load(folder / "tokenizer.json.gz")
        texts = tokenizers_texts.Texts(seed=20, real=()).lines(700)
        rng = random.Random(21)
        write(folder / "golden.jsonl.gz", [single(tok, t) for t in texts])
        rows = [cut(tok, rng, texts) for _ in range(500)] + [bare(tok, rng, texts) for _ in range(50)]
        write(folder / "pairs.jsonl.gz", [r for r in rows if r])
        write(folder / "codepoints.jsonl.gz", code_points(tok))


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
    with tempfile.TemporaryDirectory() as tmp:
        for folder in sorted(p for p in DATA.iterdir() if (p / "tokenizer.json.gz").exists()):
            out = pathlib.Path(tmp) / folder.name
            out.mkdir()
            (out / "tokenizer.json.gz").write_bytes((folder / "tokenizer.json.gz").read_bytes())
            tok = load(out / "tokenizer.json.gz")
            write(out / "golden.jsonl.gz", [single(tok, t) for t in itertools.islice(texts, args.lines)])
        command = ["go", "test", "./tokenizers", "-count=1", "-run", "^TestTrial$", "-v", "-trial", tmp]
        sys.exit(subprocess.run(command, cwd=ROOT).returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("golden").set_defaults(run=lambda _: golden())
    t = commands.add_parser("trial")
    t.add_argument("--lines", type=int, default=20000)
    t.add_argument("--text", type=pathlib.Path, nargs="*", default=[])
    t.set_defaults(run=trial)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
