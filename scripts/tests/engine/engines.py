"""A real Triton with the stand-in for the vLLM backend (backend/model.py)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from servers import ROOT, Triton, add_backend
from waiting import PATIENCE

HERE = Path(__file__).resolve().parent
ENVIRONMENT = Path(os.environ.get("RETORT_ENGINE_VENV") or ROOT / ".venv-engine")


def run(script: str, *arguments: object) -> None:
    """Runs a script of this folder in the environment of the engine."""
    subprocess.run(
        [ENVIRONMENT / "bin/python", HERE / script, *map(str, arguments)],
        check=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )


def triton(repository: Path, backends: Path) -> Triton:
    """A Triton that serves a repository with the local backends and the stand-in, which are copied to backends."""
    add_backend(backends, "vllm", HERE / "backend/model.py")
    return Triton(
        repository,
        control="explicit",
        RETORT_ENGINE_VENV=str(ENVIRONMENT),
        RETORT_TRITON_BACKENDS=str(backends),
        RETORT_TRITON_READY_SECONDS=str(2 * PATIENCE),
    )
