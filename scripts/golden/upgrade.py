"""Writes the files that the previous version of the program leaves behind, for scripts/tests/test_upgrade.py.

    .venv-tests/bin/python scripts/golden/upgrade.py COMMIT

COMMIT is the previous release; its version must be VERSION in scripts/tests/previous.py. The script builds the program
from that commit, runs it in front of the local Triton, stops it in the middle of its work, and packs its files into
scripts/tests/testdata/upgrade/VERSION. The build that writes the jobs has one changed constant: the completion window
of a batch is a hundred years, not a day, so the unfinished batch never expires.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import previous  # noqa: E402
from previous import DATA, ROOT  # noqa: E402
from servers import APIS, Gateway, Triton  # noqa: E402

ENTRIES = ("latent_encoder", "latent_decoder", "latent_decoder_beam", "masked", "minilm_embed_qa")
WINDOW = ("const completionWindow = 24 * time.Hour", f"const completionWindow = {previous.CENTURY[:-1]} * time.Hour")
SETTINGS = {
    "host": "127.0.0.1",
    "triton-url": ["grpcs://triton-a:8001", "triton-b:8001"],
    "triton-ca": "FOLDER/certificate.pem",
    "triton-queue-delay": 250,
    "model-repository": "FOLDER/models",
    "served-model-name": ["text-embedding=retort/minilm-embedqa-v2", "reader"],
    "memory-budget": 1 << 30,
    "jobs-data": "FOLDER/jobs",
    "jobs-max-bytes": 1 << 30,
    "jobs-key-bytes": 1 << 28,
    "nats-url": ["nats://user:secret@nats-a:4222", "nats-b:4222"],
    "nats-creds": "FOLDER/nats.creds",
    "nats-ca": "FOLDER/certificate.pem",
    "nats-cert": "FOLDER/certificate.pem",
    "nats-key": "FOLDER/key.pem",
    "log-level": "warn",
    "log-format": "json",
    "keys-file": "FOLDER/keys",
    "cors-origins": "https://one.example,https://two.example",
    "tls-cert": "FOLDER/certificate.pem",
    "tls-key": "FOLDER/key.pem",
    "otlp-endpoint": "http://collector:4317",
    "otlp-protocol": "http/protobuf",
    "service-name": "retort-one",
    "latent-model": "retort/latent-v4",
    "latent-generated": "objects",
    "masked-ready-body": "true",
    "masked-model": "retort/masked-v2",
    "embedding-errors": "openai",
    "embedding-tokens": "refuse",
    "embedding-input-type": "lenient",
    "ranking-errors": "openai",
    "chat-image-fetch-allow": ["10.0.0.0/8", "192.168.1.0/24"],
}
"""Values that the settings get. The others get the value that non_default finds."""


class Previous(Gateway):
    """A gateway of the previous version."""


def main() -> None:
    commit = sys.argv[1]
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    (DATA / "COMMIT").write_text(commit + "\n")
    program = previous.build(commit)
    Previous.program = program
    with tempfile.TemporaryDirectory() as scratch:
        write_settings(program, Path(scratch))
        repository = Path(scratch, "models")
        repository.mkdir()
        for entry in ENTRIES:
            (repository / entry).symlink_to(ROOT / "model_repository" / entry)
        previous.import_model(program, previous.make_model(Path(scratch, "source")), repository)
        previous.pack(repository / "previous", DATA / "entry.tar.gz")
        with Triton(repository) as triton:
            with Previous(triton.url, repository, **previous.settings(Path(scratch, "none"))) as gateway:
                write_json(DATA / "vectors.json", previous.embed(gateway))
                gateway.wait_ready("latent")
                write_interrupted(program, gateway.url, Path(scratch))
            Previous.program = previous.build(commit, "retort-long", overlay(commit, Path(scratch)))
            write_jobs(triton.url, repository, Path(scratch, "jobs"))


def write_json(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def overlay(commit: str, scratch: Path) -> Path:
    """Writes a copy of a source file with WINDOW changed. Returns the file for the option -overlay of `go build`."""
    source = previous.checkout(commit) / "orchestrator/jobs/batch/batches.go"
    text = source.read_text()
    assert text.count(WINDOW[0]) == 1, f"{source} must have the line {WINDOW[0]} once"
    changed = scratch / "batches.go"
    changed.write_text(text.replace(*WINDOW))
    file = scratch / "overlay.json"
    write_json(file, {"Replace": {str(source): str(changed)}})
    return file


def write_jobs(triton: str, repository: Path, folder: Path) -> None:
    """Writes the folder of jobs, and what the API answered about them before the gateway stopped."""
    with Previous(triton, repository, **previous.settings(folder)) as gateway:
        gateway.wait_ready("latent", "masked", "embedding")
        ids = previous.start_jobs(gateway)
        answers = previous.read_jobs(gateway)
        assert gateway.stop() == 0, gateway.output()
    unfinished = {
        job["id"]: job["status"] for job in answers["batches"]["data"] + answers["searches"]["latent"]["data"]
    }
    assert unfinished[ids["in_progress"]] == unfinished[ids["searching"]] == "in_progress", unfinished
    write_json(DATA / "jobs.json", {"ids": ids, **answers})
    (folder / "lock").unlink()
    previous.pack(folder, DATA / "jobs.tar.gz")


def write_settings(program: Path, folder: Path) -> None:
    """Writes a settings file in which every setting has another value than its default, and the values that the program
    reads from it.
    """
    defaults = yaml.safe_load(previous.run(program, "check-config"))
    values: dict = {}
    for name, default in defaults.items():
        value = SETTINGS.get(name) or non_default(default)
        api, _, rest = name.partition("-")
        if api in APIS:
            values.setdefault(api, {})[rest] = value
        else:
            values[name] = value
    text = yaml.safe_dump(values, sort_keys=False, width=120)
    (DATA / "settings.yaml").write_text(f"# Every setting of this version. FOLDER is the folder of the test.\n{text}")
    previous.prepare_settings(folder)
    effective = previous.check_settings(program, folder)
    unchanged = [name for name, default in defaults.items() if effective[name] == default]
    assert not unchanged, f"these settings have their defaults: {unchanged}"
    write_json(DATA / "settings.json", effective)


def non_default(default: object) -> object:
    """Returns another value than the default of a number, a duration in seconds or a switch."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    match = re.fullmatch(r"((?:\d+h)?(?:\d+m)?)(\d+)s", str(default))
    assert match, f"SETTINGS needs a value for each setting whose default is {default!r}"
    return f"{match[1]}{int(match[2]) + 1}s"


def write_interrupted(program: Path, url: str, scratch: Path) -> None:
    """Writes the outputs of interrupted commands, and the SHA-256 of complete outputs of `describe`."""
    key = {"RETORT_URL": url, "RETORT_API_KEY": previous.KEY["Authorization"].removeprefix("Bearer ")}
    molecules = scratch / "molecules.smi"
    molecules.write_text("".join(f"{molecule}\n" for molecule in previous.MOLECULES[: previous.DESCRIBED]))
    partial = scratch / "resume"
    partial.mkdir()
    whole = {}
    for form in ("jsonl", "csv", "sdf"):
        previous.interrupt(program, "describe", partial / f"describe.{form}", 10_000)
        file = scratch / f"whole.{form}"
        previous.run(program, "describe", molecules, "-o", file)
        whole[form] = previous.sha256(file)
    for form in ("jsonl", "csv"):
        previous.interrupt(program, "embed", partial / f"embed.{form}", 30_000, **key)
    previous.pack(partial, DATA / "resume.tar.gz")
    write_json(DATA / "resume.json", whole)


if __name__ == "__main__":
    main()
