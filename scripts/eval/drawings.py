"""Measures how well the chat API reads drawings of many kinds, through HTTP:

    python -m scripts.eval.drawings --data DATA --url http://127.0.0.1:8005 [--count 100 --drawings FOLDER --write]

The kinds of drawings are those of drawing_sets.py. FOLDER has drawings by other programs, from
scripts.train.vision.other_programs with --measure; --list FILE writes the list of these molecules, and with
--markush attachments or --markush units that of FOLDER/attachments or FOLDER/units. The figures of a
kind are the shares of exact SMILES, of drawings that the model says are unreadable, and of wrong SMILES with and
without a warning. A second table tells how well the confidence (from the log probabilities) fits, over the programs
that the reader was not trained on. --kinds measures some kinds only.

--write writes the tables into their sections of the model's EVALUATION.md. It needs at least MIN_COUNT drawings of each
kind, and all kinds for the first table. Scanned drawings: scripts.eval.scanned.
"""

from __future__ import annotations

import argparse
import base64
import math
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from scripts import sections
from scripts.eval import drawing_sets
from scripts.eval.chat import API, MODEL, NO_MOLECULE
from scripts.eval.chat_questions import smiles
from scripts.train import served

SECTION = "eval-drawings"
CONFIDENCE_SECTION = "eval-confidence"
COVERAGE = 0.95
"""The share of drawings, those of the highest confidence, in the second table."""
SURE = 0.8
"""The confidence below which an answer has a warning."""
BINS = 10
"""Bins of the expected calibration error, of equal width."""
GRADES = ("exact", "unreadable", "warned", "wrong")
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


@dataclass
class Graded:
    """The answer about one drawing."""

    grade: str
    """One of GRADES."""
    confidence: float
    """exp(sum of the log probabilities); 0 if the drawing was unreadable."""


def measure(api: API, pictures: drawing_sets.Pictures) -> list[Graded]:
    def one(item: tuple[str, bytes]) -> Graded:
        truth, file = item
        kind = "jpeg" if file[:2] == b"\xff\xd8" else "png"
        answer, confidence = api.talk_surely(ASK, [f"data:image/{kind};base64,{base64.b64encode(file).decode()}"])
        found = grade(answer, truth)
        return Graded(found, 0.0 if found == "unreadable" else confidence)

    return api.each(one, pictures)


def calibration_error(confidences: np.ndarray, exact: np.ndarray) -> float:
    """Returns the expected calibration error: the mean, over the drawings, of the difference between the mean
    confidence and the share of exact readings in their bin."""
    bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
    gaps = (
        abs(confidences[bins == i].mean() - exact[bins == i].mean()) * (bins == i).mean()
        for i in range(BINS)
        if (bins == i).any()
    )
    return math.fsum(gaps)


def confidence_row(answers: list[Graded]) -> str:
    """Returns the cells of the second table: number, exact, right at COVERAGE, its least confidence, share of sure
    answers, exact ones of these, calibration error."""
    confidences = np.array([each.confidence for each in answers])
    exact = np.array([each.grade == "exact" for each in answers], float)
    covered = np.argsort(-confidences, kind="stable")[: math.ceil(COVERAGE * len(answers))]
    sure = confidences >= SURE
    return (
        f"{len(answers)} | {exact.mean():.1%} | {exact[covered].mean():.1%} | {confidences[covered[-1]]:.2f} | "
        f"{sure.mean():.1%} | {exact[sure].mean():.1%} | {calibration_error(confidences, exact):.3f} |\n"
    )


def confidence_table(answers: dict[str, list[Graded]]) -> str:
    """Returns the second table, or nothing without a program that is held out."""
    head = (
        f"| drawings | number | exact SMILES | exact, of the {COVERAGE:.0%} of highest confidence | least confidence "
        f"of these | confidence of at least {SURE} | exact, of these | expected calibration error |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    )
    rows = {kind: graded for kind, graded in answers.items() if origin(kind) == " (held out)"}
    if not rows:
        return ""
    every = [each for graded in rows.values() for each in graded]
    return head + "".join(f"| {kind} | {confidence_row(graded)}" for kind, graded in (rows | {"all": every}).items())


def origin(kind: str) -> str:
    """Returns a note on whether the reader was trained on drawings by the program of a kind, if it has one."""
    program = kind.split(",")[0]
    return "" if program not in drawing_sets.PROGRAMS else " (trained on)" if program in TRAINED_ON else " (held out)"


def table(answers: dict[str, list[Graded]]) -> str:
    head = (
        "| drawings | number | exact SMILES | reported unreadable | wrong with a warning | wrong without a warning |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
    )

    def shares(graded: list[Graded]) -> str:
        grades = [each.grade for each in graded]
        return " | ".join(f"{grades.count(name) / len(grades):.1%}" for name in GRADES)

    return head + "".join(
        f"| {kind}{origin(kind)} | {len(graded)} | {shares(graded)} |\n" for kind, graded in answers.items()
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
    parser.add_argument("--kinds", default="", help="parts of the names of the kinds to measure, with commas")
    parser.add_argument("--concurrency", type=int, default=2, help="requests in flight")
    parser.add_argument(
        "--list", type=Path, help="only write the molecules into this file, for scripts.train.vision.other_programs"
    )
    parser.add_argument(
        "--markush",
        choices=drawing_sets.MARKUSH,
        help="with --list: molecules with variable attachments or repeat units",
    )
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "EVALUATION.md", help="the page of --write")
    given = parser.parse_args(arguments)
    if given.write:
        if given.count < MIN_COUNT or not given.drawings:
            parser.error(f"--write needs --drawings, and at least --count {MIN_COUNT}")
        sections.check(given.page, SECTION, CONFIDENCE_SECTION)
    if given.list:
        listed = drawing_sets.molecules(given.data, 4 * given.count, given.seed + 1)
        listed = drawing_sets.with_feature(listed, given.markush) if given.markush else listed
        given.list.write_text("\n".join(listed) + "\n")
        return
    api = API(given.url, given.concurrency)
    answers: dict[str, list[Graded]] = {}
    for kind, pictures in drawing_sets.sets(given.data, given.count, given.seed, given.drawings).items():
        if given.kinds and not any(part in kind for part in given.kinds.split(",")):
            continue
        answers[kind] = measure(api, pictures)
        print(table({kind: answers[kind]}).splitlines()[-1], flush=True)
    tables = {CONFIDENCE_SECTION: confidence_table(answers)}
    if not given.kinds:
        tables[SECTION] = table(answers)
    options = f"--count {given.count} --seed {given.seed} --drawings FOLDER"
    options += f" --kinds {given.kinds}" if given.kinds else ""
    for section, text in tables.items():
        print(text)
        if given.write and text:
            head = f"`{MODEL}`, {datetime.now(UTC):%Y-%m-%d}, `python -m scripts.eval.drawings {options} --write`:"
            sections.write(given.page, section, f"{head}\n\n{text}")


if __name__ == "__main__":
    main()
