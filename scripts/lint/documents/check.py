"""Applies every check to every page, and checks the names of pages in code."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.lint.documents import links, markdown, shell
from scripts.lint.documents.facts import FLAG, SETTING, Facts
from scripts.lint.documents.markdown import Code, Page
from scripts.lint.documents.programs import Programs
from scripts.lint.documents.tools import find_syntax_faults
from scripts.lint.documents.tree import Problem, Tree, normalize, run

SHELL = {"sh", "bash", "shell", "console"}
PARSED = {"python": "python", "py": "python", "json": "json", "yaml": "yaml", "yml": "yaml"}
# Languages of blocks that are not parsed, with the reason.
UNPARSED = {
    "text": "no syntax to check",
    "go": "parts of programs; Go examples that tests compile are in the packages",
    "diff": "no syntax to check",
    "js": "no parser here",
    "javascript": "no parser here",
    "html": "browsers accept everything",
    "csv": "no syntax to check",
    "pbtxt": "no parser here",
    "ini": "no parser here",
    "mermaid": "no parser here",
    "bibtex": "no parser here",
}
# Flags of other programs that pages may name, with the program.
FOREIGN = {"--allow-client-shm": "Triton's"}
MAX_WORDS = 800
MAX_README_LINES = 120
# Pages that may be longer, with the reason.
LONG = {"CHANGELOG.md": "it grows with each release"}
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(work|root|home|Users|mnt)/\w+|file://")


class Documents:
    def __init__(self, root: Path, retort: Path) -> None:
        self.tree = Tree(root)
        self.facts = Facts(self.tree, retort)
        self.programs = Programs(self.tree, self.facts)

    @functools.cache  # noqa: B019
    def page_at(self, path: str) -> Page:
        return markdown.parse(path, self.tree.read(path))

    def find_problems(self) -> list[Problem]:
        found = [problem for path in self.tree.pages for problem in self.check_page(self.page_at(path))]
        found += links.check_reachable(self.tree, self.page_at)
        for path in sorted(self.tree.files):
            if links.SOURCES.fullmatch(path):
                found += links.check_names(
                    self.tree, path, list(enumerate(self.tree.read(path).split("\n"), 1)), self.page_at
                )
        return sorted(set(found))

    def check_page(self, page: Page) -> Iterator[Problem]:
        """Yields the problems of one page, which need not be in the tree."""
        yield from links.check_links(self.tree, page, self.page_at)
        yield from links.check_names(self.tree, page.path, page.prose, self.page_at)
        folder, _, name = page.path.rpartition("/")
        self.programs.home = folder if name == "SKILL.md" else ""
        for first, text in page.prose:
            for line, fault in self.check_settings(first, text):
                yield Problem(page.path, line, fault)
        for code in page.code:
            for line, fault in self.check_block(code) if code.language is not None else self.check_inline_code(code):
                yield Problem(page.path, line, fault)
        yield from check_form(page)

    def check_block(self, code: Code) -> Iterator[tuple[int, str]]:
        language, text = code.language or "", code.text
        if not language and re.match(r'\s*\{\s*"', text):
            language = "json"
        if language in PARSED:
            yield from ((code.line, fault) for fault in find_syntax_faults(text, PARSED[language]))
        elif language in SHELL or not language and self.is_shell(text):
            if language == "console":
                text = "\n".join(line[2:] if line.startswith("$ ") else "" for line in text.split("\n"))
            yield from self.check_script(code.line, text)
        elif language and language not in UNPARSED:
            yield (
                code.line,
                f"a block in {language}: a language without a parser; UNPARSED in check.py lists those that need none",
            )
        yield from self.check_settings(code.line, text)

    def is_shell(self, text: str) -> bool:
        """Reports whether a block with no language begins with a shell command."""
        first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
        words = [word for word in first.split() if not re.match(r"\w+=", word)]
        return bool(words) and (self.programs.knows(words[0]) or words[0] in ("for", "while", "if"))

    def check_script(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        done = run(["bash", "-n"], self.tree.root, input=text)
        if done.returncode:
            yield line, f"not bash: {' '.join(done.stderr.split())}"
            return
        folder = ""
        for command in shell.commands(text):
            for fault in self.programs.check(command, True, folder):
                yield line + command.line, fault
            if command.words[:1] == ("cd",) and len(command.words) == 2:
                folder = normalize(f"{folder}/{command.words[1]}")

    def check_inline_code(self, code: Code) -> Iterator[tuple[int, str]]:
        """Checks inline code: a flag, a command of a known program, or a path that begins with a folder of the root."""
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

    def check_settings(self, line: int, text: str) -> Iterator[tuple[int, str]]:
        for number, row in enumerate(text.split("\n")):
            for match in SETTING.finditer(row):
                # RETORT_CHAT_… and RETORT_CHAT_* stand for all settings with this prefix.
                is_pattern = re.match(r"_?(…|\*|\.\.\.|<)|_", row[match.end() :])
                known = self.facts.settings
                if match[0] not in known and not (is_pattern and any(name.startswith(match[0]) for name in known)):
                    yield line + number, f"{match[0]}: no program here has this setting"


def check_form(page: Page) -> Iterator[Problem]:
    if page.words > MAX_WORDS and page.path.rpartition("/")[2] not in LONG:
        yield Problem(page.path, 1, f"{page.words} words of prose; at most {MAX_WORDS} are allowed")
    if page.path == links.START and page.text.count("\n") > MAX_README_LINES:
        yield Problem(page.path, 1, f"{page.text.count(chr(10))} lines; at most {MAX_README_LINES} are allowed")
    for number, line in enumerate(page.text.split("\n"), 1):
        if match := MACHINE_PATH.search(line):
            yield Problem(page.path, number, f"{match[0]}: a path that exists on one machine only")
