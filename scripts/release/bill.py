"""Writes the software bill of materials of a release (CycloneDX 1.6, JSON).

The root component is the program. It depends on

- its Go modules, as cyclonedx-gomod reads them from the binary
- the C++ code and the JavaScript that it contains
- the Debian packages of the shared libraries that it loads, which depend on each other
- the image retort-triton and the local Triton, which depend on their Python packages
- the entries of the model repository, whose nested components are their files with hashes
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from scripts.lint.manifest import digest
from scripts.release import python
from scripts.release.materials import Material, debian_package, output

GOMOD = ("bin", "-json", "-std", "-noserial", "-notimestamp", "-licenses", "-assert-licenses", "-output-version", "1.6")
CORRECTIONS = {
    "BSD-Source-Code": "BSD-3-Clause",
    "CC-BY-4.0": "Apache-2.0 AND MIT AND CC-BY-4.0",
}
"""SPDX expressions by what cyclonedx-gomod detects instead: golang.org/x/..., and the MCP SDK."""

PYTHON = {
    "retort-triton": ("container", "scripts/deploy/triton-requirements.txt"),
    "local Triton": ("application", "scripts/triton/requirements.txt"),
}
"""The programs that run Python packages: CycloneDX component type, and file of locked requirements."""


def text(binary: Path, root: Path, version: str, third_party: list[Material], gomod: Path, site: Path) -> str:
    """Returns the bill of a binary. third_party: the works in it; site: site-packages of the local Triton."""
    document = json.loads(output(str(gomod), *GOMOD, "-version", f"v{version}", str(binary)))
    program = document["metadata"]["component"]
    program |= licensed("Apache-2.0")
    for module in document["components"]:
        correct(module)
    components: dict[str, dict] = {c["bom-ref"]: c for c in document["components"]}
    edges: dict[str, set[str]] = {d["ref"]: set(d.get("dependsOn", [])) for d in document["dependencies"]}

    def add(*new: dict, owner: str) -> None:
        components.update({component["bom-ref"]: component for component in new})
        edges.setdefault(owner, set()).update(component["bom-ref"] for component in new)

    add(*(c for c in components.values() if c["name"] == "std"), owner=program["bom-ref"])
    add(*(library(m) for m in third_party if m.purl and not m.purl.startswith("pkg:golang/")), owner=program["bom-ref"])
    loaded = loaded_libraries(binary)
    libraries = {package: debian_package(package) for package in sorted(set(loaded.values()))}
    direct = {loaded[name] for name in directly_needed(binary) if name in loaded}
    add(*(library(libraries[package]) for package in sorted(direct)), owner=program["bom-ref"])
    for package, others in debian_dependencies(libraries).items():
        add(*(library(libraries[other]) for other in others), owner=libraries[package].purl)
    for name, (kind, requirements) in PYTHON.items():
        user = component(kind, name, version, f"python/{name.replace(' ', '-')}") | licensed("Apache-2.0")
        add(user, owner=program["bom-ref"])
        add(*map(library, python.packages(root / requirements, site)), owner=user["bom-ref"])
    entries = models(root)
    add(*entries, owner=program["bom-ref"])
    document["components"] = sorted(components.values(), key=lambda c: c["bom-ref"])
    document["dependencies"] = [
        {"ref": ref, "dependsOn": sorted(edges.get(ref, ()))} for ref in sorted({program["bom-ref"], *components})
    ]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def correct(module: dict) -> None:
    """Sets the licence of a Go module, a component in CycloneDX. RuntimeError: cyclonedx-gomod detects none."""
    found = [item["license"]["id"] for item in module.get("licenses", [])]
    if module["name"] == "std":
        found = ["BSD-3-Clause"]
    if not found:
        raise RuntimeError(f"{module['name']} has no licence that cyclonedx-gomod can detect")
    module |= licensed(" AND ".join(CORRECTIONS.get(licence, licence) for licence in found))


def component(kind: str, name: str, version: str, reference: str) -> dict:
    """Returns a CycloneDX component. kind: its type; reference: its bom-ref, unique in the bill."""
    return {"type": kind, "bom-ref": reference, "name": name, "version": version}


def library(material: Material) -> dict:
    """Returns the component of a third-party work."""
    named = component("library", material.name, material.version, material.purl) | {"purl": material.purl}
    if material.licence:
        return named | licensed(material.licence)
    return named | {"licenses": [{"license": {"name": name}} for name in material.debian_licences]}


def licensed(expression: str) -> dict:
    """Returns the field of a component that states its licence, an SPDX expression."""
    return {"licenses": [{"expression": expression}]}


def loaded_libraries(binary: Path) -> dict[str, str]:
    """Returns the Debian package of each shared library that the program loads, by the name of the library.

    RuntimeError: a library is missing or belongs to no package.
    """
    lines = output("ldd", str(binary))
    if missing := re.findall(r"(\S+) => not found", lines):
        raise RuntimeError(f"{binary} needs shared libraries that are not installed: {', '.join(missing)}")
    paths = dict(re.findall(r"(\S+) => (/\S+)", lines))
    # dpkg knows a library by its path below /lib or /usr/lib: on Debian 12, /lib is a link to /usr/lib.
    spellings = {path: (path, path.removeprefix("/usr"), f"/usr{path}") for path in paths.values()}
    wanted = sorted({spelling for all_of in spellings.values() for spelling in all_of})
    search = subprocess.run(["dpkg", "--search", *wanted], text=True, capture_output=True)
    owners = {path: line.split(":")[0] for line in search.stdout.splitlines() for path in [line.split(": ")[-1]]}
    found = {}
    for name, path in paths.items():
        owner = next((owners[spelling] for spelling in spellings[path] if spelling in owners), None)
        if owner is None:
            raise RuntimeError(f"{path} belongs to no Debian package")
        found[name] = owner
    return found


def directly_needed(binary: Path) -> list[str]:
    """Returns the names of the shared libraries that the program loads itself, not through another library."""
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", str(binary)))


def debian_dependencies(packages: Iterable[str]) -> dict[str, set[str]]:
    """Returns the dependencies among the given packages, by package. Others are left out."""
    found = {}
    for name in packages:
        fields = output("dpkg-query", "--show", "--showformat", "${Pre-Depends}, ${Depends}", name)
        names = set(re.findall(r"(?:^|[,|])\s*([a-z0-9.+-]+)", fields))
        found[name] = names.intersection(packages) - {name}
    return found


def models(root: Path) -> list[dict]:
    """Returns a component for each model entry, with its files. Its hash is the digest in the manifest."""
    manifest = json.loads((root / "model_repository/manifest.json").read_text())
    found = []
    for name, entry in sorted(manifest["entries"].items()):
        model = component("machine-learning-model", name, entry["id"].rpartition("/")[2], f"model/{name}")
        model |= licensed("Apache-2.0") | {
            "description": f"Model id {entry['id']}. The hash is of the lines `SHA256  FILE` of its files.",
            "hashes": sha256(digest(entry["files"])),
            "externalReferences": [
                {
                    "type": "model-card",
                    "url": f"model_repository/{name}/CARD.md",
                    "comment": "The card names the training data and their licences.",
                }
            ],
            "components": [
                {"type": "file", "bom-ref": f"model/{name}/{file}", "name": file, "hashes": sha256(content)}
                for file, content in sorted(entry["files"].items())
            ],
        }
        found.append(model)
    return found


def sha256(content: str) -> list[dict]:
    """Returns the field hashes of a component. content: a SHA-256 in hexadecimal."""
    return [{"alg": "SHA-256", "content": content}]
