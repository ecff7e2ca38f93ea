"""The Debian package, installed into a fresh Debian 12 and started there."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from servers import APIS, ROOT, Process, Triton, free_ports
from waiting import PATIENCE, wait_for

DEPLOY = ROOT / "scripts/deploy"
FRESH = ROOT / ".cache/deploy/debian.tar"
SLOW = 20 * 60
"""Seconds that a download of a Debian may take."""


def run(*command: object, **options: Any) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=SLOW, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    version = run(ROOT / "bin/retort", "version").split()[1]
    folder = tmp_path_factory.mktemp("package")
    return Path(run(DEPLOY / "package/build.sh", ROOT / "bin/retort", version, folder).strip())


def depends(package: Path) -> list[str]:
    """The dependencies of the package."""
    return [name.split()[0] for name in run("dpkg-deb", "-f", package, "Depends").strip().split(", ")]


@pytest.fixture(scope="module")
def debian(package: Path, tmp_path_factory) -> Path:
    """The root of a fresh Debian 12 with only the package, its dependencies and systemd installed."""
    if not FRESH.exists():  # a download of 100 MB, once
        FRESH.parent.mkdir(parents=True, exist_ok=True)
        partial = FRESH.with_suffix(".part.tar")
        run(
            "mmdebstrap",
            "--variant=minbase",
            "--aptopt=Apt::Install-Recommends false",
            f"--include={','.join([*depends(package), 'systemd'])}",
            "bookworm",
            partial,
        )
        partial.rename(FRESH)
    root = tmp_path_factory.mktemp("debian")
    run("tar", "-C", root, "-xf", FRESH, "--exclude=./dev/*")
    target = root / "tmp" / package.name
    target.write_bytes(package.read_bytes())
    run("chroot", root, "dpkg", "--install", f"/tmp/{package.name}")
    for folder in ("var/lib/retort", "models"):  # instead of systemd's StateDirectory and a volume
        (root / folder).mkdir()
    return root


def inside(root: Path, *more: str) -> tuple[str, ...]:
    """The prefix of a command that runs in the root, unprivileged, with only /tmp and /var/lib/retort writable."""
    return (
        "bwrap",
        "--ro-bind",
        str(root),
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/var/lib/retort",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-user",
        "--uid",
        "65532",
        "--gid",
        "65532",
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        "--clearenv",
        "--setenv",
        "PATH",
        "/usr/bin:/bin",
        *more,
        "--",
    )


def test_the_package_is_installed_and_runs(debian: Path) -> None:
    installed, built = run(*inside(debian), "retort", "version"), run(ROOT / "bin/retort", "version")
    assert installed.splitlines()[:3] == built.splitlines()[:3]  # version, commit, Go
    assert run("chroot", debian, "dpkg-query", "-W", "-f", "${Status}", "retort") == "install ok installed"
    assert "QED" in run(*inside(debian), "retort", "describe", "--format", "csv", "CCO").upper()
    assert (debian / "usr/share/man/man1/retort.1.gz").exists()
    assert (
        debian / "usr/share/bash-completion/completions/retort"
    ).read_text() == "complete -o default -o bashdefault -C /usr/bin/retort retort\n"
    run(*inside(debian), "retort", "check-config", "--config", "/etc/retort/retort.yaml")


def test_systemd_accepts_the_unit(debian: Path) -> None:
    done = subprocess.run(
        ["chroot", debian, "systemd-analyze", "verify", "--man=no", "retort.service"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0 and "retort" not in done.stdout + done.stderr, done.stdout + done.stderr
    run("chroot", debian, "systemd-analyze", "security", "--offline=yes", "--threshold=20", "retort.service")


def test_an_upgrade_keeps_changed_settings(debian: Path, package: Path) -> None:
    settings = debian / "etc/retort/retort.yaml"
    before = settings.read_text()
    settings.write_text(before + "log-level: warn\n")
    run("chroot", debian, "dpkg", "--install", f"/tmp/{package.name}")
    assert settings.read_text() == before + "log-level: warn\n"


def settings(variables: dict[str, str]) -> list[str]:
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


@pytest.fixture(scope="module")
def triton() -> Iterator[str]:
    with contextlib.ExitStack() as servers:
        yield os.environ.get("RETORT_TEST_TRITON_URL") or servers.enter_context(Triton(ROOT / "model_repository")).url


def test_every_api_answers_from_the_fresh_root(debian: Path, triton: str) -> None:
    main, *own = free_ports(1 + len(APIS))
    ports = {f"RETORT_{api.upper()}_PORT": str(port) for api, port in zip(APIS, own)}
    url = f"http://127.0.0.1:{main}"
    variables = {
        "RETORT_HOST": "127.0.0.1",
        "RETORT_PORT": str(main),
        **ports,
        "RETORT_TRITON_URL": triton,
        "RETORT_MODEL_REPOSITORY": "/models",
        "RETORT_JOBS_DATA": "/var/lib/retort",
    }
    command = [
        *inside(debian, "--ro-bind", str(ROOT / "model_repository"), "/models", *settings(variables)),
        "retort",
        "serve",
    ]
    with Process(command, {}) as server:

        def ready() -> bool:
            assert server.process.poll() is None, server.output()
            try:
                return requests.get(f"{url}/v1/health/ready", timeout=PATIENCE).ok
            except requests.ConnectionError:
                return False

        wait_for("all APIs are ready", ready, server.output)
        for path, body in {
            "/latent/embedding": {"sequences": ["CCO"]},
            "/masked/generate": {"smiles": "[*{5-8}]", "num_molecules": 1},
            "/embedding/v1/embeddings": {"model": "retort/minilm-embedqa-v2", "input": ["pain"], "input_type": "query"},
            "/ranking/v1/ranking": {
                "model": "retort/rankqa-minilm-v2",
                "query": {"text": "pain"},
                "passages": [{"text": "aspirin"}],
            },
            "/chat/v1/chat/completions": {
                "model": "retort/molecule-reader-v8",
                "messages": [{"role": "user", "content": "Which molecule is CCO?"}],
            },
        }.items():
            answer = requests.post(url + path, json=body, timeout=PATIENCE)
            assert answer.status_code == 200, f"{path}: {answer.text}"
