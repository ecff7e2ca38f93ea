#!/usr/bin/env python3
"""Measures separable CMA-ES in Go (orchestrator/cmaes) against PyPI cma, side by side.

Both have the same functions, starts, step sizes, populations, targets and budgets.

    pip install numpy cma==4.5.0
    python scripts/bench/cmaes.py                  # both tables, about 5 minutes on two cores
    python scripts/bench/cmaes.py --only speed

Evaluations: the median over the seeds until the target is first reached. A seed that does not reach it within the
budget, or before a stop criterion ends the run, counts as infinitely many and is listed under "failed".

Speed: the time of ask + tell in a generation, without the evaluations, in alternating rounds. Threads:
OPENBLAS_NUM_THREADS for cma's numpy and GOMAXPROCS for Go, with one thread for both and with the defaults of both.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# function, dimensions, budget of evaluations, seeds
CASES = [(f, n, 10**5, 15) for n in (10, 40) for f in ("sphere", "ellipsoid")] + [
    ("sphere", 512, 10**6, 5),
    ("ellipsoid", 512, 10**6, 5),
]
TARGET = 1e-8
SPEED = [(512, 600), (40, 600), (10, 2000)]  # dimensions, generations


def population_size(n):
    """Returns cma's default."""
    return 4 + int(3 * math.log(n))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["evaluations", "speed"])
    parser.add_argument("--match", default="", help="only cases whose row has this prefix, such as 'sphere 40'")
    parser.add_argument("--json", type=Path, help="also write every run to this file")
    parser.add_argument("--python-task", help=argparse.SUPPRESS)  # set by both: run one task of cma
    args = parser.parse_args()
    if args.python_task:
        print(json.dumps(run(**json.loads(args.python_task))))
        return
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "cmaes"
        subprocess.run(["go", "build", "-o", binary, "./scripts/bench/cmaes"], cwd=ROOT, check=True)
        records = []
        if args.only != "speed":
            records += evaluations(binary, args.match)
        if args.only != "evaluations":
            records += speed(binary)
    if args.json:
        args.json.write_text("\n".join(map(json.dumps, records)) + "\n")


def both(binary, task, environment=None):
    """Runs the same task in Go and in Python, each in a process of its own."""
    environment = {**os.environ, **(environment or {})}
    flags = [f"-{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in task.items()]
    commands = {"go": [binary, *flags], "cma": [sys.executable, __file__, "--python-task", json.dumps(task)]}
    return {
        name: json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
        for name, command in commands.items()
    }


def evaluations(binary, match):
    print(
        "| function | n | lambda | target | seeds | Go median | cma median | Go / cma | failed Go, cma |\n"
        + "|---" * 9
        + "|"
    )
    records = []
    for function, n, budget, seeds in CASES:
        if not f"{function} {n}".startswith(match):
            continue
        task = {"function": function, "n": n, "lambda": population_size(n), "target": TARGET, "budget": budget}
        one = {"OPENBLAS_NUM_THREADS": "1"}  # faster for small matrices, with the same counts
        runs = [both(binary, {**task, "seed": seed}, one) for seed in range(1, seeds + 1)]
        records += [{**task, "seed": seed + 1, **pair} for seed, pair in enumerate(runs)]
        print_row(task, seeds, runs)
    return records


def print_row(task, seeds, runs):
    median, failed = {}, {}
    for half in ("go", "cma"):
        results = [pair[half] for pair in runs]
        median[half] = statistics.median(r["evaluations"] if r["reached"] else math.inf for r in results)
        failed[half] = sum(not r["reached"] for r in results)
    print(
        f"| {task['function']} | {task['n']} | {task['lambda']} | {task['target']:g} | {seeds} "
        f"| {median['go']:.0f} | {median['cma']:.0f} | {median['go'] / median['cma']:.2f} "
        f"| {failed['go']}, {failed['cma']} |",
        flush=True,
    )


def speed(binary, rounds=5):
    print("\n| n | threads | Go mean ms | cma mean ms | cma / Go | Go median ms | cma median ms |\n" + "|---" * 7 + "|")
    records = []
    for n, generations in SPEED:
        for threads in ("1", "default"):
            environment = {} if threads == "default" else {"OPENBLAS_NUM_THREADS": "1", "GOMAXPROCS": "1"}
            task = {"function": "ellipsoid", "n": n, "lambda": population_size(n), "generations": generations}
            runs = [both(binary, {**task, "seed": seed}, environment) for seed in range(1, rounds + 1)]
            records += [{**task, "threads": threads, "seed": seed + 1, **pair} for seed, pair in enumerate(runs)]
            mean, median = (
                {half: 1e3 * statistics.median(r[half][kind] for r in runs) for half in ("go", "cma")}
                for kind in ("mean", "median")
            )
            print(
                f"| {n} | {threads} | {mean['go']:.3f} | {mean['cma']:.3f} | {mean['cma'] / mean['go']:.1f} "
                f"| {median['go']:.3f} | {median['cma']:.3f} |",
                flush=True,
            )
    return records


def run(function, n, seed, target=TARGET, budget=10**6, generations=0, **population):
    """Runs one task with cma, with the parameters and results of scripts/bench/cmaes/main.go."""
    import cma
    import numpy as np

    warnings.simplefilter("ignore")
    weights = 1e6 ** (np.arange(n) / (n - 1))
    objective = {"sphere": lambda x: x @ x, "ellipsoid": lambda x: weights @ x**2}[function]
    start = 3 * np.sin(1.7 * np.arange(1, n + 1) + seed)
    # With verbose -10, cma writes no logs and does not look for a signals file in every generation.
    options = {"seed": seed, "CMA_diagonal": True, "popsize": population["lambda"], "ftarget": target, "verbose": -10}
    es = cma.CMAEvolutionStrategy(start, 1, options)
    evaluations, best, times = 0, math.inf, []
    while True:
        begin = time.perf_counter()
        xs = es.ask()
        ask = time.perf_counter() - begin
        fs = [float(objective(x)) for x in xs]
        begin = time.perf_counter()
        es.tell(xs, fs)
        times.append(ask + time.perf_counter() - begin)
        evaluations += len(fs)
        best = min(best, *fs)
        ends = len(times) == generations if generations else best <= target or evaluations >= budget or es.stop()
        if ends:
            break
    return {
        "evaluations": evaluations,
        "reached": best <= target,
        "best": best,
        "median": statistics.median(times),
        "mean": statistics.fmean(times),
    }


if __name__ == "__main__":
    main()
