"""Measures how well the chat API reads drawings of many kinds, through HTTP:

    python -m scripts.eval.drawings --data DATA --url http://127.0.0.1:8005 [--count 100 --drawings FOLDER --write]

The kinds of drawings are those of drawing_sets.py. FOLDER has drawings by other programs, from
scripts.train.vision.other_programs with --molecules; --list FILE writes the list of these molecules. --scanned FOLDER
adds scanned patents (drawing_sets.scanned). The figures of a kind are the shares of exact SMILES, of drawings that the
model says are unreadable, and of wrong SMILES with and without a warning.

--write writes the table into its section of the model's EVALUATION.md. It needs all kinds and at least MIN_COUNT
drawings of each. scripts.eval.osra measures another program on some of the same drawings.
"""

from __future__ import annotations

import argparse
import base64
import os
from datetime import UTC, datetime
from pathlib import Path

from scripts import sections
from scripts.eval import drawing_sets
from scripts.eval.chat import API, MODEL, NO_MOLECULE
from scripts.eval.chat_questions import smiles
from scripts.train import served

SECTION = "eval-drawings"
MIN_COUNT = 200
ASK = "What is the SMILES of this molecule?"
TRAINED_ON = {"indigo", "openbabel", "cdk", "chython", "smilesdrawer"}
"""Programs whose drawings of other molecules the reader was trained on."""
UNREADABLE = (*NO_MOLECULE, "I could not read it", "I do not know")


def grade(answer: str, truth: str) -> str:
    """Returns exact, unreadable, warned (wrong with a warning) or wrong."""
    if any(text in answer for text in UNREADABLE):
        return "unreadable"
    if smiles(answer) == truth:
        return "exact"
    return "warned" if "not sure" in answer else "wrong"


def measure(api: API, pictures: drawing_sets.Pictures) -> dict[str, float]:
    """Returns the share of each grade."""

    def one(item: tuple[str, bytes]) -> str:
        truth, file = item
        kind = "jpeg" if file[:2] == b"\xff\xd8" else "png"
        return grade(api.talk((ASK, [f"data:image/{kind};base64,{base64.b64encode(file).decode()}"])), truth)

    grades = api.each(one, pictures)
    return {name: grades.count(name) / len(grades) for name in ("exact", "unreadable", "warned", "wrong")}


def table(rows: dict[str, tuple[int, dict[str, float]]]) -> str:
    head = (
        "| drawings | number | exact SMILES | reported unreadable | wrong with a warning | wrong without a warning |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
    )

    def origin(kind: str) -> str:
        program = kind.split(",")[0]
        return (
            "" if program not in drawing_sets.PROGRAMS else " (trained on)" if program in TRAINED_ON else " (held out)"
        )

    return head + "".join(
        f"| {kind}{origin(kind)} | {count} | " + " | ".join(f"{100 * share:.1f}%" for share in shares.values()) + " |\n"
        for kind, (count, shares) in rows.items()
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.eval.drawings",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--url", default="http://127.0.0.1:8005", help="base address of the API")
    parser.add_argument("--count", type=int, default=100, help="drawings of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drawings", type=Path, help="folder of the drawings by other programs")
    parser.add_argument("--scanned", type=Path, help="folder of scanned drawings and their mol files")
    parser.add_argument("--concurrency", type=int, default=2, help="requests in flight")
    parser.add_argument(
        "--list", type=Path, help="only write the molecules into this file, for scripts.train.vision.other_programs"
    )
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.write:
        if given.count < MIN_COUNT or not given.drawings or not given.scanned:
            parser.error(f"--write needs --drawings, --scanned and at least --count {MIN_COUNT}")
        sections.check(given.page, SECTION)
    if given.list:
        given.list.write_text("\n".join(drawing_sets.molecules(given.data, 4 * given.count, given.seed + 1)) + "\n")
        return
    api = API(given.url, given.concurrency)
    rows: dict[str, tuple[int, dict[str, float]]] = {}
    scanned = drawing_sets.scanned(given.scanned, given.count) if given.scanned else {}
    for kind, pictures in (drawing_sets.sets(given.data, given.count, given.seed, given.drawings) | scanned).items():
        rows[kind] = len(pictures), measure(api, pictures)
        print(kind, rows[kind], flush=True)
    text = table(rows)
    print(text)
    if given.write:
        options = f"--count {given.count} --seed {given.seed} --drawings FOLDER --scanned FOLDER --write"
        command = f"python -m scripts.eval.drawings {options}"
        sections.write(given.page, SECTION, f"`{MODEL}`, {datetime.now(UTC):%Y-%m-%d}, `{command}`:\n\n{text}")


if __name__ == "__main__":
    main()
