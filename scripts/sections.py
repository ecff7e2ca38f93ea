"""Sections of a Markdown page that a program writes; all other text of the page is written by hand and never changed.

A section stands between a line `<!-- NAME -->` and a line `<!-- end of NAME -->`.
"""

from __future__ import annotations

from pathlib import Path


def marks(name: str) -> tuple[str, str]:
    """The lines before and after a section."""
    return f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"


def check(page: Path, *names: str) -> None:
    """LookupError: the page exists, and has not each of these sections once. A page that does not exist yet is in order."""
    if not page.exists():
        return
    text = page.read_text()
    for name in names:
        start, end = marks(name)
        if (text.count(start), text.count(end)) != (1, 1) or text.index(start) > text.index(end):
            raise LookupError(f"{page}: it needs the lines {start.strip()} and {end.strip()}, once each, around the section that is written")


def write(page: Path, name: str, text: str) -> None:
    """Puts the text into its section; a page that does not exist becomes one with this section alone. LookupError: see check."""
    check(page, name)
    start, end = marks(name)
    section = start + text.strip("\n") + "\n" + end
    if not page.exists():
        page.write_text(section)
        return
    head, _, rest = page.read_text().partition(start)
    page.write_text(head + section + rest.partition(end)[2])
