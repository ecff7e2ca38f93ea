"""Checks every Markdown page of the repository: links, commands, form. `make test` runs this.

    .venv-tests/bin/python -m scripts.lint.documents [--root FOLDER] [--retort PROGRAM]

Prints one line for each problem: PAGE:LINE: what is wrong.

links       The file and the heading that a link leads to exist. Links from README.md reach every page. A page that code
            or a comment names exists.
commands    What a command names exists: make targets, Python modules and their options, subcommands and flags of
            bin/retort, URL paths of curl, Go tests, files, values of the Helm chart. A command is a line of a shell
            block, or inline code that begins with a known program. Settings (RETORT_…) and flags (--…) exist, too.
blocks      Code blocks of shell, Python, JSON and YAML parse.
form        A page has at most 800 words of prose; README.md has at most 120 lines. No page has a path
            that exists on one machine only, such as /home/NAME.
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
    options = parser.parse_args()
    root = options.root.resolve()
    problems = Documents(root, options.retort or root / "bin/retort").find_problems()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
