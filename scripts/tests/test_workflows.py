"""Workflows cannot run here, so these tests check that what they name exists, and that each check can fail."""

from __future__ import annotations

import fnmatch
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from servers import ROOT

sys.path.insert(0, str(ROOT))
from scripts.lint import pins  # noqa: E402
from scripts.release import changelog  # noqa: E402
from scripts.release.__main__ import file_names, program_version  # noqa: E402

WORKFLOWS = ROOT / ".github/workflows"
PIN = re.compile(r"[\w.-]+/[\w.-]+(/[\w./-]+)?@[0-9a-f]{40} # v\d+\.\d+\.\d+")
RELEASE = "build/release"
"""The folder that `make release` writes."""


def steps(workflow: dict) -> Iterator[dict]:
    for job in workflow["jobs"].values():
        yield from job["steps"]


def commands(workflow: dict) -> str:
    """Returns the shell commands of a workflow, one step after the other."""
    return "\n".join(step["run"] for step in steps(workflow) if "run" in step)


def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


def made(shell: str) -> list[str]:
    """Returns the targets that shell commands make, without options and variables of make."""
    lines = re.findall(r"^make ([^&|;#\n]*)", shell, re.MULTILINE)
    return [word for line in lines for word in line.split() if re.fullmatch(r"\w[\w-]*", word)]


def is_published(path: str) -> bool:
    """Reports whether `make release` writes a file at this path, which may be a pattern."""
    files = [f"{RELEASE}/{name}" for name in file_names(program_version(), "amd64").values()]
    return path == RELEASE or any(fnmatch.fnmatch(file, path) for file in files)


def find_missing(shell: str) -> list[str]:
    """Returns the make targets, files and modules that shell commands name but that do not exist, and the Go programs
    that they run without a version."""
    problems = [f"make {name}" for name in made(shell) if name not in targets()]
    for module in re.findall(r"python3 -m (scripts[\w.]+)", shell):
        path = ROOT / module.replace(".", "/")
        if not (path.with_suffix(".py").exists() or (path / "__main__.py").exists()):
            problems.append(f"python3 -m {module}")
    problems += [path for path in re.findall(r"^(\.ci/\S+)", shell, re.MULTILINE) if not (ROOT / path).exists()]
    for path in re.findall(r"\b(orchestrator/\S+)", shell):
        if not (ROOT / path).exists():
            problems.append(path)
    problems += [
        f"{program} without a version" for program in re.findall(r"go run ([\w./-]+\.[\w./-]+)(?:\s|$)", shell)
    ]
    return problems


def find_problems(text: str) -> list[str]:
    """Returns what is wrong with a workflow, one line each."""
    workflow = yaml.safe_load(text)
    found = [f"not pinned: {use}" for use in re.findall(r"uses: (.*)", text) if not PIN.fullmatch(use)]
    if workflow.get("permissions") != {"contents": "read"}:
        found.append(f"permissions: {workflow.get('permissions')}, not contents: read")
    for name, job in workflow["jobs"].items():
        if "timeout-minutes" not in job:
            found.append(f"{name}: no timeout-minutes")
        if not re.fullmatch(r"ubuntu-\d\d\.\d\d", job["runs-on"]):
            found.append(f"{name}: runs-on: {job['runs-on']} has no version")
        if not re.fullmatch(r"[\w./-]+:\d[\w.-]*", job.get("container", "debian:12")):
            found.append(f"{name}: container: {job['container']} has no version")
    for step in steps(workflow):
        given = step.get("with", {})
        if step.get("uses", "").startswith("actions/checkout@") and given.get("persist-credentials") is not False:
            found.append("actions/checkout: persist-credentials is not false")
        for key in ("subject-checksums", "subject-path", "path"):
            for path in str(given.get(key, "")).split():
                if RELEASE in path and not is_published(path.removeprefix("another/folder/")):
                    found.append(f"`make release` does not write {path}")
    return found + find_missing(commands(workflow))


@pytest.mark.parametrize("file", sorted(WORKFLOWS.glob("*.yml")), ids=lambda file: file.stem)
def test_a_workflow_is_pinned_and_names_only_what_exists(file: Path) -> None:
    assert find_problems(file.read_text()) == []


def test_the_script_of_ci_names_only_what_exists() -> None:
    shell = (ROOT / ".ci/run").read_text()
    assert find_missing(shell) == []
    assert {"lint", "test", "test-chart", "test-memory", "test-train", "test-export"} <= set(made(shell))


RIGHT = (WORKFLOWS / "release.yml").read_text()


@pytest.mark.parametrize(
    "before, after, problem",
    [
        (r"actions/attest@\w+", "actions/attest@v4", "not pinned: actions/attest@v4 # v4.2.2"),
        (r"@(\w{39})\w # v8.0.1", r"@\1 # v8.0.1", "not pinned: actions/download-artifact@"),
        (r" # v8\.0\.1", "", "not pinned: actions/download-artifact@"),
        ("permissions:\n  contents: read\njobs", "jobs", "permissions"),
        ("container: debian:12", "container: debian", "build: container: debian has no version"),
        ("container: debian:12", "container: debian:latest", "build: container: debian:latest has no version"),
        ("ubuntu-24.04", "ubuntu-latest", "build: runs-on: ubuntu-latest has no version"),
        ("make release", "make releases", "make releases"),
        ("scripts.release.changelog", "scripts.release.changes", "python3 -m scripts.release.changes"),
        ("orchestrator/main.go", "orchestrator/release.go", "orchestrator/release.go"),
        (r"release/\*\.deb", "release/*.rpm", "`make release` does not write build/release/*.rpm"),
        ("release/SHA256SUMS", "release/sums.txt", "`make release` does not write build/release/sums.txt"),
        ("    timeout-minutes: 60\n", "", "build: no timeout-minutes"),
        (
            "persist-credentials: false",
            "persist-credentials: true",
            "actions/checkout: persist-credentials is not false",
        ),
    ],
)
def test_a_wrong_workflow_is_refused(before: str, after: str, problem: str) -> None:
    text = re.sub(before, after, RIGHT)
    assert text != RIGHT
    assert any(line.startswith(problem) for line in find_problems(text)), find_problems(text)


def test_a_go_program_without_a_version_is_refused() -> None:
    assert find_missing("go run golang.org/x/vuln/cmd/govulncheck ./...") != []
    assert find_missing("go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...") == []


def test_equal_actions_have_equal_pins() -> None:
    found = pins.find_pins(WORKFLOWS)
    uses = sum(len(re.findall("uses:", file.read_text())) for file in WORKFLOWS.glob("*.yml"))
    assert len({repository for repository, _, _ in found}) == len(found) and uses > len(found) > 5


def test_versions_of_go_programs_exist() -> None:
    """Every Go program that a workflow or the Makefile runs as PROGRAM@VERSION exists in this version."""
    text = "".join(file.read_text() for file in (*WORKFLOWS.glob("*.yml"), ROOT / "Makefile"))
    modules = {
        "golang.org/x/vuln/cmd/govulncheck": "golang.org/x/vuln",
        "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod": "github.com/CycloneDX/cyclonedx-gomod",
        "github.com/rhysd/actionlint/cmd/actionlint": "github.com/rhysd/actionlint",
        "github.com/zegl/kube-score/cmd/kube-score": "github.com/zegl/kube-score",
        "github.com/compose-spec/compose-go/v2/cmd": "github.com/compose-spec/compose-go/v2",
    }
    found = dict(re.findall(r"\s([\w./-]+\.[\w./-]+)@(v[\d.]+)", text))
    assert set(modules) == set(found)
    for program, module in modules.items():
        done = subprocess.run(
            ["go", "list", "-m", f"{module}@{found[program]}"], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


def test_debian_has_the_packages_that_workflows_install() -> None:
    packages = set()
    for file in WORKFLOWS.glob("*.yml"):
        for line in re.findall(r"apt-get install --yes --no-install-recommends (.*)", file.read_text()):
            packages.update(line.split())
    assert "git" in packages
    done = subprocess.run(["apt-cache", "show", "--", *sorted(packages)], capture_output=True, text=True)
    assert done.returncode == 0 and "No packages found" not in done.stderr, done.stderr


def git(*command: str, folder: Path) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    done = subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_pin_to_another_commit_is_found(tmp_path: Path) -> None:
    forge, workflows = tmp_path / "forge/a/b", tmp_path / "workflows"
    forge.mkdir(parents=True)
    workflows.mkdir()
    git("init", "--quiet", folder=forge)
    commits = []
    for tag in ("v1.0.0", "v1.0.1"):
        git("commit", "--quiet", "--allow-empty", "--message", tag, folder=forge)
        git("tag", "--annotate", "--message", tag, tag, folder=forge)
        commits.append(git("rev-parse", "HEAD", folder=forge))
    url = f"file://{tmp_path}/forge"
    for commit, tag, lines in ((commits[1], "v1.0.1", 0), (commits[0], "v1.0.1", 1), (commits[0], "v1.0.2", 1)):
        (workflows / "x.yml").write_text(f"      - uses: a/b/sub@{commit} # {tag}\n")
        assert len(pins.find_problems(workflows, url)) == lines, (commit, tag)
    (workflows / "x.yml").write_text("      - uses: a/b@main\n")
    with pytest.raises(LookupError, match="no action is pinned"):
        pins.find_problems(workflows, url)


def test_release_notes_are_the_section_of_the_version() -> None:
    text = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-25\nNew.\n\n### Fixed\nOld.\n\n## 1.1.0\nFirst.\n"
    assert changelog.section(text, "1.2.0") == "New.\n\n### Fixed\nOld.\n"
    assert changelog.section(text, "1.1.0") == "First.\n"
    for version in ("1.2", "1.2.0-rc1", "2.0.0", "Unreleased"):
        with pytest.raises(ValueError, match="has no text"):
            changelog.section(text, version)


@pytest.mark.parametrize(
    "path, form",
    {
        "scripts/deploy/chart/Chart.yaml": r"^(?:version|appVersion): \"?([\w.-]+)",
        "scripts/deploy/chart/README.md": r"\$REGISTRY/retort(?:-triton)?:([\w.-]+)",
        "scripts/deploy/Dockerfile": r"^ARG VERSION=(.*)$",
        "orchestrator/gateway/description/service.yaml": r"(?:version|release|api): (\d+\.\d+\.\d+)",
    }.items(),
)
def test_the_version_is_the_same_everywhere(path: str, form: str) -> None:
    found = re.findall(form, (ROOT / path).read_text(), re.MULTILINE)
    assert found and set(found) == {program_version()}, found


def test_releasing_names_every_file_of_a_release() -> None:
    page = (ROOT / ".github/RELEASING.md").read_text()
    assert [name for name in file_names("X.Y.Z", "ARCH").values() if f"| `{name}` |" not in page] == []


def test_the_changelog_describes_the_version() -> None:
    assert changelog.section(changelog.CHANGELOG.read_text(), program_version())


def test_dependabot_watches_folders_that_have_dependencies() -> None:
    files = {"gomod": "go.mod", "npm": "package.json", "docker": "Dockerfile", "github-actions": ".github/workflows"}
    for update in yaml.safe_load((ROOT / ".github/dependabot.yml").read_text())["updates"]:
        for folder in update.get("directories") or [update["directory"]]:
            assert (ROOT / folder.lstrip("/") / files[update["package-ecosystem"]]).exists(), (folder, update)
