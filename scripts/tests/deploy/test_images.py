"""The images: their Dockerfile, the Python packages that they install, and compose.yaml."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml
from servers import ROOT
from waiting import PATIENCE

DEPLOY = ROOT / "scripts/deploy"
TOOLS = ROOT / ".venv-deploy/bin"
COMPOSE = ROOT / ".cache/deploy/compose"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
TRITON_PYTHON = "3.12"
TRITON_GLIBC = 39
"""The vendor's image since 24.11: Ubuntu 24.04, with glibc 2.39."""
DEBIAN_GLIBC = 36
"""Debian 12, where everything else runs."""
SLOW = 20 * 60
"""Seconds that a download of 80 MB may take."""


def run(
    *command: object, seconds: float = PATIENCE, folder: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        env={**os.environ, **variables},
    )


def resolve(
    requirements: Path, python: str, glibc: int, folder: Path, machine: str = "x86_64", *more: str
) -> subprocess.CompletedProcess:
    """Resolves requirements from the index's metadata; fails if a pin lacks a wheel for that Python and platform."""
    return run(
        TOOLS / "uv",
        "pip",
        "install",
        "--dry-run",
        "--python",
        TOOLS / "python",
        "--target",
        folder,
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--python-version",
        python,
        "--python-platform",
        f"{machine}-manylinux_2_{glibc}",
        *more,
        "-r",
        requirements,
        UV_NO_CONFIG="1",
    )


def download(requirements: Path, python: str, glibc: int, folder: Path) -> subprocess.CompletedProcess:
    """Downloads requirements with the options of the Dockerfile; pip compares the hashes too."""
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in range(glibc, 16, -1)] + [
        "--platform=manylinux2014_x86_64"
    ]
    return run(
        TOOLS / "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--implementation",
        "cp",
        "--python-version",
        python,
        *platforms,
        "--dest",
        folder,
        "-r",
        requirements,
        seconds=SLOW,
    )


def lock_files() -> dict[str, dict]:
    """By path of a lock file: its Python versions, its glibc, and further options of its installation."""
    tracked = subprocess.run(
        ["git", "ls-files", "*requirements*.txt"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    files: dict[str, dict] = {path: {"pythons": ("3.11", "3.12"), "glibc": DEBIAN_GLIBC} for path in tracked}
    files["scripts/deploy/triton-requirements.txt"] = {"pythons": (TRITON_PYTHON,), "glibc": TRITON_GLIBC}
    # llama-stack-client requires 3.12 but runs on 3.11: pip installs it with --ignore-requires-python, which uv lacks.
    files["scripts/tests/requirements-newest.txt"]["pythons"] = ("3.12",)
    # OGX requires 3.12, and its environment has it (Makefile).
    files["scripts/tests/ogx/requirements.txt"]["pythons"] = ("3.12",)
    # Built from source, because its wheels need a newer glibc than Debian 12's.
    files["scripts/train/vision/requirements.txt"]["more"] = ("--no-binary", "chython")
    return files


@pytest.mark.parametrize("path", lock_files())
def test_requirements_have_wheels_for_their_pythons(path: str, tmp_path: Path) -> None:
    target = lock_files()[path]
    for python in target["pythons"]:
        done = resolve(ROOT / path, python, target["glibc"], tmp_path / "target", "x86_64", *target.get("more", ()))
        assert done.returncode == 0, f"Python {python}: {done.stderr}"


PRESENT = "libc libm libdl librt libpthread libutil ld-linux-x86-64 libgcc_s libstdc++ libz".split()
"""Libraries of glibc, GCC and zlib, which every image with Python and Triton has."""


def missing_libraries(wheels: Path, packages: list[str]) -> dict[str, str]:
    """By name of a shared library that is in no wheel of a folder and in none of the packages: a file that links it.

    A package is named after its library (Debian policy, 8.1): libX11.so.6 is in libx11-6, libXext.so.6 in libxext6.
    """
    brought: set[str] = set()
    linked: dict[str, str] = {}
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as content:
            for name in content.namelist():
                if re.search(r"\.so(\.|$)", name):
                    file = content.extract(name, wheels / "unpacked")
                    brought.add(Path(name).name)
                    header = run("readelf", "--dynamic", file).stdout
                    linked |= dict.fromkeys(re.findall(r"\(NEEDED\).*\[(.*)\]", header), name)
    missing = {}
    for library, user in linked.items():
        stem, _, version = library.lower().partition(".so.")
        package = f"{stem}-{version}" if stem[-1].isdigit() else stem + version
        if library not in brought and stem not in PRESENT and package not in packages:
            missing[library] = user
    return missing


def test_the_image_can_install_its_packages(tmp_path: Path) -> None:
    """pip finds a wheel with the locked hash for each pin of retort-triton; on ARM the metadata list one. The
    shared libraries that the wheels need are in packages that the image installs."""
    file = DEPLOY / "triton-requirements.txt"
    done = download(file, TRITON_PYTHON, TRITON_GLIBC, tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(list(tmp_path.glob("*.whl"))) == len(re.findall("^[a-z].*==", file.read_text(), re.MULTILINE))
    stage = re.search(r"^FROM \S+ AS triton\n(.*?)^FROM", DOCKERFILE, re.MULTILINE | re.DOTALL).group(1)
    packages = [package for command in apt_packages(stage) for package in command]
    assert missing_libraries(tmp_path, packages) == {}
    assert missing_libraries(tmp_path, []).keys() >= {"libXrender.so.1", "libXext.so.6"}
    done = resolve(file, TRITON_PYTHON, TRITON_GLIBC, tmp_path / "target", "aarch64")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "what, python",
    {
        "the Python of Triton 24.10, for which onnxruntime has no wheel": "3.10",
        "a Python that numpy 1.26 has no wheel for": "3.13",
    }.items(),
)
def test_pins_without_a_wheel_are_refused(what: str, python: str, tmp_path: Path) -> None:
    file = DEPLOY / "triton-requirements.txt"
    for done in (
        resolve(file, python, TRITON_GLIBC, tmp_path / "target"),
        download(file, python, TRITON_GLIBC, tmp_path),
    ):
        assert done.returncode != 0, what


def test_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"flatbuffers==25.12.19 --hash=sha256:{'0' * 64}\n")
    assert download(file, TRITON_PYTHON, TRITON_GLIBC, tmp_path).returncode != 0


def test_the_dockerfile_installs_only_what_is_locked() -> None:
    done = run(TOOLS / "hadolint", DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stdout
    commands = re.findall(r"^RUN (?:.*\\\n)*.*", DOCKERFILE, re.MULTILINE)
    pips = [command for command in commands if re.search(r"\bpip\b", command)]
    assert pips and all(re.search(r"--require-hashes .*-r \S+", command) and "==" not in command for command in pips), (
        pips
    )


def apt_packages(text: str) -> list[list[str]]:
    """The packages of each apt-get install of a Dockerfile."""
    found = re.findall(r"apt-get install -y --no-install-recommends (.*?) \\\n", text)
    return [packages.split() for packages in found]


def test_debian_has_the_packages_that_the_images_install() -> None:
    """On Debian 12, the base of the gateway's images, apt finds every package, also those of Triton's image."""
    assert "ARG DEBIAN=bookworm" in DOCKERFILE
    if "VERSION_CODENAME=bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("this is not Debian 12")
    commands = apt_packages(DOCKERFILE)
    assert len(commands) == 3
    for packages in commands:
        done = run("apt-get", "install", "--simulate", "--no-install-recommends", *packages)
        assert done.returncode == 0, done.stderr


def test_the_rclone_tag_is_a_release() -> None:
    """Looks for the Go module of this version, since Docker's registry may be out of reach."""
    tag = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text())["models"]["objectStore"]["image"]["tag"]
    done = run("go", "list", "-m", f"github.com/rclone/rclone@v{tag}")
    assert done.returncode == 0, done.stderr


def test_sources_of_copy_are_in_the_build_context() -> None:
    """Each source of a COPY matches files that .dockerignore includes."""
    files = build_context()
    sources = [
        word for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    assert "scripts/deploy/triton-requirements.txt" in sources
    for source in sources:
        assert any(file == source or file.startswith(f"{source}/") for file in files), (
            f"{source} is not in the build context"
        )


def build_context() -> list[str]:
    """The committed files that Dockerfile.dockerignore admits: the last rule that matches a path or a parent wins."""
    rules = [
        (rule.removeprefix("!"), rule.startswith("!"))
        for rule in (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    ]
    files = []
    for file in run("git", "ls-files").stdout.split():
        matches = [
            include for pattern, include in rules if file.startswith(f"{pattern}/") or fnmatch.fnmatch(file, pattern)
        ]
        if not matches or matches[-1]:
            files.append(file)
    return files


def test_the_build_context_has_everything_the_gateway_needs(tmp_path: Path) -> None:
    """go list finds all packages and embedded files, without fetching a newer toolchain (GOTOOLCHAIN=local)."""
    for file in build_context():
        if not file.startswith("model_repository/"):
            target = tmp_path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, target)
    assert re.search(r"^RUN go build .* \./orchestrator$", DOCKERFILE, re.MULTILINE)
    done = run("go", "list", "-deps", "./orchestrator", folder=tmp_path, GOTOOLCHAIN="local")
    assert done.returncode == 0 and "retort/chem/rdkit" in done.stdout.split(), done.stderr
    wanted = re.search(r"^go (\d+\.\d+)", (ROOT / "go.mod").read_text(), re.MULTILINE).group(1)
    assert f"ARG GO={wanted}-bookworm\n" in DOCKERFILE


def load_compose(*files: str) -> dict:
    """The services of the merged Compose files, as Compose reads them without environment variables."""
    done = run(COMPOSE, "-format", "json", *files, folder=DEPLOY)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["services"]


def test_compose_is_valid_and_builds_the_images_that_it_runs() -> None:
    services = load_compose("compose.yaml")
    assert services.keys() == {"triton", "retort"}
    for name, service in services.items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert Path(service["build"]["context"]) == ROOT, name
        assert f" AS {service['build']['target']}\n" in DOCKERFILE, name
        mounts = [volume["source"] for volume in service["volumes"] if volume["type"] == "bind"]
        assert mounts == [str(ROOT / "model_repository")], name
    # Without the packages of molecule_reader the chat API has no model.
    assert services["triton"]["build"]["target"] == "triton"
    # No key is required, so only this machine may reach it by default.
    for name, service in services.items():
        assert {port["host_ip"] for port in service["ports"]} == {"127.0.0.1"}, name
    over = load_compose("compose.yaml", "compose.gpu.yaml")
    assert over.keys() == services.keys()
    assert over["triton"]["deploy"]["resources"]["reservations"]["devices"][0]["driver"] == "nvidia"


def test_an_invalid_compose_file_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text((DEPLOY / "compose.yaml").read_text().replace("cap_drop: [ALL]", "cap_drop: ALL", 1))
    done = run(COMPOSE, wrong)
    assert done.returncode != 0 and "cap_drop" in done.stderr, done.stderr
