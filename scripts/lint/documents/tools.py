"""Checks what commands of common tools name in this repository: URL paths, Go tests, files, values of the chart."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator

import yaml
from packaging.requirements import InvalidRequirement, Requirement

from scripts.lint.documents.facts import Facts
from scripts.lint.documents.tree import normalize

DEBIAN_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+(=\S+)?|(\./|\.\./|/|\w+/)*[\w$.{}*~+-]+\.deb")
# Matches a word that stands for any value: an expansion, a placeholder, a word in capitals.
PLACEHOLDER = re.compile(r"[$…<>{}\[\]]|\.\.\.|^[A-Z][A-Z0-9_]*$")
SERVERS = re.compile(
    r"(?:https?://)?(localhost|127\.0\.0\.1|\[::1\]|retort|gateway|triton|host|HOST|\$\{?\w+\}?)(?::(\d+|PORT))?(/[^\s]*)?"
)
TRITON_PATHS = re.compile(r"/(v2(/.*)?|metrics)?")


def curl(facts: Facts, words: list[str]) -> Iterator[str]:
    for before, word in zip(["", *words], words):
        if before in ("-d", "--data", "--data-raw", "--data-binary", "--json") and word[:1] in ("{", "["):
            if not re.search(r"\$[\w({]|…", word):
                yield from find_syntax_faults(word, "json")
        elif before not in ("-H", "-d", "-o", "-X") and (match := SERVERS.fullmatch(word)):
            port, path = match[2] or "", match[3] or "/"
            if "…" in path or "$" in path:
                continue
            if (port.startswith("87") or match[1] == "triton") and TRITON_PATHS.fullmatch(path):
                continue
            if not facts.serves(port, path):
                yield f"curl: {path} is not served" + (f" at port {port}" if port else "")


def go(facts: Facts, words: list[str]) -> Iterator[str]:
    if words and words[0] not in facts.go_commands:
        yield f"go {words[0]}: no such command"
    packages = [word for word in words[1:] if word.startswith("./")]
    files: list[str] = []
    for package in packages:
        found = facts.go_files(package)
        if not found:
            yield f"{package}: no such package"
        files += found
    if words[:1] != ["test"]:
        return
    tests = "\n".join(facts.tree.read(file) for file in files if file.endswith("_test.go"))
    for i, word in enumerate(words[1:], 1):
        name, equals, pattern = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            continue
        own = rf'flag\.\w+\((&\w+, )?"{re.escape(name)}"'
        if name not in facts.go_test_flags and not re.search(own, tests):
            yield f"go test: no flag -{name}" + (f" in {' '.join(packages)}" if packages else "")
        kind = {"run": "Test|Example|Fuzz", "bench": "Benchmark", "fuzz": "Fuzz"}.get(name)
        pattern = pattern if equals else words[i + 1] if i + 1 < len(words) else ""
        if kind and packages and pattern not in ("^$", "") and not PLACEHOLDER.search(pattern.strip("$")):
            names = re.findall(rf"^func ((?:{kind})\w*)\(", tests, re.MULTILINE)
            if not any(re.search(pattern.partition("/")[0], name) for name in names):
                yield f"go test -{word.lstrip('-')} {pattern}: matches nothing in {' '.join(packages)}"


def git(facts: Facts, words: list[str]) -> Iterator[str]:
    if words and not words[0].startswith("-") and words[0] not in facts.git_commands:
        yield f"git {words[0]}: no such command"


def pip(facts: Facts, words: list[str]) -> Iterator[str]:
    if words and words[0] not in ("install", "download", "show", "freeze", "list", "check", "uninstall", "wheel"):
        yield f"pip {words[0]}: no such command"
    before = ""
    for word in words[1:]:
        if before in ("-r", "--requirement", "-c", "--target", "-t", "--find-links", "--python"):
            pass  # a path
        elif not word.startswith("-") and "/" not in word and not PLACEHOLDER.search(re.sub(r"\[[\w,-]+\]", "", word)):
            try:
                Requirement(word)
            except InvalidRequirement:
                yield f"pip: {word} is not the name of a package"
        before = word


def apt(facts: Facts, words: list[str]) -> Iterator[str]:
    rest = [word for word in words if not word.startswith("-")]
    if rest and rest[0] not in ("install", "update", "upgrade", "remove", "purge", "build-dep"):
        yield f"apt-get {rest[0]}: no such command"
    for word in rest[1:]:
        if not DEBIAN_PACKAGE.fullmatch(word) and not PLACEHOLDER.search(word):
            yield f"apt-get: {word} is not the name of a package"


def docker(facts: Facts, words: list[str]) -> Iterator[str]:
    yield from check_files(facts, words)
    given = options(words)
    for target in given.get("--target", []):
        for file in given.get("-f", []) + given.get("--file", []):
            stages = re.findall(r"^FROM .* AS (\S+)", facts.tree.read(normalize(file)), re.MULTILINE | re.IGNORECASE)
            if normalize(file) in facts.tree.files and target not in stages and not PLACEHOLDER.search(target):
                yield f"docker: {file} has no target {target}"


def check_files(facts: Facts, words: list[str]) -> Iterator[str]:
    """Yields the files that -f, --file and --values name and that do not exist. One in no folder is the reader's."""
    given = options(words)
    for file in given.get("-f", []) + given.get("--file", []) + given.get("--values", []):
        if "/" in file and not file.startswith(("/", "~")) and "://" not in file and not PLACEHOLDER.search(file):
            if not facts.tree.exists(file):
                yield f"{file}: no such file"


def helm(facts: Facts, words: list[str]) -> Iterator[str]:
    yield from check_files(facts, words)
    if words and words[0] not in ("install", "upgrade", "test", "template", "uninstall", "lint", "package", "pull",
                                  "push", "status", "rollback", "history", "get", "show", "repo", "version",
                                  "list", "dependency"):  # fmt: skip
        yield f"helm {words[0]}: no such command"
    charts = [word for word in words if f"{normalize(word)}/Chart.yaml" in facts.tree.files]
    charts = charts or [path.rpartition("/")[0] for path in facts.tree.files if path.endswith("/Chart.yaml")]
    values = [yaml.safe_load(facts.tree.read(f"{normalize(chart)}/values.yaml")) for chart in charts]
    given = options(words)
    for name in ("--set", "--set-string", "--set-file", "--set-json"):
        for pair in ",".join(given.get(name, [])).split(","):
            key = pair.partition("=")[0]
            if key and "=" in pair and not any(has_key(value, key) for value in values):
                yield f"helm {name}: the chart has no value {key}"


def options(words: list[str]) -> dict[str, list[str]]:
    """Returns the values of each option, which is written as --option=value or --option value."""
    found: dict[str, list[str]] = {}
    for word, after in zip(words, [*words[1:], ""]):
        if word.startswith("-"):
            name, equals, given = word.partition("=")
            found.setdefault(name, []).append(given if equals else after)
    return found


def has_key(values: object, key: str) -> bool:
    """Reports whether a chart's values have a key. A list, {} or null may have any key."""
    for part in re.split(r"(?<!\\)\.", re.sub(r"\[\d+\]", "", key)):
        if values in ({}, [], None):
            return True
        if isinstance(values, list):
            return True
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True


def find_syntax_faults(text: str, language: str) -> list[str]:
    """Returns the syntax error of a text in a language, or nothing."""
    try:
        if language == "python":
            ast.parse(text)
        elif language == "json":
            json.loads(text)
        elif language == "yaml":
            list(yaml.safe_load_all(text))
    except (SyntaxError, ValueError, yaml.YAMLError) as error:
        return [f"not {language}: {' '.join(str(error).split())}"]
    return []


TOOLS: dict[str, Callable[[Facts, list[str]], Iterator[str]]] = {
    "curl": curl,
    "go": go,
    "git": git,
    "pip": pip,
    "pip3": pip,
    "apt-get": apt,
    "apt": apt,
    "docker": docker,
    "helm": helm,
    "kubectl": check_files,
}
