"""Measures an embedding model of 0.6 billion parameters: what it costs to import it, to load it, and to embed a text.

    make bench PART=large

The model has the shape of Qwen3-Embedding-0.6B in bfloat16 and random weights, whose values do not matter for time and
memory. Each precision is a row: seconds and peak memory of `retort model import`, the size of the entry, seconds from
the start of Triton until the entry can be used, the peak memory of the process with the model after texts of the
lengths shown, and seconds for a text through the gateway, alone, best of three. The longest text takes minutes, so only
the first precision embeds it, once.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import servers
from environments import ROOT

HIDDEN, INNER, LAYERS, HEADS, GROUPS, HEAD, VOCABULARY = 1024, 3072, 28, 16, 8, 128, 151_669
LENGTHS = {32: 3, 512: 3, 8192: 1}
"""Tokens of the texts, and how often each is embedded."""
PRECISIONS = ("fp16", "fp32", "int8")
SECONDS = 1200
"""Until an answer must come."""
MODEL = "bench/large"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precisions", nargs="*", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--lengths", nargs="*", type=int, choices=LENGTHS, default=list(LENGTHS))
    parser.add_argument("--serving", nargs=2, metavar=("REPOSITORY", "STARTED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serving:
        measure_serving(Path(options.serving[0]), float(options.serving[1]), options.lengths)
        return
    columns = ["precision", "import, s", "its peak, MB", "entry, MB", "start, s", "peak of the model's process, MB"]
    columns += [f"{tokens:,} tokens, s" for tokens in options.lengths]
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="retort-bench-large-") as scratch:
        folder = make(Path(scratch, "model"))
        for i, precision in enumerate(options.precisions):
            lengths = [tokens for tokens in options.lengths if i == 0 or tokens != max(LENGTHS)]
            repository = Path(scratch, precision)
            print(f"| {precision} | {measure_import(folder, repository, precision)}", end="", flush=True)
            command = [sys.executable, ROOT / "scripts/triton/serve.py", "--repository", repository, "--"]
            command += [sys.executable, __file__, "--serving", repository, str(time.time()), "--lengths"]
            subprocess.run([*command, *map(str, lengths)], check=True)
            print(" |" + " |" * (len(options.lengths) - len(lengths)), flush=True)
            shutil.rmtree(repository)


def make(folder: Path) -> Path:
    """Writes the folder of the model."""
    folder.mkdir()
    described = {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": GROUPS,
        "head_dim": HEAD,
        "intermediate_size": INNER,
        "hidden_act": "silu",
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000,
    }
    (folder / "config.json").write_text(json.dumps(described))
    packed = ROOT / "tokenizers/testdata/bpe-qwen3/tokenizer.json.gz"
    (folder / "tokenizer.json").write_bytes(gzip.decompress(packed.read_bytes()))
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens.weight": (VOCABULARY, HIDDEN), "norm.weight": (HIDDEN,)}
    for i in range(LAYERS):
        layer = {
            "self_attn.q_proj": (HEADS * HEAD, HIDDEN),
            "self_attn.k_proj": (GROUPS * HEAD, HIDDEN),
            "self_attn.v_proj": (GROUPS * HEAD, HIDDEN),
            "self_attn.o_proj": (HIDDEN, HEADS * HEAD),
            "self_attn.q_norm": (HEAD,),
            "self_attn.k_norm": (HEAD,),
            "mlp.gate_proj": (INNER, HIDDEN),
            "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
            "input_layernorm": (HIDDEN,),
            "post_attention_layernorm": (HIDDEN,),
        }
        shapes |= {f"layers.{i}.{name}.weight": shape for name, shape in layer.items()}
    header, at = {}, 0
    for name, shape in shapes.items():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    random = np.random.default_rng(0)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for shape in shapes.values():
            values = random.standard_normal(int(np.prod(shape)), np.float32) * np.float32(0.02)
            file.write((values.view(np.uint32) >> 16).astype(np.uint16).tobytes())
    return folder


def measure_import(folder: Path, repository: Path, precision: str) -> str:
    """Imports the folder; returns the cells of seconds, peak memory and size."""
    command = [ROOT / "bin/retort", "model", "import", folder, "--api", "embedding", "--id", MODEL]
    command += ["--pooling", "lasttoken", "--max-length", "8192", "--precision", precision, "--repository", repository]
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - began
    if status:
        raise subprocess.CalledProcessError(status, command)
    size = sum(path.stat().st_size for path in repository.rglob("*") if path.is_file())
    return f"{seconds:.0f} | {used.ru_maxrss * 1024 / 1e6:.0f} | {size / 1e6:.0f}"


def measure_serving(repository: Path, started: float, lengths: list[int]) -> None:
    """Prints the cells of a running Triton with one entry."""
    os.environ["RETORT_EMBEDDING_TIMEOUT"] = f"{SECONDS}s"
    with servers.gateway(os.environ["RETORT_TRITON_URL"], repository=repository) as gateway:
        cells = [f"{time.time() - started:.0f}"]
        times = [f"{min(embed(gateway, tokens) for _ in range(LENGTHS[tokens])):.2f}" for tokens in lengths]
        cells.append(f"{peak_memory():.0f}")
    print(f" | {' | '.join(cells + times)}", end="", flush=True)


def embed(gateway: servers.Server, tokens: int) -> float:
    """Embeds a text of so many tokens and returns the seconds it took."""
    text = " ".join(["one"] * (tokens - 1))  # and the special token at the end
    body = {"model": MODEL, "input": text}
    request = urllib.request.Request(
        f"{gateway.url}/v1/embeddings", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    began = time.monotonic()
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        counted = json.load(answer)["usage"]["prompt_tokens"]
    seconds = time.monotonic() - began
    if counted != tokens:
        raise RuntimeError(f"the text has {counted} tokens, not {tokens}")
    return seconds


def peak_memory() -> float:
    """Returns the largest memory that a descendant of the launcher's Triton has had, in MB."""
    processes = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue  # it has ended
        processes[int(status.parent.name)] = dict(line.split(":", 1) for line in lines if ":" in line)
    family = [int(Path(os.environ["RETORT_TEST_TRITON_PIDFILE"]).read_text())]
    most = 0
    for pid in family:
        family += [child for child, facts in processes.items() if int(facts["PPid"]) == pid]
        most = max(most, int(processes[pid].get("VmHWM", "0").split()[0]))
    return most * 1024 / 1e6


if __name__ == "__main__":
    main()
