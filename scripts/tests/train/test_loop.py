"""The shared training loop. Run by `make test-train`."""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import line
import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from scripts.train import batches, checkpoint, configuration, training


def fit(folder, samples, **more):
    """Trains a Line, and returns it, or None if it was stopped, and its checkpoint."""
    model = None
    if "stop_at" in more:
        with pytest.raises(SystemExit) as stopped:
            line.train(folder, samples=samples, **more)
        assert stopped.value.code == training.UNFINISHED
    else:
        model = line.train(folder, samples=samples, **more)
    return model, checkpoint.load(folder / "line" / "checkpoint.pt")


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_stopped_run_resumes_to_the_same_weights(tmp_path, optimiser):
    whole, _ = fit(tmp_path / "a", 160, optimiser=optimiser)
    _, halfway = fit(tmp_path / "b", 160, optimiser=optimiser, stop_at=16)
    assert halfway["step"] == 17
    resumed, end = fit(tmp_path / "b", 160, optimiser=optimiser)
    assert end["step"] == 40
    for key, value in whole.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[key]), key


def test_a_call_that_is_stopped_says_how_to_go_on(tmp_path, capsys):
    fit(tmp_path, 160, stop_at=16)
    assert "line stopped at 68 of 160 samples; the same command resumes it" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        line.train(tmp_path, samples=4_000_000, call_minutes=0.001)
    assert stopped.value.code == training.UNFINISHED
    fit(tmp_path, 160)


def test_prefetched_batches_are_the_same(tmp_path):
    alone, _ = fit(tmp_path / "a", 160)
    helped, _ = fit(tmp_path / "b", 160, workers=2)
    for key, value in alone.state_dict().items():
        assert torch.equal(value, helped.state_dict()[key]), key


def test_a_signal_to_the_workers_stops_a_run_like_any_other(tmp_path):
    """As from a terminal or a batch system, which signal the whole process group."""
    command = [sys.executable, line.__file__, tmp_path, "4_000_000", "1", "2"]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    process = subprocess.Popen(
        command, env=environment, text=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    losses = tmp_path / "losses-0"
    while process.poll() is None and not (losses.exists() and losses.read_text().count("\n") > 1):
        time.sleep(0.1)  # The second batch is made by the second worker.
    os.killpg(process.pid, signal.SIGTERM)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == training.UNFINISHED, printed
    assert "the same command resumes it" in printed and "Traceback" not in printed


def test_a_larger_budget_resumes_from_before_the_decay(tmp_path):
    fit(tmp_path, 80)
    assert checkpoint.load(tmp_path / "line" / "stable.pt")["samples"] == 64
    longer, _ = fit(tmp_path, 160)
    whole, _ = fit(tmp_path / "other", 160)
    for key, value in whole.state_dict().items():
        assert torch.equal(value, longer.state_dict()[key]), key


def test_a_slightly_larger_budget_also_resumes_from_before_the_decay(tmp_path):
    """Where the first run ended is within the decay of the second."""
    fit(tmp_path, 80)
    longer, _ = fit(tmp_path, 88)
    whole, _ = fit(tmp_path / "other", 88)
    for key, value in whole.state_dict().items():
        assert torch.equal(value, longer.state_dict()[key]), key


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_resumed_run_has_the_current_weight_decay(tmp_path, optimiser):
    fit(tmp_path, 160, optimiser=optimiser, weight_decay=0.01, stop_at=16)
    _, end = fit(tmp_path, 160, optimiser=optimiser, weight_decay=0.5)
    decays = {group["weight_decay"] for state in end["optimisers"] for group in state["param_groups"]}
    assert decays == {0.0, 0.5}


def test_a_run_can_be_finished_early(tmp_path):
    fit(tmp_path, 4_000_000, stop_at=30)
    _, end = fit(tmp_path, 4_000_000, finish=40)
    assert end["falling"] and end["samples"] == 4 * 31 + 40
    assert end["optimisers"][0]["param_groups"][0]["lr"] < 0.003


def test_finish_twice_ends_where_it_ended(tmp_path):
    fit(tmp_path, 4_000_000, stop_at=30)
    for _ in range(2):
        _, end = fit(tmp_path, 4_000_000, finish=40)
        assert end["samples"] == 4 * 31 + 40


def test_a_new_run_can_finish_at_once(tmp_path):
    _, end = fit(tmp_path, 4_000_000, finish=40)
    assert end["samples"] == 40 and end["falling"]


def test_a_resumed_run_with_other_parts_goes_on_in_the_data(tmp_path):
    fit(tmp_path, 160, parts=4, stop_at=16)
    fit(tmp_path, 160, parts=2)
    assert sorted(losses(tmp_path)) == list(range(40))


def test_a_resumed_run_skips_a_line_that_a_crash_cut_off(tmp_path):
    fit(tmp_path, 160, stop_at=16)
    with open(tmp_path / "line" / "metrics.jsonl", "a") as file:
        file.write('{"step": 18, "sam')
    fit(tmp_path, 160)
    rows = [json.loads(row) for row in (tmp_path / "line" / "metrics.jsonl").read_text().splitlines()]
    assert [row["samples"] for row in rows if "weight" in row] == list(range(4, 164, 4))


def test_metrics_have_one_line_per_report_and_a_board(tmp_path):
    fit(tmp_path, 40)
    lines = [json.loads(line) for line in (tmp_path / "line" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["samples"] == 40 and "weight" in lines[-1]
    board = EventAccumulator(str(tmp_path / "line" / "tensorboard")).Reload()
    assert [e.step for e in board.Scalars("weight")] == list(range(4, 44, 4))


def losses(folder):
    """Returns the loss of each part, by its number, from all processes."""
    rows = [row.split() for path in folder.glob("losses-*") for row in path.read_text().splitlines()]
    assert len(rows) == len(dict(rows))
    return {int(number): float(loss) for number, loss in rows}


def test_two_processes_have_the_losses_of_one(tmp_path):
    """Four parts a step, with dropout: computed one after another, and two in each of two processes."""
    line.train(tmp_path / "one", samples=160, parts=4)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = subprocess.run(
        [*command, str(Path(line.__file__)), str(tmp_path / "two"), "160", "4"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert two.returncode == 0, two.stderr[-2000:]
    one = losses(tmp_path / "one")
    assert sorted(one) == list(range(40)) and losses(tmp_path / "two") == pytest.approx(one, rel=1e-5)
    assert len(list((tmp_path / "two").glob("losses-*"))) == 2
    shared = checkpoint.weights(tmp_path / "two" / "line")
    for key, value in checkpoint.weights(tmp_path / "one" / "line").items():
        torch.testing.assert_close(value, shared[key], rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_step_is_the_mean_of_its_parts(tmp_path):
    model = line.Line(0.0)
    rows = torch.randn(2, 4, 8)
    norms = torch.autograd.grad(model(rows.flatten(0, 1)).square().mean(), list(model.parameters()))
    options = training.Options(runs=str(tmp_path), device="cpu", samples=8, parts=2, batch=4, precision="fp32")
    figures = training.Run(options, model).update(
        lambda network, x: (network(x).square().mean(), {}), lambda number: rows[number], model
    )
    assert float(figures["gradient"]) == pytest.approx(float(torch.cat([g.flatten() for g in norms]).norm()), rel=1e-5)


def test_the_best_weights_are_kept(tmp_path):
    figures = iter([0.1, 0.5, 0.9, 0.7, 0.8])  # the first before the first step
    line.train(tmp_path, samples=80, eval_samples=20, best="right", figures=lambda: {"right": next(figures)})
    best = checkpoint.weights(tmp_path / "line")
    last = checkpoint.load(tmp_path / "line" / "checkpoint.pt")["average"]
    assert not torch.equal(best["outer.weight"], last["outer.weight"])
    assert checkpoint.load(tmp_path / "line" / "checkpoint.pt")["best"] == 0.9
    line.train(tmp_path, samples=80, eval_samples=20, best="")
    assert torch.equal(checkpoint.weights(tmp_path / "line")["outer.weight"], last["outer.weight"])


def test_an_unknown_figure_ends_the_run_before_its_first_step(tmp_path):
    with pytest.raises(SystemExit, match="--best rigth: the figures of the evaluation are right"):
        line.train(tmp_path, samples=80, best="rigth", figures=lambda: {"right": 1.0})
    assert not list(tmp_path.glob("losses-*"))


def test_a_resumed_run_with_another_figure_compares_it_anew(tmp_path):
    figures = lambda: {"loss": 2.0, "right": 0.5}  # noqa: E731
    fit(tmp_path, 80, best="loss", figures=figures, stop_at=10)
    line.train(tmp_path, samples=80, best="right", figures=figures)
    assert checkpoint.load(tmp_path / "line" / "checkpoint.pt")["best"] == 0.5


def parser(tmp_path):
    out = argparse.ArgumentParser()
    training.add_arguments(out, name="line", runs=str(tmp_path / "runs"))
    out.add_argument("--files", type=Path, nargs="+")
    return out


def test_a_configuration_gives_the_flags_of_a_run(tmp_path):
    path = tmp_path / "own.toml"
    path.write_bytes(b"\xef\xbb\xbf")  # a byte order mark, and line ends of Windows
    with path.open("a", newline="\r\n") as file:
        file.write('samples = 2_000\nlr = 1\ncompile = true\nfiles = ["a.smi", "b.smi"]\n')
    given, options = training.parse(parser(tmp_path), ["--config", str(path), "--batch", "8"])
    assert (options.samples, options.lr, options.compile, options.batch) == (2000, 1.0, True, 8)
    assert given.files == [Path("a.smi"), Path("b.smi")]
    (options.folder / "checkpoint.pt").touch()
    given, again = training.parse(parser(tmp_path), ["--samples", "3000"])  # resumes by its name
    assert (again.samples, again.batch, given.files) == (3000, 8, [Path("a.smi"), Path("b.smi")])


def test_a_run_that_has_not_begun_keeps_no_flags(tmp_path):
    training.parse(parser(tmp_path), ["--samples", "9", "--seed", "5", "--files", "mising.smi"])
    given, options = training.parse(parser(tmp_path), ["--samples", "9"])
    assert (options.seed, given.files) == (1, None)


def test_a_run_keeps_its_model(tmp_path, capsys):
    _, options = training.parse(parser(tmp_path), ["--samples", "9"])
    (options.folder / "checkpoint.pt").touch()
    stored = (options.folder / "run.toml").read_text()
    with pytest.raises(SystemExit):
        training.parse(parser(tmp_path), ["--samples", "9", "--optimiser", "muon"])
    assert '--optimiser: the run line has begun with "adamw", got "muon"' in capsys.readouterr().err
    assert (options.folder / "run.toml").read_text() == stored


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--name", "../other"], "--name ../other: a name of one folder"),
        (["--name", ".."], "--name ..: a name of one folder"),
        (["--name", ""], "--name"),
        (["--conf", "cpu"], "unrecognized arguments: --conf"),
        (["--config", "cpu"], "--config cpu: no such file"),
        (["--finish", "-1"], "--finish must not be negative"),
        (["--lr", "nan"], "--lr must not be negative or infinite, got nan"),
        (["--decay", "2"], "--decay at most 1"),
        (["--device", "gpu"], "--device must be auto, cpu or cuda, got gpu"),
        (["--seed", str(2**40)], "--seed below"),
    ],
)
def test_wrong_flags_are_named(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit):
        training.parse(parser(tmp_path), ["--samples", "9", *arguments])
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_model_can_only_set_options_that_exist():
    with pytest.raises(TypeError, match="eval_minutes"):
        training.add_arguments(argparse.ArgumentParser(), eval_minutes=8)


def test_a_text_in_a_configuration_may_have_any_character(tmp_path):
    given = argparse.Namespace(best='a"\\\n\t\x7f\u2028é𝛼')
    configuration.write(tmp_path / "run.toml", given)
    assert configuration.load(tmp_path)["best"] == given.best


@pytest.mark.parametrize(
    "text, message",
    [
        ("samples = ", "Invalid value"),
        ("sample = 5", "unknown key 'sample'"),
        ('samples = "many"', "samples has an invalid value: 'many'"),
        ("samples = 1.5", "samples has an invalid value: 1.5"),
        ("compile = 1", "compile must be true or false"),
        ('files = "a.smi"', "files must be a list"),
        ("samples = [1]", "samples must not be a list"),
        ("call_minutes = 5\nsamples = 9", "unknown key 'call_minutes'"),
        ("samples = 0", "--samples, the budget"),
        ("samples = 9\nparts = 0", "must be positive"),
    ],
)
def test_wrong_configurations_name_file_and_key(tmp_path, capsys, text, message):
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(SystemExit):
        training.parse(parser(tmp_path), ["--config", str(path)])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "path", sorted(configuration.PRESETS.glob("*/*.toml")), ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_a_preset_is_a_configuration_of_its_model(path, tmp_path, monkeypatch):
    model = importlib.import_module(f"scripts.train.{path.parent.name}.__main__")
    monkeypatch.setattr(sys, "argv", ["train", "--config", path.stem, "--runs", str(tmp_path), "--device", "cpu"])
    given, options = training.parse(model.arguments())
    stated = tomllib.loads(path.read_text())
    assert stated["samples"] >= 20 * options.rows and all(vars(given)[key] == stated[key] for key in stated)
    assert configuration.load(options.folder) == {**configuration.load(options.folder), **stated}


def test_the_rate_is_a_trapezoid():
    options = training.Options(samples=1000, warmup=100, decay=0.2)
    rates = [training.rate(options, s) for s in (0, 49, 99, 500, 800, 850, 1000)]
    assert rates == pytest.approx([0.01, 0.5, 1, 1, 1, 0.5, 0])


def test_a_pass_reads_every_row_once_in_batches_of_similar_length():
    lengths = np.random.default_rng(0).integers(5, 60, 640)
    buckets = batches.Buckets(lengths, 16, seed=1, span=8)
    rows = np.concatenate([buckets.rows(step) for step in range(40)])
    assert sorted(rows) == list(range(640))
    spread = [np.ptp(lengths[buckets.rows(step)]) for step in range(40)]
    assert np.mean(spread) < 12 < np.ptp(lengths)
    assert not np.array_equal(buckets.rows(0), buckets.rows(40))
