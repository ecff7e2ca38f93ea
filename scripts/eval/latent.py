"""Measures optimisation and sampling of the latent-space molecule API, through HTTP:

    python -m scripts.eval.latent --data DATA --url http://127.0.0.1:8001 [--tasks qed,plogp,...] [--limit 20]

qed    qed_opt_*.smi, one molecule per line: the share of starts for which a search finds a molecule with QED >= 0.9
       and 0.4 <= similarity < 1. Each start has a budget of 1,500 evaluations, and a sample of --starts one of 10,000.
       A search ends as soon as it succeeds.
plogp  plogp_opt_*.tsv, a sample of --starts: gain in normalised penalised logP over the start, or 0 if nothing better
       is found, with 8,080 evaluations, at similarity 0.4 and 0.6. Mean, deviation, median, share of gains >= 2.
space  zinc250k_valid.smi.gz: reconstruction through /hidden and /decode; molecules decoded from points around 200 of
       them at several radii (normal noise, no filter); and the molecules that /sampling returns around these 200.
drugs  drugs and other common molecules, see scripts.eval.latent_drugs: round trips of the molecules of ZINC250k
       and of the files of --valid; the documented defaults of /generate and /sampling on a sample of 100 molecules of
       these files; the scale of the hidden states; interpolation; the embeddings' neighbours.

makeable
       a sample of 50 of qed_opt_*.smi: the ten best of 300 evaluations for QED at a similarity of at least 0.4, of a
       search without a filter and of one with the filter synthesis_steps <= 3.

Samples depend on --seed. Python RDKit computes scores and similarities: Morgan fingerprints, radius 2, 2048 bits, no
chirality. An interrupted run resumes. It writes OUT/results.json, OUT/results.md and plots, and with --write the tables
of --tasks into their sections of the model's EVALUATION.md. --split tune uses the tuning files.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path

from scripts import sections
from scripts.eval import latent_drugs, latent_report, latent_space, molecules
from scripts.eval.service import Service

QED_BUDGETS = {1500: (30, 50), 10000: (100, 100)}
"""Particles and iterations by the number of evaluations (distinct decoded texts)."""
PLOGP_BUDGET = (101, 80)
MAKEABLE_BUDGET = (30, 10)
MAKEABLE_STARTS = 50
MAKEABLE_STEPS = 3
"""Of the task makeable: particles and iterations, the size of the sample, and the most steps of a route."""
PAGE = Path(__file__).resolve().parents[2] / "model_repository" / "latent_encoder" / "EVALUATION.md"


class API(Service):
    """The latent-space API."""

    def optimise(
        self, smiles: str, budget: tuple[int, int], similarity: float, name: str, seed: int, enough: float = math.inf
    ) -> tuple[list[dict], int]:
        """Runs a /generate request until it ends or the best score is `enough`.

        Returns a list with the best molecule, its score and similarity, or an empty list, and the number of
        evaluations.
        """
        particles, iterations = budget
        body = {
            "smi": smiles,
            "algorithm": "CMA-ES",
            "property_name": name,
            "min_similarity": similarity,
            "particles": particles,
            "iterations": iterations,
            "num_molecules": 1,
            "include_scores": True,
            "seed": seed,
            "stream": True,
        }
        evaluations, best = 0, None
        for event in self.events("/generate", body):
            if "iteration" not in event:
                if "generated" not in event:
                    raise RuntimeError(f"/generate: {event}")
                break
            evaluations, best = event["evaluations"], event["best"]
            if best and best["score"] >= enough:
                break
        return [best] if best else [], evaluations

    def events(self, path: str, body: dict) -> Iterator[dict]:
        """Yields the server-sent events of a request."""
        with self.open(path, body) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])


class Log:
    """A file of results by key, one line of JSON each, from which a run resumes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.done: dict[str, dict] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.done[row["key"]] = row

    def add(self, row: dict) -> None:
        self.done[row["key"]] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def run_each(log: Log, label: str, starts: list[str], concurrency: int, work: Callable[[str], dict]) -> list[dict]:
    """Runs work concurrently on each start that the log lacks; returns the rows of all starts, in order."""
    missing = [s for s in dict.fromkeys(starts) if f"{label} {s}" not in log.done]
    run_start = time.monotonic()
    with ThreadPoolExecutor(concurrency) as pool:

        def timed(start: str) -> dict:
            request_start = time.monotonic()
            return {
                "key": f"{label} {start}",
                "start": start,
                **work(start),
                "seconds": round(time.monotonic() - request_start, 3),
            }

        try:
            for count, future in enumerate(as_completed([pool.submit(timed, s) for s in missing]), 1):
                log.add(future.result())
                done, elapsed = len(starts) - len(missing) + count, time.monotonic() - run_start
                print(f"\r{label}: {done} of {len(starts)}, {elapsed:.0f} s", end="", file=sys.stderr)
        except BaseException:
            # Otherwise all pending work would run, and its results would be lost.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if missing:
        print(file=sys.stderr)
    return [log.done[f"{label} {s}"] for s in starts]


def sample(starts: list[str], count: int, seed: int) -> list[str]:
    """Returns at most `count` of the starts, always the same ones for a seed."""
    return starts if count >= len(starts) else random.Random(seed).sample(starts, count)


def qed(api: API, log: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields a row of figures for each budget."""
    starts = (given.data / f"qed_opt_{given.split}.smi").read_text().split()
    for evaluations in map(int, given.budgets.split(",")):
        budget = QED_BUDGETS[evaluations]
        chosen = sample(starts, given.limit or (len(starts) if evaluations == 1500 else given.starts), given.seed)

        def work(start: str, budget: tuple[int, int] = budget) -> dict:
            found, evaluations = api.optimise(start, budget, 0.4, "QED", given.seed, 0.9)
            return {**molecules.compared(start, found, molecules.qed), "evaluations": evaluations}

        rows = run_each(log, f"qed {evaluations}", chosen, given.concurrency, work)
        success = [r for r in rows if r["found"] and r["score"] >= 0.9 and 0.4 <= r["similarity"] < 1]
        yield {
            "evaluations": evaluations,
            "starts": len(rows),
            "success": len(success) / len(rows),
            "evaluations_median": statistics.median(r["evaluations"] for r in rows),
            **summary(rows),
        }


def plogp(api: API, log: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields a row of figures for each similarity."""
    rows = (given.data / f"plogp_opt_{given.split}.tsv").read_text().splitlines()[1:]
    chosen = sample([row.split("\t")[0] for row in rows], given.limit or given.starts, given.seed)
    for floor in map(float, given.floors.split(",")):

        def work(start: str, floor: float = floor) -> dict:
            found, evaluations = api.optimise(start, PLOGP_BUDGET, floor, "plogP", given.seed)
            return {**molecules.compared(start, found, molecules.penalized_logp), "evaluations": evaluations}

        rows = run_each(log, f"plogp {floor}", chosen, given.concurrency, work)
        valid = [r for r in rows if r["found"] and floor <= r["similarity"] < 1]
        gains = [max(0.0, r["score"] - r["start_score"]) for r in valid] + [0.0] * (len(rows) - len(valid))
        yield {
            "similarity": floor,
            "evaluations": PLOGP_BUDGET[0] * PLOGP_BUDGET[1],
            "starts": len(rows),
            **latent_report.spread(gains),
            "gains_2": sum(g >= 2 for g in gains) / len(gains),
            "gains": [round(g, 4) for g in gains],
            **summary(rows),
        }


def summary(rows: list[dict]) -> dict:
    """Returns the figures that both tasks have."""
    found = [r for r in rows if r["found"]]
    return {
        "seconds_mean": sum(r["seconds"] for r in rows) / len(rows),
        "without_result": len(rows) - len(found),
        "largest_disagreement": max((r["disagreement"] for r in found), default=0.0),
        "scores": [round(r["score"], 4) for r in found],
    }


def lines(file: Path) -> list[str]:
    """Reads the molecules of a .smi or .smi.gz file."""
    return (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode().split()


def space(api: API, _: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields one row: reconstruction, and figures of samples by radius."""
    chosen = sample(lines(given.data / "zinc250k_valid.smi.gz"), given.limit or given.molecules, given.seed)
    yield latent_space.measure(api.post, chosen, given.seed)


def drugs(api: API, _: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields one row: the figures of each section."""
    sets = {name: lines(given.data / name) for name in ("zinc250k_valid.smi.gz", *given.valid)}
    broad, everyday = (latent_drugs.drug_like(sets[name]) for name in given.valid)
    count = given.limit or 100
    seeds = [*sample(everyday, count // 2, given.seed), *sample(broad, count - count // 2, given.seed)]
    named = list(latent_drugs.NAMED.values())
    yield {
        "round_trip": [
            {"set": name, **latent_drugs.round_trip(api.post, sample(rows, given.limit or given.molecules, given.seed))}
            for name, rows in sets.items()
        ],
        "defaults": [latent_drugs.defaults(api.post, seeds)],
        "unguided": [latent_drugs.unguided(api.post, seeds[: min(count, 20)])],
        "sampled": [latent_drugs.sampled(api.post, seeds, radius) for radius in (0.1, 0.7)],
        "scale": [
            latent_drugs.scale(api.post, latent_drugs.IMATINIB, deviation, given.seed) for deviation in (0.75, 1.0, 1.5)
        ],
        "interpolated": [latent_drugs.interpolated(api.post, list(zip(named, named[1:])))],
        "embedding": [
            latent_drugs.embedding(api.post, sample([*everyday, *broad[: len(everyday)]], 2 * count, given.seed))
        ],
    }


def makeable(api: API, log: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields a row of figures for the searches without the filter and one for those with it."""
    starts = (given.data / f"qed_opt_{given.split}.smi").read_text().split()
    chosen = sample(starts, given.limit or MAKEABLE_STARTS, given.seed)
    particles, iterations = MAKEABLE_BUDGET
    unfiltered: list[dict] = []
    for name, filters in (("none", []), ("synthesis_steps", [{"name": "synthesis_steps", "max": MAKEABLE_STEPS}])):

        def work(start: str, filters: list[dict] = filters) -> dict:
            body = {
                "smi": start,
                "property_name": "QED",
                "min_similarity": 0.4,
                "particles": particles,
                "iterations": iterations,
                "num_molecules": 10,
                "filters": filters,
                "scores": ["synthesis_steps"],
                "seed": given.seed,
            }
            found = api.post("/generate", body)["generated"]
            return {
                "qed": [m["score"] for m in found],
                "steps": [m["scores"]["synthesis_steps"] for m in found],
            }

        rows = run_each(log, f"makeable {name}", chosen, given.concurrency, work)
        unfiltered = unfiltered or rows
        found = [(r, plain) for r, plain in zip(rows, unfiltered) if r["qed"]]  # starts with a result
        qed, plain_qed = (statistics.fmean(statistics.fmean(r["qed"]) for r in side) for side in zip(*found))
        yield {
            "filter": name,
            "starts": len(rows),
            "returned": sum(len(r["qed"]) for r in rows) / (10 * len(rows)),
            "with_route": sum(n <= MAKEABLE_STEPS for r in rows for n in r["steps"]) / (10 * len(rows)),
            "mean_qed": qed,
            "qed_lost": 1 - qed / plain_qed,
        }


TASKS = {"qed": qed, "plogp": plogp, "space": space, "drugs": drugs, "makeable": makeable}
SECTIONS = {
    "qed": ["qed"],
    "plogp": ["plogp"],
    "space": ["space"],
    "drugs": list(latent_report.DRUGS),
    "makeable": ["makeable"],
}
"""The sections of the page with the tables of a task."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8001", help="base address of the API")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--out", type=Path, default=Path("runs/eval-latent"), help="folder of the results")
    parser.add_argument("--tasks", default=",".join(TASKS), help="tasks, separated by commas: " + ", ".join(TASKS))
    parser.add_argument("--split", default="dev", choices=("dev", "tune"), help="dev for figures, tune for tuning")
    parser.add_argument("--limit", type=int, default=0, help="most starts of each task, for a quick run; 0: no limit")
    parser.add_argument("--starts", type=int, default=100, help="size of the samples of qed and plogp")
    parser.add_argument("--floors", default="0.4,0.6", help="minimum similarities of the task plogp")
    parser.add_argument("--budgets", default=",".join(map(str, QED_BUDGETS)), help="evaluations of the task qed")
    parser.add_argument(
        "--molecules", type=int, default=1000, help="molecules of the task space, and of each round trip of drugs"
    )
    parser.add_argument(
        "--valid",
        nargs=2,
        metavar="FILE",
        default=["chembl_subsets_valid.smi.gz", "common_chemicals_valid.smi.gz"],
        help="held-out molecules of every kind, and common ones, in the data folder, for the task drugs",
    )
    parser.add_argument("--concurrency", type=int, default=8, help="requests in flight")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one request")
    parser.add_argument("--write", action="store_true", help="write the tables into their sections of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page of --write")
    given = parser.parse_args(arguments)
    if given.data is None:
        parser.error("--data or RETORT_DATA is needed")
    if unknown := set(given.tasks.split(",")) - set(TASKS):
        parser.error(f"no such task: {', '.join(sorted(unknown))}")
    if given.write:
        changed = [option for option in ("floors", "budgets") if getattr(given, option) != parser.get_default(option)]
        if given.limit or given.split != "dev" or given.starts < 100 or given.molecules < 300 or changed:
            parser.error(
                "--write needs --split dev, at least --starts 100 and --molecules 300, "
                "the default --floors and --budgets, and no --limit"
            )
        sections.check(given.page, *(name for task in given.tasks.split(",") for name in SECTIONS[task]))
    given.data = Path(given.data)
    given.out.mkdir(parents=True, exist_ok=True)
    api, log = API(given.url, given.timeout), Log(given.out / f"requests-{given.split}-{given.seed}.jsonl")
    results = latent_report.load(given.out)
    for task in given.tasks.split(","):
        results[task] = {"split": given.split, "seed": given.seed, "rows": list(TASKS[task](api, log, given))}
        latent_report.write(given.out, results)
    if given.write:
        tables = latent_report.tables({task: results[task] for task in given.tasks.split(",")})
        for name, (heading, body) in tables.items():
            sections.write(given.page, name, "\n".join([f"{heading}, {datetime.now(UTC):%Y-%m-%d}:", "", *body]))
    print((given.out / "results.md").read_text())


if __name__ == "__main__":
    main()
