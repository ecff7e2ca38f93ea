"""The files of `make release`: the same bytes from two folders, complete notices, a valid bill of materials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from servers import ROOT

SLOW = 40 * 60
"""Seconds that a build without a cache may take on a busy machine."""
VALIDATION = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(error and str(error))
"""
"""A program that validates the bill of materials on its command line."""


def run(*command: object, folder: Path = ROOT, **variables: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SLOW,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def build(checkout: Path, folder: Path, **variables: str) -> Path:
    """Builds a release from a checkout into a folder, without the models."""
    options = ("--tools", ROOT / ".cache", "--without-models", "--uncommitted")
    run(sys.executable, "-m", "scripts.release", *options, folder, folder=checkout, **variables)
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("release") / "files")


def test_two_builds_are_equal(tmp_path):
    """One with the build cache of this machine, one with an empty cache and in a folder with a longer name."""
    sums = []
    for folder, variables in (("a", {}), ("another/folder", {"GOCACHE": str(tmp_path / "cache")})):
        checkout = tmp_path / folder
        run("git", "clone", "--quiet", ROOT, checkout)
        sums.append((build(checkout, checkout / "build", **variables) / "SHA256SUMS").read_text())
    assert sums[0] == sums[1]


def test_checksums_name_every_file(release):
    run("sha256sum", "--check", "--strict", "SHA256SUMS", folder=release)
    names = {line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert names == {file.name for file in release.iterdir()} - {"SHA256SUMS"}


def test_program_of_the_archive_says_its_version(release, tmp_path):
    (archive,) = release.glob("retort_*_linux_*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path)
    (program,) = tmp_path.glob("retort-*/retort")
    version = run(program, "version").split()[1]
    assert program.parent.name == f"retort-{version}"
    chart = yaml.safe_load((ROOT / "scripts/deploy/chart/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt"):
        assert (program.parent / name).stat().st_size > 10_000


def test_notices_name_every_module_of_the_program(release):
    lines = set((release / "THIRD-PARTY-NOTICES.txt").read_text().splitlines())
    modules = [line.split() for line in run("go", "version", "-m", ROOT / "bin/retort").splitlines()]
    wanted = {f"{words[1]} {words[2]}" for words in modules if words[:1] == ["dep"]}
    assert len(wanted) > 50 and wanted <= lines
    for name in (
        "librdkit-dev",
        "libboost1.74-dev",
        "libgoogle-perftools-dev",
        "openchemlib",
        "uplot",
        "swagger-ui-dist",
    ):
        assert any(line.startswith(f"{name} ") for line in lines), name


def test_bill_of_materials_is_valid_and_complete(release, tmp_path):
    (bill,) = release.glob("*.cdx.json")
    run(ROOT / ".venv-deploy/bin/python", "-c", VALIDATION, bill)
    components = json.loads(bill.read_text())["components"]
    assert len({component["bom-ref"] for component in components}) == len(components)
    models = {c["name"] for c in components if c["type"] == "machine-learning-model"}
    assert models == set(json.loads((ROOT / "model_repository/manifest.json").read_text())["entries"])
    names = {component["name"] for component in components}
    assert {"std", "librdkit1", "libstdc++6", "libc6", "openchemlib", "swagger-ui-dist", "onnxruntime"} <= names
