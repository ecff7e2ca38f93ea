"""The make targets, flags, settings, routes and Go tests that exist in a checkout. Commands on pages are checked
against them."""

from __future__ import annotations

import functools
import re
from pathlib import Path, PurePosixPath

from scripts.lint.documents.tree import Tree, run

MAIN = "main"
"""The key of the routes that only the main port serves."""
CODE = re.compile(r".*(?<!_test)\.(go|py|ya?ml|sh|tpl|js|mjs|service|toml|pbtxt)|(.*/)?(Makefile|Dockerfile)|\.ci/run")
TEST = re.compile(r"(.*/)?test_[^/]*\.py")
# This package names flags of other programs (--data-raw), which no program here has.
CHECKER = re.compile(r"scripts/lint/documents/(?!__main__)[^/]*\.py")
SETTING = re.compile(r"\b(?:RETORT|NIM)_[A-Z0-9_]*[A-Z0-9]\b")
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
ROUTE = re.compile(r'"(/[a-z][^"\s?]*)"')
DESCRIBED_ROUTE = re.compile(r"^  [\"']?(/[^\s:\"']*)[\"']?:", re.MULTILINE)
API_ROUTES = re.compile(r"orchestrator/([a-z]+)/openapi\.yaml")


class Facts:
    def __init__(self, tree: Tree, retort: Path) -> None:
        self.tree, self.retort = tree, retort

    # make

    @functools.cached_property
    def database(self) -> str:
        """The rules and variables of the Makefile, as `make --print-data-base` prints them."""
        return run(["make", "-pnrR", "help"], self.tree.root).stdout

    @functools.cached_property
    def rules(self) -> dict[str, tuple[list[str], str]]:
        """The prerequisites and the recipe of each target."""
        found: dict[str, tuple[list[str], str]] = {}
        for block in self.database.partition("\n# Files\n")[2].split("\n\n"):
            lines = block.split("\n")
            head = next((line for line in lines if not line.startswith(("#", "\t"))), "")
            if "# Not a target:" in lines or ": " not in head + " ":
                continue
            target, _, prerequisites = (head + " ").partition(": ")
            recipe = "\n".join(line for line in lines if line.startswith("\t"))
            found[target] = (prerequisites.replace("|", " ").split(), recipe)
        return found

    @functools.cached_property
    def make_variables(self) -> dict[str, str]:
        """The unexpanded values of the Makefile's variables, by name."""
        return dict(re.findall(r"^(\w+) :?\??= (.*)$", self.database, re.MULTILINE))

    @functools.cache  # noqa: B019 (facts live as long as the program)
    def used_by(self, target: str) -> frozenset[str]:
        """Returns the variables that the recipes of a target and of its prerequisites use."""
        used: set[str] = set()
        targets, seen = [target], set()
        while targets:
            name = targets.pop()
            if name in seen or name not in self.rules:
                continue
            seen.add(name)
            prerequisites, recipe = self.rules[name]
            for makes in re.findall(r"\$\(MAKE\)([^\n;|&]*)", recipe):
                targets += makes.split()
            targets += prerequisites
            texts = [recipe]
            while texts:
                new = set(re.findall(r"\$[({]?(\w+)", texts.pop())) - used
                used |= new
                texts += [self.make_variables[v] for v in new if v in self.make_variables]
        return frozenset(used)

    # settings and flags

    @functools.cached_property
    def code(self) -> str:
        """The code that settings and flags are looked for in: all but this checker and tests, which name wrong ones."""
        return "\n".join(
            self.tree.read(path)
            for path in sorted(self.tree.files)
            if CODE.fullmatch(path) and not TEST.fullmatch(path) and not CHECKER.fullmatch(path)
        )

    @functools.cached_property
    def retort_help(self) -> str:
        """The help of every command of bin/retort."""
        top = run([str(self.retort), "--help"], self.tree.root).stdout
        names = re.findall(r"^  ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(?:  |$)", top.partition("Commands:")[2], re.MULTILINE)
        return top + "".join(run([str(self.retort), *name.split(), "--help"], self.tree.root).stdout for name in names)

    @functools.cached_property
    def settings(self) -> set[str]:
        """The environment variables RETORT_… and NIM_… that a program reads."""
        return set(SETTING.findall(self.retort_help)) | set(SETTING.findall(self.code))

    @functools.cached_property
    def flags(self) -> set[str]:
        """The flags of all programs, each with its two hyphens. --[no-]x in a help text stands for --x and --no-x."""
        optional = re.findall(r"--\[no-\]([a-z0-9-]+)", self.retort_help)
        described = FLAG.findall(self.retort_help)
        return (
            {f"--no-{flag}" for flag in optional}
            | {f"--{flag}" for flag in optional}
            | set(described)
            | set(FLAG.findall(self.code))
        )

    # routes

    @functools.cached_property
    def ports(self) -> dict[str, str]:
        """The API at each default port; "" at the main port."""
        found = re.findall(r"--(?:([a-z]+)-)?port=(\d+)", self.retort_help)
        return {port: api for api, port in found}

    @functools.cached_property
    def apis(self) -> set[str]:
        """The names of the APIs, which are the prefixes of their paths at the main port."""
        return {match[1] for path in self.tree.files if (match := API_ROUTES.fullmatch(path))} - {"page"}

    @functools.cached_property
    def routes(self) -> dict[str, set[str]]:
        """The paths by API, from OpenAPI descriptions and code. Key "": those of every API. MAIN: of the main port."""
        found: dict[str, set[str]] = {}
        for path in self.tree.files:
            folder = path.removeprefix("orchestrator/").partition("/")[0]
            api = folder if folder in self.apis else "" if folder in ("gateway", "jobs") else MAIN
            if path.startswith("orchestrator/") and path.endswith("openapi.yaml"):
                found.setdefault(api, set()).update(DESCRIBED_ROUTE.findall(self.tree.read(path)))
            elif path.startswith("orchestrator/") and path.endswith(".go") and not path.endswith("_test.go"):
                found.setdefault(api, set()).update(ROUTE.findall(self.tree.read(path)))
        return found

    def serves(self, port: str, path: str) -> bool:
        """Reports whether a path exists at a port. A port that is no default one may be that of any API."""
        if self.ports.get(port):
            return self.has_route({"", self.ports[port]}, path)
        first, _, rest = path.lstrip("/").partition("/")
        if first in self.apis and self.has_route({"", first}, "/" + rest):
            return True
        # The main port has the /v1 of all APIs (orchestrator/openai.go), and no other paths of theirs without prefix.
        is_shared = port not in self.ports or path.startswith("/v1/")
        return first not in self.apis and self.has_route({"", MAIN} | (self.apis if is_shared else set()), path)

    def has_route(self, apis: set[str], path: str) -> bool:
        """Reports whether one of the APIs (keys of routes) has a path."""
        return path == "/" or any(matches(route, path) for api in apis for route in self.routes.get(api, ()))

    # Go and git

    @functools.cached_property
    def git_commands(self) -> set[str]:
        return set(run(["git", "--list-cmds=main,nohelpers"], self.tree.root).stdout.split())

    @functools.cached_property
    def go_commands(self) -> set[str]:
        return set(re.findall(r"^\t(\w+) ", run(["go", "help"], self.tree.root).stdout, re.MULTILINE)) | {"help"}

    @functools.cached_property
    def go_test_flags(self) -> set[str]:
        text = "".join(run(["go", "help", name], self.tree.root).stdout for name in ("test", "build", "testflag"))
        return set(re.findall(r"^\t-(\w+)", text, re.MULTILINE))

    @functools.cache  # noqa: B019
    def go_files(self, package: str) -> tuple[str, ...]:
        """Returns the Go files of a package (./chem), or of a package and all below it (./chem/...)."""
        folder, deep = package.removeprefix("./"), False
        if folder == "..." or folder.endswith("/..."):
            folder, deep = folder[:-3].rstrip("/"), True
        return tuple(
            path
            for path in self.tree.files
            if path.endswith(".go")
            and (parent := str(PurePosixPath(path).parent))
            and (parent == (folder or ".") or deep and (not folder or parent.startswith(f"{folder}/")))
        )


def matches(route: str, path: str) -> bool:
    """Reports whether a route with {id}, :id, + or * matches a path. ID in a path stands for any id."""
    pattern = re.sub(r"\\{[^}]*\\}|:\w+", "[^/]+", re.escape(route)).replace(r"\+", ".+").replace(r"\*", ".*")
    return re.fullmatch(pattern, path.partition("?")[0].rstrip("/")) is not None
