"""PMO through the HTTP APIs of a gateway and a Triton of its own:

    scripts/triton/serve.py --scratch -- .venv-eval/bin/python -m scripts.eval.pmo [--write] [--tasks qed,...] [--seeds 3]
        [--searches latent,masked,both] [--form oracle|composed] [--calls 10000] [--particles 100] [--slack 1.5]

For each task, search and seed: one search, or two after each other, of 10,000 calls of the oracle, without a library: latent from
molecules that the model draws (smi []), masked from a generation without a template, both: a tenth of the calls masked, then latent
from the best of these. Reported: the area under the curve of the mean of the best ten, as mol_opt computes it, every 100 calls.

--form oracle makes each task a Triton model of the Python backend (model.py beside this file), which counts: a call is a distinct
molecule that it was asked for, and those of the model's file are what is measured. Calls beyond the limit are cut off. --form composed
has the gateway compute the tasks that its built-in terms can say; its own lists (evaluated) are measured.

--write writes the table into its section of EVALUATION.md beside this file; it needs all tasks, --calls 10000 and at least --seeds 3.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts import sections
from scripts.eval.pmo import oracles, tasks

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PAGE, SECTION = HERE / "EVALUATION.md", "eval-pmo"
SEARCHES = ("latent", "masked", "both")
PARTICLES = 100  # evaluations of an iteration, and molecules of a round
STARTS = 100  # molecules that a search hands to the next one
SLACK = 1.5  # evaluations for each call: texts that are no molecule are evaluations too


def auc(scores: list[float], calls: int, every: int = 100, best: int = 10) -> float:
    """Area under the mean of the best scores over calls, as a share of the whole; a search that ended early stays where it was."""
    scores = scores[:calls]
    total, before, seen = 0.0, 0.0, 0
    for end in [*range(every, len(scores), every), len(scores)]:
        top = sorted(scores[:end], reverse=True)[:best]
        mean = sum(top) / len(top) if top else 0.0
        total += (end - seen) * (mean + before) / 2
        before, seen = mean, end
    return (total + (calls - len(scores)) * before) / calls


class Gateway:
    """The two molecule APIs."""

    def __init__(self, latent: str, masked: str) -> None:
        self.urls = {"latent": latent, "masked": masked}
        self.particles, self.slack = PARTICLES, SLACK

    def generate(self, api: str, body: dict) -> dict:
        """The answer of /generate; SystemError with the text of a refusal."""
        request = urllib.request.Request(
            self.urls[api] + "/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=7200) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            raise SystemError(f"{refusal.code}: {refusal.read().decode()[:500]}") from None

    def search(self, search: str, objective: object, calls: int, seed: int) -> list[tuple[str, float]]:
        """Everything that a search scored, in its own order."""
        if search == "latent":
            return self.latent(objective, calls, seed, [])
        if search == "masked":
            return self.masked(objective, calls, seed)
        first = self.masked(objective, calls // 10, seed)
        starts = [smiles for smiles, _ in sorted(first, key=lambda pair: -pair[1])[:STARTS]]
        return first + self.latent(objective, calls - len(first), seed, starts)

    def latent(self, objective: object, calls: int, seed: int, starts: list[str]) -> list[tuple[str, float]]:
        body: dict[str, Any] = {
            "smi": starts,
            "shared": True,
            "objective": objective,
            "min_similarity": 0,
            "num_molecules": 10,
            "seed": seed,
            "particles": self.particles,
            "iterations": max(1, int(calls / self.particles * self.slack)),
            "evaluated": True,
        }
        while True:
            try:
                return [(m["smiles"], m["score"]) for m in self.generate("latent", body)["evaluated"]]
            except SystemError as refusal:  # a molecule that the model cannot read is no start
                unread = unreadable(str(refusal))
                if not unread:
                    raise
                body["smi"] = [smiles for i, smiles in enumerate(body["smi"]) if i not in unread]

    def masked(self, objective: object, calls: int, seed: int) -> list[tuple[str, float]]:
        first, rounds = calls // 10, 45 if calls >= 1000 else 0
        drawn = max(1, int((calls - first) / 45 * SLACK)) if rounds else calls
        body = {
            "objective": objective,
            "num_molecules": min(1000, drawn),
            "rounds": rounds,
            "attempts": 2,
            "unique": True,
            "seed": seed,
            "temperature": 1.0,
            "noise": 0.5,
            "evaluated": True,
        }
        return [(m["smiles"], m["score"]) for m in self.generate("masked", body)["evaluated"]]


def unreadable(refusal: str) -> set[int]:
    """The indices of smi that a refusal names."""
    if not refusal.startswith("422: "):
        return set()
    try:
        details = json.loads(refusal[5:])["detail"]
    except ValueError:
        return set()
    return {d["loc"][2] for d in details if d["loc"][:2] == ["body", "smi"]}


class OracleModel:
    """A task as a model in Triton's repository, and the calls that it counted."""

    def __init__(self, repository: Path, task: str, run: str) -> None:
        self.folder, self.name = repository / f"pmo_{run}", f"pmo-{run}"
        self.calls_file = repository.parent / f"{self.name}.calls"
        self.task = task

    def __enter__(self) -> OracleModel:
        made = self.folder.with_name("." + self.folder.name)
        (made / "1").mkdir(parents=True)
        shutil.copy(HERE / "model.py", made / "1")
        parameters = {
            "retort_api": "oracle",
            "model_id": self.name,
            "task": self.task,
            "code": str(HERE),
            "calls": str(self.calls_file),
        }
        (made / "config.pbtxt").write_text(
            'backend: "python"\nmax_batch_size: 512\ninput [ { name: "smiles" data_type: TYPE_STRING dims: [ 1 ] } ]\n'
            'output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]\ninstance_group [ { count: 1 kind: KIND_CPU } ]\n'
            + "".join(
                f'parameters {{ key: "{k}" value {{ string_value: {json.dumps(v)} }} }}\n'
                for k, v in parameters.items()
            )
        )
        made.rename(self.folder)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)
        self.calls_file.unlink(missing_ok=True)

    def wait(self, gateway: Gateway) -> None:
        """Until the gateway serves it."""
        for _ in range(240):
            try:
                gateway.generate(
                    "latent",
                    {"smi": "CCO", "algorithm": "none", "particles": 2, "num_molecules": 1, "objective": self.name},
                )
                return
            except SystemError as refusal:
                problem = refusal
                time.sleep(0.5)
        raise SystemError(f"{self.name} is not served: {problem}")

    def counted(self) -> list[float]:
        """The score of each call, in order, without those of the probes before the search."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return [float(line.rsplit(" ", 1)[1]) for line in lines]


def measure(gateway: Gateway, repository: Path, task: str, search: str, seed: int, form: str, calls: int) -> dict:
    """One search."""
    began = time.monotonic()
    if form == "composed":
        scores = [score for _, score in gateway.search(search, tasks.COMPOSED[task], calls, seed)]
    else:
        with OracleModel(repository, task, f"{task}_{search}_{seed}") as model:
            model.wait(gateway)
            before = len(model.counted())
            began = time.monotonic()
            gateway.search(search, model.name, calls, seed)
            scores = [0.0 if score != score else score for score in model.counted()[before:]]
    took = time.monotonic() - began
    top = sorted(scores[:calls], reverse=True)[:10]
    result = {
        "task": task,
        "search": search,
        "seed": seed,
        "form": form,
        "auc": auc(scores, calls),
        "top10": sum(top) / max(1, len(top)),
        "calls": min(calls, len(scores)),
        "beyond": max(0, len(scores) - calls),
        "seconds": round(took, 1),
    }
    print(json.dumps(result), flush=True)
    return result


@contextmanager
def served(binary: Path):
    """A gateway in front of the Triton that RETORT_TRITON_URL names, with limits for long searches."""
    ports = {name: free_port() for name in ("", "LATENT_", "MASKED_", "EMBEDDING_", "RANKING_", "CHAT_")}
    settings = {f"RETORT_{name}PORT": str(port) for name, port in ports.items()}
    settings |= {
        "RETORT_LATENT_TIMEOUT": "2h",
        "RETORT_MASKED_TIMEOUT": "2h",
        "RETORT_HOST": "127.0.0.1",
        "RETORT_MODEL_REPOSITORY": os.environ["RETORT_TEST_TRITON_REPOSITORY"],
        "RETORT_LOG_LEVEL": "error",
    }
    process = subprocess.Popen([binary, "serve"], env={**os.environ, **settings}, stdout=sys.stderr)
    try:
        urls = [f"http://127.0.0.1:{ports[name]}" for name in ("LATENT_", "MASKED_")]
        for url in urls:
            ready(url + "/v1/health/ready")
        yield Gateway(*urls)
    finally:
        process.terminate()
        process.wait()


def ready(url: str) -> None:
    for _ in range(240):
        try:
            urllib.request.urlopen(url).close()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemError(f"{url} does not become ready")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def report(results: list[dict]) -> str:
    """The table: a row per task, for each search the mean and deviation over seeds, and the sums."""
    searches = [s for s in SEARCHES if any(r["search"] == s for r in results)]
    lines = ["| task | " + " | ".join(searches) + " |", "| --- |" + " ---: |" * len(searches)]
    sums = dict.fromkeys(searches, 0.0)
    names = sorted({r["task"] for r in results})
    for task in names:
        cells = []
        for search in searches:
            values = [r["auc"] for r in results if (r["task"], r["search"]) == (task, search)]
            cells.append(
                f"{statistics.mean(values):.3f} ± {statistics.pstdev(values):.3f} ({len(values)})" if values else ""
            )
            sums[search] += statistics.mean(values) if values else 0.0
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    lines.append(f"| sum of {len(names)} | " + " | ".join(f"{sums[s]:.3f}" for s in searches) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(oracles.TASKS))
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--form", choices=("oracle", "composed"), default="oracle")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument(
        "--particles", type=int, default=PARTICLES, help="evaluations of an iteration of the latent search"
    )
    parser.add_argument("--slack", type=float, default=SLACK, help="evaluations of the latent search for each call")
    parser.add_argument("--binary", type=Path, default=ROOT / "bin/retort")
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "runs/pmo/results.jsonl",
        help="one line a search; those that are there are not run again",
    )
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page of --write")
    args = parser.parse_args(arguments)
    if args.write:
        if set(args.tasks.split(",")) != set(oracles.TASKS) or args.calls != 10_000 or args.seeds < 3:
            parser.error("--write needs all tasks, --calls 10000 and at least --seeds 3")
        sections.check(args.page, SECTION)
    if "RETORT_TEST_TRITON_REPOSITORY" not in os.environ:
        parser.error("run it below scripts/triton/serve.py --scratch --, as make eval-pmo does")
    repository = Path(os.environ["RETORT_TEST_TRITON_REPOSITORY"])
    args.results.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in args.results.read_text().splitlines()] if args.results.exists() else []
    known = {(r["task"], r["search"], r["seed"], r["form"]) for r in done}
    with served(args.binary) as gateway:
        gateway.particles, gateway.slack = args.particles, args.slack
        for seed in range(args.seeds):
            for task in args.tasks.split(","):
                for search in args.searches.split(","):
                    if (task, search, seed, args.form) in known or (
                        args.form == "composed" and task not in tasks.COMPOSED
                    ):
                        continue
                    done.append(measure(gateway, repository, task, search, seed, args.form, args.calls))
                    with args.results.open("a") as out:
                        out.write(json.dumps(done[-1]) + "\n")
    table = report([r for r in done if r["form"] == args.form])
    print(table)
    if args.write:
        sections.write(
            args.page,
            SECTION,
            f'`make eval-pmo UPDATE=1 ARGS="--searches {args.searches} --seeds {args.seeds} --form {args.form}"`, '
            f"{datetime.now(UTC):%Y-%m-%d}:\n\n{table}",
        )


if __name__ == "__main__":
    main()
