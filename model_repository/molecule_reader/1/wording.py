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


def lower(text: str) -> str:
    """Within a sentence: Its mass becomes its mass; a formula and "I" stay."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
