"""Searches of the molecule APIs as jobs, in front of a real Triton: submitted, followed, cancelled, hidden from other
keys, and continued after the gateway was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import requests
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

SEED = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"
ENDLESS = {"smi": SEED, "iterations": 1000, "particles": 20, "min_similarity": 0.2}
LONG = 100
"""Iterations, or rounds, of a search that takes seconds, so that the gateway can be killed during it."""
MINE, OTHER = {"Authorization": "Bearer mine"}, {"Authorization": "Bearer other"}


def jobs(gateway: Gateway, api: str, path: str = "", key: dict = MINE, **arguments) -> requests.Response:
    method = "POST" if "json" in arguments or path.endswith("/cancel") else "GET"
    return requests.request(
        method, f"{gateway.urls[api]}/generate/jobs{path}", headers=key, timeout=PATIENCE, **arguments
    )


def job(gateway: Gateway, api: str, id: str) -> dict:
    answer = jobs(gateway, api, f"/{id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def submit(gateway: Gateway, api: str, body: dict) -> str:
    answer = jobs(gateway, api, json=body)
    assert answer.status_code == 202 and answer.json()["status"] == "queued", answer.text
    return answer.json()["id"]


def run(gateway: Gateway, *arguments: str, command: str = "jobs") -> subprocess.CompletedProcess[str]:
    """The command line, for the jobs of a key."""
    return subprocess.run(
        [str(ROOT / "bin/retort"), command, *arguments, "--url", gateway.url],
        text=True,
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "RETORT_API_KEY": "mine"},
    )


def test_searches_as_jobs(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("mine\nother\n")
    settings = {"RETORT_KEYS_FILE": str(keys), "RETORT_JOBS_DATA": str(tmp_path / "jobs"), "RETORT_JOBS": "true"}
    repository = ROOT / "model_repository"
    with Triton(repository) as triton:
        with Gateway(triton.url, repository, **settings) as gateway:
            gateway.wait_ready("latent", "masked")
            refused = jobs(gateway, "latent", json={"smi": SEED, "iterations": 0})
            assert refused.status_code == 422 and refused.json()["detail"][0]["loc"] == ["body", "iterations"], (
                refused.text
            )
            short = submit(gateway, "masked", {"num_molecules": 10, "rounds": 2, "seed": 1})
            followed = jobs(gateway, "masked", f"/{short}/events", stream=True)
            seen = [json.loads(line[6:]) for line in followed.iter_lines() if line.startswith(b"data: ")]
            assert seen[-1]["status"] == "completed" and seen[-1]["progress"]["iteration"] == 2, seen
            assert len(jobs(gateway, "masked", f"/{short}/result").json()["molecules"]) == 10
            # A job is visible only with its key and under its API.
            for path in ("", "/events", "/result"):
                assert jobs(gateway, "masked", f"/{short}{path}", key=OTHER).status_code == 404
            assert jobs(gateway, "masked", f"/{short}/cancel", key=OTHER).status_code == 404
            assert jobs(gateway, "latent", f"/{short}").status_code == 404
            assert jobs(gateway, "masked", key=OTHER).json()["data"] == []
            assert jobs(gateway, "masked", key={}).status_code == 401
            # A cancelled job has the molecules found so far.
            long = submit(gateway, "latent", ENDLESS)
            wait_for("it finds something", lambda: job(gateway, "latent", long)["progress"]["best"][0], gateway.output)
            assert json.loads(run(gateway, "cancel", long).stdout)["status"] == "cancelling"
            wait_for("it is cancelled", lambda: job(gateway, "latent", long)["status"] == "cancelled", gateway.output)
            result = jobs(gateway, "latent", f"/{long}/result").json()
            assert result["generated"] and result["unfinished"]["reason"] == "cancelled"
            # A third job is running when the gateway is killed.
            wanted = {"iterations": LONG, "include_scores": True, "manifest": True}
            killed = submit(gateway, "latent", {**ENDLESS, **wanted})
            wait_for(
                "it is at work", lambda: job(gateway, "latent", killed)["progress"]["iteration"] > 1, gateway.output
            )
            assert gateway.stop(signal.SIGKILL) == -signal.SIGKILL
        with Gateway(triton.url, repository, **settings) as gateway:
            gateway.wait_ready("latent")
            before = job(gateway, "latent", killed)
            assert before["progress"]["iteration"] > 1 and before["progress"]["best"][0], before
            wait_for(
                "it is done",
                lambda: job(gateway, "latent", killed)["status"] in ("completed", "failed"),
                gateway.output,
            )
            after = job(gateway, "latent", killed)
            assert (
                after["status"] == "completed" and after["attempts"] == 2 and after["progress"]["iteration"] == LONG
            ), after
            result = jobs(gateway, "latent", f"/{killed}/result").json()["generated"]
            assert len(result) == 10 and result[0]["score"] >= before["progress"]["best"][0]["score"], (result, before)
            listed = [json.loads(line) for line in run(gateway, "list").stdout.splitlines()]
            assert [one["id"] for one in listed] == [killed, long, short], listed
            assert json.loads(run(gateway, "show", short).stdout)["id"] == short
            # The manifest of the result, which two attempts made, gives the same result again.
            (tmp_path / "result.json").write_bytes(jobs(gateway, "latent", f"/{killed}/result").content)
            again = run(gateway, str(tmp_path / "result.json"), command="replay")
            assert again.returncode == 0 and again.stdout == "1: /latent/generate/jobs: equal\n", again
            unknown = run(gateway, "show", "job_00")
            assert unknown.returncode == 1 and "no such job" in unknown.stderr, unknown


SEEDED: dict[str, dict] = {
    "latent": {**ENDLESS, "iterations": LONG, "seed": 1, "evaluated": True},
    "masked": {"num_molecules": 15, "rounds": 50, "seed": 1, "evaluated": True},
}
"""Searches by API that take seconds."""


def test_searches_with_a_seed_have_the_same_bytes_over_a_kill(tmp_path: Path) -> None:
    settings = {"RETORT_JOBS_DATA": str(tmp_path / "jobs"), "RETORT_JOBS": "true"}
    repository = ROOT / "model_repository"
    with Triton(repository) as triton:
        with Gateway(triton.url, repository, **settings) as gateway:
            gateway.wait_ready(*SEEDED)
            ids = {api: submit(gateway, api, body) for api, body in SEEDED.items()}

            def at_work() -> bool:
                return all(job(gateway, api, id)["progress"]["iteration"] > 1 for api, id in ids.items())

            wait_for("both are at work", at_work, gateway.output)
            assert gateway.stop(signal.SIGKILL) == -signal.SIGKILL
        with Gateway(triton.url, repository, **settings) as gateway:
            gateway.wait_ready(*SEEDED)
            # Nothing interrupts these requests.
            undisturbed = {
                api: requests.post(f"{gateway.urls[api]}/generate", json=body, timeout=PATIENCE).content
                for api, body in SEEDED.items()
            }

            def ended() -> bool:
                return all(job(gateway, api, id)["status"] in ("completed", "failed") for api, id in ids.items())

            wait_for("both are done", ended, gateway.output)
            for api, id in ids.items():
                assert job(gateway, api, id)["attempts"] == 2
                assert jobs(gateway, api, f"/{id}/result").content == undisturbed[api]
