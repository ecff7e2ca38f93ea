"""Checks the files of `make release`: reproducible bytes, complete notices, a valid bill of materials."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml
from releases import ROOT, build, copy_checkout, run
from test_images import DOCKERFILE, build_context

sys.path.insert(0, str(ROOT))
from scripts.release import materials, python, swagger  # noqa: E402
from scripts.release.__main__ import file_names, program_version  # noqa: E402

VALIDATION = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())
sys.exit(error and str(error))
"""
"""A program that validates the bill of materials on its command line."""

COMPILER = {"libc6-dev", "libstdc++-12-dev", "libgcc-12-dev", "linux-libc-dev"}
"""Debian packages with headers of the compiler and the standard libraries. Programs need no notice of them."""
MANIFEST = json.loads((ROOT / "model_repository/manifest.json").read_text())
SITE = next((ROOT / ".venv-triton").glob("lib/python3*/site-packages"))


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("release") / "files")


@pytest.fixture(scope="module")
def file(release: Path) -> dict[str, Path]:
    """The files of the release, by their kind in `file_names`."""
    architecture = run("dpkg", "--print-architecture").strip()
    return {kind: release / name for kind, name in file_names(program_version(), architecture).items()}


def members(archive: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(archive) as tar:
        return {member.name: member for member in tar.getmembers()}


def test_two_builds_are_equal(release, tmp_path):
    """A build without a cache, in another folder, with another umask, time zone and language has the same bytes."""
    checkout = copy_checkout(tmp_path / "another/folder")
    surroundings = {"GOCACHE": str(tmp_path / "cache"), "TZ": "Asia/Kathmandu", "LC_ALL": "C", "LANG": "C"}
    other = build(checkout, checkout / "build", umask=0o077, **surroundings)
    assert (other / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_checksums_name_every_file(release, file):
    run("sha256sum", "--check", "--strict", "SHA256SUMS", folder=release)
    listed = {line.split()[1] for line in file["sums"].read_text().splitlines()}
    assert listed == {path.name for path in file.values()} - {"SHA256SUMS"}
    assert {path.name for path in release.iterdir()} == listed | {"SHA256SUMS"}


def test_archived_program_reports_version_and_commit(file, tmp_path):
    with tarfile.open(file["program"]) as tar:
        tar.extractall(tmp_path)
    (program,) = tmp_path.glob("retort-*/retort")
    report = json.loads(run(program, "version", "--json"))
    version = report["version"]
    assert program.parent.name == f"retort-{version}"
    changes = "+changes" if run("git", "status", "--porcelain") else ""
    assert report["commit"] == run("git", "rev-parse", "HEAD").strip() + changes
    chart = yaml.safe_load((ROOT / "scripts/deploy/chart/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (version, version)
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt"):
        assert (program.parent / name).stat().st_size > 10_000


def test_manual_pages_have_the_date_of_the_commit(file, tmp_path):
    """The manual pages have the date of SOURCE_DATE_EPOCH, so packages built on other days are the same."""
    with tarfile.open(file["program"]) as tar:
        tar.extractall(tmp_path)
    (program,) = tmp_path.glob("retort-*/retort")
    package = run("scripts/deploy/package/build.sh", program, "1", tmp_path, SOURCE_DATE_EPOCH="86400").strip()
    run("dpkg-deb", "--extract", package, tmp_path / "root")
    pages = list((tmp_path / "root/usr/share/man/man1").iterdir())
    assert pages
    for page in pages:
        assert b' "1970-01-02" ' in gzip.decompress(page.read_bytes()).splitlines()[0], page


def test_package_has_readable_files_and_notices(file, tmp_path):
    lines = run("dpkg-deb", "--contents", file["package"]).splitlines()
    modes = {line.split()[5]: line.split()[0] for line in lines}
    assert all(mode[4:].startswith("r") and mode[7:].startswith("r") for mode in modes.values()), modes
    run("dpkg-deb", "--extract", file["package"], tmp_path)
    assert (tmp_path / "usr/share/doc/retort/THIRD-PARTY-NOTICES.txt").read_text() == file["notices"].read_text()


def test_models_archive_has_every_entry_with_card_and_licences(file):
    wanted = {
        f"{entry}/{name}" for entry, found in MANIFEST["entries"].items() for name in (*found["files"], "CARD.md")
    }
    wanted |= {"LICENSE", "THIRD-PARTY-NOTICES.txt", "manifest.json"}
    assert {f"model_repository/{name}" for name in wanted} <= set(members(file["models"]))


def test_models_notices_name_every_entry():
    text = (ROOT / "model_repository/THIRD-PARTY-NOTICES.txt").read_text()
    assert [name for name in MANIFEST["entries"] if not re.search(rf"^(.*, )?{name}(, .*)?$", text, re.MULTILINE)] == []


def test_notices_name_every_work_in_the_program(file, tmp_path):
    lines = set(file["notices"].read_text().splitlines())
    with tarfile.open(file["program"]) as tar:
        tar.extractall(tmp_path)
    (program,) = tmp_path.glob("retort-*/retort")
    modules = [line.split() for line in run("go", "version", "-m", program).splitlines()]
    wanted = {f"{words[1]} {words[2]}" for words in modules if words[:1] == ["dep"]}
    assert len(wanted) > 50 and wanted <= lines
    scripts = {path.name.split(".")[0] for path in (ROOT / "orchestrator/page/assets/third_party").glob("*.js.gz")}
    for name in (*materials.DEBIAN_BUILD, *scripts, "swagger-ui-dist"):
        assert any(line.startswith(f"{name} ") for line in lines), name


def test_every_package_in_swagger_ui_has_a_notice():
    text = materials.swagger_licences(materials.swagger_version(ROOT)).read_text().splitlines()
    bundled = swagger.bundled(materials.swagger_folder(ROOT))
    assert len(bundled) > 50 and [name for name in bundled if name not in text] == []


def test_every_header_belongs_to_a_package_with_a_notice():
    """Every header that g++ includes for chem/rdkit is of DEBIAN_BUILD, the compiler or this repository."""
    folder = ROOT / "chem/rdkit"
    flags = ("-std=c++17", "-isystem", "/usr/include/rdkit", f"-I{folder}/cairo")
    rules = run("g++", "-M", *flags, *sorted(folder.glob("*.cc")))
    headers = {str(Path(word).resolve()) for word in re.findall(r"/\S+", rules) if not word.startswith(str(folder))}
    found = subprocess.run(["dpkg", "--search", *sorted(headers)], capture_output=True, text=True)
    assert "no path found" not in found.stderr, found.stderr
    packages = {line.split(":")[0] for line in found.stdout.splitlines()}
    assert "librdkit-dev" in packages and packages - COMPILER <= set(materials.DEBIAN_BUILD), packages


def test_a_work_without_a_licence_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="no licence file"):
        materials.licence_text([tmp_path])
    with pytest.raises(RuntimeError, match="no flatbuffers 0"):
        python.package("flatbuffers", "0", SITE)


def test_the_image_makes_the_same_notices_from_its_build_context(file, tmp_path):
    """Runs the Dockerfile's command in a folder with only the files that .dockerignore admits."""
    for name in build_context():
        if not name.startswith("model_repository/"):
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    command = re.search(r"^RUN python3 (-m scripts\.release\.notices) /retort > /THIRD", DOCKERFILE, re.MULTILINE)
    with tarfile.open(file["program"]) as tar:
        tar.extractall(tmp_path / "program")
    (program,) = (tmp_path / "program").glob("retort-*/retort")
    assert run(sys.executable, *command[1].split(), program, folder=tmp_path) == file["notices"].read_text()


def test_every_python_package_of_the_image_contains_its_licence():
    """Only flatbuffers contains none. It has the Apache License, whose text the image has as /opt/retort/LICENSE."""
    packages = python.packages(ROOT / "scripts/deploy/triton-requirements.txt", SITE)
    assert [package.name for package in packages if not package.text] == ["flatbuffers"]
    assert "COPY LICENSE /opt/retort/LICENSE\n" in DOCKERFILE


def test_bill_of_materials_is_valid_and_complete(file, tmp_path):
    run(ROOT / ".venv-deploy/bin/python", "-c", VALIDATION, file["bill"])
    bill = json.loads(file["bill"].read_text())
    components = bill["components"]
    assert len({component["bom-ref"] for component in components}) == len(components)
    assert [component["name"] for component in components if not component.get("licenses")] == []
    models = {c["name"]: c for c in components if c["type"] == "machine-learning-model"}
    assert set(models) == set(MANIFEST["entries"])
    with tarfile.open(file["program"]) as tar:
        tar.extractall(tmp_path)
    (program,) = tmp_path.glob("retort-*/retort")
    report = json.loads(run(program, "version", "--json"))["models"]
    assert {name: models[name]["hashes"][0]["content"] for name in models}.items() <= {
        model["name"]: model["sha256"] for model in report
    }.items()
    for name, entry in MANIFEST["entries"].items():
        files = {c["name"]: c["hashes"][0]["content"] for c in models[name]["components"]}
        assert files == entry["files"], name
        for reference in models[name]["externalReferences"]:
            assert (ROOT / reference["url"]).is_file(), reference
    known = {component["name"] for component in components}
    for requirements in ("scripts/deploy/triton-requirements.txt", "scripts/triton/requirements.txt"):
        assert set(python.pins(ROOT / requirements)) <= known
    assert {"std", "librdkit1", "libstdc++6", "libc6", "openchemlib", "uplot", "swagger-ui-dist"} <= known
    assert set(materials.DEBIAN_BUILD) <= known


def test_every_component_is_reached_from_the_program(file):
    bill = json.loads(file["bill"].read_text())
    edges = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}
    reached: set[str] = set()
    pending = [bill["metadata"]["component"]["bom-ref"]]
    while pending:
        reference = pending.pop()
        if reference not in reached:
            reached.add(reference)
            pending += edges[reference]
    assert reached == {component["bom-ref"] for component in bill["components"]} | {
        bill["metadata"]["component"]["bom-ref"]
    }
