"""Measures PMO through the molecule APIs of a gateway, with a Triton of its own:

    scripts/triton/serve.py --scratch -- .venv-eval/bin/python -m scripts.eval.pmo [--write] [--tasks qed,...]
        [--seeds 3] [--searches latent,masked,both] [--form oracle|composed] [--calls 10000|1000|100] [--particles N]
        [--slack 1.75]

Each task, search and seed has --calls calls of the oracle and starts without a library of molecules: latent from
molecules that the model samples (smi []); masked from a generation without a template; both with masked for a tenth of
the calls, then latent from the best of these molecules. The figure is the area under the curve of the mean of the best
ten, as mol_opt computes it, every 100 calls; with fewer than 1,000 calls, ten times.

With --form oracle a task is a Triton model of the Python backend (model.py beside this file), which counts a call for
each distinct molecule, and fails after the last call, which ends the search. With --form composed the gateway computes
the tasks that consist of its built-in terms, and the calls are the molecules that its answer lists as evaluated.

A search that ended early, such as by the time limit of a request, is "cut short" in the table: it has no part in the
figures, and the next run repeats it. So is one that used up its evaluations before its calls: see --slack.

--write writes the table into its section of EVALUATION.md beside this file: one of SECTIONS, or COMPARISON. It needs
all tasks, and three seeds with 10,000 calls. A search with an oracle spends more work on each choice than one with the
gateway's built-in terms, so the two forms have different figures.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
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
PAGE = HERE / "EVALUATION.md"
SECTIONS = {10_000: "eval-pmo", 1000: "eval-pmo-1000", 100: "eval-pmo-100"}
"""The section of the page by the number of calls."""
COMPARISON = "eval-pmo-searches"
"""The section of several searches with 1,000 calls."""
LEAST_SEEDS = {10_000: 3, 1000: 1, 100: 1}
"""The seeds that a written table has at least, by the number of calls."""
SEARCHES = ("latent", "masked", "both")
PARTICLES = {10_000: 100, 1000: 25, 100: 10}
"""Evaluations of an iteration of the latent search, by the number of calls: few calls still make many iterations."""
STARTS = 100  # molecules of the masked search that the latent search starts from
SLACK = 1.75  # evaluations per call: a text that is no molecule, or one seen before, is an evaluation, but not a call
SPARE = 10  # calls before a search: the gateway tests an oracle with some molecules


def auc(scores: list[float], calls: int, every: int = 100, best: int = 10) -> float:
    """Returns the mean over `calls` of the mean of the best scores so far. After an early end it stays the same."""
    scores = scores[:calls]
    total, before, seen = 0.0, 0.0, 0
    for end in [*range(every, len(scores), every), len(scores)]:
        top = sorted(scores[:end], reverse=True)[:best]
        mean = sum(top) / len(top) if top else 0.0
        total += (end - seen) * (mean + before) / 2
        before, seen = mean, end
    return (total + (calls - len(scores)) * before) / calls


class Gateway:
    """A client of the two molecule APIs."""

    def __init__(self, latent: str, masked: str) -> None:
        self.urls = {"latent": latent, "masked": masked}
        self.particles, self.slack = PARTICLES[10_000], SLACK
        self.unfinished: dict | None = None  # of the last answer: why the search ended early

    def generate(self, api: str, body: dict) -> dict:
        """Returns the answer of /generate. SystemError: the status and text of another answer."""
        request = urllib.request.Request(
            self.urls[api] + "/generate", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=7200) as response:
                answer = json.load(response)
                self.unfinished = answer.get("unfinished")
                return answer
        except urllib.error.HTTPError as refusal:
            raise SystemError(f"{refusal.code}: {refusal.read().decode()[:500]}") from None

    def search(self, search: str, objective: object, calls: int, seed: int) -> list[tuple[str, float]]:
        """Returns the molecules that a search scored, in order, with their scores."""
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
            except SystemError as refusal:  # the model may be unable to read some of the starts
                unread = unreadable(str(refusal))
                if not unread:
                    raise
                body["smi"] = [smiles for i, smiles in enumerate(body["smi"]) if i not in unread]

    def masked(self, objective: object, calls: int, seed: int) -> list[tuple[str, float]]:
        first, rounds = calls // 10, 45 if calls >= 1000 else 0
        molecules = max(1, int((calls - first) / 45 * SLACK)) if rounds else calls
        body = {
            "objective": objective,
            "num_molecules": min(1000, molecules),
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
    """A task as a model in Triton's repository, and the log of its calls."""

    def __init__(self, repository: Path, task: str, run: str, limit: int) -> None:
        self.limit = limit
        self.folder, self.name = repository / f"pmo_{run}", f"pmo-{run}"
        self.calls_file = repository.parent / f"{self.name}.calls"
        self.task = task

    def __enter__(self) -> OracleModel:
        hidden = self.folder.with_name("." + self.folder.name)  # Triton ignores it until it is complete
        (hidden / "1").mkdir(parents=True)
        shutil.copy(HERE / "model.py", hidden / "1")
        parameters = {
            "retort_api": "oracle",
            "model_id": self.name,
            "task": self.task,
            "code": str(HERE),
            "calls": str(self.calls_file),
            "limit": str(self.limit),
        }
        (hidden / "config.pbtxt").write_text(
            'backend: "python"\nmax_batch_size: 512\n'
            'input [ { name: "smiles" data_type: TYPE_STRING dims: [ 1 ] } ]\n'
            'output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]\n'
            "instance_group [ { count: 1 kind: KIND_CPU } ]\n"
            + "".join(
                f'parameters {{ key: "{k}" value {{ string_value: {json.dumps(v)} }} }}\n'
                for k, v in parameters.items()
            )
        )
        hidden.rename(self.folder)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder)
        self.calls_file.unlink(missing_ok=True)

    def wait(self, gateway: Gateway) -> None:
        """Waits until the gateway serves the model."""
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

    def calls(self) -> list[float]:
        """Returns the score of each call so far, in order."""
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return [float(line.rsplit(" ", 1)[1]) for line in lines]


def measure(gateway: Gateway, repository: Path, task: str, search: str, seed: int, form: str, calls: int) -> dict:
    """Runs one search and returns its figures."""
    start = time.monotonic()
    if form == "composed":
        scores = [score for _, score in gateway.search(search, tasks.COMPOSED[task], calls, seed)]
    else:
        with OracleModel(repository, task, f"{task}_{search}_{seed}", calls + SPARE) as model:
            model.wait(gateway)
            probes = len(model.calls())
            start = time.monotonic()
            gateway.search(search, model.name, calls, seed)
            scores = [0.0 if score != score else score for score in model.calls()[probes:]]
    seconds = time.monotonic() - start
    top = sorted(scores[:calls], reverse=True)[:10]
    result = {
        "task": task,
        "search": search,
        "seed": seed,
        "form": form,
        "limit": calls,
        "auc": auc(scores, calls, min(100, calls // 10)),
        "top10": sum(top) / max(1, len(top)),
        "calls": min(calls, len(scores)),
        "beyond": max(0, len(scores) - calls),
        "seconds": round(seconds, 1),
    }
    if len(scores) < calls:
        result["cut_short"] = gateway.unfinished or "all evaluations are used"
    print(json.dumps(result), flush=True)
    return result


@contextmanager
def start_gateway(binary: Path):
    """Runs a gateway in front of the Triton at RETORT_TRITON_URL, with timeouts for long searches."""
    ports = {name: free_port() for name in ("", "LATENT_", "MASKED_", "EMBEDDING_", "RANKING_", "CHAT_")}
    settings = {f"RETORT_{name}PORT": str(port) for name, port in ports.items()}
    settings |= {
        "RETORT_LATENT_TIMEOUT": "2h",
        "RETORT_MASKED_TIMEOUT": "2h",
        "RETORT_ORACLE_TIMEOUT": "1h",  # the pharmacophores of a molecule with many hydroxyl groups take seconds
        "RETORT_HOST": "127.0.0.1",
        "RETORT_MODEL_REPOSITORY": os.environ["RETORT_TEST_TRITON_REPOSITORY"],
        "RETORT_LOG_LEVEL": "error",
    }
    process = subprocess.Popen([binary, "serve"], env={**os.environ, **settings}, stdout=sys.stderr)
    try:
        urls = [f"http://127.0.0.1:{ports[name]}" for name in ("LATENT_", "MASKED_")]
        for url in urls:
            wait_ready(url + "/v1/health/ready")
        yield Gateway(*urls)
    finally:
        process.terminate()
        process.wait()


def wait_ready(url: str) -> None:
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
    """Returns the table: mean and deviation over the seeds by task and search, and the sums by search."""
    searches = [s for s in SEARCHES if any(r["search"] == s for r in results)]
    lines = ["| task | " + " | ".join(searches) + " |", "| --- |" + " ---: |" * len(searches)]
    means: dict[str, list[float]] = {search: [] for search in searches}
    names = sorted({r["task"] for r in results})
    for task in names:
        cells = []
        for search in searches:
            runs = [r for r in results if (r["task"], r["search"]) == (task, search)]
            values = [r["auc"] for r in runs if "cut_short" not in r]
            if values:
                means[search].append(statistics.mean(values))
                cells.append(f"{means[search][-1]:.3f} ± {statistics.pstdev(values):.3f} ({len(values)})")
            else:
                cells.append("cut short" if runs else "")
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    sums = [f"{sum(means[s]):.3f}" if len(means[s]) == len(names) else "" for s in searches]
    lines.append(f"| sum of {len(names)} | " + " | ".join(sums) + " |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(oracles.TASKS))
    parser.add_argument("--searches", default=",".join(SEARCHES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--form", choices=("oracle", "composed"), default="oracle")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument(
        "--particles",
        type=int,
        help="evaluations of an iteration of the latent search; default 100, 25 with fewer than 10,000 calls, 10 with "
        "fewer than 1,000",
    )
    parser.add_argument("--slack", type=float, default=SLACK, help="evaluations of the latent search per call")
    parser.add_argument("--binary", type=Path, default=ROOT / "bin/retort")
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "runs/pmo/results.jsonl",
        help="file of a line per search; searches in it with as many calls are not repeated",
    )
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page of --write")
    args = parser.parse_args(arguments)
    args.particles = args.particles or PARTICLES[max(calls for calls in PARTICLES if calls <= max(100, args.calls))]
    section = COMPARISON if "," in args.searches and args.calls == 1000 else SECTIONS.get(args.calls, "")
    if args.write:
        whole = set(args.tasks.split(",")) == set(oracles.TASKS)
        if not whole or not section or args.seeds < LEAST_SEEDS[args.calls]:
            parser.error("--write needs all tasks, and --calls 10000 with at least --seeds 3, or --calls 1000 or 100")
        sections.check(args.page, section)
    if "RETORT_TEST_TRITON_REPOSITORY" not in os.environ:
        parser.error("run it through scripts/triton/serve.py --scratch --, as make eval-pmo does")
    repository = Path(os.environ["RETORT_TEST_TRITON_REPOSITORY"])
    args.results.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in args.results.read_text().splitlines()] if args.results.exists() else []
    done = [r for r in done if r.get("limit", 10_000) == args.calls and "cut_short" not in r]
    known = {(r["task"], r["search"], r["seed"], r["form"]) for r in done}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the gateway ends, too
    with start_gateway(args.binary) as gateway:
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
    searches = args.searches.split(",")
    table = report([r for r in done if r["form"] == args.form and r["search"] in searches and r["seed"] < args.seeds])
    print(table)
    if args.write:
        sections.write(
            args.page,
            section,
            f'`make eval-pmo CALLS={args.calls} UPDATE=1 ARGS="--searches {args.searches} --seeds {args.seeds} '
            f'--form {args.form} --particles {args.particles} --slack {args.slack}"`, '
            f"{datetime.now(UTC):%Y-%m-%d}:\n\n{table}",
        )


if __name__ == "__main__":
    main()
