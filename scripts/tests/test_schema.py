"""The served OpenAPI description against what the service does: schemathesis
generates good and bad requests and finds no 5xx and no undocumented answer. Only
the molecule APIs may answer 504: a good request there can ask for hours of work,
so the gateway gives each a few seconds here. A 500 is undocumented everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import Gateway, eventually

LONG = ("latent", "masked")
CHECKS = "status_code_conformance,content_type_conformance,response_schema_conformance"
APIS = ["embedding", "ranking", "latent", "masked", "chat"]


@pytest.fixture(scope="module")
def brief(stack):
    """A gateway that ends long work early."""
    gateway = Gateway(stack.triton, stack.repository, **{f"RETORT_{api.upper()}_TIMEOUT": "1s" for api in LONG})
    assert eventually(lambda: gateway.ready("embedding"))
    yield gateway
    gateway.stop()


@pytest.mark.parametrize("api", APIS)
def test_answers_are_documented(brief, api: str, tmp_path) -> None:
    if not brief.ready(api):
        pytest.skip(f"no model of the {api} API is in the repository")
    examples = os.environ.get("RETORT_SCHEMA_EXAMPLES", "10" if api in LONG else "30")
    run = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run", f"{brief.url}/{api}/openapi.json",
         "--url", f"{brief.url}/{api}", "--max-examples", examples, "--seed", "1", "--workers", "1",
         "--checks", CHECKS if api in LONG else "not_a_server_error," + CHECKS,
         "--phases", "examples,coverage,fuzzing", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
