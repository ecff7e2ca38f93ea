"""Builds what a release publishes, for the architecture of this machine: `make release`.

    python -m scripts.release --tools .cache FOLDER

FOLDER receives the program, its Debian package, the model repository, the Helm chart, a software bill of materials
(CycloneDX), the third-party notices, and SHA256SUMS. The same commit gives the same bytes in every folder of a machine
with the same packages: times are the commit's, and paths are trimmed.
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

from scripts.release import materials, notices
from scripts.release.materials import output

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "scripts/deploy/chart"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="is replaced")
    parser.add_argument("--tools", type=Path, required=True, help="the folder with helm and cyclonedx-gomod")
    parser.add_argument("--uncommitted", action="store_true", help="allow changes that are not committed")
    parser.add_argument("--without-models", action="store_true", help="leave out the archive of the model repository")
    options = parser.parse_args()
    changes = output("git", "status", "--porcelain", cwd=ROOT)
    if changes and not options.uncommitted:
        sys.exit(f"changes are not committed:\n{changes}")
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    build(options.folder.resolve(), options.tools.resolve(), not options.without_models)


def build(folder: Path, tools: Path, with_models: bool) -> None:
    """Writes the files of the release into an empty folder."""
    version, time = program_version(), int(output("git", "log", "-1", "--format=%ct", cwd=ROOT))
    os.environ["SOURCE_DATE_EPOCH"] = str(time)  # dpkg-deb, gzip
    architecture = output("dpkg", "--print-architecture")
    with tempfile.TemporaryDirectory() as scratch:
        binary = Path(scratch, "retort")
        run("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(binary), "./orchestrator")
        found = materials.of(binary, ROOT)
        (folder / "THIRD-PARTY-NOTICES.txt").write_text(notices.text(found))
        bill = folder / f"retort_{version}_{architecture}.cdx.json"
        bill.write_text(materials.bill(binary, ROOT, version, found, tools / "release/cyclonedx-gomod"))
        run(
            "scripts/deploy/package/build.sh",
            str(binary),
            version,
            str(folder),
            str(folder / "THIRD-PARTY-NOTICES.txt"),
        )
        program = [(binary, "retort"), (ROOT / "LICENSE", "LICENSE")]
        program.append((folder / "THIRD-PARTY-NOTICES.txt", "THIRD-PARTY-NOTICES.txt"))
        pack(folder / f"retort_{version}_linux_{architecture}.tar.gz", f"retort-{version}", program, time)
        run(str(tools / "cluster/helm"), "package", str(CHART), "--destination", scratch)
        chart = Path(scratch, "chart")
        shutil.unpack_archive(Path(scratch, f"retort-{version}.tgz"), chart)
        pack(folder / f"retort-{version}.tgz", "retort", files_of(chart / "retort"), time)
    if with_models:
        tracked = output("git", "ls-files", "model_repository", cwd=ROOT).splitlines()
        models = [(ROOT / name, name.removeprefix("model_repository/")) for name in tracked]
        pack(folder / f"retort-models_{version}.tar.gz", "model_repository", models, time)
    sums = [f"{digest(file)}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(sums))


def program_version() -> str:
    """The version in main.go."""
    match = re.search(r'^var version = "(.+)"$', (ROOT / "orchestrator/main.go").read_text(), re.MULTILINE)
    assert match, "orchestrator/main.go has no version"
    return match[1]


def files_of(folder: Path) -> list[tuple[Path, str]]:
    """The files below a folder, with their names relative to it."""
    return [(file, str(file.relative_to(folder))) for file in folder.rglob("*") if file.is_file()]


def pack(target: Path, prefix: str, files: Iterable[tuple[Path, str]], time: int) -> None:
    """Writes a .tar.gz whose bytes depend only on the files' contents and names."""
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
    """The SHA-256 of a file's contents, in hexadecimal."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def run(*command: str) -> None:
    """Runs a command in the repository's folder."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
