"""The manifest of the model repository: no id stands for two different outputs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from scripts.lint import manifest


def entry(repository: Path, name: str, model_id: str, weights: bytes = b"weights") -> Path:
    folder = repository / name
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "config.pbtxt").write_text(
        f'name: "{name}"\nparameters {{ key: "model_id"  value {{ string_value: "{model_id}" }} }}\n'
    )
    (folder / "1" / "model.onnx").write_bytes(weights)
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two entries of one model and one of another, recorded."""
    for name, model_id in (
        ("encoder", "house/latent-v1"),
        ("decoder", "house/latent-v1"),
        ("reader", "house/reader-v1"),
    ):
        entry(tmp_path, name, model_id)
    assert manifest.record(tmp_path, []) == ["decoder", "encoder", "reader"]
    assert manifest.find_problems(tmp_path) == []
    return tmp_path


def test_the_manifest_of_this_checkout_is_up_to_date() -> None:
    assert manifest.find_problems(manifest.REPOSITORY) == []


def test_changed_bytes_with_the_old_id_fail(repository: Path, capsys: pytest.CaptureFixture) -> None:
    entry(repository, "reader", "house/reader-v1", b"other weights")
    assert manifest.find_problems(repository) == ["reader: changed: 1/model.onnx; the id is still house/reader-v1"]
    assert manifest.main(["--repository", str(repository)]) == 1
    assert "reader: changed: 1/model.onnx" in capsys.readouterr().err
    with pytest.raises(manifest.Refused, match="house/reader-v1 stands for other files"):
        manifest.record(repository, [])


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("reader/1/model.py", "new: 1/model.py"),
        ("reader/vocab.txt", "new: vocab.txt"),
        ("other/config.pbtxt", "other: config.pbtxt has no parameter model_id"),
    ],
)
def test_a_file_that_is_not_in_the_manifest_fails(repository: Path, path: str, problem: str) -> None:
    (repository / path).parent.mkdir(exist_ok=True)
    (repository / path).write_text("x")
    lines = manifest.find_problems(repository)
    assert len(lines) == 1 and problem in lines[0]


@pytest.mark.parametrize(
    "path",
    [
        ".DS_Store",
        "1/._model.onnx",
        "1/.model.py.swp",
        "Thumbs.db",
        ".ipynb_checkpoints/model.py",
        "1/__pycache__/model.cpython-311.pyc",
    ],
)
def test_what_desktops_and_editors_leave_is_no_file_of_an_entry(repository: Path, path: str) -> None:
    (repository / "reader" / path).parent.mkdir(exist_ok=True)
    (repository / "reader" / path).write_text("x")
    assert manifest.find_problems(repository) == []


def test_git_keeps_the_bytes_of_entries_on_every_system() -> None:
    """A checkout with core.autocrlf would have other digests."""
    files = [
        f"model_repository/{name}/{path}"
        for name, entry in manifest.load(manifest.REPOSITORY)["entries"].items()
        for path in entry["files"]
    ]
    command = ["git", "check-attr", "--stdin", "text"]
    answer = subprocess.run(
        command, cwd=manifest.REPOSITORY.parent, input="\n".join(files), capture_output=True, text=True, check=True
    ).stdout
    assert [line for line in answer.splitlines() if not line.endswith(": text: unset")] == []


def test_a_missing_file_and_a_missing_entry_fail(repository: Path) -> None:
    (repository / "reader" / "1" / "model.onnx").unlink()
    (repository / "encoder" / "config.pbtxt").unlink()
    assert manifest.find_problems(repository) == [
        "encoder: in the manifest, but not in the repository",
        "reader: missing: 1/model.onnx; the id is still house/reader-v1",
    ]


def test_pages_and_caches_need_no_record(repository: Path) -> None:
    (repository / "reader" / "CARD.md").write_text("# A card")
    (repository / "reader" / "1" / "__pycache__").mkdir()
    (repository / "reader" / "1" / "__pycache__" / "model.pyc").write_bytes(b"x")
    assert manifest.find_problems(repository) == []


def test_a_new_id_is_recorded_and_the_old_one_is_never_reused(repository: Path) -> None:
    entry(repository, "reader", "house/reader-v2", b"other weights")
    assert manifest.find_problems(repository) == [
        "reader: its id is house/reader-v2, in the manifest house/reader-v1",
        "reader: these are not the files recorded for house/reader-v2",
    ]
    assert manifest.main(["--write", "--repository", str(repository)]) == 0
    assert manifest.find_problems(repository) == []
    entry(repository, "reader", "house/reader-v1", b"third weights")
    for reason in ("", "they are not"):
        with pytest.raises(manifest.Refused, match="is retired"):
            manifest.record(repository, ["reader"], reason)
    entry(repository, "reader", "house/reader-v1")  # with its recorded files
    assert manifest.record(repository, ["reader"]) == ["reader"]
    assert manifest.find_problems(repository) == []


def test_an_id_of_another_model_is_refused(repository: Path) -> None:
    entry(repository, "reader", "house/latent-v1")
    with pytest.raises(manifest.Refused, match="reader: house/latent-v1 stands for other files"):
        manifest.record(repository, [])


def test_equal_outputs_keep_the_id_if_the_reason_is_recorded(repository: Path) -> None:
    entry(repository, "reader", "house/reader-v1", b"the same numbers, stored otherwise")
    assert manifest.record(repository, ["reader"], "stored otherwise") == ["reader"]
    assert manifest.find_problems(repository) == []
    assert [r.get("same_outputs") for r in manifest.load(repository)["ids"]["house/reader-v1"]["reader"]] == [
        None,
        "stored otherwise",
    ]


def test_a_manifest_edited_by_hand_fails(repository: Path) -> None:
    entry(repository, "reader", "house/reader-v1", b"other weights")
    edited = manifest.load(repository)
    edited["entries"]["reader"]["files"] = manifest.hashes(repository / "reader")
    (repository / manifest.NAME).write_text(json.dumps(edited))
    assert manifest.find_problems(repository) == ["reader: these are not the files recorded for house/reader-v1"]


def test_an_id_with_two_outputs_cannot_be_served(repository: Path) -> None:
    edited = manifest.load(repository)
    edited["ids"]["house/reader-v1"]["reader"].insert(0, {"digest": "0" * 64})
    (repository / manifest.NAME).write_text(json.dumps(edited))
    assert manifest.find_problems(repository) == ["reader: house/reader-v1 has had 2 different outputs"]


def test_models_that_git_does_not_track_are_left_out_unless_named(repository: Path) -> None:
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    entry(repository, "imported", "operator/model-v1")
    assert manifest.find_problems(repository) == []
    assert manifest.record(repository, []) == []
    assert manifest.record(repository, ["imported"]) == ["imported"]
    entry(repository, "imported", "operator/model-v1", b"other weights")
    assert manifest.find_problems(repository) == ["imported: changed: 1/model.onnx; the id is still operator/model-v1"]
    entry(repository, "added", "house/added-v1")
    subprocess.run(["git", "add", "added"], cwd=repository, check=True)
    assert "added: not in the manifest" in manifest.find_problems(repository)
