"""Writes licences/swagger-ui-dist-VERSION.txt: the licences of Swagger UI and of the npm packages in its bundle.

    npm install --ignore-scripts --prefix FOLDER swagger-ui@VERSION swagger-ui-dist@VERSION
    python -m scripts.release.swagger FOLDER

Run it after each update of github.com/swaggo/files. The names of the packages come from the bundle's source map. If the
command reports missing packages, install them into FOLDER, too.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from scripts.release.materials import licence_text, swagger_folder, swagger_licences, swagger_version

ROOT = Path(__file__).resolve().parents[2]
RULE = "-" * 78


def bundled(dist: Path) -> list[str]:
    """Returns the names of the npm packages in the bundle."""
    sources = json.loads((dist / "swagger-ui-bundle.js.map").read_text())["sources"]
    return sorted({found[-1] for path in sources if (found := re.findall(r"node_modules/((?:@[^/]+/)?[^/]+)", path))})


def licence_of(package: Path) -> str:
    """Returns the licence texts of an installed package, or the licence and author in package.json if it has none."""
    about = json.loads((package / "package.json").read_text())
    try:
        return licence_text([package])
    except RuntimeError:
        author = about.get("author", "")
        name = author if isinstance(author, str) else author.get("name", "")
        licence = about.get("license") or about["licenses"][0]["type"]
        return f"Licence: {licence} (the package contains no text of it). Author: {name or 'not stated'}"


def main(installed: Path) -> None:
    modules, version = installed / "node_modules", swagger_version(ROOT)
    names = bundled(swagger_folder(ROOT))
    if missing := [name for name in names if not (modules / name).exists()]:
        sys.exit(f"{modules} lacks these packages of the bundle: {' '.join(missing)}")
    dist = json.loads((modules / "swagger-ui-dist/package.json").read_text())
    assert dist["version"] == version, f"{installed} has Swagger UI {dist['version']}, the program {version}"
    works: dict[str, list[str]] = {}
    for name in names:
        works.setdefault(licence_of(modules / name), []).append(name)
    parts = [licence_text([modules / "swagger-ui-dist"]), "The bundle of Swagger UI contains these packages of others."]
    parts += ["\n".join([RULE, *names, RULE, "", text]) for text, names in works.items()]
    swagger_licences(version).write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
