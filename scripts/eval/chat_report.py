"""Writes the results of scripts.eval.chat as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def share(rows: list[dict], key: str = "right") -> str:
    return f"{sum(bool(r[key]) for r in rows) / len(rows):.1%}" if rows else "–"


def mean(rows: list[dict], key: str) -> str:
    return f"{sum(r[key] for r in rows) / len(rows):.3f}" if rows else "–"


def table(head: Sequence[object], lines: Sequence[Sequence[object]]) -> str:
    rows: list[Sequence[object]] = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


def kinds(parts: dict[str, dict], part: str, row: Callable[[list[dict]], list[object]]) -> list[list[object]]:
    """Returns a row per kind of question, with columns for each style."""
    names = list(dict.fromkeys(r["kind"] for s in parts.values() for r in s[part]))
    return [
        [
            name,
            len([r for s in parts.values() for r in s[part] if r["kind"] == name]),
            *(cell for s in parts.values() for cell in row([r for r in s[part] if r["kind"] == name])),
        ]
        for name in names
    ]


def text(results: dict) -> str:
    """Returns the tables after a line with the model, the day and the command."""
    styles = results["styles"]
    lines = []
    for style, part in styles.items():
        rows = part["reading"]
        sure, unsure = [r for r in rows if r["sure"]], [r for r in rows if not r["sure"]]
        lines.append(
            [
                style,
                len(rows),
                share(rows, "exact"),
                share(rows, "flat"),
                mean(rows, "tanimoto"),
                f"{share(sure, 'exact')} of {len(sure)}",
                f"{share(unsure, 'exact')} of {len(unsure)}",
            ]
        )
    options = f"--molecules {results['molecules']} --questions {results['questions']}"
    command = f'make eval-chat UPDATE=1 ARGS="{options} --styles {",".join(styles)} --seed {results["seed"]}"'
    return (
        "\n\n".join(
            [
                f"`{results['model']}`, {results['day']}, `{command}`:",
                "### Reading",
                table(
                    [
                        "style",
                        "drawings",
                        "exact SMILES",
                        "exact without stereochemistry",
                        "mean Tanimoto similarity",
                        "exact, of answers without a warning",
                        "exact, of the other answers",
                    ],
                    lines,
                ),
                "### Questions",
                "Share of answers that are right for the molecule drawn; in brackets, right for the molecule that the "
                "model read\n(the question was understood and answered rightly).",
                table(
                    ["question", "number", *styles],
                    kinds(styles, "questions", lambda rows: [f"{share(rows)} ({share(rows, 'follows')})"]),
                ),
                "### Several turns and several drawings",
                table(
                    ["conversation", "number", *styles],
                    kinds(styles, "follow-ups", lambda rows: [share(rows)])
                    + kinds(styles, "pairs", lambda rows: [share(rows)]),
                ),
                "### Refusals",
                table(
                    ["request", "number", "refused"],
                    kinds({"": {"refusals": results["refusals"]}}, "refusals", lambda rows: [share(rows)]),
                ),
            ]
        )
        + "\n"
    )
