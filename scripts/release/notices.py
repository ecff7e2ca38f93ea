"""The text of THIRD-PARTY-NOTICES.txt: every work of others in a release, with its licence."""

from __future__ import annotations

from scripts.release.materials import Material

RULE = "=" * 78


def text(materials: list[Material]) -> str:
    """The notices. Works with the same licence text share it."""
    names: dict[str, list[str]] = {}
    for material in materials:
        names.setdefault(material.licence_text.strip(), []).append(f"{material.name} {material.version}".strip())
    parts = ["Works of others in the program, its packages and its page, with their licences.\n"]
    for licence, works in sorted(names.items(), key=lambda item: item[1]):
        parts.append("\n".join([RULE, *works, RULE, "", licence, ""]))
    return "\n".join(parts)
