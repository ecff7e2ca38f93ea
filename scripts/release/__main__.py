"""Builds what a release publishes, for the architecture of this machine: `make release`.

    python -m scripts.release --tools .cache --python-packages .venv-triton FOLDER

FOLDER receives the program, its Debian package, the model repository, the Helm chart, a software bill of materials
(CycloneDX), the third-party notices, and SHA256SUMS: see `file_names`. Builds of one commit with the same installed
packages have the same bytes in every folder: file times are the commit's, and no path of the machine is in the program.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from scripts.release import bill, materials, notices
from scripts.release.materials import output

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "scripts/deploy/chart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder to write; what it contains is deleted first")
    parser.add_argument("--tools", type=Path, required=True, help="the folder with helm and cyclonedx-gomod")
    parser.add_argument(
        "--python-packages", type=Path, required=True, help="the virtual environment of the local Triton"
    )
    parser.add_argument("--uncommitted", action="store_true", help="allow changes that are not committed")
    options = parser.parse_args()
    changes = output("git", "status", "--porcelain", cwd=ROOT)
    if changes and not options.uncommitted:
        sys.exit(f"commit these changes first, or give --uncommitted:\n{changes}")
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    (site,) = options.python_packages.resolve().glob("lib/python3*/site-packages")
    build(options.folder.resolve(), options.tools.resolve(), site)


def file_names(version: str, architecture: str) -> dict[str, str]:
    """Returns the names of the published files by kind. RELEASING.md has the same table."""
    return {
        "program": f"retort_{version}_linux_{architecture}.tar.gz",
        "package": f"retort_{version}_{architecture}.deb",
        "models": f"retort-models_{version}.tar.gz",
        "chart": f"retort-{version}.tgz",
        "bill": f"retort_{version}_{architecture}.cdx.json",
        "notices": "THIRD-PARTY-NOTICES.txt",
        "sums": "SHA256SUMS",
    }


def build(folder: Path, tools: Path, site: Path) -> None:
    """Writes the files of the release into an empty folder. site: the installed Python packages of the local Triton."""
    version, time = program_version(), int(output("git", "log", "-1", "--format=%ct", cwd=ROOT))
    os.environ["SOURCE_DATE_EPOCH"] = str(time)  # read by build.sh and dpkg-deb
    architecture = output("dpkg", "--print-architecture")
    file = {kind: folder / name for kind, name in file_names(version, architecture).items()}
    licence = (ROOT / "LICENSE", "LICENSE")
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch, "retort")
        link = f"-s -w -X main.commit={program_commit()}"
        run("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", link, "-o", str(binary), "./orchestrator")
        third_party = materials.find_materials(binary, ROOT)
        file["notices"].write_text(notices.text(third_party))
        file["bill"].write_text(
            bill.text(binary, ROOT, version, third_party, tools / "release/cyclonedx-gomod", site),
        )
        run("scripts/deploy/package/build.sh", str(binary), version, str(folder), str(file["notices"]))
        program = [(binary, "retort"), licence, (file["notices"], file["notices"].name)]
        pack(file["program"], f"retort-{version}", program, time)
        run(str(tools / "cluster/helm"), "package", str(CHART), "--destination", scratch)
        chart = Path(scratch, "chart")
        shutil.unpack_archive(Path(scratch, f"retort-{version}.tgz"), chart)
        pack(file["chart"], "retort", files_of(chart / "retort"), time)
    tracked = output("git", "ls-files", "model_repository", cwd=ROOT).splitlines()
    models = [(ROOT / name, name.removeprefix("model_repository/")) for name in tracked]
    pack(file["models"], "model_repository", [*models, licence], time)
    sums = [f"{digest(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    file["sums"].write_text("".join(sums))


def program_version() -> str:
    """Returns the version in orchestrator/main.go, X.Y.Z."""
    match = re.search(r'^var version = "(.+)"$', (ROOT / "orchestrator/main.go").read_text(), re.MULTILINE)
    assert match, 'orchestrator/main.go has no line var version = "X.Y.Z"'
    return match[1]


def program_commit() -> str:
    """Returns the commit of the checkout, with +changes if files differ from it. In a git worktree, Go finds none."""
    changes = output("git", "status", "--porcelain", cwd=ROOT)
    return output("git", "rev-parse", "HEAD", cwd=ROOT) + ("+changes" if changes else "")


def files_of(folder: Path) -> list[tuple[Path, str]]:
    """Returns the files below a folder, each with its path relative to the folder."""
    return [(file, str(file.relative_to(folder))) for file in folder.rglob("*") if file.is_file()]


def pack(target: Path, prefix: str, files: Iterable[tuple[Path, str]], time: int) -> None:
    """Writes files, given as path and name, to a .tar.gz in a folder `prefix`. time: their modification time (Unix s).

    The bytes depend only on these arguments, and on the contents and executable bits of the files.
    """
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        with tarfile.open(archive.name, "w", format=tarfile.PAX_FORMAT) as tar:
            for file, name in sorted(files, key=lambda pair: pair[1]):
                entry = tarfile.TarInfo(f"{prefix}/{name}")
                entry.size = file.stat().st_size
                entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
                entry.mtime = time
                with file.open("rb") as content:
                    tar.addfile(entry, content)
        with target.open("wb") as out:
            subprocess.run(["gzip", "-6", "--no-name", "--stdout", archive.name], stdout=out, check=True)


def digest(file: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def run(*command: str) -> None:
    """Runs a command in the root of the repository. Its standard output goes to standard error."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
