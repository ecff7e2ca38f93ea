"""Checks links between pages, and the names of pages in prose, code and comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from scripts.lint.documents.markdown import Page
from scripts.lint.documents.tree import Problem, Tree, normalize

START = "README.md"
# Pages that no page needs to link to, with the reason.
UNLINKED = {
    ".github/PULL_REQUEST_TEMPLATE.md": "the forge shows it to whoever opens a pull request",
    "*/testdata/*.md": "whoever changes the data finds it beside them",
}
SOURCES = re.compile(
    r".*\.(go|py|ya?ml|js|mjs|sh|tpl|html|toml|in|service|pbtxt|proto|h|cc)|(.*/)?(Makefile|Dockerfile)"
)
MENTION = re.compile(r"""([^\s"'`()\[\],;|#]*[\w>}*]\.md)\b(#[\w-]+)?""")
DECISIONS = re.compile(r"\b[Dd]ecisions? (\d{4}\b(?:(?:,|,? and| to) \d{4}\b)*)")
TESTS = re.compile(r"scripts/tests/.*|.*_test\.go")
# Part of a pattern, a placeholder or a URL, which names no page of the repository.
VAGUE = re.compile(r"[*<>{}$%…\\]|://|^\.md|^OUT\b|YYYY")
# The name of a file that a program writes. Names of pages are in capitals or have a number or date.
OUTPUT = re.compile(r"[a-z]+\.md")
URL_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def check_links(tree: Tree, page: Page, page_at: Callable[[str], Page]) -> Iterator[Problem]:
    """Yields a problem for each link that leads nowhere."""
    for line, link in page.links:
        if fault := find_fault(tree, page, link, page_at):
            yield Problem(page.path, line, f"link {link}: {fault}")


def find_fault(tree: Tree, page: Page, link: str, page_at: Callable[[str], Page]) -> str:
    """Returns what is wrong with a link, or ""."""
    if URL_SCHEME.match(link):
        parts = urlsplit(link)
        known = parts.scheme in ("http", "https") and parts.hostname or parts.scheme == "mailto" and "@" in parts.path
        return "" if known else "neither a file nor an http address"
    path, _, anchor = link.partition("#")
    if path.startswith("/"):
        return "an absolute path"
    target = resolve(page.path, path)
    if target != page.path and not tree.exists(target):
        return "no such file"
    if not anchor:
        return ""
    if target.endswith(".md"):
        there = page if target == page.path else page_at(target)
        return "" if unquote(anchor) in there.anchors else "no such heading"
    lines = re.fullmatch(r"L(\d+)(-L(\d+))?", anchor)
    last = int(lines[3] or lines[1]) if lines else 0
    return "" if 0 < last <= tree.read(target).count("\n") else "no such line"


def resolve(page: str, path: str) -> str:
    """Returns the path from the root that a path relative to a page stands for. An empty path is the page itself."""
    return normalize(f"{PurePosixPath(page).parent}/{unquote(path)}") if path else page


def check_reachable(tree: Tree, page_at: Callable[[str], Page]) -> Iterator[Problem]:
    """Yields a problem for each page that a reader cannot reach from README.md by links."""
    reached, pending = {START}, [START]
    while pending:
        page = page_at(pending.pop())
        for _, link in page.links:
            if URL_SCHEME.match(link):
                continue
            target = resolve(page.path, link.partition("#")[0])
            if target in tree.folders:
                target = normalize(f"{target}/README.md")
            if target.endswith(".md") and target in tree.files and target not in reached:
                reached.add(target)
                pending.append(target)
    for path in tree.pages:
        if path not in reached and not any(fnmatchcase(path, pattern) for pattern in UNLINKED):
            yield Problem(path, 1, f"no link leads here from {START}")


def check_names(
    tree: Tree, path: str, texts: list[tuple[int, str]], page_at: Callable[[str], Page]
) -> Iterator[Problem]:
    """Yields a problem for each name of a page, heading or decision that does not exist."""
    for line, text in texts:
        for name, anchor in MENTION.findall(text):
            if is_vague(tree, path, name):
                continue
            found = pages_named(tree, path, name)
            if not found:
                yield Problem(path, line, f"{name}: no such page")
            elif (
                anchor
                and ("/" in name or not TESTS.fullmatch(path))
                and not any(anchor[1:] in page_at(page).anchors for page in found)
            ):
                yield Problem(path, line, f"{name}{anchor}: no such heading")
        for numbers in DECISIONS.findall(text):
            for number in re.findall(r"\d{4}", numbers):
                if not any(re.search(rf"(^|/)decisions/{number}-", page) for page in tree.pages):
                    yield Problem(path, line, f"decision {number}: no such page")


def is_vague(tree: Tree, path: str, name: str) -> bool:
    """Reports whether a name stands for no single page: a pattern, a program's output, an example in a test."""
    is_example = OUTPUT.fullmatch(PurePosixPath(name).name) or "/" in name and TESTS.fullmatch(path)
    return VAGUE.search(name) is not None or bool(is_example) and name.partition("/")[0] not in tree.top


def pages_named(tree: Tree, path: str, name: str) -> list[str]:
    """Returns the pages that a name may mean. It is a path from the root or from this file, or the end of a path."""
    exact = [page for page in (normalize(name), resolve(path, name)) if page in tree.files]
    ending = normalize(name).replace("../", "")
    return exact or [page for page in tree.pages if f"/{page}".endswith(f"/{ending}")]
