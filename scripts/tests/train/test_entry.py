"""scripts.train.entry: what an export writes in place of an entry."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from scripts.train.entry import Entry, Tensor, draft, replace


@pytest.mark.parametrize(
    "api, parameter, option",
    [("ranking", "relevance_calibration", "--pairs"), ("embedding", "unrelated_similarity", "--texts")],
)
def test_new_weights_have_no_calibration(
    api: str, parameter: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """The calibration of the weights that were there is not inherited, and the export says how to make one."""
    config = tmp_path / "small" / "config.pbtxt"
    config.parent.mkdir()
    config.write_text(f'parameters {{ key: "{parameter}" value {{ string_value: "0.1 0.4 -3" }} }}\n')
    tensor = Tensor("out", "FP32", (1,))
    Entry("small", "A model.", 8, (tensor,), (tensor,), {"retort_api": api, "model_id": "own/new"}).write(tmp_path, {})
    assert parameter not in config.read_text() and 'key: "model_id"' in config.read_text()
    assert f"retort model calibrate small {option} " in capsys.readouterr().out


def test_entries_are_replaced_together_at_the_end(tmp_path: Path) -> None:
    repository, run = tmp_path / "repository", tmp_path / "run"
    for folder in (run, repository / "one", repository / "other"):
        folder.mkdir(parents=True)
    (repository / "one" / "config.pbtxt").write_text("before")

    def write(drafts: Path) -> None:
        assert (drafts / "one" / "config.pbtxt").read_text() == "before" and (drafts / "other").exists()
        (drafts / "one" / "config.pbtxt").write_text("after")
        (drafts / "two").mkdir()
        assert [p.name for p in sorted(repository.iterdir())] == ["one", "other"]

    with pytest.raises(SystemExit, match="143"), draft(repository, ["one", "two"], run) as drafts:
        write(drafts)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    assert (repository / "one" / "config.pbtxt").read_text() == "before" and not list(run.iterdir())
    with draft(repository, ["one", "two"], run) as drafts:
        write(drafts)
    assert (repository / "one" / "config.pbtxt").read_text() == "after" and not list(run.iterdir())
    assert [p.name for p in sorted(repository.iterdir())] == ["one", "other", "two"]


def test_an_entry_is_put_back_if_its_draft_is_missing(tmp_path: Path) -> None:
    (tmp_path / "entry").mkdir()
    (tmp_path / "entry" / "config.pbtxt").write_text("before")
    with pytest.raises(FileNotFoundError):
        replace(tmp_path / "entry", tmp_path / "draft", tmp_path / "replaced")
    assert (tmp_path / "entry" / "config.pbtxt").read_text() == "before"
