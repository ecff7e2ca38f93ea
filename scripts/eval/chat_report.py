"""The figures of scripts.eval.chat as a page of tables."""

from __future__ import annotations

from collections.abc import Callable

TUNED = """- Reading: the networks were chosen, and their confidence calibrated, on other molecules of ZINC250k's validation part than those above.
- Questions, several turns: the wordings are none of the templates that the network learns from, but what failed in a first trial led to
  templates of its kind. Take these figures as a bound from above.
- Questions beyond a drawing: the first set was read while templates were written; the held-out set was written before the network
  was trained, by someone who had read the templates (`scripts/eval/out_of_scope.txt`). It was asked of a first, shorter run too, and
  after that only the length of the training was changed, because of the questions that a drawing answers."""


def share(rows: list[dict], key: str = "right") -> str:
    return f"{sum(bool(r[key]) for r in rows) / len(rows):.1%}" if rows else "–"


def mean(rows: list[dict], key: str) -> str:
    return f"{sum(r[key] for r in rows) / len(rows):.3f}" if rows else "–"


def table(head: list[str], lines: list[list[object]]) -> str:
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *lines])


def kinds(parts: dict[str, dict], part: str, row: Callable[[list[dict]], list[object]]) -> list[list[object]]:
    """A line per kind of question, styles side by side."""
    names = list(dict.fromkeys(r["kind"] for s in parts.values() for r in s[part]))
    return [[name, len([r for s in parts.values() for r in s[part] if r["kind"] == name]),
             *(cell for s in parts.values() for cell in row([r for r in s[part] if r["kind"] == name]))] for name in names]


def text(results: dict) -> str:
    """EVALUATION.md."""
    styles = results["styles"]
    lines = []
    for style, part in styles.items():
        rows = part["reading"]
        sure, unsure = [r for r in rows if r["sure"]], [r for r in rows if not r["sure"]]
        lines.append([style, len(rows), share(rows, "exact"), share(rows, "flat"), mean(rows, "tanimoto"),
                      f"{share(sure, 'exact')} of {len(sure)}", f"{share(unsure, 'exact')} of {len(unsure)}"])
    command = (f'make eval-chat ARGS="--molecules {results["molecules"]} --questions {results["questions"]} --styles {",".join(styles)} '
               f'--seed {results["seed"]} --write"')
    return "\n\n".join([
        "# What retort/molecule-reader-v2 was measured to do",
        f"Made by `{command}`, through HTTP, on drawings of unseen molecules (ZINC250k validation) without metadata.",
        "## Reading",
        table(["style", "drawings", "exact SMILES", "exact without stereo", "Tanimoto", "exact where it is sure", "exact where it says that it is not"], lines),
        "## Questions",
        "Right by the molecule that was drawn; in brackets: by the molecule that was read, that is, understood and answered rightly.",
        table(["question", "asked", *styles], kinds(styles, "questions", lambda rows: [f"{share(rows)} ({share(rows, 'follows')})"])),
        "## Several turns and several drawings",
        table(["", "asked", *styles], kinds(styles, "follow-ups", lambda rows: [share(rows)]) + kinds(styles, "pairs", lambda rows: [share(rows)])),
        "## Refusals",
        table(["", "asked", "refused"], kinds({"": {"refusals": results["refusals"]}}, "refusals", lambda rows: [share(rows)])),
        "## What was tuned on what",
        TUNED,
    ]) + "\n"
