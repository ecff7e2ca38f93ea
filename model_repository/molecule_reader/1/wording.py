"""Small helps for writing sentences."""

from __future__ import annotations

from collections.abc import Sequence


def number(count: int, one: str, many: str) -> str:
    """no rings, 1 ring, 2 rings."""
    return f"{count or 'no'} {one if count == 1 else many}"


def plural(name: str) -> str:
    return name[:-1] + "ies" if name.endswith("y") else name + "s"


def listed(items: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]
