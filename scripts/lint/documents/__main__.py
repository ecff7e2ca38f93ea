"""Checks every Markdown page of the repository: links, commands, form. `make test` runs this.

    .venv-tests/bin/python -m scripts.lint.documents [--root FOLDER] [--retort PROGRAM] [--times]

Prints one line for each problem: PAGE:LINE: what is wrong.

links       lead to a file of the checkout and to a heading on it; README.md leads to every page; names of pages in code
            and comments are those of pages
commands    in blocks of shell and in code that begins with a known program: the target of make, the module and its
            options, the command and flags of bin/retort, the path of curl, the test of go, the file and the chart's
            value exist. So do settings (RETORT_…) and flags (--…)
blocks      of shell, Python, JSON and YAML parse
form        at most 800 words of prose on a page, 400 in a decision, 120 lines in README.md; no paths of one machine
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from scripts.lint.documents.check import Documents

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.lint.documents",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout (default: this one)")
    parser.add_argument("--retort", type=Path, help="the program (default: bin/retort of the checkout)")
    given = parser.parse_args()
    root = given.root.resolve()
    problems = Documents(root, given.retort or root / "bin/retort").problems()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
