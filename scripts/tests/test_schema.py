"""The service answers as its OpenAPI description says: schemathesis sends generated valid and invalid requests and
finds no 5xx and no undocumented answer. schema_hooks.py bounds the work of each request, so that none exceeds its
deadline.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from servers import APIS
from waiting import PATIENCE

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
EXAMPLES = {"latent": "10", "masked": "10", "ranking": "10"}
"""Requests that are made for each operation, where they are not 30: the molecule APIs take longer for one, and the
ranking API has one operation at several paths."""

SHARED = "^/v1/(license|manifest|metadata|version|metrics|models/)|^/metrics"
"""Operations that the gateway answers alike for every API: tested with one API here, with each in
test_documentation.py."""


@pytest.mark.parametrize("api", APIS)
def test_answers_are_documented(stack, api: str, tmp_path) -> None:
    examples = os.environ.get("RETORT_SCHEMA_EXAMPLES", EXAMPLES.get(api, "30"))
    folder = Path(__file__).parent
    run = subprocess.run(
        [
            os.path.join(os.path.dirname(sys.executable), "schemathesis"),
            "run",
            f"{stack.url}/{api}/openapi.json",
            "--url",
            f"{stack.url}/{api}",
            "--max-examples",
            examples,
            "--seed",
            "1",
            "--workers",
            "1",
            "--checks",
            CHECKS,
            "--request-timeout",
            str(PATIENCE),
            "--phases",
            "examples,coverage,fuzzing",
            "--no-color",
            # No generated paths have ids with slashes, as most ids have.
            *(["--suppress-health-check", "filter_too_much"] if api == "ranking" else ["--exclude-path-regex", SHARED]),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "schema_hooks", "PYTHONPATH": str(folder)},
    )
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
