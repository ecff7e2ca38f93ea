"""Builds and runs the previous version of the program, and reads the files that it left: testdata/upgrade.

scripts/golden/upgrade.py writes them, test_upgrade.py reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
from pathlib import Path

import folders
import requests
import yaml
from servers import ROOT, Gateway
from waiting import PATIENCE, wait_for

VERSION = "0.1.0"
DATA = ROOT / "scripts/tests/testdata/upgrade" / VERSION
SOURCES = ("go.mod", "go.sum", "chem", "orchestrator", "tokenizers")
"""Files and folders that the program is built from."""

KEY = {"Authorization": "Bearer previous"}
"""The header with the API key that owns the jobs."""
CENTURY = "876000h"
"""A hundred years: how long jobs are kept, so that nothing in the data expires."""
TEXTS = ["A retort distils substances.", "benzene", "one two three"]
IMPORTED = "tests/previous"
"""The public id of the imported model."""

MOLECULES = [f"{'C' * (n % 7 + 1)}{'O' * (n % 3)} molecule-{n}" for n in range(1, 5001)]
"""Input lines of the commands that are interrupted: SMILES and name."""
DESCRIBED = 160
"""The number of MOLECULES in a complete output of `describe`."""
EMBEDDED = 12
"""The number of MOLECULES in a complete output of `embed`, which is slower."""


def checkout(commit: str) -> Path:
    """Returns a folder with the sources of a commit. It is kept: Go compiles C++ anew in each new folder."""
    folder = ROOT / ".cache/upgrade" / commit / "source"
    if folder.exists():
        return folder
    if subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True).returncode:
        fetched = subprocess.run(
            ["git", "fetch", "--quiet", "--depth", "1", "origin", commit], cwd=ROOT, capture_output=True, text=True
        )
        assert fetched.returncode == 0, (
            f"version {VERSION} is built from commit {commit}, which this clone lacks and cannot fetch from origin: "
            f"clone the whole history.\n{fetched.stderr}"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = Path(scratch, "sources.tar")
        subprocess.run(["git", "archive", "--output", archive, commit, *SOURCES], cwd=ROOT, check=True)
        shutil.unpack_archive(archive, Path(scratch, "source"))
        Path(scratch, "source").rename(folder)
    return folder


def build(commit: str, name: str = "retort", overlay: Path | None = None) -> Path:
    """Builds the program of a commit as the file `name`. overlay: the file for the option -overlay of `go build`."""
    sources = checkout(commit)
    target = sources.parent / name
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-o", str(target)]
    command += ["-overlay", str(overlay)] if overlay else []
    go = f"{os.environ['PATH']}:/usr/local/go/bin"  # as in the Makefile
    built = subprocess.run(
        [*command, "./orchestrator"], cwd=sources, capture_output=True, text=True, env={**os.environ, "PATH": go}
    )
    assert built.returncode == 0, f"the previous version, commit {commit}, does not build:\n{built.stderr}"
    return target


def settings(folder: Path) -> dict[str, str]:
    """Writes the keys file, and returns the settings of a gateway that serves the jobs in a folder."""
    keys = folder.parent / "keys"
    keys.write_text(KEY["Authorization"].removeprefix("Bearer ") + "\n")
    return {
        "RETORT_JOBS": "true",
        "RETORT_JOBS_DATA": str(folder),
        "RETORT_JOBS_KEEP_FILES": CENTURY,
        "RETORT_JOBS_KEEP_SEARCHES": CENTURY,
        "RETORT_JOBS_CONCURRENCY": "1",
        "RETORT_KEYS_FILE": str(keys),
    }


def environment() -> dict[str, str]:
    """Returns this process's environment without settings of the program."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("RETORT_", "NIM_", "OTEL_"))}


def run(program: Path, *arguments: object, folder: Path | None = None, **variables: str) -> str:
    """Runs a command of the program, which must succeed, and returns its standard output."""
    ended = subprocess.run(
        [str(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=folder,
        env={**environment(), **variables},
    )
    assert ended.returncode == 0, f"{ended.args}: exit status {ended.returncode}\n{ended.stderr}"
    return ended.stdout


def prepare_settings(folder: Path) -> Path:
    """Copies the settings file of DATA into a folder, and writes the certificate, key and keys file that it names."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
        + ["-keyout", "key.pem", "-out", "certificate.pem"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "keys").write_text("one\n")
    file = folder / "settings.yaml"
    file.write_text((DATA / "settings.yaml").read_text().replace("FOLDER", str(folder)))
    return file


def check_settings(program: Path, folder: Path) -> dict[str, object]:
    """Returns the value of every setting, as `check-config` prints it for the settings file in a folder."""
    text = run(program, "check-config", "--config", folder / "settings.yaml")
    return yaml.safe_load(text.replace(str(folder), "FOLDER"))


def pack(folder: Path, target: Path) -> None:
    """Writes the files of a folder into a .tar.gz whose bytes depend only on their names and contents."""
    with tempfile.NamedTemporaryFile(suffix=".tar") as archive:
        with tarfile.open(archive.name, "w") as tar:
            for file in sorted(folder.rglob("*")):
                entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
                entry.mode = 0o700 if file.is_dir() else 0o600
                if file.is_dir():
                    entry.type = tarfile.DIRTYPE
                    tar.addfile(entry)
                else:
                    entry.size = file.stat().st_size
                    with file.open("rb") as content:
                        tar.addfile(entry, content)
        with target.open("wb") as out:
            subprocess.run(["gzip", "-9", "--no-name", "--stdout", archive.name], stdout=out, check=True)


def unpack(name: str, folder: Path) -> Path:
    """Unpacks an archive of DATA into a new folder, and returns the folder."""
    shutil.unpack_archive(DATA / name, folder)
    return folder


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def ask(gateway: Gateway, method: str, path: str, **arguments):
    """Sends a request with the key of the jobs and returns the answer, which must be a success."""
    answer = requests.request(method, f"{gateway.url}{path}", headers=KEY, timeout=PATIENCE, **arguments)
    assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
    return answer


def upload(gateway: Gateway, lines: list[dict]) -> str:
    """Uploads a file of requests and returns its id."""
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    form = {"files": {"file": ("requests.jsonl", content)}, "data": {"purpose": "batch"}}
    return ask(gateway, "POST", "/v1/files", **form).json()["id"]


def start_batch(gateway: Gateway, endpoint: str, bodies: list[dict]) -> str:
    lines = [{"custom_id": f"line-{n}", "method": "POST", "url": endpoint, "body": b} for n, b in enumerate(bodies)]
    body = {
        "input_file_id": upload(gateway, lines),
        "endpoint": endpoint,
        "completion_window": "24h",
        "metadata": {"made by": "a test"},
    }
    return ask(gateway, "POST", "/v1/batches", json=body).json()["id"]


def wait_job(gateway: Gateway, path: str, predicate) -> dict:
    """Waits until a predicate is true of the batch or search at a path, and returns it."""
    found: dict = {}

    def read() -> bool:
        found.update(ask(gateway, "GET", path).json())
        return predicate(found)

    wait_for(f"{path} reaches the expected state", read, gateway.output)
    return found


def has_ended(job: dict) -> bool:
    return job["status"] in ("completed", "failed", "expired", "cancelled")


SEED = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"


def start_jobs(gateway: Gateway) -> dict[str, str]:
    """Starts three batches and three searches: one of each ends, one is cancelled, one is left in progress.

    Returns their ids.
    """
    embed = {"model": "retort/minilm-embedqa-v2", "input_type": "passage", "encoding_format": "base64"}
    ids = {}
    bodies = [embed | {"input": text} for text in TEXTS] + [{"model": "no-such-model", "input": "x"}]
    ids["completed"] = start_batch(gateway, "/v1/embeddings", bodies)
    done = wait_job(gateway, f"/v1/batches/{ids['completed']}", has_ended)
    assert done["request_counts"] == {"total": 4, "completed": 3, "failed": 1}, done
    ids["searched"] = start_search(gateway, "masked", {"num_molecules": 5, "rounds": 2, "seed": 1})
    wait_job(gateway, f"/masked/generate/jobs/{ids['searched']}", has_ended)
    ids["stopped"] = start_search(gateway, "latent", search(1000))
    wait_job(gateway, f"/latent/generate/jobs/{ids['stopped']}", lambda job: job["progress"]["best"][0])
    ask(gateway, "POST", f"/latent/generate/jobs/{ids['stopped']}/cancel")
    wait_job(gateway, f"/latent/generate/jobs/{ids['stopped']}", has_ended)
    ids["cancelled"] = start_batch(gateway, "/latent/generate", [search(5)] * LINES)
    wait_job(gateway, f"/v1/batches/{ids['cancelled']}", lambda batch: batch["request_counts"]["completed"] > 0)
    ask(gateway, "POST", f"/v1/batches/{ids['cancelled']}/cancel")
    wait_job(gateway, f"/v1/batches/{ids['cancelled']}", has_ended)
    ids["in_progress"] = start_batch(gateway, "/latent/generate", [search(5)] * LINES)
    wait_job(gateway, f"/v1/batches/{ids['in_progress']}", lambda batch: batch["request_counts"]["completed"] > 1)
    ids["searching"] = start_search(gateway, "latent", search(ITERATIONS))
    wait_job(
        gateway, f"/latent/generate/jobs/{ids['searching']}", lambda job: job["progress"]["iteration"] > ITERATIONS // 2
    )
    return ids


LINES = 60
"""Lines of a batch that is stopped before it ends. Each runs a short search."""
ITERATIONS = 100
"""Iterations of a search that is stopped after half of them."""
PARTICLES = 20
"""Molecules that an iteration of a search evaluates."""


def search(iterations: int) -> dict:
    """Returns the body of a search request of the API latent."""
    return {"smi": SEED, "iterations": iterations, "particles": PARTICLES, "min_similarity": 0.2, "num_molecules": 3}


def start_search(gateway: Gateway, api: str, body: dict) -> str:
    return ask(gateway, "POST", f"/{api}/generate/jobs", json=body).json()["id"]


def read_jobs(gateway: Gateway) -> dict:
    """Returns what the API answers about the jobs of KEY: lists, contents of files, results of searches."""
    found = {
        "files": ask(gateway, "GET", "/v1/files").json(),
        "batches": ask(gateway, "GET", "/v1/batches").json(),
        "searches": {api: ask(gateway, "GET", f"/{api}/generate/jobs").json() for api in ("latent", "masked")},
    }
    found["contents"] = {
        file["id"]: ask(gateway, "GET", f"/v1/files/{file['id']}/content").text for file in found["files"]["data"]
    }
    found["results"] = {
        job["id"]: ask(gateway, "GET", f"/{api}/generate/jobs/{job['id']}/result").text
        for api, jobs in found["searches"].items()
        for job in jobs["data"]
        if has_ended(job)
    }
    return found


def make_model(folder: Path) -> Path:
    """Writes the folder of a small embedding model with random weights."""
    folders.make(folder, "bert", "embedding")
    described = json.loads((folder / "tokenizer.json").read_text())
    shrink_vocabulary(described)
    folders.write(folder / "tokenizer.json", described)
    size = len(described["model"]["vocab"])
    config = json.loads((folder / "config.json").read_text())
    folders.write(folder / "config.json", config | {"vocab_size": size})
    weights = folders.weights("bert", "embedding")
    table = "embeddings.word_embeddings.weight"
    folders.save(folder / "model.safetensors", {**weights, table: weights[table][:size]})
    return folder


def shrink_vocabulary(described: dict) -> None:
    """Reduces a WordPiece vocabulary to ASCII characters and a few words, so that the data is small."""
    specials = list(described["model"]["vocab"])[:5]
    assert specials[0] == "[PAD]" and specials[4] == "[MASK]", specials
    characters = [chr(code) for code in range(33, 127)]
    words = ["substance", "##es", "##ing", "ring", "one", "two"]
    vocabulary = specials + characters + [f"##{c}" for c in characters if c.isalnum()] + words
    described["model"]["vocab"] = {token: number for number, token in enumerate(vocabulary)}
    described["added_tokens"] = [token for token in described["added_tokens"] if token["content"] in specials]


def import_model(program: Path, source: Path, repository: Path) -> None:
    """Imports a model as the entry `previous` of a repository."""
    repository.mkdir(exist_ok=True)
    options = ("--api", "embedding", "--id", IMPORTED, "--name", "previous", "--repository", repository)
    run(program, "model", "import", source, *options)


def embed(gateway: Gateway) -> list[list[float]]:
    """Returns the vectors of TEXTS, by the imported model."""
    body = {"model": IMPORTED, "input": TEXTS, "input_type": "passage"}
    gateway.wait_ready("embedding")
    return [row["embedding"] for row in ask(gateway, "POST", "/embedding/v1/embeddings", json=body).json()["data"]]


def interrupt(program: Path, command: str, output: Path, size: int, **variables: str) -> None:
    """Kills a command while it writes its output, and truncates the file to a size in bytes, as a power failure may."""
    process = subprocess.Popen(
        [str(program), command, "-o", str(output)], stdin=subprocess.PIPE, env={**environment(), **variables}
    )
    process.stdin.write("".join(f"{molecule}\n" for molecule in MOLECULES).encode())
    process.stdin.flush()  # stays open, so the command waits for more
    wait_for("rows are written", lambda: output.exists() and output.stat().st_size > size)
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    os.truncate(output, size)
