"""How well the chat API reads drawings as people have them, through HTTP:

    python -m scripts.eval.drawings --data DATA --url http://127.0.0.1:8005 [--count 100 --drawings FOLDER --write]

Kinds: RDKit's default, framed, turned by quarters, transparent, grey levels, RDKit's abbreviations, atom numbers, uneven bonds, mild
photographs, JPEG; each group that it knows; hard structures; reagents; salts; what the reader does not know; what other programs drew, in
FOLDER/PROGRAM.jsonl (scripts.train.vision.other_programs with --molecules, whose list this writes with --list FILE); and with --scanned FOLDER
drawings of patents (see drawing_sets.scanned). By kind: exact SMILES, said to be unreadable, wrong with a warning, wrong without. With
--write the table is written into its section of the model's DRAWINGS.md; --write needs every kind and at least MIN_COUNT of each.
scripts.eval.osra reads some of the same by another program.
"""

from __future__ import annotations

import argparse
import base64
import os
from datetime import UTC, datetime
from pathlib import Path

from scripts import sections
from scripts.eval import drawing_sets
from scripts.eval.chat import API, MODEL, NOTHING
from scripts.eval.chat_questions import smiles
from scripts.train import served

SECTION = "eval-drawings"
MIN_COUNT = 200
ASK = "What is the SMILES of this molecule?"
TRAINED = {"indigo", "openbabel", "cdk", "chython", "smilesdrawer"}
"""Programs whose drawings, of other molecules, the reader was trained on."""
UNREADABLE = (*NOTHING, "I could not read it", "I do not know")


def judged(answer: str, truth: str) -> str:
    """exact, unreadable, warned (wrong) or wrong."""
    if any(text in answer for text in UNREADABLE):
        return "unreadable"
    if smiles(answer) == truth:
        return "exact"
    return "warned" if "not sure" in answer else "wrong"


def asked(api: API, pictures: drawing_sets.Pictures) -> dict[str, float]:
    """Parts of the answers of each sort."""

    def one(item: tuple[str, bytes]) -> str:
        truth, file = item
        kind = "jpeg" if file[:2] == b"\xff\xd8" else "png"
        return judged(api.talk((ASK, [f"data:image/{kind};base64,{base64.b64encode(file).decode()}"])), truth)

    sorts = api.each(one, pictures)
    return {sort: sorts.count(sort) / len(sorts) for sort in ("exact", "unreadable", "warned", "wrong")}


def table(rows: dict[str, tuple[int, dict[str, float]]]) -> str:
    head = "| drawings | number | exact SMILES | said to be unreadable | wrong with a warning | wrong without |\n| --- | --- | --- | --- | --- | --- |\n"

    def known(kind: str) -> str:
        program = kind.split(",")[0]
        return "" if program not in drawing_sets.PROGRAMS else " (trained on)" if program in TRAINED else " (held out)"

    return head + "".join(
        f"| {kind}{known(kind)} | {count} | " + " | ".join(f"{100 * part:.1f}%" for part in parts.values()) + " |\n"
        for kind, (count, parts) in rows.items()
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
    parser.add_argument("--drawings", type=Path, help="folder of what other programs drew")
    parser.add_argument("--scanned", type=Path, help="folder of scanned drawings and their mol files")
    parser.add_argument("--concurrency", type=int, default=2, help="requests at once")
    parser.add_argument(
        "--list", type=Path, help="write the molecules into a file, for scripts.train.vision.other_programs, and end"
    )
    parser.add_argument("--write", action="store_true", help="write the table into its section of the page")
    parser.add_argument("--page", type=Path, default=served.ENTRY / "DRAWINGS.md", help="the page of --write")
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
        rows[kind] = len(pictures), asked(api, pictures)
        print(kind, rows[kind], flush=True)
    text = table(rows)
    print(text)
    if given.write:
        command = f"python -m scripts.eval.drawings --count {given.count} --seed {given.seed} --drawings FOLDER --scanned FOLDER --write"
        sections.write(given.page, SECTION, f"`{MODEL}`, {datetime.now(UTC):%Y-%m-%d}, `{command}`:\n\n{text}")


if __name__ == "__main__":
    main()
