"""Measures the molecules of the masked-template API through HTTP:

    python -m scripts.eval.masked --data DATA --url http://127.0.0.1:8002 [--tasks de_novo,motif_extension] [--limit 40]

de_novo                    --count molecules (1,000) without given fragments
documented_defaults        the same with the default settings
motif_extension, scaffold_decoration, superstructure, linker_one_step
                           100 molecules with the fragments of each drug in genmol_fragments_dev.csv (half of the
                           drugs of the published benchmark)

The protocol is GenMol's (arXiv 2501.06158, section 5):

validity    molecules returned over requested; each contains the given fragments
strict      molecules whose complete SAFE string was one molecule, over requested
uniqueness  distinct over returned
quality     distinct with QED >= 0.6 and SA <= 4, over requested
diversity   mean pairwise Tanimoto distance of the distinct (Morgan radius 2, 1024 bits)
distance    mean Tanimoto distance to the drug
rows        rows that the model filled over molecules requested

Figures with fragments are means over the drugs. Python RDKit computes all figures; each is a mean over --seeds, with
its standard deviation. Each task runs in three ways: "one attempt", each row sampled once (attempts 1), as in published
figures; "as served", unique molecules, with the API's default attempts to replace missing ones; and "one attempt of
any quality", the first without a request for quality. --set changes a setting, as in --set de_novo.temperature=0.8. It
writes OUT/masked.json and OUT/masked.md. --write also updates the section of the page, after complete evaluations only.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import os
import random
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import QED, rdFingerprintGenerator
from rdkit.Contrib.SA_Score import sascorer

from scripts import sections
from scripts.eval.service import Service

RDLogger.DisableLog("rdApp.*")
MORGAN = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)

SETTINGS: dict[str, dict[str, float]] = {
    "de_novo": dict(temperature=1.0, noise=0.5, gamma=0.0, min_add_len=24),
    "documented_defaults": {},
    "motif_extension": dict(temperature=3.5, noise=1.0, gamma=0.0, min_add_len=18),
    "scaffold_decoration": dict(temperature=8.0, noise=1.0, gamma=0.0, min_add_len=4),
    "superstructure": dict(temperature=3.5, noise=1.0, gamma=0.0, min_add_len=8),
    "linker_one_step": dict(temperature=4.0, noise=1.0, gamma=0.0, min_add_len=18),
}
"""Settings of the tasks, tuned for the shipped model on molecules and seeds outside the report.

GenMol uses masks of 17 or 18 tokens in all tasks with fragments.
"""

DRUG_COLUMNS = {
    "motif_extension": "motif_extension",
    "scaffold_decoration": "scaffold_decoration",
    "superstructure": "superstructure_generation",
    "linker_one_step": "linker_design",
}
"""Column of the fragments in genmol_fragments_dev.csv by task."""

WAYS: dict[str, dict[str, float]] = {
    "one attempt": {"attempts": 1},
    "as served": {"unique": True},
    "one attempt of any quality": {"attempts": 1, "quality": False},
}
"""Settings of each way to run a task."""

DE_NOVO = ("de_novo", "documented_defaults")
"""Tasks without given fragments."""

FIGURES = ("validity", "strict", "uniqueness", "quality", "diversity", "distance", "rows")

PUBLISHED: dict[str, dict[str, tuple[float | None, ...]]] = {
    "de_novo": {
        "SAFE-GPT": (94.0, None, 100.0, 54.7, 0.879, None),
        "GenMol": (100.0, None, 99.7, 84.6, 0.818, None),
        "GenMol V2": (100.0, None, 97.8, 89.7, 0.830, None),
        "SoftBD": (100.0, None, 99.4, 92.8, 0.851, None),
    },
    "motif_extension": {
        "SAFE-GPT": (96.1, None, 66.8, 18.6, 0.56, None),
        "GenMol": (82.9, None, 77.5, 30.1, 0.617, 0.682),
        "GenMol V2": (99.4, None, 84.5, 49.0, 0.626, 0.659),
    },
    "scaffold_decoration": {
        "SAFE-GPT": (97.7, None, 74.7, 10.0, 0.57, None),
        "GenMol": (96.6, None, 82.7, 31.8, 0.591, 0.651),
        "GenMol V2": (99.2, None, 90.5, 39.7, 0.571, 0.604),
    },
    "superstructure": {
        "SAFE-GPT": (95.7, None, 83.0, 14.3, 0.57, None),
        "GenMol": (97.5, None, 83.6, 34.8, 0.599, 0.762),
        "GenMol V2": (99.7, None, 89.8, 39.0, 0.551, 0.769),
    },
    "linker_one_step": {
        "SAFE-GPT, linker design": (76.6, None, 82.5, 21.7, 0.55, None),
        "GenMol": (16.7, None, 93.9, 4.3, 0.529, 0.573),
        "GenMol V2": (81.8, None, 87.1, 28.6, 0.566, 0.545),
    },
}
"""Published figures in the order of FIGURES, shares in percent.

GenMol: arXiv 2501.06158; SoftBD: block diffusion, as cited there. Fragment rows are means over ten drugs.
"""


PAGE = Path(__file__).resolve().parents[2] / "model_repository" / "masked" / "EVALUATION.md"
SECTION = "eval-masked"


class API(Service):
    """The masked-template API, with at most `batch` molecules in a request and `workers` requests in flight."""

    def __init__(self, url: str, timeout: float, batch: int, workers: int) -> None:
        super().__init__(url, timeout)
        self.batch, self.workers = batch, workers

    def model(self) -> str:
        """Returns the public id of the model."""
        with self.open("/v1/models") as answer:
            return json.load(answer)["available_models"][0]

    def generate(self, count: int, seed: int, settings: dict, smiles: str | None) -> tuple[list[dict], int]:
        """Requests `count` molecules in batches with seeds derived from `seed`.

        Returns the molecules and the number of rows that the model filled.
        """
        bodies = [
            {
                "smiles": smiles,
                "num_molecules": min(self.batch, count - at),
                "seed": 1_000_000 * seed + at,
                "scores": True,
                **settings,
            }
            for at in range(0, count, self.batch)
        ]
        with ThreadPoolExecutor(self.workers) as pool:
            answers = list(pool.map(lambda body: self.post("/generate", body), bodies))
        return [m for answer in answers for m in answer["molecules"]], sum(answer["drawn"] for answer in answers)


def is_good(molecule: Chem.Mol) -> bool:
    """Reports whether a molecule has the quality of the benchmark: drug-like and easy to synthesise."""
    return QED.qed(molecule) >= 0.6 and sascorer.calculateScore(molecule) <= 4


def diversity(prints: list) -> float:
    """Returns the mean pairwise Tanimoto distance."""
    if len(prints) < 2:
        return 0.0
    similarity = sum(sum(DataStructs.BulkTanimotoSimilarity(p, prints[:i])) for i, p in enumerate(prints))
    return 1 - similarity / (len(prints) * (len(prints) - 1) / 2)


def figures(
    found: list[dict], drawn: int, requested: int, drug: str | None = None, fragments: str | None = None
) -> dict[str, float | None]:
    """Returns the figures described at the top of the module, shares in percent.

    Raises RuntimeError if a molecule lacks a fragment.
    """
    for pattern in fragment_patterns(fragments):
        for m in found:
            if not Chem.MolFromSmiles(m["smiles"]).HasSubstructMatch(pattern):
                raise RuntimeError(f"{m['smiles']} does not contain {fragments}")
    distinct = sorted({Chem.CanonSmiles(m["smiles"]) for m in found})
    molecules = [Chem.MolFromSmiles(s) for s in distinct]
    prints = [MORGAN.GetFingerprint(m) for m in molecules]
    row: dict[str, float | None] = {
        "validity": 100 * len(found) / requested,
        "strict": 100 * sum(m["scores"]["decoded_as_written"] for m in found) / requested,
        "uniqueness": 100 * len(distinct) / max(1, len(found)),
        "quality": 100 * sum(map(is_good, molecules)) / requested,
        "diversity": diversity(prints),
        "distance": None,
        "rows": drawn / requested,
    }
    if drug and prints:
        origin = MORGAN.GetFingerprint(Chem.MolFromSmiles(drug))
        row["distance"] = 1 - float(np.mean(DataStructs.BulkTanimotoSimilarity(origin, prints)))
    return row


def fragment_patterns(fragments: str | None) -> list[Chem.Mol]:
    """Returns the fragments as patterns without open positions, hydrogens and stereochemistry."""
    patterns = []
    for text in fragments.split(".") if fragments else []:
        fragment = Chem.RWMol(Chem.MolFromSmiles(text))
        Chem.RemoveStereochemistry(fragment)
        for atom in sorted((a.GetIdx() for a in fragment.GetAtoms() if a.GetAtomicNum() == 0), reverse=True):
            fragment.RemoveAtom(atom)
        patterns.append(fragment.GetMol())
    return patterns


def mean(rows: list[dict]) -> dict[str, float | None]:
    """Returns the mean of each figure over the drugs; of diversity and distance, over those with molecules."""
    out: dict[str, float | None] = {}
    for name in FIGURES:
        values = [
            r[name] for r in rows if r[name] is not None and (name not in ("diversity", "distance") or r["validity"])
        ]
        out[name] = statistics.fmean(values) if values else None
    return out


def run(api: API, task: str, seed: int, settings: dict, options: argparse.Namespace) -> dict[str, float | None]:
    """Returns the figures of a task with a seed."""
    if task in DE_NOVO:
        count = options.limit or options.count
        return figures(*api.generate(count, seed, settings, None), count)
    count = min(options.limit or 100, 100)
    with (options.data / "genmol_fragments_dev.csv").open() as file:
        drugs = list(csv.DictReader(file))
    rows = []
    for number, drug in enumerate(drugs):
        fragments = drug[DRUG_COLUMNS[task]]
        rows.append(
            figures(*api.generate(count, 100 * seed + number, settings, fragments), count, drug["smiles"], fragments)
        )
    return mean(rows)


def zinc(data: Path, seed: int, count: int) -> dict[str, float | None]:
    """Returns the figures of ZINC250k's molecules, for comparison."""
    with gzip.open(data / "zinc250k_train.smi.gz", "rt") as file:
        lines = file.read().split()
    sample = random.Random(seed).sample(lines, min(count, len(lines)))
    return figures([{"smiles": s, "scores": {"decoded_as_written": True}} for s in sample], len(sample), len(sample))


def table(
    results: dict[str, dict[str, list[dict]]], zinc250k: list[dict], settings: dict[str, dict], seeds: list[int]
) -> str:
    """Returns Markdown with the settings, figures and published figures of each task."""
    lines = []
    for task, ways in results.items():
        given = ", ".join(f"{k} {v:g}" for k, v in settings[task].items()) or "default settings"
        lines += [
            "",
            f"### {task.replace('_', ' ')}",
            "",
            f"{given}; seeds {', '.join(map(str, seeds))}",
            "",
            "| | " + " | ".join(FIGURES) + " |",
            "|---" * (len(FIGURES) + 1) + "|",
        ]
        lines += [table_row(f"**Retort, {way}**", rows) for way, rows in ways.items()]
        if task == "de_novo":
            lines.append(table_row("ZINC250k's own molecules", zinc250k))
        lines += [
            f"| {name}, published | " + " | ".join(format_mean(n, [v]) for n, v in zip(FIGURES, (*values, None))) + " |"
            for name, values in PUBLISHED.get(task, {}).items()
        ]
    return "\n".join(lines).strip() + "\n"


def table_row(name: str, rows: list[dict]) -> str:
    return f"| {name} | " + " | ".join(format_mean(f, [r[f] for r in rows]) for f in FIGURES) + " |"


def format_mean(figure: str, values: list[float | None]) -> str:
    """Formats the mean of the values, and their deviation if there are several."""
    known = [v for v in values if v is not None]
    if not known:
        return ""
    places = {"diversity": 3, "distance": 3, "rows": 2}.get(figure, 1)
    text = f"{statistics.fmean(known):.{places}f}"
    return f"{text} ± {statistics.stdev(known):.{places}f}" if len(known) > 1 else text


def with_changes(changes: list[str]) -> dict[str, dict[str, float]]:
    """Returns SETTINGS with changes of the form task.name=value."""
    settings = {task: dict(values) for task, values in SETTINGS.items()}
    for change in changes:
        place, _, value = change.partition("=")
        task, _, name = place.partition(".")
        if task not in settings or name not in (*settings[task], "step_size"):
            raise SystemExit(
                f"--set {change}: the tasks are {', '.join(SETTINGS)}, "
                f"the settings {', '.join(SETTINGS['de_novo'])} and step_size"
            )
        settings[task][name] = type(settings[task].get(name, 1))(float(value))
    return settings


def arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.masked", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--url", default="http://127.0.0.1:8002", help="base address of the API")
    parser.add_argument("--tasks", default=",".join(SETTINGS), help="tasks, separated by commas")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--count", type=int, default=1000, help="molecules of the tasks de novo")
    parser.add_argument("--limit", type=int, help="molecules of each request, for a short run")
    parser.add_argument("--ways", default=",".join(WAYS), help="ways to run each task, separated by commas")
    parser.add_argument("--batch", type=int, default=1000, help="most molecules of a request")
    parser.add_argument("--workers", type=int, default=1, help="requests in flight")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one request")
    parser.add_argument("--set", action="append", default=[], help="change a setting: task.setting=value")
    parser.add_argument("--out", type=Path, default=Path("runs/eval"))
    parser.add_argument("--write", action="store_true", help="write the tables into their section of the page")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page of --write")
    options = parser.parse_args(given)
    if options.data is None or not Path(options.data).is_dir():
        parser.error(
            "--data, or RETORT_DATA, must name the folder with genmol_fragments_dev.csv and zinc250k_train.smi.gz"
        )
    options.data = Path(options.data)
    options.tasks = options.tasks.split(",")
    options.ways = options.ways.split(",")
    options.seeds = [int(s) for s in options.seeds.split(",")]
    if unknown := {*options.tasks, *options.ways} - {*SETTINGS, *WAYS}:
        parser.error(f"no such task or way: {', '.join(unknown)}")
    if options.write:
        if differing := differing_options(options):
            parser.error(f"--write needs a complete evaluation, without these values of {', '.join(differing)}")
        sections.check(options.page, SECTION)
    return options


def differing_options(options: argparse.Namespace) -> list[str]:
    """Returns the options that make this evaluation smaller than the page's, or different from it."""
    return [
        flag
        for flag, differs in (
            ("--limit", options.limit is not None),
            ("--tasks", set(options.tasks) != set(SETTINGS)),
            ("--ways", set(options.ways) != set(WAYS)),
            ("--set", bool(options.set)),
            ("--count", options.count < 1000),
            ("--seeds", len(options.seeds) < 3),
        )
        if differs
    ]


def main(given: list[str] | None = None) -> None:
    options = arguments(given)
    settings = with_changes(options.set)
    api = API(options.url, options.timeout, options.batch, options.workers)
    results: dict[str, dict[str, list[dict]]] = {}
    options.out.mkdir(parents=True, exist_ok=True)
    zinc250k = (
        [zinc(options.data, seed, options.limit or options.count) for seed in options.seeds]
        if "de_novo" in options.tasks
        else []
    )
    for task, way, seed in itertools.product(options.tasks, options.ways, options.seeds):
        started = time.monotonic()
        row = run(api, task, seed, settings[task] | WAYS[way], options)
        results.setdefault(task, {}).setdefault(way, []).append({**row, "seconds": time.monotonic() - started})
        figures = ", ".join(f"{k} {v:.3f}" for k, v in results[task][way][-1].items() if v is not None)
        print(f"{task}, {way}, seed {seed}: {figures}", file=sys.stderr, flush=True)
        (options.out / "masked.json").write_text(
            json.dumps(
                {
                    "settings": settings,
                    "seeds": options.seeds,
                    "limit": options.limit,
                    "results": results,
                    "zinc250k": zinc250k,
                },
                indent=1,
            )
        )
    text = table(results, zinc250k, settings, options.seeds)
    (options.out / "masked.md").write_text(text)
    if options.write:
        sections.write(
            options.page,
            SECTION,
            f"`{api.model()}`, {datetime.now(UTC):%Y-%m-%d}, de novo {options.count:,} molecules a seed:\n\n{text}",
        )
    print(text)


if __name__ == "__main__":
    main()
