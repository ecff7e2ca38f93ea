#!/usr/bin/env python3
"""Measure Retort side by side with others, in one run, and print tables in Markdown.

    make bench                          every part
    make bench PART=embedding           one or more parts
    make bench PART=embedding ARGS="-rounds 15"
    make bench PART=cmaes ARGS="--only speed"
    make bench UPDATE=1 PART=latent     write what it prints into SPEED.md, in the part's section

parts:
  embedding   the gateway against ready tensors straight to the same Triton, against ONNX Runtime alone at its best
              (texts sorted by length, in the calls that are fastest here) and against infinity-emb: throughput,
              latency, mixed lengths; starts its own Triton. RETORT_BENCH_PEER=0 leaves infinity out, whose first start
              installs 5 GB. The local Triton runs graphs through a Python backend of this project
              (scripts/triton/backends): ONNX Runtime alone shows what that costs
  int8        the embedding model in int8 (retort model quantize) against itself in fp32, both through the gateway;
              starts its own Triton
  memory      the gateway's resident memory under loads on four APIs at once; starts its own Triton; ARGS="--minutes 10"
              for longer
  ranking     the ranking API likewise, with the ranker of the repository: pairs per second, and single passages among
              lists; under 6 minutes (infinity's start not counted), ARGS="-rounds 3 -period 1s" in less
  tokenizers  the Go tokenizers against the Hugging Face library called from Python
  chem        the Go molecules against Python RDKit (Debian's python3-rdkit and rdkit-data)
  latent      evaluations per second of one and eight searches against decoding by ONNX Runtime alone; decoding against
              that on the same graph and against PyTorch in fp32, with a key/value cache and without; the gateway's
              share of a /generate, memory, ten searches at once; starts its own Triton, and needs torch (make
              .venv-train/stamp)
  masked      one request for 100 molecules, and one for 1,000, against ONNX Runtime alone on the same graph and against
              the PyTorch loop in fp32, ten of 10 at once, and the gateway's share; starts its own Triton, and needs
              torch (make .venv-train/stamp)
  cmaes       CMA-ES against PyPI cma: evaluations and seconds, 5 minutes
  chat        the model that reads drawings: first token and whole answer, one and eight conversations, the gateway's
              share of a token; starts its own Triton. Its tokens are the pieces of an answer that is computed before
              the first is sent
  jobs        batches through OpenAI's client: 50,000 texts exactly once and the gateway's memory; throughput against 32
              clients; times of single requests beside a batch; a file of 200 MB; starts its own Triton, and needs make
              .venv-openai/stamp. 20 minutes; ARGS="--lines 2000 --round-lines 1000 --rounds 2 --seconds 5" in less,
              ARGS="--part whole" for one part
  discovery   what 50 gateways cost that follow 100 Tritons with 1,000 models, with small servers in the place of the
              Tritons: calls, bytes, cores, memory, seconds until a change is known everywhere; 2 minutes on idle cores;
              ARGS="-gateways 10 -seconds 5" in less

ARGS go to the program of the one part named. Rounds in which other programs had more than 5 % of the machine are taken
again, and a bound is not judged where they had more than 10 % of it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--args", default="", help="for the program of the one part named")
    parser.add_argument("--update", action="store_true", help="write what a part prints into its section of SPEED.md")
    parser.add_argument("--behind", choices=BEHIND, help=argparse.SUPPRESS)  # this script, with a Triton running
    parser.add_argument("part", nargs="*", choices=[*PARTS, []], help="all by default")
    options = parser.parse_args()
    extra = shlex.split(options.args)
    if extra and len(options.part) != 1:
        parser.error("arguments need exactly one part")
    if options.behind:
        return guarded(lambda _: BEHIND[options.behind](os.environ["RETORT_TRITON_URL"], extra), extra)
    failed = []
    if options.update:
        for name in options.part or PARTS:
            failed += [name] if update(name, options.args) else []
        return 1 if failed else 0
    print(machine(), flush=True)
    for name in options.part or PARTS:
        print(f"\n## {name}\n", flush=True)
        failed += [name] if guarded(PARTS[name], extra) else []
    if failed:
        print(f"\nfailed or missed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def update(name: str, args: str) -> int:
    """Runs a part and returns its exit status; on success what it printed is written into its section of SPEED.md."""
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
    heading, *body = [line for line in printed if not line.startswith("## ")]
    called = f"`make bench PART={name}" + (f' ARGS="{args}"`' if args else "`")
    called += " with `RETORT_BENCH_PEER=0`" if os.environ.get("RETORT_BENCH_PEER") == "0" else ""
    text = f"{called}, {datetime.now(UTC):%Y-%m-%d}, {heading.strip()}\n\n{''.join(body).strip()}\n"
    sections.write(PAGE, name, text)
    return 0


def guarded(part: Callable[[list[str]], int], extra: list[str]) -> int:
    """Runs a part and returns its status, 1 with a line on stderr if it cannot run."""
    try:
        return part(extra)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench | {error}", file=sys.stderr)
        return 1


def machine() -> str:
    """One line that describes the machine and its load before the start."""
    model, extensions = processor()
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / 2**20
    load = ", ".join(f"{n:.1f}" for n in os.getloadavg())
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    cores = len(os.sched_getaffinity(0))
    return (
        f"{cores} cores of {model} ({extensions}), {memory:.0f} GiB, {platform.platform(terse=True)}; "
        f"{cores} threads for each model and for PyTorch, one for tokenizers and chem; "
        f"load before the start {load} (1, 5, 15 minutes); commit {commit or 'unknown'}"
    )


# Vector extensions that decide how fast a processor multiplies matrices: Linux's name and the vendor's.
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


def processor() -> tuple[str, str]:
    """The processor's name and its vector extensions."""
    info = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in info.items()}
    flags = fields.get("flags", fields.get("Features", "")).split()
    extensions = [name for flag, name in EXTENSIONS.items() if flag in flags]
    return fields.get("model name", platform.machine()), ", ".join(extensions) or "no known vector extension"


def embedding(extra: list[str]) -> int:
    return around("embedding", extra)


def ranking(extra: list[str]) -> int:
    ranker()
    return around("ranking", extra)


def latent(extra: list[str]) -> int:
    return around("latent", extra)


def masked(extra: list[str]) -> int:
    return around("masked", extra)


def around(part: str, extra: list[str], repository: str = "") -> int:
    """Runs the part's second half (BEHIND) while a dedicated Triton serves on free ports."""
    again = [sys.executable, str(HERE / "run.py"), f"--behind={part}", f"--args={shlex.join(extra)}", part]
    served = ["--repository", repository] if repository else []
    return follow([sys.executable, str(ROOT / "scripts" / "triton" / "serve.py"), *served, "--", *again])


def chat(extra: list[str]) -> int:
    return around("chat", extra)


def built(part: str) -> Path:
    """Builds a part's Go program and returns its path."""
    CACHE.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-trimpath", "-o", CACHE / part, f"./scripts/bench/{part}"], cwd=ROOT, check=True)
    return CACHE / part


def program(part: str, triton: str, model: str) -> list:
    """Builds a part's Go program and returns its command."""
    command = [built(part), "-triton", triton, "-model", model]
    python = ROOT / ".venv-triton" / "bin" / "python3"
    if python.exists():
        command += ["-python", python]
    if pidfile := os.environ.get("RETORT_TEST_TRITON_PIDFILE"):
        command += ["-triton-pid", Path(pidfile).read_text().strip()]
    return command


def ranker() -> tuple[Path, dict[str, str]]:
    """The first ranking entry of the repository, and its parameters."""
    for config in sorted((ROOT / "model_repository").glob("*/config.pbtxt")):
        parameters = dict(re.findall(r'key:\s*"(\w+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', config.read_text()))
        if parameters.get("retort_api") == "ranking":
            return config.parent, parameters
    raise RuntimeError("model_repository/ has no entry of the ranking API")


def ranking_behind(triton: str, extra: list[str]) -> int:
    entry, parameters = ranker()
    command = [
        *program("ranking", triton, parameters["model_id"]),
        "-entry",
        entry,
        "-max-length",
        parameters.get("max_model_len", "512"),
    ]
    with servers.gateway(triton, "ranking") as gateway:
        command += ["-gateway", gateway.url, "-gateway-pid", str(gateway.process.pid)]
        if os.environ.get("RETORT_BENCH_PEER") == "0":
            return follow([*command, *extra])
        with servers.infinity_ranker(entry) as peer:
            apart = servers.check_same_ranker(gateway.url, peer.url, parameters["model_id"])
            print(
                f"{entry.name}; peer: infinity-emb 0.0.78, its ONNX engine, the same graph, defaults; "
                f"logits differ by at most {apart:.5f}",
                flush=True,
            )
            command += ["-peer", peer.url, "-peer-model", servers.PEER_RANKER, "-peer-pid", str(peer.process.pid)]
            return follow([*command, *extra])


def chat_behind(triton: str, extra: list[str]) -> int:
    with servers.gateway(triton, "chat") as gateway:
        return follow([built("chat"), "-triton", triton, "-gateway", gateway.url, *extra])


def embedding_behind(triton: str, extra: list[str]) -> int:
    command = program("embedding", triton, MODEL)
    with servers.gateway(triton) as gateway:
        command += ["-gateway", gateway.url, "-gateway-pid", str(gateway.process.pid)]
        if os.environ.get("RETORT_BENCH_PEER") == "0":
            return follow([*command, *extra])
        with servers.infinity() as peer:
            cosine = servers.check_same(gateway.url, peer.url, MODEL, servers.PEER_MODEL)
            print(
                "peer: infinity-emb 0.0.78, its ONNX engine, weights in fp32, defaults; the gateway's graph stores "
                f"the same weights in int8 and computes in fp32 too; cosine to the gateway's vector {cosine:.5f}",
                flush=True,
            )
            command += ["-peer", peer.url, "-peer-model", servers.PEER_MODEL, "-peer-pid", str(peer.process.pid)]
            return follow([*command, *extra])


def latent_behind(triton: str, extra: list[str]) -> int:
    interpreter = ROOT / ".venv-train" / "bin" / "python"
    if not interpreter.exists():
        raise RuntimeError("latent: torch is missing: make .venv-train/stamp")
    with servers.gateway(triton, "latent") as gateway:
        return follow(
            [
                interpreter,
                "-m",
                "scripts.bench.latent",
                "--url",
                gateway.url,
                "--log",
                str(gateway.log),
                "--gateway-pid",
                str(gateway.process.pid),
                "--triton-pid",
                Path(os.environ["RETORT_TEST_TRITON_PIDFILE"]).read_text().strip(),
                *extra,
            ]
        )


def masked_behind(triton: str, extra: list[str]) -> int:
    interpreter = ROOT / ".venv-train" / "bin" / "python"
    if not interpreter.exists():
        raise RuntimeError("masked: torch is missing: make .venv-train/stamp")
    with servers.gateway(triton, "masked") as gateway:
        return follow(
            [
                interpreter,
                "-m",
                "scripts.bench.masked",
                "--url",
                gateway.url,
                "--pids",
                str(gateway.process.pid),
                Path(os.environ["RETORT_TEST_TRITON_PIDFILE"]).read_text().strip(),
                *extra,
            ]
        )


def int8(extra: list[str]) -> int:
    """Runs the part on a repository of the model and its int8 twin."""
    with tempfile.TemporaryDirectory(prefix="retort-bench-int8-") as folder:
        shutil.copytree(ROOT / "model_repository" / "minilm_embed", Path(folder, "minilm_embed"))
        subprocess.run(
            [ROOT / "bin" / "retort", "model", "quantize", "minilm_embed", "--id", TWIN, "--repository", folder],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return around("int8", extra, folder)


def int8_behind(triton: str, extra: list[str]) -> int:
    with servers.gateway(triton, repository=Path(os.environ["RETORT_TEST_TRITON_REPOSITORY"])) as gateway:
        return follow(
            [
                *program("embedding", triton, MODEL),
                "-gateway",
                gateway.url,
                "-gateway-pid",
                str(gateway.process.pid),
                "-twin",
                TWIN,
                *extra,
            ]
        )


def memory(extra: list[str]) -> int:
    return around("memory", extra)


def memory_behind(triton: str, extra: list[str]) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="retort-bench-memory-") as folder,
        servers.gateway(triton, jobs=folder) as gateway,
    ):
        for api in ("ranking", "latent", "masked"):
            gateway.wait(f"{gateway.url}/{api}/v1/health/ready", 60)
        return follow(
            [python(), HERE / "memory.py", "--url", gateway.url, "--gateway-pid", str(gateway.process.pid), *extra]
        )


def jobs(extra: list[str]) -> int:
    return around("jobs", extra)


def jobs_behind(triton: str, extra: list[str]) -> int:
    interpreter = ROOT / ".venv-openai" / "bin" / "python"
    if not interpreter.exists():
        raise RuntimeError("jobs: OpenAI's client is missing: make .venv-openai/stamp")
    with (
        tempfile.TemporaryDirectory(prefix="retort-bench-jobs-") as folder,
        servers.gateway(triton, jobs=folder) as gateway,
    ):
        for api in ("ranking", "latent"):
            gateway.wait(f"{gateway.url}/{api}/v1/health/ready", 60)
        return follow(
            [interpreter, HERE / "jobs.py", "--url", gateway.url, "--gateway-pid", str(gateway.process.pid), *extra]
        )


def tokenizers(extra: list[str]) -> int:
    return script("tokenizers_bench.py", python(), extra)


def cmaes(extra: list[str]) -> int:
    return script("cmaes.py", python(), extra)


def chem(extra: list[str]) -> int:
    """With Debian's own Python, for which its RDKit is built."""
    debian = Path("/usr/bin/python3")
    if subprocess.run([debian, "-c", "from rdkit import Chem, RDConfig"], capture_output=True).returncode:
        raise RuntimeError("Python RDKit is missing: apt-get install python3-rdkit rdkit-data")
    return script("chem.py", debian, extra)


def discovery(extra: list[str]) -> int:
    return subprocess.run(["go", "run", "-trimpath", "./scripts/bench/discovery", *extra], cwd=ROOT).returncode


def python() -> Path:
    return environment(".venv-bench", HERE / "requirements.txt")


def script(name: str, interpreter: Path, extra: list[str]) -> int:
    return follow([interpreter, HERE / name, *extra])


def follow(command: list) -> int:
    """Run a command to its end; when this program is asked to end, it first ends the command in good order."""
    child = subprocess.Popen(command, cwd=ROOT)
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        child.wait()
        raise


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


PARTS = {
    "embedding": embedding,
    "ranking": ranking,
    "latent": latent,
    "masked": masked,
    "chat": chat,
    "int8": int8,
    "memory": memory,
    "jobs": jobs,
    "tokenizers": tokenizers,
    "chem": chem,
    "cmaes": cmaes,
    "discovery": discovery,
}
BEHIND = {
    "embedding": embedding_behind,
    "ranking": ranking_behind,
    "latent": latent_behind,
    "masked": masked_behind,
    "chat": chat_behind,
    "int8": int8_behind,
    "memory": memory_behind,
    "jobs": jobs_behind,
}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
