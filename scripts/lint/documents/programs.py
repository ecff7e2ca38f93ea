"""Checks one command: that the program, its sub-commands, options and files exist."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scripts.lint.documents import shell
from scripts.lint.documents.facts import Facts
from scripts.lint.documents.tools import OPEN, TOOLS, parsed, pip
from scripts.lint.documents.tree import Tree, normal, run

# Programs whose arguments are not checked, except for paths of this repository, by the reason.
UNCHECKED = {
    "of the shell": "bash sh cd export echo printf test [ set source . read exit true false wait trap eval kill exec "
    "local alias return",
    "on every Debian, or named by its package on the page": "cat cp mv rm mkdir ls ln tee head tail cut sort uniq "
    "grep sed awk tr wc find xargs diff cmp touch chmod chown install date sleep seq base64 sha256sum tar gzip gunzip "
    "zcat zstd unzip du df ps lsof ss id useradd nproc watch man openssl jq rsync ssh scp dpkg dpkg-query dpkg-deb "
    "systemctl journalctl adduser sudoedit ulimit umask tini bwrap mmdebstrap uname stat mktemp basename dirname",
    "of GPU drivers": "nvidia-smi",
    "of services beside Retort": "nats promtool prometheus tritonserver cosign gh vllm",
}
NAMES = {name for names in UNCHECKED.values() for name in names.split()}
# They start the command that follows their options.
WRAPPERS = {"sudo", "env", "time", "nice", "nohup", "timeout", "setsid", "command"}
OWN = re.compile(r"(\S*/)?retort(?!\S)")
PYTHON = re.compile(r"(\S*/)?python(3(\.\d+)?)?(?!\S)")
ENVIRONMENT = re.compile(r"(?:.*/)?(\.venv-[\w.-]+)/bin/")
MODULE = re.compile(r"scripts(\.\w+)+(?!\S)")
PYTHON_TOOLS = {"pip", "venv", "pytest", "json.tool", "http.server", "ensurepip", "build", "timeit"}


class Programs:
    def __init__(self, tree: Tree, facts: Facts) -> None:
        self.tree, self.facts = tree, facts

    def knows(self, word: str) -> bool:
        """Reports whether code that begins with this word is a command."""
        is_ours = word.endswith((".py", ".sh")) and "/" in word
        patterns = (OWN, PYTHON, MODULE, ENVIRONMENT)
        return is_ours or word in {"make", "sudo", *TOOLS, *NAMES} or any(each.match(word) for each in patterns)

    def check(self, command: shell.Command, whole: bool, folder: str = "") -> Iterator[str]:
        """Yields what is wrong. A command that is not whole may lack arguments: `make`. Its paths begin at folder."""
        words = []
        for before, word in zip(("", *command.words), command.words):
            if word not in ("…", "..."):
                words.append(re.sub(r"(?<=\w)(…|\.\.\.)$", "", word))
            elif before.startswith("-"):
                words.append("VALUE")
        while words and words[0] in WRAPPERS:
            words = unwrapped(words)
        if not words:
            return
        first, given = words[0], words[1:]
        environment = ENVIRONMENT.match(first)
        if environment and f"{environment[1]}/stamp" not in self.facts.rules:
            yield f"{environment[1]}: no such environment in the Makefile"
        if PYTHON.fullmatch(first):
            yield from self.python(given, whole)
        elif MODULE.fullmatch(first):
            yield from self.module(first, given, whole)
        elif first.endswith(".py") and "/" in first:
            yield from self.file(first, given, whole)
        elif first == "make":
            yield from self.make(given)
        elif OWN.fullmatch(first):
            yield from self.of_retort(given)
        elif first in TOOLS:
            yield from TOOLS[first](self.facts, given)
        elif "/" in first:
            yield from self.paths([first], folder)
        elif first not in NAMES and not OPEN.search(first):
            yield f"{first}: an unknown program; UNCHECKED in {Path(__file__).name} lists those that need no check"
        yield from self.paths(given, folder)

    def paths(self, words: list[str], folder: str) -> Iterator[str]:
        """Each word that begins with a folder of the tree is a path in it, or a new one beside known ones."""
        for word in words:
            for path in re.findall(r"(?:^|[=:@])((?:\./)?[\w.-]+/[^\s=:@]*)", word):
                target = normal(f"{folder}/{path}") if folder else normal(path)
                if target.partition("/")[0] not in self.tree.top or OPEN.search(path) or path.endswith("/..."):
                    continue
                parent = target.rpartition("/")[0]
                is_new_folder = parent in self.tree.folders and not PurePosixPath(target).suffix
                if not self.tree.exists(target) and not is_new_folder:
                    yield f"{path}: no such file"

    # Programs of this repository

    def make(self, words: list[str]) -> Iterator[str]:
        targets = [word for word in words if not re.search(r"=|^-|^\d+$", word) and not OPEN.search(word)]
        for target in targets:
            if target not in self.facts.rules:
                yield f"make {target}: no such target"
        for word in words:
            name, equals, _ = word.partition("=")
            known = [target for target in targets or ["help"] if target in self.facts.rules]
            if equals and known and not any(name in self.facts.used_by(target) for target in known):
                if name not in self.facts.settings:
                    yield f"make {' '.join(targets)}: does not use {name}"
        if targets and any(word.startswith(("ARGS=", "PART=")) for word in words):
            yield from self.made(words, targets)

    def made(self, words: list[str], targets: list[str]) -> Iterator[str]:
        """Checks the Python programs that a target runs with the ARGS of the page. A dry run shows them."""
        if any("MAKE" in self.facts.used_by(target) for target in targets):
            return  # a dry run would start that make
        wanted = {
            word
            for target in targets
            for word in re.findall(r"scripts[./]\w+[\w./]*", self.facts.rules.get(target, ([], ""))[1])
        }
        for command in shell.commands(run(["make", "-n", *words], self.tree.root).stdout):
            if any(word in wanted for word in command.words) and not any("…" in word for word in command.words):
                yield from self.check(command, False)

    def of_retort(self, words: list[str]) -> Iterator[str]:
        if any(word.startswith(("[", "<")) for word in words):
            return
        words = [re.sub(r"^[$<].*", "VALUE", word) for word in words]
        end = words.index("--") if "--" in words else len(words)
        yield from self.parsed_by_retort((*words[:end], "--help"))

    @functools.cache  # noqa: B019
    def parsed_by_retort(self, words: tuple[str, ...]) -> list[str]:
        """Lets the program parse a command, which it does before it prints the help of the command.

        The reader's own files and folders do not exist here. A file and a folder that exist take their places.
        """
        for existing in ("README.md", "."):
            given = list(words)
            while True:
                done = run([str(self.facts.retort), *given], self.tree.root)
                missing = re.search(rf"stat {re.escape(str(self.tree.root))}/(\S+): no such file", done.stderr)
                if not missing:
                    break
                given = [re.sub(rf"(^|(?<=[=,])){re.escape(missing[1])}$", existing, word) for word in given]
            if done.returncode == 0:
                return []
        return [done.stderr.strip()]

    def python(self, words: list[str], whole: bool) -> Iterator[str]:
        while words and words[0].startswith("-") and words[0] not in ("-m", "-c", "-", "--version"):
            words = words[2:] if words[0] in ("-X", "-W") else words[1:]
        if words[:1] == ["-c"] and len(words) > 1:
            yield from parsed(words[1], "python")
        elif words[:1] == ["-m"] and len(words) > 1:
            if MODULE.fullmatch(words[1]):
                yield from self.module(words[1], words[2:], whole)
            elif words[1] == "pip":
                yield from pip(self.facts, words[2:])
            elif words[1] not in PYTHON_TOOLS:
                yield f"python -m {words[1]}: an unknown module"
        elif words and words[0].endswith(".py"):
            yield from self.file(words[0], words[1:], whole)

    def module(self, name: str, words: list[str], whole: bool) -> Iterator[str]:
        path = name.replace(".", "/")
        file = next((f for f in (f"{path}.py", f"{path}/__main__.py") if f in self.tree.files), "")
        if file:
            yield from self.arguments_of(name, file, tuple(words), whole)
        elif whole or words or not {path, path.rpartition("/")[0] + ".py"} & (self.tree.files | self.tree.folders):
            yield f"{name}: no such module"  # nor a package or an object of a module, which code in a line may name

    def file(self, path: str, words: list[str], whole: bool) -> Iterator[str]:
        if normal(path) in self.tree.files:
            yield from self.arguments_of(normal(path), normal(path), tuple(words), whole)
        elif path.partition("/")[0] in self.tree.top and not OPEN.search(path):
            yield f"{path}: no such file"

    @functools.cache  # noqa: B019
    def arguments_of(self, program: str, file: str, words: tuple[str, ...], whole: bool) -> list[str]:
        """Lets a program's own parser check its arguments: arguments.py."""
        text = self.tree.read(file)
        if "parse_args" not in text and "--help" in words:
            return [f"{program} has no --help"]
        if "parse_args" not in text:
            return [f"{program} has no option {word}" for word in words if word.startswith("--") and word not in text]
        parser = str(Path(__file__).with_name("arguments.py"))
        done = run([sys.executable, "-I", "-S", parser, str(self.tree.root), program, *words], self.tree.root)
        fault = (done.stdout + done.stderr).strip().rpartition("\n")[2]
        if done.returncode == 0 or not whole and re.search(r"required|expected .* argument", fault):
            return []
        return [f"{program}: {fault}"]


def unwrapped(words: list[str]) -> list[str]:
    """Returns the command that a wrapper starts."""
    rest = words[1:]
    while rest and (rest[0].startswith("-") or "=" in rest[0] or re.fullmatch(r"\d+[smh]?", rest[0])):
        rest = rest[2:] if rest[0] in ("-u", "-g") else rest[1:]
    return rest
