"""Tables and plots of scripts.eval.latent."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  (the backend is chosen first)


def spread(values: list[float]) -> dict[str, float]:
    """Returns mean, standard deviation and median."""
    return {
        "mean": statistics.fmean(values),
        "deviation": statistics.pstdev(values),
        "median": statistics.median(values),
    }


def load(out: Path) -> dict:
    """Returns the results in a folder, or none."""
    path = out / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def write(out: Path, results: dict) -> None:
    """Writes results.json, results.md and a plot per task."""
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "results.md").write_text("\n".join(text(results)) + "\n")
    for task, plot in (("qed", scores), ("plogp", gains), ("space", radii)):
        if task in results:
            figure, axes = pyplot.subplots(figsize=(6, 4))
            plot(axes, results[task]["rows"])
            figure.tight_layout()
            figure.savefig(out / f"{task}.png", dpi=120)
            pyplot.close(figure)


def text(results: dict) -> list[str]:
    """Returns all tables with their headings, in Markdown."""
    lines = ["# Latent-space molecules: optimisation and sampling through the HTTP API", ""]
    for heading, body in tables(results).values():
        lines += [f"## {heading}", "", *body, ""]
    return lines


def tables(results: dict) -> dict[str, tuple[str, list[str]]]:
    """Returns the heading and the lines of each section."""
    found: dict[str, tuple[str, list[str]]] = {}
    if "qed" in results:
        task = results["qed"]
        found["qed"] = (
            f"QED >= 0.9 at similarity 0.4 to 1 (qed_opt_{task['split']}, seed {task['seed']})",
            [
                "| evaluations | starts | success | no result | s / start | largest disagreement with Python RDKit |",
                "| --- | --- | --- | --- | --- | --- |",
                *(
                    f"| {r['evaluations']:,} | {r['starts']} | {r['success']:.1%} | {r['without_result']} "
                    f"| {r['seconds_mean']:.1f} | {r['largest_disagreement']:.1e} |"
                    for r in task["rows"]
                ),
            ],
        )
    if "plogp" in results:
        task = results["plogp"]
        found["plogp"] = (
            f"Gain in normalised penalised logP (plogp_opt_{task['split']}, seed {task['seed']})",
            [
                "| similarity | evaluations | starts | mean ± sd | median | gain >= 2 | no result | s / start "
                "| largest disagreement |",
                "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
                *(
                    f"| {r['similarity']} | {r['evaluations']:,} | {r['starts']} "
                    f"| {r['mean']:.2f} ± {r['deviation']:.2f} | {r['median']:.2f} | {r['gains_2']:.1%} "
                    f"| {r['without_result']} | {r['seconds_mean']:.1f} | {r['largest_disagreement']:.1e} |"
                    for r in task["rows"]
                ),
            ],
        )
    for row in results.get("space", {}).get("rows", []):
        found["space"] = (
            f"The space, on {row['molecules']:,} molecules of zinc250k_valid",
            [
                f"Reconstruction: exact {row['exact']:.2%}, ignoring chirality {row['exact_no_stereo']:.2%}, "
                f"valid {row['valid']:.2%}.",
                "",
                "| noise | validity | uniqueness | non-identical |",
                "| --- | --- | --- | --- |",
                *(f"| {r['radius']} | {shares(r)} |" for r in row["radii"]),
                "",
                "Molecules that `/sampling` returns. It replaces invalid texts, the seed and duplicates:",
                "",
                "| scaled_radius | validity | uniqueness | non-identical |",
                "| --- | --- | --- | --- |",
                *(f"| {r['scaled_radius']} | {shares(r)} |" for r in row["served"]),
            ],
        )
    for row in results.get("drugs", {}).get("rows", []):
        found |= {name: (DRUGS[name], table(rows)) for name, rows in row.items()}
    if "makeable" in results:
        task = results["makeable"]
        found["makeable"] = (
            f"The ten best by QED of each search (qed_opt_{task['split']}, seed {task['seed']})",
            table(task["rows"]),
        )
    return found


DRUGS = {
    "round_trip": "Round trip through /hidden and /decode",
    "defaults": "/generate with only `smi`",
    "unguided": "/generate with the algorithm `none`, 30 particles",
    "sampled": "/sampling, ten molecules per seed",
    "scale": "Points around imatinib, normal noise on its hidden state",
    "interpolated": "Points between two drugs",
    "embedding": "/embedding: cosine beside Tanimoto similarity",
}
"""Headings of the tables of scripts.eval.latent_drugs."""

COLUMNS = {
    "read": "encoded",
    "exact_no_stereo": "exact without stereochemistry",
    "asked": "requested per seed",
    "good": "accepted",
    "full_answers": "complete answers",
    "with_route": "route of at most 3 steps",
    "mean_qed": "mean QED",
    "qed_lost": "QED lost",
    "similarity_median": "median similarity",
    "to_first": "correlation with first",
    "to_last": "correlation with last",
}
"""Headings of their columns, where they are not the names of the figures."""


def table(rows: list[dict]) -> list[str]:
    """Returns the table of rows with the same names, one column per name."""
    heads = [COLUMNS.get(name, name.replace("_", " ")) for name in rows[0]]
    cells = [[f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    return ["| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *cells)]


def shares(row: dict[str, float]) -> str:
    """Returns three cells."""
    return " | ".join(f"{row[name]:.1%}" for name in ("validity", "uniqueness", "non_identical"))


def scores(axes: pyplot.Axes, rows: list[dict]) -> None:
    """Plots the cumulative distribution of the best QED found."""
    for row in rows:
        values = sorted(row["scores"])
        axes.step(
            values,
            [(i + 1) / row["starts"] for i in range(len(values))],
            label=f"{row['evaluations']:,} evaluations: {row['success']:.1%}",
        )
    axes.axvline(0.9, color="grey", lw=0.8)
    axes.set(xlabel="best QED found", ylabel="share of starts at or below")
    axes.legend()


def gains(axes: pyplot.Axes, rows: list[dict]) -> None:
    """Plots histograms of the gains in penalised logP."""
    for row in rows:
        axes.hist(
            row["gains"],
            bins=30,
            alpha=0.6,
            label=f"similarity {row['similarity']}: mean {row['mean']:.2f}, median {row['median']:.2f}",
        )
    axes.set(xlabel="gain in normalised penalised logP", ylabel="starts")
    axes.legend()


def radii(axes: pyplot.Axes, rows: list[dict]) -> None:
    """Plots the quality of samples by radius."""
    for name in ("validity", "uniqueness", "non_identical"):
        axes.plot(
            [r["radius"] for r in rows[0]["radii"]],
            [r[name] for r in rows[0]["radii"]],
            marker="o",
            label=name.replace("_", "-"),
        )
    axes.set(xlabel="radius", ylabel="share", ylim=(0, 1.02))
    axes.legend()
