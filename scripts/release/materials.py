"""Finds the works of others that a release contains, and describes them in CycloneDX.

The program contains Go modules, Go's standard library, C++ code from Debian packages (headers and static libraries),
JavaScript and copied files; it loads shared libraries of Debian packages. The images contain Python packages. The
model repository contains models.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

LICENCE_FILES = re.compile(r"(?i)^(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT)([-._].*)?$")
DEBIAN_BUILD = ("librdkit-dev", "libboost1.74-dev", "libgoogle-perftools-dev")
"""Debian packages with code that the compiler or the linker copies into the program."""

SWAGGER_MODULE = "github.com/swaggo/files/v2"


@dataclass(frozen=True)
class Material:
    """A work that the program contains."""

    name: str
    version: str
    purl: str
    """Its package URL."""
    licence_text: str


def of(binary: Path, root: Path) -> list[Material]:
    """The works that the program contains, sorted by kind and name. RuntimeError: one of them has no licence file."""
    return [*go_modules(binary, root), *debian_packages(DEBIAN_BUILD), *third_party(root), swagger_ui(root)]


def go_modules(binary: Path, root: Path) -> list[Material]:
    """Go's standard library and the modules of a Go binary."""
    info = json.loads(output("go", "version", "-m", "-json", str(binary)))
    toolchain = info["GoVersion"].removeprefix("go")
    goroot = Path(output("go", "env", "GOROOT"))
    found = [Material("Go", toolchain, f"pkg:golang/std@{toolchain}", licence_of(goroot))]
    versions = {module["Path"]: module["Version"] for module in info["Deps"]}
    folders = module_folders(root, *sorted(versions))
    for name, folder in folders.items():
        purl = f"pkg:golang/{name}@{versions[name]}"
        found.append(Material(name, versions[name], purl, licence_of(folder)))
    return found


def module_folders(root: Path, *names: str) -> dict[str, Path]:
    """The folders of Go modules, by name, in the order of the names."""
    lines = output("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", *names, cwd=root).splitlines()
    return {name: Path(folder) for name, folder in (line.split(" ", 1) for line in lines)}


def licence_of(folder: Path) -> str:
    """The texts of the licence files in a folder. RuntimeError: it has none."""
    files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILES.match(file.name))
    if not files:
        raise RuntimeError(f"{folder} has no licence file")
    return "\n\n".join(file.read_text(errors="replace").strip() for file in files)


def debian_packages(names: tuple[str, ...]) -> list[Material]:
    """Installed Debian packages."""
    found = []
    for name in names:
        version = output("dpkg-query", "--show", "--showformat", "${Version}", name)
        copyright = Path("/usr/share/doc", name, "copyright").read_text(errors="replace")
        found.append(Material(name, version, f"pkg:deb/debian/{name}@{version}", copyright))
    return found


def third_party(root: Path) -> list[Material]:
    """JavaScript of the page, and files copied from other works."""
    folder = root / "orchestrator/page/assets/third_party"
    packages = json.loads((folder / "package.json").read_text())["dependencies"]
    found = []
    for name, version in packages.items():
        licence = (folder / f"{name}.LICENSE.txt").read_text()
        found.append(Material(name, version, f"pkg:npm/{name}@{version}", licence))
    found.append(Material("files of others in chem", "", "", (root / "chem/NOTICE").read_text()))
    return found


def swagger_ui(root: Path) -> Material:
    """The page for API descriptions: a Go module contains it without its licence."""
    bundle = module_folders(root, SWAGGER_MODULE)[SWAGGER_MODULE] / "dist/swagger-ui-bundle.js"
    match = re.search(r'PACKAGE_VERSION:"([^"]+)"', bundle.read_text())
    if not match:
        raise RuntimeError(f"{bundle} has no version")
    licence = f"Copyright 2020-2021 SmartBear Software Inc.\n\n{(root / 'LICENSE').read_text()}"
    return Material("swagger-ui-dist", match[1], f"pkg:npm/swagger-ui-dist@{match[1]}", licence)


def shared_libraries(binary: Path) -> list[tuple[str, str]]:
    """Name and version of the Debian packages whose libraries the program loads."""
    paths = re.findall(r"=> (/\S+)", output("ldd", str(binary)))
    owners = set()
    for path in paths:
        # Packages know the path before or after /lib became a link to /usr/lib.
        for spelling in (path, path.removeprefix("/usr"), f"/usr{path}"):
            search = subprocess.run(["dpkg", "--search", spelling], text=True, capture_output=True)
            if search.returncode == 0:
                owners.add(search.stdout.split(":")[0])
                break
        else:
            raise RuntimeError(f"{path} belongs to no Debian package")
    return [(name, output("dpkg-query", "--show", "--showformat", "${Version}", name)) for name in sorted(owners)]


def bill(binary: Path, root: Path, version: str, materials: list[Material], gomod: Path) -> str:
    """The software bill of materials: CycloneDX 1.6, JSON."""
    command = [gomod, "bin", "-json", "-std", "-noserial", "-notimestamp", "-output-version", "1.6"]
    document = json.loads(output(*map(str, command), "-version", f"v{version}", str(binary)))
    components = document["components"]
    known = {component["purl"].partition("?")[0] for component in components}
    for material in materials:
        if material.purl and not material.purl.startswith("pkg:golang/") and material.purl not in known:
            components.append(component("library", material.name, material.version, material.purl))
    for name, package_version in shared_libraries(binary):
        purl = f"pkg:deb/debian/{name}@{package_version}"
        components.append(component("library", name, package_version, purl))
    requirements = (root / "scripts/deploy/triton-requirements.txt").read_text()
    for name, package_version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", requirements, re.MULTILINE):
        components.append(component("library", name, package_version, f"pkg:pypi/{name}@{package_version}"))
    components += models(root)
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def component(kind: str, name: str, version: str, purl: str) -> dict:
    """A CycloneDX component."""
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def models(root: Path) -> list[dict]:
    """The entries of the model repository, by the digests of their files."""
    manifest = json.loads((root / "model_repository/manifest.json").read_text())
    found = []
    for name, entry in sorted(manifest["entries"].items()):
        lines = "".join(f"{digest}  {file}\n" for file, digest in sorted(entry["files"].items()))
        found.append(
            {
                "type": "machine-learning-model",
                "bom-ref": f"model/{name}",
                "name": name,
                "version": entry["id"].rpartition("/")[2],
                "description": f"Model id {entry['id']}. The hash is of the lines `SHA256  FILE` of its files.",
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(lines.encode()).hexdigest()}],
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        )
    return found


def output(*command: str, cwd: Path | None = None) -> str:
    """What a command prints, without the white space around it."""
    return subprocess.run(command, cwd=cwd, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
