"""Prepares the virtual environment of Triton and the folder of its backends.

Both are in the checkout: `.venv-triton/` (the packages of requirements.txt, verified by hash) and `.cache/triton/`
(backends). A stamp has the hash of the inputs of the environment, so that later starts reuse it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LOCK = HERE / "requirements.txt"
VENV = ROOT / ".venv-triton"
BACKENDS = ROOT / ".cache" / "triton" / "backends"

# Triton's Python stub needs numpy below 2, which supports Python up to 3.12; onnxruntime needs 3.11.
VERSIONS = ("3.11", "3.12")

# Prints the version of an interpreter, whether it has venv, and the name and folder of its shared library.
PROBE = """
import sys, sysconfig, os
try:
    import venv, ensurepip
    has_venv = 1
except ImportError:
    has_venv = 0
var = sysconfig.get_config_var
name = var("INSTSONAME") or var("LDLIBRARY") or ""
if not ".so" in name: name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
libdir, multiarch = var("LIBDIR") or "", var("MULTIARCH") or ""
folders = [libdir, os.path.join(libdir, multiarch), "/usr/lib/" + multiarch]
found = [f for f in folders if f and os.path.exists(os.path.join(f, name))]
print("%d.%d" % sys.version_info[:2], has_venv, name, found[0] if found else "", sep="\\n")
"""


class Unusable(Exception):
    """The machine lacks a requirement. The message is one line with what to do."""


class Interpreter:
    """An installed Python. Triton's stub needs one of VERSIONS, with venv and a shared libpython."""

    def __init__(self, path: str) -> None:
        """CalledProcessError: the path is not a working Python, but a shim, for example."""
        self.path = path
        probe = subprocess.run([path, "-c", PROBE], capture_output=True, text=True, check=True)
        self.version, has_venv, self.library, self.library_folder = probe.stdout.split("\n")[:4]
        self.has_venv = has_venv == "1"

    def missing(self) -> list[str]:
        """Returns the Debian packages that this interpreter lacks."""
        packages = [] if self.has_venv else ["python3-venv"]
        return packages if self.library_folder else packages + [f"libpython{self.version}"]


def find_interpreter() -> Interpreter:
    """Returns the first usable Python. On Debian, as root, it installs missing packages. Unusable: there is none."""
    candidates = []
    for python in interpreters():
        candidates.append(python)
        if python.version in VERSIONS and not python.missing():
            return python
    supported = [python for python in candidates if python.version in VERSIONS]
    if not supported:
        raise Unusable(
            f"Triton needs Python {' or '.join(VERSIONS)}; "
            f"found {', '.join(p.version for p in candidates) or 'none'} (RETORT_PYTHON names another)"
        )
    packages = supported[0].missing()
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Unusable(f"{supported[0].path} lacks {' and '.join(packages)}: run `sudo {' '.join(command)}`")
    say(f"installing {' '.join(packages)}")
    subprocess.run(["apt-get", "update", "-q"], stdout=sys.stderr, check=False)
    if subprocess.run(command, stdout=sys.stderr, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}).returncode:
        raise Unusable(f"`{' '.join(command)}` failed")
    return Interpreter(supported[0].path)


def interpreters() -> Iterator[Interpreter]:
    chosen = os.environ.get("RETORT_PYTHON")
    names = [chosen] if chosen else ["/usr/bin/python3", "python3", *(f"python{v}" for v in VERSIONS), sys.executable]
    for path in dict.fromkeys(filter(None, map(shutil.which, names))):
        try:
            yield Interpreter(path)
        except (OSError, subprocess.CalledProcessError):
            continue


class Environment:
    """The paths in the virtual environment."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.site = VENV / "lib" / f"python{interpreter.version}" / "site-packages"
        self.triton = self.site / "pytriton" / "tritonserver"
        self.server = self.triton / "bin" / "tritonserver"

    def variables(self) -> dict[str, str]:
        """Returns the environment variables of tritonserver, with the paths of libraries, packages and interpreter."""
        variables = dict(os.environ)
        libraries = [str(self.site / "nvidia_pytriton.libs"), self.interpreter.library_folder]
        variables["LD_LIBRARY_PATH"] = ":".join(libraries + [p for p in [variables.get("LD_LIBRARY_PATH")] if p])
        variables["PATH"] = f"{VENV / 'bin'}:{variables.get('PATH', '')}"
        variables["PYTHONPATH"] = str(self.site)
        variables["PYTHONDONTWRITEBYTECODE"] = "1"
        # ONNX Runtime (from 1.29) and vLLM send telemetry unless these are set.
        variables.setdefault("ORT_DISABLE_TELEMETRY", "1")
        variables.setdefault("DO_NOT_TRACK", "1")
        variables.pop("PYTHONHOME", None)
        return variables


def prepare() -> Environment:
    """Creates or reuses the environment and the folder of backends."""
    environment = Environment(find_interpreter())
    stamp, expected = VENV / "stamp", digest(environment.interpreter)
    if not stamp.exists() or stamp.read_text() != expected:
        install(environment)
        stamp.write_text(expected)
    assemble_backends(environment)
    return environment


def digest(interpreter: Interpreter) -> str:
    sha = hashlib.sha256(LOCK.read_bytes())
    sha.update(f"{interpreter.path} {interpreter.version} {VENV}".encode())
    return sha.hexdigest()


def install(environment: Environment) -> None:
    say(f"installing tritonserver, onnxruntime and rdkit into {VENV.name}/ (about 140 MB to fetch, once)")
    shutil.rmtree(VENV, ignore_errors=True)
    subprocess.run([environment.interpreter.path, "-m", "venv", str(VENV)], check=True)
    pip = [
        str(VENV / "bin" / "python3"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "-r",
        str(LOCK),
    ]
    if subprocess.run(pip, stdout=sys.stderr).returncode:
        raise Unusable(f"pip could not install {LOCK.relative_to(ROOT)}: see its message above")


def assemble_backends(environment: Environment) -> None:
    """Copies each backend into a folder of its own, as Triton expects. The package has library and stub apart."""
    python = BACKENDS / "python"
    python.mkdir(parents=True, exist_ok=True)
    stub = environment.triton / "python_backend_stubs" / environment.interpreter.version / "triton_python_backend_stub"
    for name in ("libtriton_python.so", "triton_python_backend_utils.py"):
        copy_file(environment.triton / "backends" / "python" / name, python / name)
    copy_file(stub, python / stub.name, mode=0o755)
    for source in sorted((HERE / "backends").glob("*/model.py")):
        (BACKENDS / source.parent.name).mkdir(exist_ok=True)
        copy_file(source, BACKENDS / source.parent.name / source.name)


def copy_file(source: Path, target: Path, mode: int = 0o644) -> None:
    """Copies a file if it differs. The replacement is atomic, because another Triton may be reading it."""
    if (
        target.exists()
        and target.stat().st_size == source.stat().st_size
        and target.read_bytes() == source.read_bytes()
    ):
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, temporary)
    temporary.chmod(mode)
    temporary.replace(target)


def say(line: str) -> None:
    print(f"triton | {line}", file=sys.stderr, flush=True)
