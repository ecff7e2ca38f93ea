"""Finds the third-party works that the program contains, which THIRD-PARTY-NOTICES.txt must name.

The program contains Go modules, Go's standard library, C++ code from Debian packages (headers and a static library),
JavaScript and copied files. A work without a licence text or a known licence is an error.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

LICENCES = Path(__file__).with_name("licences")
LICENCE_FILES = re.compile(r"(?i)^(LICEN[CS]E|COPYING|NOTICE|COPYRIGHT|PATENTS)([-._].*)?$")
DEBIAN_BUILD = ("librdkit-dev", "libboost1.74-dev", "libgoogle-perftools-dev")
"""Debian packages with code that the compiler or the linker copies into the program."""

SWAGGER_MODULE = "github.com/swaggo/files/v2"
JAVASCRIPT_LICENCES = {"openchemlib": "BSD-3-Clause", "uplot": "MIT", "swagger-ui-dist": "Apache-2.0"}

DEBIAN_LICENCES = {
    "libc6": "LGPL-2.1-or-later",
    "libcairo2": "LGPL-2.1-only OR MPL-1.1",
    "libfontconfig1": "HPND-sell-variant",
    "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libpixman-1-0": "MIT",
    "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libx11-6": "MIT AND X11",
    "libxau6": "MIT-open-group",
    "libxcb-render0": "X11",
    "libxcb-shm0": "X11",
    "libxcb1": "X11",
    "libxdmcp6": "MIT-open-group",
    "libxext6": "MIT AND MIT-open-group",
    "libxrender1": "HPND-sell-variant",
}
"""SPDX expressions of Debian packages whose copyright file is prose, which no program can read."""


@dataclass(frozen=True)
class Material:
    """A third-party work that a release contains or needs: a module, a package or files."""

    name: str
    version: str
    purl: str
    """Its package URL, or "" if it has none."""
    text: str
    """The texts of its licences and notices."""
    licence: str = ""
    """An SPDX expression. "": cyclonedx-gomod detects it (Go modules), or `debian_licences` has the names (Debian)."""
    debian_licences: tuple[str, ...] = ()
    """Debian's names of its licences, which are not those of SPDX."""


def find_materials(binary: Path, root: Path) -> list[Material]:
    """Returns the works that the program contains, by kind. RuntimeError: one of them has no licence."""
    return [*go_modules(binary, root), *debian_packages(DEBIAN_BUILD), *javascript(root), copied_files(root)]


def go_modules(binary: Path, root: Path) -> list[Material]:
    """Returns Go's standard library and the modules in a Go binary."""
    info = json.loads(output("go", "version", "-m", "-json", str(binary)))
    toolchain = info["GoVersion"].removeprefix("go")
    goroot = Path(output("go", "env", "GOROOT"))
    found = [Material("Go", toolchain, f"pkg:golang/std@{toolchain}", licence_text([goroot]))]
    versions = {module["Path"]: module["Version"] for module in info["Deps"]}
    packages = package_folders(root)
    for name, folder in module_folders(root, *sorted(versions)).items():
        text = licence_text([folder, *sorted(packages.get(name, set()) - {folder})])
        found.append(Material(name, versions[name], f"pkg:golang/{name}@{versions[name]}", text))
    return found


def module_folders(root: Path, *names: str) -> dict[str, Path]:
    """Returns the folders of Go modules by name, in the order of the names."""
    lines = output("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", *names, cwd=root).splitlines()
    return {name: Path(folder) for name, folder in (line.split(" ", 1) for line in lines)}


def package_folders(root: Path) -> dict[str, set[Path]]:
    """Returns, by module, the folders of its packages in the program, and their parents up to the module's folder.

    Each may have a licence file for the code below it.
    """
    form = "{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}\t{{.Dir}}"
    folders: dict[str, set[Path]] = {}
    for line in output("go", "list", "-deps", "-f", form, "./orchestrator", cwd=root).splitlines():
        if line.count("\t") == 2:  # else a package of the standard library
            module, top, folder = line.split("\t")
            path = Path(folder)
            chain = {path, *path.parents} - set(Path(top).parents)
            folders.setdefault(module, set()).update(chain)
    return folders


def licence_text(folders: list[Path]) -> str:
    """Returns the texts of the licence files in folders, each text once. RuntimeError: the first folder has none."""
    texts: dict[str, None] = {}
    for folder in folders:
        files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILES.match(file.name))
        texts |= {file.read_text(errors="replace").strip(): None for file in files if file.suffix != ".go"}
        if not texts:
            raise RuntimeError(f"{folder} has no licence file")
    return "\n\n".join(texts)


def debian_packages(names: tuple[str, ...]) -> list[Material]:
    """Returns installed Debian packages, in the order of the names."""
    return [debian_package(name) for name in names]


def debian_package(name: str) -> Material:
    """Returns an installed Debian package. RuntimeError: its copyright file names no licence."""
    version, architecture = output("dpkg-query", "--show", "--showformat", "${Version} ${Architecture}", name).split()
    text = Path("/usr/share/doc", name, "copyright").read_text(errors="replace")
    names = set(re.findall(r"^License: *(\S.*?) *$", text, re.MULTILINE))
    if name not in DEBIAN_LICENCES and not names:
        raise RuntimeError(f"/usr/share/doc/{name}/copyright names no licence: add the package to DEBIAN_LICENCES")
    purl = f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}?arch={architecture}"
    return Material(name, version, purl, text, DEBIAN_LICENCES.get(name, ""), tuple(sorted(names)))


def javascript(root: Path) -> list[Material]:
    """Returns the JavaScript packages of the web page, and Swagger UI, which shows the API descriptions."""
    folder = root / "orchestrator/page/assets/third_party"
    packages = json.loads((folder / "package.json").read_text())["dependencies"]
    texts = {name: (folder / f"{name}.LICENSE.txt").read_text() for name in packages}
    version = swagger_version(root)
    packages["swagger-ui-dist"] = version
    texts["swagger-ui-dist"] = swagger_licences(version).read_text()
    return [
        Material(name, version, f"pkg:npm/{name}@{version}", texts[name], JAVASCRIPT_LICENCES[name])
        for name, version in packages.items()
    ]


def swagger_folder(root: Path) -> Path:
    """Returns the folder of Swagger UI's files. The Go module around it lacks their licences."""
    return module_folders(root, SWAGGER_MODULE)[SWAGGER_MODULE] / "dist"


def swagger_version(root: Path) -> str:
    """Returns the version of Swagger UI in the Go module."""
    bundle = swagger_folder(root) / "swagger-ui-bundle.js"
    match = re.search(r'PACKAGE_VERSION:"([^"]+)"', bundle.read_text())
    if not match:
        raise RuntimeError(f"{bundle} has no PACKAGE_VERSION")
    return match[1]


def swagger_licences(version: str) -> Path:
    """Returns the file of Swagger UI's licences in a version, which scripts.release.swagger writes."""
    return LICENCES / f"swagger-ui-dist-{version}.txt"


def copied_files(root: Path) -> Material:
    """Returns the third-party files in chem as one work."""
    return Material("files of others in chem", "", "", (root / "chem/NOTICE").read_text())


def output(*command: str, cwd: Path | None = None) -> str:
    """Runs a command and returns its standard output, without the white space around it."""
    return subprocess.run(command, cwd=cwd, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
