"""The served OpenAPI description against what the service does: schemathesis
generates good and bad requests and finds no 5xx and no undocumented answer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

APIS = ["embedding", "ranking", "latent", "masked", "chat"]


@pytest.mark.parametrize("api", APIS)
def test_answers_are_documented(stack, api: str, tmp_path) -> None:
    if not stack.ready(api):
        pytest.skip(f"no model of the {api} API is in the repository")
    examples = os.environ.get("RETORT_SCHEMA_EXAMPLES", "30")
    run = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run", f"{stack.url}/{api}/openapi.json",
         "--url", f"{stack.url}/{api}", "--max-examples", examples, "--seed", "1", "--workers", "1",
         "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
         "--phases", "examples,coverage,fuzzing", "--no-color"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-6000:] + run.stderr[-2000:]
