"""Upgrade and rollback: this version continues what the previous one wrote (testdata/upgrade, made by
scripts/golden/upgrade.py), and the previous one, built from git, continues what this version wrote."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import previous
import pytest
from previous import DATA, ITERATIONS, PARTICLES
from servers import ROOT, Gateway, Triton

NEW = ROOT / "bin/retort"
COMMIT = (DATA / "COMMIT").read_text().strip()
OLD_ANSWERS = json.loads((DATA / "jobs.json").read_text())
"""What the previous version's API answered about its jobs before it stopped."""
OUTPUTS = [("describe", "jsonl"), ("describe", "csv"), ("describe", "sdf"), ("embed", "jsonl"), ("embed", "csv")]
CHANGED_SETTINGS: dict[str, object] = {}
"""The settings with another value in this version, read from the same file. The changelog explains each."""


class Previous(Gateway):
    """A gateway of the previous version."""


@pytest.fixture(scope="session")
def old() -> Path:
    """The program of the previous version, built from git."""
    Previous.program = previous.build(COMMIT)
    return Previous.program


@pytest.fixture(scope="module")
def upgraded(stack: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway of this version, with the jobs of the previous one."""
    folder = previous.unpack("jobs.tar.gz", tmp_path_factory.mktemp("upgrade") / "jobs")
    with Gateway(stack.triton, stack.repository, **previous.settings(folder)) as gateway:
        gateway.wait_ready("latent", "masked", "embedding")
        yield gateway
        assert gateway.stop() == 0, gateway.output()


def check_finished(before: dict, now: dict) -> None:
    """Checks that ended jobs have the same files, results and values in all fields that the previous version knows, and
    that unfinished jobs still have these fields.
    """
    lists = [
        (before["files"], now["files"]),
        (before["batches"], now["batches"]),
        *((before["searches"][api], now["searches"][api]) for api in before["searches"]),
    ]
    for old_list, new_list in lists:
        found = {item["id"]: item for item in new_list["data"]}
        for item in old_list["data"]:
            same = found[item["id"]]
            fields = KNOWN_FIELDS[item["object"]] & item.keys()
            assert same.keys() >= fields
            if item["object"] != "file" and not previous.has_ended(item):
                fields &= CONSTANT_FIELDS
            assert {name: same[name] for name in fields} == {name: item[name] for name in fields}
    for part in ("contents", "results"):
        assert before[part] and before[part].items() <= now[part].items()


KNOWN_FIELDS = {
    item["object"]: item.keys()
    for group in (OLD_ANSWERS["files"], OLD_ANSWERS["batches"], *OLD_ANSWERS["searches"].values())
    for item in group["data"]
}
"""The fields that the previous version knows, by type of object."""
CONSTANT_FIELDS = {"id", "object", "api", "endpoint", "input_file_id", "completion_window", "created_at", "metadata"}
"""The fields of a batch or search whose values never change."""


def check_continued(gateway: Gateway, ids: dict, before: dict) -> None:
    """Waits until the unfinished batch and search are completed, and checks that their earlier work was kept."""
    search = previous.wait_job(gateway, f"/latent/generate/jobs/{ids['searching']}", previous.has_ended)
    (old_search,) = [job for job in before["searches"]["latent"]["data"] if job["id"] == ids["searching"]]
    assert old_search["status"] == "in_progress" and search["status"] == "completed", search
    assert search["progress"]["iteration"] == search["progress"]["iterations"] == ITERATIONS
    assert search["attempts"] == old_search["attempts"] + 1
    # Evaluations of the last attempt only. A search from the start needs more.
    assert search["progress"]["evaluations"] < PARTICLES * ITERATIONS * 3 / 4, search
    assert search["progress"]["best"][0]["score"] >= old_search["progress"]["best"][0]["score"]
    result = previous.ask(gateway, "GET", f"/latent/generate/jobs/{search['id']}/result").json()
    assert len(result["generated"]) == 3
    batch = previous.wait_job(gateway, f"/v1/batches/{ids['in_progress']}", previous.has_ended)
    (old_batch,) = [job for job in before["batches"]["data"] if job["id"] == ids["in_progress"]]
    assert old_batch["status"] == "in_progress" and 0 < old_batch["request_counts"]["completed"] < previous.LINES
    assert batch["status"] == "completed"
    assert batch["request_counts"] == {"total": previous.LINES, "completed": previous.LINES, "failed": 0}
    answers = previous.ask(gateway, "GET", f"/v1/files/{batch['output_file_id']}/content").text.splitlines()
    assert [json.loads(line)["custom_id"] for line in answers] == [f"line-{n}" for n in range(previous.LINES)]


def check_deleted(gateway: Gateway, ids: dict, before: dict) -> None:
    """Deletes the files of the completed batch, and checks that they are no longer listed."""
    (batch,) = [job for job in before["batches"]["data"] if job["id"] == ids["completed"]]
    files = {batch[name] for name in ("input_file_id", "output_file_id", "error_file_id")}
    for file in files:
        assert previous.ask(gateway, "DELETE", f"/v1/files/{file}").json()["deleted"]
    left = {file["id"] for file in previous.ask(gateway, "GET", "/v1/files").json()["data"]}
    assert not files & left


def test_old_jobs_are_served_continued_and_deleted(upgraded: Gateway) -> None:
    check_finished(OLD_ANSWERS, previous.read_jobs(upgraded))
    check_continued(upgraded, OLD_ANSWERS["ids"], OLD_ANSWERS)
    check_finished(OLD_ANSWERS, previous.read_jobs(upgraded))
    check_deleted(upgraded, OLD_ANSWERS["ids"], OLD_ANSWERS)


def test_old_settings_have_the_same_effect(tmp_path: Path) -> None:
    previous.prepare_settings(tmp_path)
    before, now = json.loads((DATA / "settings.json").read_text()), previous.check_settings(NEW, tmp_path)
    assert {name: now.get(name) for name in before} == {**before, **CHANGED_SETTINGS}


def test_an_imported_entry_of_the_old_version(tmp_path: Path) -> None:
    previous.unpack("entry.tar.gz", tmp_path / "previous")
    with Triton(tmp_path) as triton, Gateway(triton.url, tmp_path, **previous.settings(tmp_path / ".jobs")) as gateway:
        assert_same(previous.embed(gateway), json.loads((DATA / "vectors.json").read_text()))


def assert_same(vectors: list, wanted: list) -> None:
    """Checks that vectors have cosines of at least 0.99999 and the same lengths."""
    a, b = np.array(vectors), np.array(wanted)
    assert a.shape == b.shape
    lengths = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    assert np.allclose(*lengths, rtol=1e-4)
    assert ((a * b).sum(axis=1) / (lengths[0] * lengths[1])).min() >= 0.99999


def resume(program: Path, command: str, output: Path, **variables: str) -> Path:
    """Resumes a command with --resume on its partial output. Returns the output of a run without interruption."""
    count = previous.DESCRIBED if command == "describe" else previous.EMBEDDED
    molecules = output.with_name("molecules.smi")
    molecules.write_text("".join(f"{molecule}\n" for molecule in previous.MOLECULES[:count]))
    start = output.read_bytes()
    previous.run(program, command, molecules, "-o", output, "--resume", **variables)
    whole = output.with_name(f"whole{output.suffix}")
    previous.run(program, command, molecules, "-o", whole, **variables)
    # --resume drops the incomplete last row, and writes the row before it again.
    kept = start[: whole_rows(start, output.suffix)]
    assert kept and output.read_bytes().startswith(kept)
    return whole


def whole_rows(content: bytes, form: str) -> int:
    """Returns the bytes of a partial output that --resume keeps: all complete rows but the last."""
    mark = b"$$$$\n" if form == ".sdf" else b"\n"
    ends = [match.end() for match in re.finditer(re.escape(mark), content)]
    return ends[-2]


def check_resumed(output: Path, whole: Path, command: str) -> None:
    """Checks that a resumed output is that of a run without interruption: the same bytes. Vectors may differ by
    rounding, since they were computed in other batches or on another machine."""
    if command == "describe":
        assert output.read_bytes() == whole.read_bytes()
        return
    (rows, vectors), (wanted_rows, wanted) = read_vectors(output), read_vectors(whole)
    assert rows == wanted_rows and len(rows) == previous.EMBEDDED
    assert_same(vectors, wanted)


def read_vectors(file: Path) -> tuple[list, list]:
    """Returns the rows of an output of `retort embed` without their vectors, and the vectors."""
    if file.suffix == ".jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        with file.open(newline="") as lines:
            rows = [{**row, "embedding": json.loads(row["embedding"])} for row in csv.DictReader(lines)]
    return rows, [row.pop("embedding") for row in rows]


def access(stack: Gateway) -> dict[str, str]:
    return {"RETORT_URL": stack.url}


@pytest.mark.parametrize("command, form", OUTPUTS)
def test_an_interrupted_output_is_resumed(stack: Gateway, tmp_path: Path, command: str, form: str) -> None:
    output = previous.unpack("resume.tar.gz", tmp_path / "resume") / f"{command}.{form}"
    whole = resume(NEW, command, output, **access(stack))
    check_resumed(output, whole, command)
    if command == "describe":
        assert previous.sha256(output) == json.loads((DATA / "resume.json").read_text())[form]


def test_rollback_of_jobs(stack: Gateway, old: Path, tmp_path: Path) -> None:
    """The previous version gets a folder that this version has continued and added jobs to."""
    folder = previous.unpack("jobs.tar.gz", tmp_path / "jobs")
    settings = previous.settings(folder)
    with Gateway(stack.triton, stack.repository, **settings) as gateway:
        gateway.wait_ready("latent", "masked", "embedding")
        previous.wait_job(gateway, f"/v1/batches/{OLD_ANSWERS['ids']['in_progress']}", previous.has_ended)
        previous.wait_job(gateway, f"/latent/generate/jobs/{OLD_ANSWERS['ids']['searching']}", previous.has_ended)
        ids = previous.start_jobs(gateway)
        before = previous.read_jobs(gateway)
        assert gateway.stop() == 0, gateway.output()
    assert len(before["batches"]["data"]) == 6 and len(before["searches"]["latent"]["data"]) == 4
    with Previous(stack.triton, stack.repository, **settings) as gateway:
        gateway.wait_ready("latent", "masked", "embedding")
        check_finished(before, previous.read_jobs(gateway))
        check_continued(gateway, ids, before)
        check_deleted(gateway, ids, before)
        assert gateway.stop() == 0, gateway.output()


def test_rollback_of_an_imported_entry(old: Path, tmp_path: Path) -> None:
    source, repository = previous.make_model(tmp_path / "source"), tmp_path / "models"
    previous.import_model(NEW, source, repository)
    with Triton(repository) as triton:
        vectors = []
        for number, program in enumerate((Gateway, Previous)):
            with program(triton.url, repository, **previous.settings(tmp_path / f"jobs-{number}")) as gateway:
                vectors.append(previous.embed(gateway))
    assert_same(vectors[1], vectors[0])


@pytest.mark.parametrize("form", ["jsonl", "csv", "sdf"])
def test_rollback_of_an_interrupted_output(old: Path, tmp_path: Path, form: str) -> None:
    output = tmp_path / f"describe.{form}"
    previous.interrupt(NEW, "describe", output, 10_000)
    check_resumed(output, resume(old, "describe", output), "describe")


def test_changelog_begins_with_this_version() -> None:
    text = (ROOT / "orchestrator/CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    newest = json.loads(previous.run(NEW, "version", "--json"))["version"]
    assert versions[:2] == ["Unreleased", newest] and previous.VERSION in versions
