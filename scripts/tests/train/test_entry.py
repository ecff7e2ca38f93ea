"""scripts.train.entry: what an export writes in place of an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.train.entry import Entry, Tensor


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
