"""Measures the model of a run on the held-out queries of its collections, before and after training:

    python -m scripts.train.embedding.report --run runs/embedding --data DATA

writes <run>/figures.json, of which the export makes the card. --alpha interpolates from the model that the run started
from (0) to the trained one (1), which recovers what training forgot (Wortsman et al. 2022,
https://arxiv.org/abs/2109.01903); choose it with --split dev, which writes nothing. The export uses the alpha of the
last report.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import torch

from scripts.lint import cards
from scripts.train import checkpoint, configuration, files, metrics, stored
from scripts.train.embedding import evaluation, twomode, vectors
from scripts.train.embedding.examples import load_sets

NAME = "figures.json"


def start_of(run: Path) -> Path:
    """Returns the folder of the model that a run started from."""
    return Path(configuration.load(run).get("start", twomode.START))


def two_mode(run: Path, alpha: float) -> twomode.TwoMode:
    """Returns the model of a run, interpolated with the one it started from."""
    trained = checkpoint.weights(run)
    fresh = twomode.load(start_of(run), rotation=trained["first_turn"])
    if alpha != 1 and not torch.equal(fresh.first_turn, trained["first_turn"]):
        raise ValueError(f"{start_of(run)} has changed since {run} started from it")
    return checkpoint.blend(fresh, trained, alpha)


def origin(folder: Path) -> str:
    """Returns the name of the model in a folder for a card: its public id, or the folder's name, and its weights."""
    config = folder / "config.pbtxt"
    named = dict(cards.PARAMETER.findall(config.read_text())) if config.exists() else {}
    return f"`{named.get('model_id', folder.name)}` (`{stored.WEIGHTS}` with SHA-256 `{stored.digest(folder)}`)"


def arguments(prog: str, description: str | None, run: str, queries: int) -> argparse.ArgumentParser:
    """Returns the options of the reports of embedding and ranking."""
    parser = argparse.ArgumentParser(
        prog=prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=Path, default=Path(run), help="folder of the run")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--alpha", type=float, default=1.0, help="0: the model before training; 1: the trained one")
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--queries", type=int, default=queries, help=f"most queries of a set (default: {queries})")
    parser.add_argument(
        "--distractors", type=int, default=1000, help="most passages that answer none of them (default: 1000)"
    )
    parser.add_argument("--threads", type=int, default=0, help="CPU threads (0: torch's choice)")
    return parser


def read_sets(given: argparse.Namespace, prog: str) -> list[evaluation.HeldOut]:
    """Returns the held-out queries of the sets that a run was trained on."""
    if given.threads:
        torch.set_num_threads(given.threads)
    if not given.data:
        raise SystemExit(f"{prog}: --data, the data folder, is required")
    examples = Path(configuration.load(given.run)["examples"])
    names = [mined.name for mined in load_sets(examples)]
    return evaluation.read(Path(given.data), names, given.split, given.queries, given.distractors)


def write(given: argparse.Namespace, held: list[evaluation.HeldOut], models: dict[str, dict], start: str) -> None:
    """Prints the figures of models on each set, and writes those of the test split."""
    sets = {
        one.name: {"queries": len(one.queries), "passages": len(one.passages)}
        | {model: found[one.name] for model, found in models.items()}
        for one in held
    }
    for name, row in sets.items():
        print(f"{name}: {json.dumps(row)}")
    if given.split != "test":
        return
    state = checkpoint.load(given.run / "checkpoint.pt")
    figures: dict[str, Any] = {"alpha": given.alpha, "start": start, "sets": sets}
    figures["training"] = {
        **{k: state[k] for k in ("step", "samples", "seconds", "falling")},
        "options": state["options"],
        "chosen": chosen(given.run, state["options"]["best"]),
    }
    if figures["training"]["chosen"] == 0:
        print("report: no evaluation was better than the one before the first step, whose weights will be exported")
    files.replace(given.run / NAME, (json.dumps(figures, indent=1) + "\n").encode())


def chosen(run: Path, best: str) -> int | None:
    """Returns the samples after which the evaluation was best; None if the run has no figure that counts."""
    name = best.removeprefix("-")
    lines = [line for line in metrics.read(run) if name in line]
    if not lines:
        return None
    return int(max(lines, key=lambda line: -line[name] if best.startswith("-") else line[name])["samples"])


def table(figures: dict[str, Any], columns: dict[str, str], command: str) -> str:
    """Returns the figures for a card. columns: the models in figures.json, and their titles."""
    names = [title.format(figure) for figure in ("nDCG@10", "recall@10") for title in columns.values()]
    lines = [f"Measured by `{command}` in bf16, before quantisation.", ""]
    lines += [f"| collection | queries | passages | {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) + 2)]
    for name, row in figures["sets"].items():
        values = [f"{100 * row[model][figure]:.1f}" for figure in ("ndcg10", "recall10") for model in columns]
        lines.append(f"| `{name}` | {row['queries']:,} | {row['passages']:,} | {' | '.join(values)} |")
    return "\n".join(lines)


def main() -> None:
    given = arguments("python -m scripts.train.embedding.report", __doc__, "runs/embedding", 200).parse_args()
    held = read_sets(given, "report")
    start = start_of(given.run)
    tokenizer = vectors.load_tokenizer(start / "tokenizer.json")
    search = evaluation.Search(held, tokenizer, 256, 256)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    models = {
        name: search.measure(vectors.module_embed(two_mode(given.run, alpha).to(device), device))
        for name, alpha in (("start", 0.0), ("trained", given.alpha))
    }
    write(given, held, models, origin(start))


if __name__ == "__main__":
    main()
