"""The shared training loop. Run by `make test-train`."""

import json

import numpy as np
import pytest
import torch

from scripts.train import batches, checkpoint, training


class Line(torch.nn.Module):
    """y = w x with dropout, so that a wrong random state shows."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.inner = torch.nn.Linear(8, 8)
        self.drop = torch.nn.Dropout(0.2)
        self.outer = torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.outer(self.drop(torch.relu(self.inner(x))))


def fit(folder, samples, optimiser="adamw", stop_at=None, **more):
    """Trains a Line; with stop_at, a SIGTERM arrives in that step."""
    import os
    import signal

    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
    buckets = batches.Buckets(np.arange(64), 4, seed=5)

    def batch(step):
        if step == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return rows[buckets.rows(step)]

    def loss(model, x):
        return (model(x) - x.sum(1, keepdim=True)).square().mean(), {}

    options = training.Options(
        name="line",
        runs=str(folder),
        device="cpu",
        batch=4,
        samples=samples,
        precision="fp32",
        optimiser=optimiser,
        lr=0.01,
        warmup=20,
        threads=1,
        **more,
    )
    model = training.run(options, Line(), batch, loss, lambda model, step: {"weight": float(model.outer.weight.sum())})
    return model, checkpoint.load(folder / "line" / "checkpoint.pt")


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_stopped_run_resumes_to_the_same_weights(tmp_path, optimiser):
    whole, _ = fit(tmp_path / "a", 160, optimiser)
    _, halfway = fit(tmp_path / "b", 160, optimiser, stop_at=16)
    assert halfway["step"] == 17
    resumed, end = fit(tmp_path / "b", 160, optimiser)
    assert end["step"] == 40
    for key, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key


def test_prefetched_batches_are_the_same(tmp_path):
    alone, _ = fit(tmp_path / "a", 160)
    helped, _ = fit(tmp_path / "b", 160, workers=2)
    for key, value in alone.state_dict().items():
        assert torch.equal(value, helped.state_dict()[key]), key


def test_a_larger_budget_resumes_from_before_the_decay(tmp_path):
    fit(tmp_path, 80)
    assert checkpoint.load(tmp_path / "line" / "stable.pt")["samples"] == 64
    longer, _ = fit(tmp_path, 160)
    whole, _ = fit(tmp_path / "other", 160)
    for key, value in whole.state_dict().items():
        assert torch.equal(value, longer.state_dict()[key]), key


def test_a_run_can_be_finished_early(tmp_path):
    fit(tmp_path, 4_000_000, stop_at=30)
    _, end = fit(tmp_path, 4_000_000, finish=0.02)
    assert end["falling"] and end["samples"] < 4_000_000
    assert end["optimisers"][0]["param_groups"][0]["lr"] < 0.003
    assert end["seconds"] >= 60 * 0.02


def test_metrics_have_one_line_per_report_and_a_plot(tmp_path):
    fit(tmp_path, 40)
    lines = [json.loads(line) for line in (tmp_path / "line" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["samples"] == 40 and "weight" in lines[-1]
    assert (tmp_path / "line" / "metrics.png").stat().st_size > 1000


def test_the_rate_is_a_trapezoid():
    options = training.Options(samples=1000, warmup=100, decay=0.2)
    rates = [training.rate(options, s, 0) for s in (0, 49, 99, 500, 800, 850, 1000)]
    assert rates == pytest.approx([0.01, 0.5, 1, 1, 1, 0.5, 0])


def test_parts_have_the_weights_in_half_precision(tmp_path):
    weights = {"a": torch.randn(1000), "b": torch.arange(3)}
    paths = checkpoint.export_parts(weights, tmp_path, limit=1000)
    assert len(paths) > 2 and max(p.stat().st_size for p in paths) <= 1000
    back = checkpoint.join_parts(tmp_path)
    assert torch.equal(back["a"], weights["a"].half().float()) and torch.equal(back["b"], weights["b"])


def test_a_pass_reads_every_row_once_in_batches_of_similar_length():
    lengths = np.random.default_rng(0).integers(5, 60, 640)
    buckets = batches.Buckets(lengths, 16, seed=1, span=8)
    rows = np.concatenate([buckets.rows(step) for step in range(40)])
    assert sorted(rows) == list(range(640))
    spread = [np.ptp(lengths[buckets.rows(step)]) for step in range(40)]
    assert np.mean(spread) < 12 < np.ptp(lengths)
    assert not np.array_equal(buckets.rows(0), buckets.rows(40))
