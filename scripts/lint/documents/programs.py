"""Checks that the program, subcommands, options and files of a command exist."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from scripts.lint.documents import shell
from scripts.lint.documents.facts import Facts
from scripts.lint.documents.tools import PLACEHOLDER, TOOLS, find_syntax_faults, pip
from scripts.lint.documents.tree import Tree, normalize, run

# Programs of whose arguments only paths in this repository are checked, by where the programs come from.
UNCHECKED = {
    "the shell": "bash sh cd export echo printf test [ set source . read exit true false wait trap eval kill exec "
    "local alias return",
    "Debian, or a package that the page names": "cat cp mv rm mkdir ls ln tee head tail cut sort uniq "
    "grep sed awk tr wc find xargs diff cmp touch chmod chown install date sleep seq base64 sha256sum tar gzip gunzip "
    "zcat zstd unzip du df ps lsof ss id useradd nproc watch man openssl jq rsync ssh scp dpkg dpkg-query dpkg-deb "
    "systemctl journalctl adduser sudoedit ulimit umask tini bwrap mmdebstrap uname stat mktemp basename dirname",
    "GPU drivers": "nvidia-smi",
    "services that run beside Retort": "nats promtool prometheus tritonserver cosign gh vllm",
}
UNCHECKED_NAMES = {name for names in UNCHECKED.values() for name in names.split()}
# Programs that run the command after their own options.
WRAPPERS = {"sudo", "env", "time", "nice", "nohup", "timeout", "setsid", "command"}
OWN = re.compile(r"(\S*/)?retort(?!\S)")
PYTHON = re.compile(r"(\S*/)?python(3(\.\d+)?)?(?!\S)")
ENVIRONMENT = re.compile(r"(?:.*/)?(\.venv-[\w.-]+)/bin/")
TRITON = ".venv-triton"
"""The environment that scripts/triton/serve.py installs, not the Makefile."""
MODULE = re.compile(r"scripts(\.\w+)+(?!\S)")
PYTHON_TOOLS = {"pip", "venv", "pytest", "json.tool", "http.server", "ensurepip", "build", "timeit"}


class Programs:
    def __init__(self, tree: Tree, facts: Facts) -> None:
        self.tree, self.facts = tree, facts
        self.home = ""
        """The folder that the paths of commands are relative to: on the page of a skill, its folder."""

    def knows(self, word: str) -> bool:
        """Reports whether code that begins with this word is a command."""
        is_ours = word.endswith((".py", ".sh")) and "/" in word
        patterns = (OWN, PYTHON, MODULE, ENVIRONMENT)
        return (
            is_ours or word in {"make", "sudo", *TOOLS, *UNCHECKED_NAMES} or any(each.match(word) for each in patterns)
        )

    def check(self, command: shell.Command, whole: bool, folder: str = "") -> Iterator[str]:
        """Yields what is wrong with a command. One that is not whole, such as `make` in a sentence, may lack arguments.
        Its paths are relative to folder, which is relative to the root.
        """
        folder = folder or self.home
        words = []
        for before, word in zip(("", *command.words), command.words):
            if word not in ("…", "..."):
                words.append(re.sub(r"(?<=\w)(…|\.\.\.)$", "", word))
            elif before.startswith("-"):
                words.append("VALUE")
        while words and words[0] in WRAPPERS:
            words = unwrap(words)
        if not words:
            return
        first, given = words[0], words[1:]
        environment = ENVIRONMENT.match(first)
        if environment and environment[1] != TRITON and f"{environment[1]}/stamp" not in self.facts.rules:
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
            yield from self.check_retort(given)
        elif first in TOOLS:
            yield from TOOLS[first](self.facts, given)
        elif "/" in first:
            yield from self.paths([first], folder)
        elif first not in UNCHECKED_NAMES and not PLACEHOLDER.search(first):
            yield f"{first}: an unknown program; UNCHECKED in {Path(__file__).name} lists those that need no check"
        yield from self.paths(given, folder)

    def paths(self, words: list[str], folder: str) -> Iterator[str]:
        """Yields the words that begin with a folder of the root but name no file and no new folder in a known one."""
        for word in words:
            for path in re.findall(r"(?:^|[=:@])((?:\./)?[\w.-]+/[^\s=:@]*)", word):
                target = normalize(f"{folder}/{path}") if folder else normalize(path)
                if target.partition("/")[0] not in self.tree.top or PLACEHOLDER.search(path) or path.endswith("/..."):
                    continue
                parent = target.rpartition("/")[0]
                is_new_folder = parent in self.tree.folders and not PurePosixPath(target).suffix
                if not self.tree.exists(target) and not is_new_folder:
                    yield f"{path}: no such file"

    # Programs of this repository

    def make(self, words: list[str]) -> Iterator[str]:
        targets = [word for word in words if not re.search(r"=|^-|^\d+$", word) and not PLACEHOLDER.search(word)]
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
            yield from self.check_dry_run(words, targets)

    def check_dry_run(self, words: list[str], targets: list[str]) -> Iterator[str]:
        """Checks the arguments that a target gives to Python programs, as a dry run of make (`make -n`) shows them."""
        if any("MAKE" in self.facts.used_by(target) for target in targets):
            return  # a dry run runs $(MAKE) all the same
        wanted = {
            word
            for target in targets
            for word in re.findall(r"scripts[./]\w+[\w./]*", self.facts.rules.get(target, ([], ""))[1])
        }
        for command in shell.commands(run(["make", "-n", *words], self.tree.root).stdout):
            if any(word in wanted for word in command.words) and not any("…" in word for word in command.words):
                yield from self.check(command, False)

    def check_retort(self, words: list[str]) -> Iterator[str]:
        if any(word.startswith(("[", "<")) for word in words):
            return
        words = [re.sub(r"^[$<].*", "VALUE", word) for word in words]
        end = words.index("--") if "--" in words else len(words)
        yield from self.parse_by_retort((*words[:end], "--help"))

    @functools.cache  # noqa: B019
    def parse_by_retort(self, words: tuple[str, ...]) -> list[str]:
        """Returns the error of bin/retort, if any, for a command with --help at its end, which it parses first.

        Files and folders that a reader would have do not exist here: a file or a folder that exists replaces each.
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
            yield from find_syntax_faults(words[1], "python")
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
            yield f"{name}: no such module"  # inline code may also name a package, or an object of a module

    def file(self, path: str, words: list[str], whole: bool) -> Iterator[str]:
        path = f"{self.home}/{path}" if self.home else path
        if normalize(path) in self.tree.files:
            yield from self.arguments_of(normalize(path), normalize(path), tuple(words), whole)
        elif path.partition("/")[0] in self.tree.top and not PLACEHOLDER.search(path):
            yield f"{path}: no such file"

    @functools.cache  # noqa: B019
    def arguments_of(self, program: str, file: str, words: tuple[str, ...], whole: bool) -> list[str]:
        """Returns what the program's own parser says against its arguments (arguments.py)."""
        text = self.tree.read(file)
        parses = "parse_args" in text or "training.parse(" in text
        if not parses and "--help" in words:
            return [f"{program} has no --help"]
        if not parses:
            return [f"{program} has no option {word}" for word in words if word.startswith("--") and word not in text]
        parser = str(Path(__file__).with_name("arguments.py"))
        done = run([sys.executable, "-I", "-S", parser, str(self.tree.root), program, *words], self.tree.root)
        fault = (done.stdout + done.stderr).strip().rpartition("\n")[2]
        if done.returncode == 0 or not whole and re.search(r"required|expected .* argument", fault):
            return []
        return [f"{program}: {fault}"]


def unwrap(words: list[str]) -> list[str]:
    """Returns the command that a wrapper, the first word, runs."""
    rest = words[1:]
    while rest and (rest[0].startswith("-") or "=" in rest[0] or re.fullmatch(r"\d+[smh]?", rest[0])):
        rest = rest[2:] if rest[0] in ("-u", "-g") else rest[1:]
    return rest
