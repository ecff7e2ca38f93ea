"""Measures how soon a search finds a better molecule, against two Python programs that a user could write instead:

    .venv-bench/bin/python scripts/bench/searches.py --url http://127.0.0.1:8001

The task: from a molecule of ZINC250k with a QED of 0.7 to 0.8, find one with a QED of at least 0.9 and a Tanimoto
similarity to the start of at least 0.4 (Morgan fingerprints, radius 2), as Jin et al. ask for (arXiv:1812.01070).

    Retort      one streamed /generate with min_similarity 0.4, which ends when an event has such a molecule
    own loop    the recipe of orchestrator/docs/use/RECIPES.md: cma proposes hidden states, /decode turns them into
                molecules, RDKit scores these
    genetic     the graph genetic algorithm of mol_ga with its defaults and 100 offspring a generation, which calls no
                model; RDKit scores its molecules

All sides get the same starts, limits and cores, and as many searches at a time. Only Retort knows the similarity as a
bound; the others' score of a molecule below it is its similarity minus 1, which is below that of any molecule within.
RDKit computes QED and similarity of Retort's results again. Time starts with the first call and leaves out imports, and
the first search of each process.

ZINC250k is the file in the package mol_ga. Most of its molecules are training data of the included latent model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import random
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cma
import mol_ga
import numpy as np
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, rdFingerprintGenerator

sys.path.append(str(Path(__file__).resolve().parents[2]))
from scripts.bench.busy import Busy, verdict  # noqa: E402

ENOUGH = 0.9
"""The QED that a search is for."""
FLOOR = 0.4
"""The least similarity to the start."""
AT_ONCE = 2
"""Searches at a time of the first measurement: the others need a process for each core."""
MOMENTS = (1, 10, 60)
"""Seconds after which the second measurement looks at the best score."""
WANTED = 5.0
"""How many times as fast as the better of the others Retort should be."""

MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048, includeChirality=False)
ZINC = Path(mol_ga.__file__).parent / "data" / "zinc250k.smiles"


class Over(Exception):
    """The search has found its molecule, or its time is over."""


@dataclass
class Trace:
    """The best scores of a search by time."""

    start: str
    seconds: float  # limit
    enough: float

    def __post_init__(self) -> None:
        molecule = Chem.MolFromSmiles(self.start)
        self.smiles, self.fingerprint = Chem.MolToSmiles(molecule), MORGAN.GetFingerprint(molecule)
        self.best = QED.qed(molecule)
        self.points = [(0.0, self.best)]
        self.began = time.perf_counter()

    def score(self, smiles: str) -> float:
        """Returns the score of a molecule, and notes it. Over: it is good enough, or the time is over."""
        molecule = Chem.MolFromSmiles(smiles)
        value = -1.0
        if molecule is not None:
            similarity = DataStructs.TanimotoSimilarity(MORGAN.GetFingerprint(molecule), self.fingerprint)
            value = similarity - 1
            if similarity >= FLOOR and Chem.MolToSmiles(molecule) != self.smiles:
                value = QED.qed(molecule)
        elapsed = time.perf_counter() - self.began
        if elapsed > self.seconds:
            raise Over
        if value > self.best:
            self.best = value
            self.points.append((elapsed, value))
            if value >= self.enough:
                raise Over
        return value

    def at(self, seconds: float) -> float:
        """Returns the best score after some seconds."""
        return max(value for elapsed, value in self.points if elapsed <= seconds)

    def found(self) -> float:
        """Returns the seconds until a molecule was good enough, or infinity."""
        return next((elapsed for elapsed, value in self.points if value >= self.enough), math.inf)


def post(url: str, body: dict):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return urllib.request.urlopen(request, timeout=300)


def retort(url: str, trace: Trace) -> None:
    body = {
        "smi": trace.start,
        "min_similarity": FLOOR,
        "iterations": 1000,
        "num_molecules": 1,
        "include_scores": True,
        "stream": True,
        "seed": 1,
    }
    with post(url + "/generate", body) as events:
        for line in events:
            event = json.loads(line[6:]) if line.startswith(b"data: {") else {}
            if event.get("best"):
                trace.score(event["best"]["smiles"])


def own_loop(url: str, trace: Trace) -> None:
    with post(url + "/hidden", {"sequences": [trace.start]}) as answer:
        hidden = json.load(answer)["hiddens"]
    shape = np.array(hidden[0]).shape
    options = {"popsize": 30, "seed": 1, "verbose": -9, "CMA_diagonal": True}
    strategy = cma.CMAEvolutionStrategy(np.ravel(hidden), 0.7, options)
    while True:
        points = strategy.ask()
        hiddens = [point.reshape(shape).tolist() for point in points]
        with post(url + "/decode", {"hiddens": hiddens, "mask": [[True] * shape[0]] * len(points)}) as answer:
            found = json.load(answer)["generated"]
        strategy.tell(points, [-trace.score(smiles) for smiles in found])


def genetic(_: str, trace: Trace) -> None:
    mol_ga.default_ga(
        starting_population_smiles=[trace.smiles],
        scoring_function=lambda molecules: [trace.score(smiles) for smiles in molecules],
        max_generations=sys.maxsize,
        offspring_size=100,
        rng=random.Random(1),
    )


SIDES: dict[str, Callable[[str, Trace], None]] = {
    "Retort": retort,
    "own loop with `/decode` and cma": own_loop,
    "genetic algorithm, mol_ga": genetic,
}


def search(side: str, url: str, start: str, seconds: float, enough: float) -> Trace:
    """Runs a search of a side and returns its trace."""
    RDLogger.DisableLog("rdApp.*")
    trace = Trace(start, seconds, enough)
    try:
        SIDES[side](url, trace)
    except Over:
        pass
    return trace


def search_all(
    pool: ProcessPoolExecutor, side: str, url: str, starts: list[str], seconds: float, enough: float
) -> list[Trace]:
    """Runs a search from each start, as many at a time as the pool has processes."""
    tasks = [pool.submit(search, side, url, start, seconds, enough) for start in starts]
    return [task.result() for task in tasks]


def draw_starts(count: int, further: int) -> tuple[list[str], list[str]]:
    """Draws starts from ZINC250k, and further ones."""
    molecules = ZINC.read_text().split()
    random.Random(1).shuffle(molecules)
    suitable = (smiles for smiles in molecules if 0.7 <= QED.qed(Chem.MolFromSmiles(smiles)) <= 0.8)
    starts = list(itertools.islice(suitable, count + further))
    return starts[:count], starts[count:]


def cost(traces: list[Trace]) -> float:
    """Returns the seconds of search for each molecule that was found: the expected running time of a search."""
    found = sum(trace.found() < math.inf for trace in traces)
    return sum(min(trace.found(), trace.seconds) for trace in traces) / found if found else math.inf


def row(side: str, short: list[Trace], long: list[Trace]) -> str:
    """Returns the row of the table with the figures of a side."""
    seconds = [trace.found() for trace in short]
    share = sum(s < math.inf for s in seconds) / len(seconds)
    median = statistics.median_high(seconds)
    cells = [side, f"{share:.0%}", f"{median:.2f}" if median < math.inf else "", f"{cost(short):.2f}"]
    for moment in MOMENTS:
        cells.append(f"{statistics.fmean(trace.at(moment) for trace in long):.3f}" if long else "")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="address of the API")
    parser.add_argument("--pids", type=int, nargs="*", default=[], help="processes that serve the API")
    parser.add_argument("--starts", type=int, default=40, help="starts of the searches for a QED of 0.9")
    parser.add_argument("--seconds", type=float, default=5, help="limit of each of them")
    parser.add_argument("--long", type=int, default=8, help="further starts, whose searches run for 60 s, all at once")
    given = parser.parse_args()
    starts, further = draw_starts(given.starts, given.long)
    print(
        f"\n{given.starts} starts, {AT_ONCE} at a time, until a QED of {ENOUGH} or for {given.seconds:g} s; then "
        f"{given.long} others, all at once, for {MOMENTS[-1]} s\n"
    )
    heads = ["search", "found", "median, s", "seconds of search for each found"]
    heads += [f"mean of the best QED after {moment} s" for moment in MOMENTS]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    context, busy = multiprocessing.get_context("fork"), Busy(*given.pids)
    costs = {}
    for side in SIDES:
        with ProcessPoolExecutor(AT_ONCE, context) as pool:
            search_all(pool, side, given.url, starts[:AT_ONCE], 1, math.inf)  # warms up
            short = search_all(pool, side, given.url, starts, given.seconds, ENOUGH)
        with ProcessPoolExecutor(max(1, given.long), context) as pool:
            long = search_all(pool, side, given.url, further, MOMENTS[-1], math.inf)
        costs[side] = cost(short)
        print(row(side, short, long), flush=True)
    ours, *theirs = costs.values()
    print(
        f"\nfor each found, the faster of the others needs {min(theirs) / ours:.1f} times as long as Retort; "
        f"{verdict(min(theirs) / ours, busy.others(), least=WANTED)}"
    )


if __name__ == "__main__":
    main()
