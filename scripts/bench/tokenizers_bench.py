"""Measures the Go package tokenizers against the reference library in Python, side by side on one thread each.

    pip install tokenizers==0.23.3
    python scripts/bench/tokenizers_bench.py [--tokenizer tokenizer.json ...] [--text FILE ...] [--rounds 7]

The sides alternate, so that other load affects both. Times are processor seconds. Two calls of the reference are timed:
encode(), one text at a time, and encode_batch_fast(), its fastest (a whole list, no offsets). Both must return as many
tokens as Go. The printed ratio is the median over the rounds, with minimum and maximum.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "golden"))
import tokenizers_golden  # noqa: E402
import tokenizers_texts  # noqa: E402


def timed(call):
    start = time.process_time()
    tokens = call()
    return tokens, time.process_time() - start


def encode_each(tok, texts):
    return sum(len(tok.encode(t).ids) for t in texts)


def encode_batch(tok, texts):
    return sum(len(e.ids) for e in tok.encode_batch_fast(texts))


def compare(binary, path, texts, rounds, tmp):
    raw = path.read_bytes()
    tokenizer_file = tmp / "tokenizer.json"
    tokenizer_file.write_bytes(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    texts_file = tmp / "texts.json"
    texts_file.write_text(json.dumps(texts))
    tok = tokenizers_golden.load(tokenizer_file)
    go = subprocess.Popen(
        [binary, tokenizer_file, texts_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert go.stdin and go.stdout
    speeds: dict[str, list[float]] = {"go": [], "encode": [], "batch": []}
    for n in range(rounds + 1):
        go.stdin.write("\n")
        go.stdin.flush()
        tokens, seconds = map(float, go.stdout.readline().split())
        results = {
            "go": (tokens, seconds),
            "encode": timed(lambda: encode_each(tok, texts)),
            "batch": timed(lambda: encode_batch(tok, texts)),
        }
        if len({t for t, _ in results.values()}) > 1:
            sys.exit(f"{path}: token counts differ: {results}")
        if n:  # the first round warms up
            for name, (t, s) in results.items():
                speeds[name].append(t / s)
    go.stdin.close()
    go.wait()
    return speeds


def report(name, speeds):
    print(f"{name}: Go {statistics.median(speeds['go']) / 1e6:.2f} M tokens/s")
    for call, what in (
        ("encode", "encode(), one text a call"),
        ("batch", "encode_batch_fast(), all texts in one call"),
    ):
        ratios = [g / r for g, r in zip(speeds["go"], speeds[call])]
        print(
            f"  against {what}: {statistics.median(speeds[call]) / 1e6:.2f} M tokens/s; "
            f"Go is {statistics.median(ratios):.1f} times as fast "
            f"({min(ratios):.1f} to {max(ratios):.1f} over {len(ratios)} rounds)"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tokenizer", type=pathlib.Path, nargs="*", default=sorted(tokenizers_golden.DATA.glob("*/tokenizer.json.gz"))
    )
    parser.add_argument("--text", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    texts = (list(tokenizers_golden.read_texts(args.text)) or tokenizers_texts.prose())[:12000]
    print(
        f"{len(texts)} texts, tokenizers {tokenizers.__version__}, "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    with tempfile.TemporaryDirectory() as tmp:
        binary = pathlib.Path(tmp) / "bench"
        subprocess.run(["go", "build", "-o", binary, "./scripts/bench/tokenizers"], cwd=ROOT, check=True)
        for path in args.tokenizer:
            name = path.parent.name
            report(name, compare(binary, path, texts, args.rounds, pathlib.Path(tmp)))


if __name__ == "__main__":
    main()
