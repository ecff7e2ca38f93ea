"""Finds the Python packages of the image retort-triton and of the local Triton, with their licences.

Versions come from the locked requirements, licences from the metadata of the installed packages.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from scripts.release.materials import LICENCE_FILES, Material

LICENCES = {
    "Apache 2.0": "Apache-2.0",
    "MIT License": "MIT",
    "3-Clause BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
}
"""SPDX expressions for the fields License and Classifier, which packages without a License-Expression have."""


def pins(requirements: Path) -> dict[str, str]:
    """Returns the versions in a file of locked requirements, by package name."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", requirements.read_text(), re.MULTILINE))


def packages(requirements: Path, site: Path) -> list[Material]:
    """Returns the locked packages. RuntimeError: site lacks one of them, or a licence is unknown (see `package`)."""
    return [package(name, version, site) for name, version in pins(requirements).items()]


def package(name: str, version: str, site: Path) -> Material:
    """Returns an installed package. RuntimeError: site lacks this version, or LICENCES lacks its licence."""
    found = next(iter(metadata.distributions(name=name, path=[str(site)])), None)
    if found is None or found.version != version:
        raise RuntimeError(f"{site} has no {name} {version}: run scripts/triton/serve.py --prepare")
    said = [text for field in ("License", "Classifier") for text in found.metadata.get_all(field) or []]
    known = [LICENCES.get(text, text) for text in said if text in LICENCES or text in LICENCES.values()]
    licence = next(iter(found.metadata.get_all("License-Expression") or known), None)
    if licence is None:
        raise RuntimeError(f"{name} {version} states no licence that LICENCES in scripts/release/python.py has: {said}")
    files = [file for file in found.files or [] if LICENCE_FILES.match(file.name)]
    text = "\n\n".join(file.read_text(encoding="utf-8") for file in files)
    return Material(name, version, f"pkg:pypi/{name}@{version}", text, licence)
