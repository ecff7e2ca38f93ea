"""Writes generated sections of Markdown pages. The text around them is written by hand and stays.

A section is between the lines `<!-- NAME -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

from pathlib import Path


def marks(name: str) -> tuple[str, str]:
    """Returns the first and the last line of a section."""
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"


def check(page: Path, *names: str) -> None:
    """LookupError: the page exists, but does not have each of these sections exactly once."""
    if not page.exists():
        return
    text = page.read_text()
    for name in names:
        start, end = marks(name)
        if (text.count(start), text.count(end)) != (1, 1) or text.index(start) > text.index(end):
            raise LookupError(
                f"{page}: needs the lines {start.strip()} and {end.strip()} exactly once each, in this order"
            )


def read(page: Path, name: str) -> str:
    """Returns the text of a section, with its last line feed. LookupError: see check. The page must exist."""
    check(page, name)
    start, end = marks(name)
    return page.read_text().partition(start)[2].partition(end)[0]


def write(page: Path, name: str, text: str) -> None:
    """Replaces a section. A page that does not exist is created with this section alone. LookupError: see check."""
    check(page, name)
    start, end = marks(name)
    section = start + text.strip("\n") + "\n" + end
    if not page.exists():
        page.write_text(section)
        return
    head, _, rest = page.read_text().partition(start)
    page.write_text(head + section + rest.partition(end)[2])
