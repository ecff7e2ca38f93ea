"""Reads a Markdown page: its headings, links, code and prose."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from markdown_it.token import Token

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)


@dataclass(frozen=True)
class Code:
    """Inline code, or a code block with the language that its fence names."""

    line: int
    text: str
    language: str | None = None
    """None: inline code. "": a block with no language."""


@dataclass
class Page:
    path: str
    text: str
    anchors: set[str] = field(default_factory=set)
    """What a link can name after #: the slugs of headings, and ids in HTML."""
    links: list[tuple[int, str]] = field(default_factory=list)
    """Line numbers and targets of links and images."""
    code: list[Code] = field(default_factory=list)
    prose: list[tuple[int, str]] = field(default_factory=list)
    """Line numbers and texts of the lines, with their inline code."""
    words: int = 0
    """The number of words outside tables, code blocks, comments and generated sections."""


def parse(path: str, text: str) -> Page:
    """Reads a page. Front matter becomes empty lines, so that line numbers stay the same."""
    page = Page(path, text)
    text = FRONT_MATTER.sub(lambda match: "\n" * match[0].count("\n"), text)
    slugs: Counter[str] = Counter()
    generated, tables, heading = "", 0, False
    for token in PARSER.parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "html_block":
            generated = section_after(token.content, generated, text)
            read_html(page, line, token.content)
        elif token.type in ("fence", "code_block"):
            language = token.info.split()[0] if token.info.strip() else ""
            page.code.append(Code(line + (token.type == "fence"), token.content, language))
        elif token.type in ("table_open", "table_close"):
            tables += token.nesting
        elif token.type in ("heading_open", "heading_close"):
            heading = token.type == "heading_open"
        elif token.type == "inline":
            plain = "".join(read_inline(page, line, token))
            if heading:
                page.anchors.add(unique(slug(plain), slugs))
            if not tables and not generated:
                page.words += sum(any(c.isalnum() for c in word) for word in plain.split())
    return page


def section_after(html: str, generated: str, text: str) -> str:
    """Returns the name of the generated section (scripts/sections.py) that the text after some HTML is in, or ""."""
    for name in COMMENT.findall(html):
        if name == f"end of {generated}":
            generated = ""
        elif not generated and f"<!-- end of {name} -->" in text:
            generated = name
    return generated


def read_inline(page: Page, line: int, inline: Token) -> Iterator[str]:
    """Adds the links and code of a paragraph, heading or cell to the page, and yields its text."""
    parts: list[str] = []
    for child in inline.children or []:
        if child.type in ("softbreak", "hardbreak"):
            page.prose.append((line, "".join(parts)))
            yield from (*parts, " ")
            parts, line = [], line + 1
        elif child.type == "link_open":
            page.links.append((line, str(child.attrs["href"])))
        elif child.type == "image":
            page.links.append((line, str(child.attrs["src"])))
        elif child.type == "code_inline":
            page.code.append(Code(line, child.content))
            parts.append(child.content)
        elif child.type == "html_inline":
            read_html(page, line, child.content)
        elif child.type == "text":
            parts.append(child.content)
    page.prose.append((line, "".join(parts)))
    yield from parts


def read_html(page: Page, line: int, html: str) -> None:
    """Adds the ids and links of HTML to the page."""

    class Reader(HTMLParser):
        def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
            for name, value in attrs:
                if name in ("id", "name") and value:
                    page.anchors.add(value)
                if name in ("href", "src", "srcset") and value:
                    page.links.append((line + self.getpos()[0] - 1, value))

    Reader().feed(html)


def slug(heading: str) -> str:
    """Returns the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def unique(name: str, taken: Counter[str]) -> str:
    """Returns a slug with the suffix (-1, -2) that GitHub adds if earlier headings have the same one."""
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name] - 1}"
