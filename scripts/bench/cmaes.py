#!/usr/bin/env python3
"""CMA-ES side by side: retort/orchestrator/cmaes in Go and PyPI cma, on the same functions, starts, step sizes,
populations, targets and budgets, one seed after the other in turn.

    pip install numpy cma==4.5.0
    python scripts/bench/cmaes.py                  # both tables, about 15 minutes on two cores
    python scripts/bench/cmaes.py --only speed

Evaluations: median over the seeds, counted until the target is first reached, over all restarts together; a seed that
has not reached it within the budget counts as infinitely many and is listed under "failed". Both start again, at the same
point for both and with the same population, when their own stop criteria end a run short of the target; both have
the same default criteria.

Speed: seconds of ask + tell of one generation, without the evaluations, alternating rounds of generations. The mean is
what counts, since a lazy decomposition falls into few generations. Threads: OPENBLAS_NUM_THREADS for cma's numpy,
GOMAXPROCS for Go; once with one thread for both, once with the defaults of both.
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

# function, dimensions, separable, population (0: default), first step size, target, budget, restarts, seeds
CASES = [
    (f, n, False, 0, 1.0, 1e-8, budget, 0, 15)
    for n in (10, 40)
    for f, budget in (("sphere", 10**5), ("ellipsoid", 10**5), ("rosenbrock", 3 * 10**5))
] + [
    ("rastrigin", 10, False, 400, 3.0, 1e-8, 10**6, 9, 15),
    ("rastrigin", 40, False, 600, 3.0, 1e-8, 3 * 10**6, 9, 15),
    ("sphere", 512, False, 0, 1.0, 1e-8, 10**6, 0, 5),
    ("ellipsoid", 512, True, 0, 1.0, 1e-8, 10**6, 0, 5),
]
SPEED = [(512, False, 60), (512, True, 600), (40, False, 600), (10, False, 2000)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["evaluations", "speed"])
    parser.add_argument("--match", default="", help="only cases whose row begins so, e.g. 'rastrigin 40'")
    parser.add_argument("--json", type=Path, help="also write every single run here")
    parser.add_argument("--python-task", help=argparse.SUPPRESS)  # this script is its own other half
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
    """The same task in Go and in Python, each in a process of its own."""
    environment = {**os.environ, **(environment or {})}
    flags = [f"-{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in task.items()]
    commands = {"go": [binary, *flags], "cma": [sys.executable, __file__, "--python-task", json.dumps(task)]}
    return {
        name: json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
        for name, command in commands.items()
    }


def evaluations(binary, match):
    print(
        "| function | n | covariance | lambda | target | seeds | Go median | cma median | Go / cma "
        "| restarts Go, cma | failed Go, cma |\n" + "|---" * 11 + "|"
    )
    records = []
    for function, n, separable, population, sigma, target, budget, restarts, seeds in CASES:
        if not f"{function} {n}".startswith(match):
            continue
        task = {
            "function": function,
            "n": n,
            "separable": separable,
            "lambda": population,
            "sigma": sigma,
            "target": target,
            "budget": budget,
            "restarts": restarts,
        }
        one = {"OPENBLAS_NUM_THREADS": "1"}  # counts do not depend on it, and small matrices go faster
        runs = [both(binary, {**task, "seed": seed}, one) for seed in range(1, seeds + 1)]
        records += [{**task, "seed": seed + 1, **pair} for seed, pair in enumerate(runs)]
        print_row(task, population, seeds, runs)
    return records


def print_row(task, population, seeds, runs):
    median, restarts, failed = {}, {}, {}
    for half in ("go", "cma"):
        results = [pair[half] for pair in runs]
        median[half] = statistics.median(r["evaluations"] if r["reached"] else math.inf for r in results)
        restarts[half] = sum(r["restarts"] for r in results)
        failed[half] = sum(not r["reached"] for r in results)
    print(
        f"| {task['function']} | {task['n']} | {'separable' if task['separable'] else 'full'} "
        f"| {population or 'default'} | {task['target']:g} | {seeds} | {median['go']:.0f} | {median['cma']:.0f} "
        f"| {median['go'] / median['cma']:.2f} | {restarts['go']}, {restarts['cma']} "
        f"| {failed['go']}, {failed['cma']} |",
        flush=True,
    )


def speed(binary, rounds=5):
    print(
        "\n| n | covariance | threads | Go mean ms | cma mean ms | cma / Go | Go median ms | cma median ms |\n"
        + "|---" * 8
        + "|"
    )
    records = []
    for n, separable, generations in SPEED:
        for threads in ("1", "default"):
            environment = {} if threads == "default" else {"OPENBLAS_NUM_THREADS": "1", "GOMAXPROCS": "1"}
            task = {"function": "ellipsoid", "n": n, "separable": separable, "target": -1.0, "generations": generations}
            runs = [both(binary, {**task, "seed": seed}, environment) for seed in range(1, rounds + 1)]
            records += [{**task, "threads": threads, "seed": seed + 1, **pair} for seed, pair in enumerate(runs)]
            mean = {half: 1e3 * statistics.median(r[half]["mean"] for r in runs) for half in ("go", "cma")}
            middle = {half: 1e3 * statistics.median(r[half]["seconds"] for r in runs) for half in ("go", "cma")}
            print(
                f"| {n} | {'separable' if separable else 'full'} | {threads} | {mean['go']:.3f} | {mean['cma']:.3f} "
                f"| {mean['cma'] / mean['go']:.1f} | {middle['go']:.3f} | {middle['cma']:.3f} |",
                flush=True,
            )
    return records


def run(function, n, separable, target, seed, sigma=1.0, budget=10**6, restarts=0, generations=0, **population):
    """The Python half of scripts/bench/cmaes/main.go, in its form and with its results."""
    import cma
    import numpy as np

    warnings.simplefilter("ignore")
    weights = 1e6 ** (np.arange(n) / (n - 1))
    objective = {
        "sphere": lambda x: x @ x,
        "ellipsoid": lambda x: weights @ x**2,
        "rosenbrock": lambda x: np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (1 - x[:-1]) ** 2),
        "rastrigin": lambda x: np.sum(x**2 + 10 - 10 * np.cos(2 * np.pi * x)),
    }[function]
    evaluations, best, reached, times = 0, math.inf, False, []
    for attempt in range(restarts + 1):
        start = 3 * np.sin(1.7 * np.arange(1, n + 1) + seed + 100 * attempt)
        # verbose -10 also spares cma the look for a signals file in every generation; it writes no logs
        options = {"seed": seed + 1000 * attempt, "CMA_diagonal": separable or 0, "ftarget": target, "verbose": -10}
        if population.get("lambda"):
            options["popsize"] = population["lambda"]
        es = cma.CMAEvolutionStrategy(start, sigma, options)
        while evaluations < budget:
            begin = time.perf_counter()
            xs = es.ask()
            asked = time.perf_counter() - begin
            fs = [float(objective(x)) for x in xs]
            begin = time.perf_counter()
            es.tell(xs, fs)
            times.append(asked + time.perf_counter() - begin)
            evaluations += len(fs)
            best = min(best, *fs)
            reached = best <= target
            if reached or (len(times) >= generations if generations else es.stop()):
                break
        if reached or evaluations >= budget or generations:
            break
    return {
        "evaluations": evaluations,
        "reached": reached,
        "restarts": attempt,
        "best": best,
        "seconds": statistics.median(times),
        "mean": statistics.fmean(times),
    }


if __name__ == "__main__":
    main()
