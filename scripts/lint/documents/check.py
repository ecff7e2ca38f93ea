"""Runs all checks of pages."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.lint.documents import links, markdown, shell
from scripts.lint.documents.facts import FLAG, SETTING, Facts
from scripts.lint.documents.markdown import Code, Page
from scripts.lint.documents.programs import Programs
from scripts.lint.documents.tools import parsed
from scripts.lint.documents.tree import Problem, Tree, normal, run

SHELL = {"sh", "bash", "shell", "console"}
PARSED = {"python": "python", "py": "python", "json": "json", "yaml": "yaml", "yml": "yaml"}
# Languages of blocks that are not parsed, and why.
UNPARSED = {
    "text": "no language",
    "go": "parts of programs; Go examples that tests compile are in the packages",
    "diff": "no language",
    "js": "no parser here",
    "javascript": "no parser here",
    "html": "browsers accept everything",
    "csv": "no language",
    "pbtxt": "no parser here",
    "ini": "no parser here",
    "mermaid": "no parser here",
    "bibtex": "no parser here",
}
# Flags that no program here has, and whose they are.
FOREIGN = {"--allow-client-shm": "Triton's"}
WORDS = 800
DECISION_WORDS = 400
START_LINES = 120
# Pages that may be longer, and why.
LONG = {"CHANGELOG.md": "it grows with each release"}
MACHINE = re.compile(r"(?<![\w.:/])/(work|root|home|Users|mnt)/\w+|file://")


class Documents:
    def __init__(self, root: Path, retort: Path) -> None:
        self.tree = Tree(root)
        self.facts = Facts(self.tree, retort)
        self.programs = Programs(self.tree, self.facts)

    @functools.cache  # noqa: B019
    def page_at(self, path: str) -> Page:
        return markdown.parse(path, self.tree.read(path))

    def problems(self) -> list[Problem]:
        found = [problem for path in self.tree.pages for problem in self.of_page(self.page_at(path))]
        found += links.check_reachable(self.tree, self.page_at)
        for path in sorted(self.tree.files):
            if links.SOURCES.fullmatch(path):
                found += links.check_names(
                    self.tree, path, list(enumerate(self.tree.read(path).split("\n"), 1)), self.page_at
                )
        return sorted(set(found))

    def of_page(self, page: Page) -> Iterator[Problem]:
        """Yields the problems of one page, which need not be in the tree."""
        yield from links.check_links(self.tree, page, self.page_at)
        yield from links.check_names(self.tree, page.path, page.prose, self.page_at)
        for first, text in page.prose:
            for line, fault in self.of_settings(first, text):
                yield Problem(page.path, line, fault)
        for code in page.code:
            for line, fault in self.of_block(code) if code.language is not None else self.of_code(code):
                yield Problem(page.path, line, fault)
        yield from form(page)

    def of_block(self, code: Code) -> Iterator[tuple[int, str]]:
        language, text = code.language or "", code.text
        if not language and re.match(r'\s*\{\s*"', text):
            language = "json"
        if language in PARSED:
            yield from ((code.line, fault) for fault in parsed(text, PARSED[language]))
        elif language in SHELL or not language and self.is_shell(text):
            if language == "console":
                text = "\n".join(line[2:] if line.startswith("$ ") else "" for line in text.split("\n"))
            yield from self.of_script(code.line, text)
        elif language and language not in UNPARSED:
            yield code.line, f"a block in {language}: a language without a parser (UNPARSED in check.py)"
        yield from self.of_settings(code.line, text)

    def is_shell(self, text: str) -> bool:
        """Reports whether a block without a language begins with a command."""
        first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
        words = [word for word in first.split() if not re.match(r"\w+=", word)]
        return bool(words) and (self.programs.knows(words[0]) or words[0] in ("for", "while", "if"))

    def of_script(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        done = run(["bash", "-n"], self.tree.root, input=text)
        if done.returncode:
            yield line, f"not bash: {' '.join(done.stderr.split())}"
            return
        folder = ""
        for command in shell.commands(text):
            for fault in self.programs.check(command, True, folder):
                yield line + command.line, fault
            if command.words[:1] == ("cd",) and len(command.words) == 2:
                folder = normal(f"{folder}/{command.words[1]}")

    def of_code(self, code: Code) -> Iterator[tuple[int, str]]:
        """Code in a line: a flag, a command if it begins with a program, or a path if it begins with a folder."""
        words = [word for word in code.text.split() if not re.match(r"\w+=", word)]
        if words and words[0].startswith("--"):
            for flag in FLAG.findall(code.text):
                if flag not in self.facts.flags | FOREIGN.keys() and not re.search(
                    re.escape(flag) + r"-?(…|\.\.\.|\*)", code.text
                ):
                    yield code.line, f"{flag}: no program here has this flag"
        elif words and self.programs.knows(words[0]):
            text = re.sub(r"<([\w -]+)>", "VALUE", re.sub(r"\[(-[^\]]*)\]", r"\1", code.text))
            for command in shell.commands(text):
                for fault in self.programs.check(command, False):
                    yield code.line, fault
        elif len(words) == 1:
            for fault in self.programs.paths(words, ""):
                yield code.line, fault

    def of_settings(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        for number, row in enumerate(text.split("\n")):
            for match in SETTING.finditer(row):
                # RETORT_CHAT_… and RETORT_CHAT_* stand for all that begin so.
                is_prefix = re.match(r"_?(…|\*|\.\.\.|<)|_", row[match.end() :])
                known = self.facts.settings
                if match[0] not in known and not (is_prefix and any(name.startswith(match[0]) for name in known)):
                    yield line + number, f"{match[0]}: no such setting"


def form(page: Page) -> Iterator[Problem]:
    limit = DECISION_WORDS if re.search(r"(^|/)decisions/\d", page.path) else WORDS
    if page.words > limit and page.path.rpartition("/")[2] not in LONG:
        yield Problem(page.path, 1, f"{page.words} words of prose, {limit} are allowed")
    if page.path == links.START and page.text.count("\n") > START_LINES:
        yield Problem(page.path, 1, f"{page.text.count(chr(10))} lines, {START_LINES} are allowed")
    for number, line in enumerate(page.text.split("\n"), 1):
        if match := MACHINE.search(line):
            yield Problem(page.path, number, f"{match[0]}: a path of one machine")
