"""The training loop that every model of this folder shares.

    given, options = training.parse(parser)                        # after training.add_arguments(parser)
    model = training.run(options, model, batches, loss, evaluate)  # returns the model with averaged weights

The files of a run are in runs/<name>/:

run.toml             the configuration: every flag of the last call
checkpoint.pt        resume point
stable.pt            resume point from before the learning rate decayed
weights.safetensors  averaged weights
best.safetensors     averaged weights of the best evaluation, if the run has a figure that counts (--best)
metrics.jsonl        figures; tensorboard/ has the same

The same command resumes a run. A call that ends before the budget is used (--call-minutes, Ctrl-C, SIGTERM) exits with
the code UNFINISHED, so that make does not export its weights. All random numbers of a step derive from (seed, step), so
a resumed run sees the same batches, masks and noise as an uninterrupted one.

A step has --parts parts of --batch rows each; it adds their gradients. One process computes them one after another,
several processes share them: torchrun --nproc-per-node 2 -m scripts.train.masked --parts 4 gives each process 2. The
losses do not depend on the number of processes, which must divide the number of parts.

The learning rate is a trapezoid: warm-up, plateau, and decay to zero over the last part of the budget, which is a
number of samples, so that it does not depend on the machine. With a larger budget, a finished run resumes from
stable.pt and extends the plateau. With --finish, the decay starts at once. Run the scripts from the repository root:
`python -m scripts.train.latent --help`.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from scripts.train import checkpoint, configuration, metrics, processes
from scripts.train.batches import Prefetcher, send

Start = TypeVar("Start")
Batch = Any
Batches = Callable[[int], Batch]
"""Returns the rows of a part (from 0, counted over all steps) on any device; a pure function, see batches.Buckets."""
Loss = Callable[[nn.Module, Batch], tuple[torch.Tensor, dict[str, torch.Tensor]]]
"""Returns the scalar loss and figures to report. torch's global generator is seeded from (seed, part) first."""
Evaluate = Callable[[nn.Module, int], dict[str, float]]
"""Returns figures of a model (averaged weights, eval mode) after the given number of steps."""
UNFINISHED = 75
"""Exit code of a call that ended before its budget was used: EX_TEMPFAIL of sysexits.h, "try again later"."""


@dataclasses.dataclass
class Options:
    """The options of a run. Each field is a flag of the same name, with dashes."""

    name: str = dataclasses.field(default="run", metadata={"help": "the run's folder: runs/<name>"})
    data: str = dataclasses.field(default="", metadata={"help": "data folder (or RETORT_DATA)"})
    runs: str = dataclasses.field(default="runs", metadata={"help": "folder of all runs"})
    device: str = dataclasses.field(default="auto", metadata={"help": "auto, cpu or cuda"})
    seed: int = dataclasses.field(default=1, metadata={"help": "seed of all random numbers"})
    batch: int = dataclasses.field(default=64, metadata={"help": "rows of a part of a step"})
    parts: int = dataclasses.field(
        default=1, metadata={"help": "parts of a step: their gradients are added; processes share them"}
    )
    samples: int = dataclasses.field(default=0, metadata={"help": "budget in samples, all calls together"})
    call_minutes: float = dataclasses.field(
        default=0, metadata={"help": "stop this call after this many minutes, to be resumed (0: never)"}
    )
    warmup: int = dataclasses.field(default=10_000, metadata={"help": "samples until the learning rate is full"})
    decay: float = dataclasses.field(
        default=0.2, metadata={"help": "share of the budget over which the rate decays to zero"}
    )
    finish: int = dataclasses.field(
        default=0, metadata={"help": "decay the rate over this many samples from now, then end (0: follow --decay)"}
    )
    lr: float = dataclasses.field(default=1e-3, metadata={"help": "full learning rate"})
    weight_decay: float = dataclasses.field(default=0.01, metadata={"help": "decoupled weight decay"})
    optimiser: str = dataclasses.field(
        default="adamw", metadata={"help": "adamw, or muon for the matrices inside the layers"}
    )
    clip: float = dataclasses.field(default=1.0, metadata={"help": "maximum gradient norm"})
    ema: float = dataclasses.field(default=0.999, metadata={"help": "decay of the averaged weights"})
    precision: str = dataclasses.field(default="bf16", metadata={"help": "bf16 (autocast) or fp32"})
    compile: bool = dataclasses.field(default=False, metadata={"help": "torch.compile the model"})
    threads: int = dataclasses.field(default=0, metadata={"help": "CPU threads (0: torch's choice)"})
    workers: int = dataclasses.field(default=0, metadata={"help": "processes that prefetch batches (0: none)"})
    save_minutes: float = dataclasses.field(default=5, metadata={"help": "minutes between checkpoints"})
    eval_samples: int = dataclasses.field(
        default=0, metadata={"help": "samples between evaluations (0: a twentieth of the budget)"}
    )
    best: str = dataclasses.field(
        default="",
        metadata={
            "help": "figure of the evaluation whose highest value chooses best.safetensors; --best=-FIGURE: the lowest"
        },
    )

    @property
    def folder(self) -> Path:
        return Path(self.runs) / self.name

    @property
    def rows(self) -> int:
        """The samples of a step."""
        return self.batch * self.parts

    def torch_device(self) -> torch.device:
        auto = "cuda" if torch.cuda.is_available() else "cpu"
        device = torch.device(auto if self.device == "auto" else self.device)
        return torch.device("cuda", processes.local_rank()) if device == torch.device("cuda") else device


def add_arguments(parser: argparse.ArgumentParser, **defaults: Any) -> None:
    """Adds one flag per field of Options; `defaults` overrides the defaults of Options."""
    if unknown := set(defaults) - {field.name for field in dataclasses.fields(Options)}:
        raise TypeError(f"training: no options: {', '.join(sorted(unknown))}")
    for field in dataclasses.fields(Options):
        default, flag = defaults.get(field.name, field.default), "--" + field.name.replace("_", "-")
        text = f"{field.metadata['help']} (default: {default})"
        if field.type == "bool":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=text)
        else:
            kind = {"int": int, "float": float, "str": str}[str(field.type)]
            parser.add_argument(flag, type=kind, default=default, help=text)


def parse(parser: argparse.ArgumentParser, argv: list[str] | None = None) -> tuple[argparse.Namespace, Options]:
    """Parses the flags of a run, with the defaults of its configuration (configuration.parse), and writes run.toml.

    The data folder defaults to RETORT_DATA. Joins the processes that torchrun started.
    """
    given = configuration.parse(parser, argv)
    options = Options(**{f.name: getattr(given, f.name) for f in dataclasses.fields(Options)})
    options.data = options.data or os.environ.get("RETORT_DATA", "")
    if message := fault(options):
        parser.error(message)
    processes.join(options.torch_device())
    if processes.is_first():
        configuration.write(options.folder / configuration.NAME, given)
    return given, options


def fault(options: Options) -> str:
    """Returns what is wrong with the options, or nothing."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if isinstance(value, (int, float)) and not 0 <= value < math.inf:
            return f"--{field.name.replace('_', '-')} must not be negative or infinite, got {value}"
    if options.optimiser not in ("adamw", "muon") or options.precision not in ("bf16", "fp32"):
        return "--optimiser must be adamw or muon, --precision bf16 or fp32"
    if options.samples == 0:
        return "--samples, the budget, is required and must be positive"
    if options.batch == 0 or options.parts == 0 or options.parts % processes.count():
        return f"--batch and --parts must be positive, and {processes.count()} processes must divide the parts"
    if options.lr == 0 or options.clip == 0 or options.decay > 1 or options.ema >= 1 or options.seed >= 2**31:
        return "--lr and --clip must be positive, --decay at most 1, --ema below 1, --seed below 2**31"
    try:
        device = options.torch_device()
    except RuntimeError:
        return f"--device must be auto, cpu or cuda, got {options.device}"
    if device.type == "cuda" and not torch.cuda.is_available():
        return "--device cuda: torch finds no GPU"
    return ""


def check_start(given: argparse.Namespace) -> None:
    """Exits if --size and --start are both given: the size is that of the model to start from."""
    if given.start and given.size:
        raise SystemExit("training: --start has the size of its model; leave out --size")


def load_start(load: Callable[[Path], Start], folder: Path) -> Start:
    """Returns load(folder), or exits if a file of the folder is missing or wrong."""
    try:
        return load(folder)
    except (OSError, ValueError) as error:
        raise SystemExit(f"training: --start: {error}") from error


def rate(options: Options, samples: int) -> float:
    """Returns the factor on the learning rate, 0 to 1.

    After the plateau it decays as 1 - sqrt(t), t from 0 to 1 (Haegele et al. 2024, arXiv 2405.18392, section 3).
    """
    time_in_decay = (samples / options.samples - (1 - options.decay)) / max(options.decay, 1e-9)
    decay = 1 - math.sqrt(min(max(time_in_decay, 0.0), 1.0))
    return min(1.0, (samples + 1) / max(options.warmup, 1)) * decay


def optimisers(options: Options, model: nn.Module) -> list[torch.optim.Optimizer]:
    """Returns AdamW and, with "muon", Muon (orthogonalised momentum, Jordan et al. 2024).

    Muon gets the 2-D weights, except those of embeddings and of modules with hidden = False (output heads). AdamW gets
    these and the vectors.
    """
    outer_parameters = {
        p
        for m in model.modules()
        if isinstance(m, nn.Embedding) or not getattr(m, "hidden", True)
        for p in m.parameters()
    }
    parameters = [p for p in model.parameters() if p.requires_grad]
    matrices = (
        [p for p in parameters if p.ndim == 2 and p not in outer_parameters] if options.optimiser == "muon" else []
    )
    muon_parameters = set(matrices)
    adamw_parameters = [p for p in parameters if p not in muon_parameters]
    decayed = [p for p in adamw_parameters if p.ndim >= 2]
    undecayed = [p for p in adamw_parameters if p.ndim < 2]
    groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": undecayed, "weight_decay": 0.0}]
    out: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, lr=options.lr, betas=(0.9, 0.98), eps=1e-8)]
    if matrices:
        out.append(
            torch.optim.Muon(matrices, lr=options.lr, weight_decay=options.weight_decay, adjust_lr_fn="match_rms_adamw")
        )
    return out


class Run:
    """The state of a run: all that a checkpoint contains. falling: whether the learning rate decays."""

    def __init__(self, options: Options, model: nn.Module) -> None:
        self.options, self.device = options, options.torch_device()
        self.model = model.to(self.device)
        self.optimisers = optimisers(options, self.model)
        self.average = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.step, self.samples, self.seconds, self.falling, self.best = 0, 0, 0.0, False, -math.inf

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "average": self.average,
            "optimisers": [o.state_dict() for o in self.optimisers],
            "step": self.step,
            "samples": self.samples,
            "seconds": self.seconds,
            "falling": self.falling,
            "best": self.best,
            "options": dataclasses.asdict(self.options),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        for key, value in state["average"].items():
            self.average[key].copy_(value)
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            weight_decays = [group["weight_decay"] for group in optimiser.param_groups]
            optimiser.load_state_dict(saved)
            for group, weight_decay in zip(optimiser.param_groups, weight_decays, strict=True):
                group["weight_decay"] = weight_decay  # the current --weight-decay, not that of the checkpoint
        self.step, self.samples, self.seconds, self.falling, self.best = (
            state[k] for k in ("step", "samples", "seconds", "falling", "best")
        )
        if state["options"]["best"] != self.options.best:  # It was the best of another figure, which no longer counts.
            self.best = -math.inf
            if processes.is_first():
                (self.options.folder / checkpoint.BEST).unlink(missing_ok=True)

    def starts_decay(self) -> bool:
        """Reports whether the learning rate decays from now on."""
        return not self.falling and self.samples >= (1 - self.options.decay) * self.options.samples

    def resume(self) -> None:
        """Restores checkpoint.pt, or stable.pt if the rate was decaying and would rise with the current budget."""
        latest, stable = self.options.folder / "checkpoint.pt", self.options.folder / "stable.pt"
        if latest.exists():
            state = checkpoint.load(latest, self.device)
            saved = {name: state["options"][name] for name in ("samples", "decay")}
            before = rate(dataclasses.replace(self.options, **saved), state["samples"])
            rises = rate(self.options, state["samples"]) > before
            if state["falling"] and rises and stable.exists() and not self.options.finish:
                state = checkpoint.load(stable, self.device)
            self.restore(state)
        if self.options.finish and self.falling:
            self.options.samples, self.options.decay = (state["options"][k] for k in ("samples", "decay"))
        elif self.options.finish:
            self._start_decay()

    def _start_decay(self) -> None:
        """Sets a budget whose decay starts now and takes --finish samples."""
        self.options.samples = self.samples + self.options.finish
        self.options.decay = self.options.finish / self.options.samples

    def save(self) -> None:
        if processes.is_first():
            checkpoint.save(self.state(), self.options.folder / "checkpoint.pt")
            checkpoint.save_weights(self.average, self.options.folder / checkpoint.WEIGHTS)

    def save_best(self, figures: dict[str, float]) -> None:
        """Writes the averaged weights to best.safetensors if the figure that counts is better than before."""
        name = self.options.best.removeprefix("-")
        if not name:
            return
        if name not in figures:
            raise SystemExit(f"training: --best {name}: the figures of the evaluation are {', '.join(figures)}")
        score = -figures[name] if self.options.best.startswith("-") else figures[name]
        if score > self.best:
            self.best = score
            checkpoint.save_weights(self.average, self.options.folder / checkpoint.BEST)

    def update(self, loss: Loss, batches: Batches, network: nn.Module) -> dict[str, torch.Tensor]:
        """Runs a step: forward and backward of its parts, clip, optimise, average. Returns the figures, on the device.

        The gradients and figures are the means of those of the parts.
        """
        options = self.options
        parts = [self._add_gradients(loss, batches, network, part) for part in processes.share(options.parts)]
        names = list(parts[0])
        figures = torch.stack([torch.stack([part[name].float() for name in names]) for part in parts]).sum(0)
        processes.add([figures, *self._gradients()])
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), options.clip)
        factor = rate(options, self.samples)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = options.lr * factor
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.step, self.samples = self.step + 1, self.samples + options.rows
        self._update_ema()
        return {"gradient": norm.detach(), **dict(zip(names, figures / options.parts))}

    def _add_gradients(self, loss: Loss, batches: Batches, network: nn.Module, part: int) -> dict[str, torch.Tensor]:
        """Adds a part's gradients, divided by the number of parts, and returns its figures."""
        options = self.options
        number = self.samples // options.batch + part
        rows = send(batches(number), self.device)
        torch.manual_seed((options.seed << 32) + number)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=options.precision == "bf16"):
            value, figures = loss(network, rows)
        (value / options.parts).backward()
        return {"loss": value.detach(), **figures}

    def _gradients(self) -> list[torch.Tensor]:
        """Returns the gradients; zeros of weights that the loss did not use, if other processes may have used them."""
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        if processes.count() > 1:
            for parameter in parameters:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        return [p.grad for p in parameters if p.grad is not None]

    @torch.no_grad()
    def _update_ema(self) -> None:
        weight = 1 - min(self.options.ema, (1 + self.step) / (10 + self.step))
        live = self.model.state_dict()
        floats = [k for k, v in live.items() if v.is_floating_point()]
        torch._foreach_lerp_([self.average[k] for k in floats], [live[k] for k in floats], weight)

    def averaged(self) -> _Averaged:
        return _Averaged(self)


class _Averaged:
    """Swaps the averaged weights into the model for a with block."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> nn.Module:
        self.live = {k: v.clone() for k, v in self.run.model.state_dict().items()}
        self.run.model.load_state_dict(self.run.average)
        return self.run.model.eval()

    def __exit__(self, *_: object) -> None:
        self.run.model.load_state_dict(self.live)
        self.run.model.train()


def run(options: Options, model: nn.Module, batches: Batches, loss: Loss, evaluate: Evaluate) -> nn.Module:
    """Trains until the budget is used, and returns the model with averaged weights, in eval mode.

    Saves the run and exits with UNFINISHED if --call-minutes are over or SIGTERM or SIGINT arrives before that.
    """
    if options.threads:
        torch.set_num_threads(options.threads)
    state = Run(options, model)
    state.resume()
    processes.copy_first(list(state.model.state_dict().values()))
    network = torch.compile(state.model, dynamic=True) if options.compile else state.model
    with _Stop(options) as stop, metrics.Metrics(options.folder, state.step, state.samples) as log:
        if options.workers:
            first = state.samples // options.batch + processes.rank()
            batches = Prefetcher(batches, range(first, sys.maxsize, processes.count()), options.workers)
        if options.best and state.best == -math.inf:
            _evaluate(state, evaluate, log)  # An unknown figure ends the run now, not after hours.
        _loop(state, network, batches, loss, evaluate, log, stop)
    if state.samples < options.samples:
        _exit_unfinished(state)
    model.load_state_dict(state.average)
    return model.eval()


def _exit_unfinished(state: Run) -> None:
    options = state.options
    if processes.is_first():
        print(
            f"training: {options.folder} stopped at {state.samples:,} of {options.samples:,} samples; the same command "
            "resumes it, and --finish N ends it within N samples",
            file=sys.stderr,
            flush=True,
        )
    raise SystemExit(UNFINISHED)


def _loop(
    state: Run, network: nn.Module, batches: Batches, loss: Loss, evaluate: Evaluate, log: metrics.Metrics, stop: _Stop
) -> None:
    from tqdm import tqdm

    options = state.options
    state.model.train()
    quiet = not sys.stderr.isatty() or not processes.is_first()
    bar = tqdm(disable=quiet, unit=" rows", initial=state.samples, total=options.samples)
    interval = options.eval_samples or -(-options.samples // 20)
    saved = reported = time.monotonic()
    window: list[dict[str, torch.Tensor]] = []
    rows = state.samples
    while state.samples < options.samples and not processes.any_process(stop(), state.device):
        started = time.monotonic()
        if state.starts_decay():
            if processes.is_first():
                checkpoint.save(state.state(), options.folder / "stable.pt")
            state.falling = True
        window.append(state.update(loss, batches, network))
        if state.device.type == "cuda" and len(window) % 20 == 0:
            torch.cuda.synchronize()  # Kernel launches are asynchronous; wait, so that the time counts.
        now = time.monotonic()
        state.seconds += min(now - started, 60)  # A longer step: the process was suspended.
        bar.update(options.rows)
        done = state.samples >= options.samples
        if now - reported > 15 or done:
            figures = {k: float(torch.stack([w[k].float() for w in window]).mean()) for k in window[0]}
            log.write(
                step=state.step,
                samples=state.samples,
                seconds=state.seconds,
                **figures,
                lr=options.lr * rate(options, state.samples),
                rate=(state.samples - rows) / (now - reported),
            )
            bar.set_postfix(loss=f"{figures['loss']:.3f}")
            window, rows, reported = [], state.samples, now
        if now - saved > 60 * options.save_minutes:
            state.save()
            saved = time.monotonic()
        if done or state.samples // interval > (state.samples - options.rows) // interval:
            _evaluate(state, evaluate, log)
            reported = time.monotonic()
            rows, window = state.samples, []
    bar.close()
    state.save()


def _evaluate(state: Run, evaluate: Evaluate, log: metrics.Metrics) -> None:
    if not processes.is_first():
        return  # The others wait in their next step.
    with state.averaged() as model, torch.no_grad():
        figures = evaluate(model, state.step)
    state.save_best(figures)
    log.write(step=state.step, samples=state.samples, seconds=state.seconds, **figures)
    print(
        f"step {state.step}  samples {state.samples}  " + "  ".join(f"{k} {v:.4g}" for k, v in figures.items()),
        flush=True,
    )


class _Stop:
    """True once this call must end: --call-minutes are over, or a signal arrived."""

    def __init__(self, options: Options) -> None:
        self.end = time.monotonic() + 60 * options.call_minutes if options.call_minutes else math.inf
        self.requested = False

    def __enter__(self) -> _Stop:
        self.previous = {s: signal.signal(s, self._request) for s in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        return self.requested or time.monotonic() > self.end

    def _request(self, *_: object) -> None:
        self.requested = True
        print("training: stopping after this step", file=sys.stderr, flush=True)
