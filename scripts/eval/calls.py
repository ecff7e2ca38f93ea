"""Measures how good the molecules of /generate are after few evaluations, through HTTP:

    python -m scripts.eval.calls --data DATA --url http://127.0.0.1:8001 --label "built in" [--objective QED]

success  a molecule with QED >= 0.9 and a similarity of at least 0.4 to the start, with 30 particles and 50 iterations:
         the share of the starts that have one, by evaluations
default  the documented default request, only smi: the mean over the starts of the best QED so far, by evaluations

--objective names what a request optimises: QED, which is built in, or an oracle that computes it, for which a search
spends more work on each choice. Each label is a line of the table and of the plots, with the file OUT/LABEL.jsonl, from
which a run resumes. --write writes the table into its section of the model's EVALUATION.md, and scripts/eval/calls.svg.
"""

from __future__ import annotations

import argparse
import os
import statistics
from pathlib import Path

import matplotlib

from scripts import sections
from scripts.eval import latent

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)

SECTION = "calls"
PLOT = Path(__file__).with_name("calls.svg")
SUCCESS = (100, 300, 1000, 1500)
DEFAULT = (100, 200, 300)
"""The evaluations of the two requests in the table."""
REQUESTS = {
    "success": {"min_similarity": 0.4, "particles": 30, "iterations": 50, "num_molecules": 1},
    "default": {},
}
ENOUGH = 0.9
"""The QED at which a search of `success` ends."""


def curve(api: latent.API, start: str, request: str, objective: str, seed: int) -> list[list[float]]:
    """Returns the evaluations so far and the best score after each iteration."""
    body = {"smi": start, "property_name": objective, "seed": seed, "stream": True, **REQUESTS[request]}
    points = []
    for event in api.events("/generate", body):
        if "iteration" not in event:
            if "generated" not in event:
                raise RuntimeError(f"/generate: {event}")
            break
        if event["best"]:
            points.append([event["evaluations"], event["best"]["score"]])
            if request == "success" and event["best"]["score"] >= ENOUGH:
                break
    return points


def best(points: list[list[float]], evaluations: float) -> float:
    """Returns the best score within a number of evaluations, or 0."""
    return max((score for count, score in points if count <= evaluations), default=0.0)


def figure(request: str, rows: list[dict], evaluations: float) -> float:
    """Returns the figure of a request: see the module."""
    scores = [best(row[request], evaluations) for row in rows]
    if request == "success":
        return statistics.fmean(score >= ENOUGH for score in scores)
    return statistics.fmean(scores)


def table(runs: dict[str, list[dict]]) -> list[str]:
    """Returns the table of all labels."""
    heads = [f"success, {n:,}" for n in SUCCESS] + [f"default, {n:,}" for n in DEFAULT]
    lines = ["| search | starts | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (1 + len(heads))]
    for label, rows in runs.items():
        cells = [f"{figure('success', rows, n):.0%}" for n in SUCCESS]
        cells += [f"{figure('default', rows, n):.3f}" for n in DEFAULT]
        lines.append(f"| {label} | {len(rows)} | " + " | ".join(cells) + " |")
    return lines


def plot(runs: dict[str, list[dict]], path: Path) -> None:
    """Draws the curves of all labels."""
    matplotlib.rcParams["svg.hashsalt"] = "retort"  # the same figures give the same file
    drawing, axes = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for axis, request, end in zip(axes, REQUESTS, (SUCCESS[-1], DEFAULT[-1])):
        counts = range(30, end + 1, 30)
        for label, rows in runs.items():
            axis.plot(counts, [figure(request, rows, n) for n in counts], label=label)
        axis.set_xlabel("evaluations")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("share with QED ≥ 0.9, similarity ≥ 0.4")
    axes[0].set_ylim(0, 1)
    axes[1].set_ylabel("mean of the best QED, default request")
    axes[1].legend(loc="lower right")
    drawing.tight_layout()
    drawing.savefig(path, metadata={"Date": None})
    pyplot.close(drawing)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.calls", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8001", help="base address of the API")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--out", type=Path, default=Path("runs/eval-calls"), help="folder of the results")
    parser.add_argument("--label", default="built in", help="name of the search in the table")
    parser.add_argument("--objective", default="QED", help="QED, or the name of an oracle that computes it")
    parser.add_argument("--starts", type=int, default=100, help="size of the sample of qed_opt_dev.smi")
    parser.add_argument("--concurrency", type=int, default=2, help="requests in flight")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for one request")
    parser.add_argument("--write", action="store_true", help="write the table and the plot of all labels")
    given = parser.parse_args(arguments)
    if given.data is None:
        parser.error("--data or RETORT_DATA is needed")
    if given.write and given.starts < 50:
        parser.error("--write needs at least --starts 50")
    starts = latent.sample((Path(given.data) / "qed_opt_dev.smi").read_text().split(), given.starts, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    api = latent.API(given.url, given.timeout)

    def work(start: str) -> dict:
        return {request: curve(api, start, request, given.objective, given.seed) for request in REQUESTS}

    log = latent.Log(given.out / f"{given.label}.jsonl")
    latent.run_each(log, "calls", starts, given.concurrency, work)
    runs = {path.stem: list(latent.Log(path).done.values()) for path in sorted(given.out.glob("*.jsonl"))}
    lines = table(runs)
    print("\n".join(lines))
    if given.write:
        sections.write(latent.PAGE, SECTION, "\n".join(lines))
        plot(runs, PLOT)


if __name__ == "__main__":
    main()
