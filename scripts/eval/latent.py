"""Measures optimisation and sampling of the latent-space molecule API, through HTTP:

    python -m scripts.eval.latent --data DATA --url http://127.0.0.1:8001 [--tasks qed,plogp,space,drugs] [--limit 20]

qed    qed_opt_*.smi, a molecule a line: success = a molecule with QED >= 0.9 and 0.4 <= similarity < 1. All starts at
       at most 1,500 evaluations each, and --starts of them, drawn by --seed, at 10,000. A search is left once it succeeded.
plogp  plogp_opt_*.tsv: gain in normalised penalised logP over the start, 0 where nothing better was found, at 8,080
       evaluations and similarity 0.4 and 0.6; mean, deviation, median, and the share that gains 2 or more. --starts of them.
space  zinc250k_valid.smi.gz: reconstruction through /hidden and /decode, and molecules decoded from points around 200
       of them at several radii (normal noise added here, no filter); and what /sampling serves around them.
drugs  what people bring, see scripts.eval.latent_drugs: round trips of ZINC250k's, broad_valid's and everyday_valid's molecules; the
       documented defaults of /generate and /sampling on 100 molecules of the latter two, chosen by --seed; the scale of the
       hidden states; interpolation; the embeddings' neighbours.

Python RDKit computes scores and similarities: Morgan fingerprints, radius 2, 2048 bits, no chirality. An interrupted
run resumes. It writes OUT/results.json, OUT/results.md and plots, and with --write the tables of --tasks to their
sections of the model's EVALUATION.md. --split tune uses the tuning files.
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
"""Evaluations (distinct decoded texts): particles, iterations."""
PLOGP_BUDGET = (101, 80)
PAGE = Path(__file__).resolve().parents[2] / "model_repository" / "latent_encoder" / "EVALUATION.md"


class API(Service):
    """The latent-space API."""

    def optimise(
        self, smiles: str, budget: tuple[int, int], similarity: float, name: str, seed: int, enough: float = math.inf
    ) -> tuple[list[dict], int]:
        """The best molecule of a /generate request, with score and similarity, in a list that is empty if there is
        none, and the evaluations that it took: a stream is left, and the search with it, once the score is
        `enough`."""
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
        """The server-sent events of a request."""
        with self.open(path, body) as answer:
            for line in answer:
                if line.startswith(b"data: {"):
                    yield json.loads(line[6:])


class Log:
    """Results by key, one line of JSON each, to resume a run."""

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


def each(log: Log, label: str, starts: list[str], concurrency: int, work: Callable[[str], dict]) -> list[dict]:
    """Runs work concurrently on each start that the log lacks; returns the rows of all starts, in order."""
    missing = [s for s in dict.fromkeys(starts) if f"{label} {s}" not in log.done]
    began = time.monotonic()
    with ThreadPoolExecutor(concurrency) as pool:

        def timed(start: str) -> dict:
            at = time.monotonic()
            return {
                "key": f"{label} {start}",
                "start": start,
                **work(start),
                "seconds": round(time.monotonic() - at, 3),
            }

        try:
            for count, future in enumerate(as_completed([pool.submit(timed, s) for s in missing]), 1):
                log.add(future.result())
                print(
                    f"\r{label}: {len(starts) - len(missing) + count} of {len(starts)}, {time.monotonic() - began:.0f} s",
                    end="",
                    file=sys.stderr,
                )
        except BaseException:
            pool.shutdown(
                wait=False, cancel_futures=True
            )  # Otherwise all pending work would run, and its results be lost.
            raise
    if missing:
        print(file=sys.stderr)
    return [log.done[f"{label} {s}"] for s in starts]


def drawn(starts: list[str], count: int, seed: int) -> list[str]:
    """Draws `count` of the starts, always the same ones for a seed."""
    return starts if count >= len(starts) else random.Random(seed).sample(starts, count)


def qed(api: API, log: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields a row of figures for each budget."""
    starts = (given.data / f"qed_opt_{given.split}.smi").read_text().split()
    for evaluations in map(int, given.budgets.split(",")):
        budget = QED_BUDGETS[evaluations]
        chosen = drawn(starts, given.limit or (len(starts) if evaluations == 1500 else given.starts), given.seed)

        def work(start: str, budget: tuple[int, int] = budget) -> dict:
            found, evaluations = api.optimise(start, budget, 0.4, "QED", given.seed, 0.9)
            return {**molecules.compared(start, found, molecules.qed), "evaluations": evaluations}

        rows = each(log, f"qed {evaluations}", chosen, given.concurrency, work)
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
    chosen = drawn([row.split("\t")[0] for row in rows], given.limit or given.starts, given.seed)
    for floor in map(float, given.floors.split(",")):

        def work(start: str, floor: float = floor) -> dict:
            found, evaluations = api.optimise(start, PLOGP_BUDGET, floor, "plogP", given.seed)
            return {**molecules.compared(start, found, molecules.penalized_logp), "evaluations": evaluations}

        rows = each(log, f"plogp {floor}", chosen, given.concurrency, work)
        kept = [r for r in rows if r["found"] and floor <= r["similarity"] < 1]
        gains = [max(0.0, r["score"] - r["start_score"]) for r in kept] + [0.0] * (len(rows) - len(kept))
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
    """Returns the figures common to all tables."""
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
    """Yields one row: reconstruction, and samples by radius."""
    chosen = drawn(lines(given.data / "zinc250k_valid.smi.gz"), given.limit or given.molecules, given.seed)
    yield latent_space.measure(api.post, chosen, given.seed)


def drugs(api: API, _: Log, given: argparse.Namespace) -> Iterator[dict]:
    """Yields one row: lists of figures by section."""
    sets = {
        name: lines(given.data / name) for name in ("zinc250k_valid.smi.gz", "broad_valid.smi.gz", "everyday_valid.smi")
    }
    broad, everyday = (latent_drugs.drug_like(sets[name]) for name in ("broad_valid.smi.gz", "everyday_valid.smi"))
    count = given.limit or 100
    seeds = [*drawn(everyday, count // 2, given.seed), *drawn(broad, count - count // 2, given.seed)]
    named = list(latent_drugs.NAMED.values())
    yield {
        "round_trip": [
            {"set": name, **latent_drugs.round_trip(api.post, drawn(rows, given.limit or given.molecules, given.seed))}
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
            latent_drugs.embedding(api.post, drawn([*everyday, *broad[: len(everyday)]], 2 * count, given.seed))
        ],
    }


TASKS = {"qed": qed, "plogp": plogp, "space": space, "drugs": drugs}
SECTIONS = {"qed": ["qed"], "plogp": ["plogp"], "space": ["space"], "drugs": list(latent_report.DRUGS)}
"""By task: the sections of the page that hold its tables."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.latent", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8001", help="base address of the API")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--out", type=Path, default=Path("runs/eval-latent"), help="folder of the results")
    parser.add_argument("--tasks", default=",".join(TASKS), help="some of " + ", ".join(TASKS))
    parser.add_argument("--split", default="dev", choices=("dev", "tune"), help="measure on dev, tune on tune")
    parser.add_argument("--limit", type=int, default=0, help="starts of each task, for a quick run (0: as described)")
    parser.add_argument("--starts", type=int, default=100, help="starts of the larger budgets")
    parser.add_argument("--floors", default="0.4,0.6", help="minimum similarities of the task plogp")
    parser.add_argument("--budgets", default=",".join(map(str, QED_BUDGETS)), help="evaluations of the task qed")
    parser.add_argument("--molecules", type=int, default=1000, help="molecules of the task space")
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
                "--write needs --split dev, at least --starts 100 and --molecules 300, the default --floors and --budgets, and no --limit"
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
