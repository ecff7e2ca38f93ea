"""Lists functions that no program calls: `make lint` runs this.

    python -m scripts.lint.deadcode

golang.org/x/tools/cmd/deadcode follows the calls from every main function. For packages that only tests import
(TEST_SUPPORT), tests count as callers, too. EXCEPTIONS has the wrong reports of deadcode.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

TEST_SUPPORT = re.compile(r"/(\w+test|toy)$")
# The reason why a function without a caller stays, by package path and name.
EXCEPTIONS: dict[str, str] = {}


def unreachable(tests: bool) -> dict[str, str]:
    """Returns the positions of functions that no main function (or test) reaches, by package path and name."""
    command = [os.environ.get("GO", "go"), "tool", "deadcode", f"-test={str(tests).lower()}", "-json", "./..."]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout or "null") or []
    return {
        f"{package['Path']}.{function['Name']}": f"{function['Position']['File']}:{function['Position']['Line']}"
        for package in packages
        for function in package["Funcs"]
        if not function["Generated"] and bool(TEST_SUPPORT.search(package["Path"].partition(" ")[0])) == tests
    }


def main() -> None:
    found = unreachable(tests=False) | unreachable(tests=True)
    for name, position in sorted(found.items()):
        if name not in EXCEPTIONS:
            print(f"{position}: {name} has no caller outside tests")
    for name in sorted(EXCEPTIONS.keys() - found.keys()):
        print(f"scripts/lint/deadcode.py: {name} is an exception, but has a caller")
    sys.exit(1 if found.keys() ^ EXCEPTIONS.keys() else 0)


if __name__ == "__main__":
    main()
