"""`retort model calibrate` with the included models on a real Triton: scores change, the order does not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import calibrated
import pytest
import requests
from servers import ROOT, Gateway, Triton
from waiting import PATIENCE, wait_for

from scripts.eval.ranking_zero import short_pairs

RANKER, EMBEDDING = "minilm_rank_qa", "minilm_embed_qa"
DOCUMENTS = ["Caffeine is a stimulant.", "Aspirin is an analgesic.", "The Rhine flows north.", "Pain is a feeling."]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[tuple[Gateway, Triton, Path]]:
    """A gateway and a Triton with copies of the two models."""
    repository = tmp_path_factory.mktemp("repository")
    for entry in (RANKER, EMBEDDING):
        shutil.copytree(ROOT / "model_repository" / entry, repository / entry, copy_function=os.link)
    with Triton(repository) as triton, Gateway(triton.url, repository) as gateway:
        gateway.wait_ready("ranking", "embedding")
        yield gateway, triton, repository
        assert gateway.stop() == 0, gateway.output()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """The short pairs: a third of them relevant."""
    file = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = [
        {"query": query, "passage": passage, "relevant": int(i == 0)}
        for query, passages in short_pairs()
        for i, passage in enumerate(passages)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def calibrate(served, entry: str, *options: object) -> subprocess.CompletedProcess:
    _, triton, repository = served
    command = [ROOT / "bin/retort", "model", "calibrate", entry, "--repository", repository, "--triton", triton.url]
    return subprocess.run([*map(str, command), *map(str, options)], capture_output=True, text=True, timeout=PATIENCE)


def parameters(served, entry: str) -> dict[str, str]:
    config = (served[2] / entry / "config.pbtxt").read_text()
    return dict(re.findall(r'key:\s*"([^"]+)"\s*value\s*\{\s*string_value:\s*"([^"]*)"', config))


def rank(served, **more: object) -> dict[int, float]:
    body = {"query": "Which drug eases pain?", "documents": DOCUMENTS, **more}
    answer = requests.post(f"{served[0].urls['ranking']}/v2/rerank", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    return {result["index"]: result["relevance_score"] for result in answer.json()["results"]}


def logits(served) -> dict[int, float]:
    body = {"query": {"text": "Which drug eases pain?"}, "passages": [{"text": text} for text in DOCUMENTS]}
    answer = requests.post(f"{served[0].urls['ranking']}/v1/ranking", json=body, timeout=PATIENCE)
    assert answer.ok, answer.text
    return {entry["index"]: entry["logit"] for entry in answer.json()["rankings"]}


def expected(served) -> dict[int, float]:
    """The scores by the calibration of the entry."""
    numbers = calibrated.numbers(served[2] / RANKER / "config.pbtxt")
    return {index: calibrated.relevance(logit, numbers) for index, logit in logits(served).items()}


def test_a_calibration_changes_scores_and_not_the_order(served, pairs: Path) -> None:
    order = list(logits(served))
    assert calibrate(served, RANKER, "--reset").returncode == 0
    without = (served[2] / RANKER / "config.pbtxt").read_bytes()
    wait_for("scores without", lambda: rank(served) == pytest.approx(expected(served), abs=1e-6))

    dry = calibrate(served, RANKER, "--pairs", pairs, "--dry-run")
    assert dry.returncode == 0 and (served[2] / RANKER / "config.pbtxt").read_bytes() == without, dry.stderr
    run = calibrate(served, RANKER, "--pairs", pairs)
    assert run.returncode == 0, run.stderr
    before, after = re.search(r"^all +72 +33 % +([\d.]+) +([\d.]+) ", run.stdout, re.MULTILINE).groups()
    assert float(after) < float(before), run.stdout
    written = parameters(served, RANKER)["relevance_calibration"]
    assert f"relevance_calibration {written}\n" in run.stdout
    wait_for("calibrated scores", lambda: rank(served) == pytest.approx(expected(served), abs=1e-6))
    scores = rank(served)
    assert list(scores) == list(logits(served)) == order

    second = list(scores.values())[1]
    assert list(rank(served, score_threshold=second)) == order[:2]
    assert list(rank(served, score_threshold=second, top_n=1)) == order[:1]
    assert rank(served, score_threshold=1) == {}

    assert calibrate(served, RANKER, "--reset").returncode == 0
    assert (served[2] / RANKER / "config.pbtxt").read_bytes() == without


def test_percentiles_of_unrelated_texts(served, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(text for query, passages in short_pairs() for text in (query, *passages)))
    run = calibrate(served, EMBEDDING, "--texts", texts)
    assert run.returncode == 0 and "9120 pairs of 96 texts" in run.stdout, run.stdout + run.stderr
    listed = [part.split("=") for part in parameters(served, EMBEDDING)["unrelated_similarity"].split()]
    levels = {level: float(value) for level, value in listed}
    values = list(levels.values())
    assert list(levels) == ["50", "90", "99", "99.9"] and values == sorted(values) and values[0] < 0.3 < values[3] < 1

    def retrieved() -> dict:
        url = f"{served[0].urls['embedding']}/v1/models/retort/minilm-embedqa-v2"
        return requests.get(url, timeout=PATIENCE).json()

    wait_for("percentiles", lambda: retrieved().get("unrelated_similarity") == levels)
    assert calibrate(served, EMBEDDING, "--reset").returncode == 0
    wait_for("no percentiles", lambda: "unrelated_similarity" not in retrieved())


def test_wrong_files_change_nothing(served, pairs: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    for entry, option, text, message in (
        (RANKER, "--pairs", '{"query": "q", "passage": "p", "relevant": 2}', "file, line 1: relevant: must be 0 or 1"),
        (RANKER, "--pairs", "q\tp\t1\nq\tp", "file, line 2: has 2 columns"),
        (RANKER, "--pairs", "q\tp\t1\nr\tp\t1", "needs relevant pairs and others"),
        (RANKER, "--texts", "one", "minilm_rank_qa is a ranker: give --pairs"),
        (EMBEDDING, "--pairs", "q\tp\t1", "minilm_embed_qa is an embedding model: give --texts"),
        (EMBEDDING, "--texts", "one\ntwo", "at least 46 different texts, not 2"),
        ("absent", "--texts", "one", "absent"),
        ("../x", "--texts", "one", "is not the name of a folder"),
    ):
        file.write_text(text)
        before = [(served[2] / name / "config.pbtxt").read_bytes() for name in (RANKER, EMBEDDING)]
        run = calibrate(served, entry, option, file)
        assert run.returncode == 1 and message in run.stderr, run.stdout + run.stderr
        assert before == [(served[2] / name / "config.pbtxt").read_bytes() for name in (RANKER, EMBEDDING)]
    assert sorted(path.name for path in served[2].iterdir()) == [EMBEDDING, RANKER]
