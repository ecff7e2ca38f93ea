"""Trains the reader for a number of seconds: the budget in samples follows the measured speed, so that the learning
rate ends its decay in time. The arguments are those of scripts.train.vision; READER_SECONDS has the seconds, which the
file `seconds` of the working folder replaces while the training runs.
"""
import os
import sys
import time
import traceback
from pathlib import Path

import torch

from scripts.train import training
from scripts.train.vision import __main__ as main
from scripts.train.vision import corpus

corpus.CAGE_SAMPLE = int(os.environ.get("READER_CAGES", "15000"))
WORK = Path(os.environ["READER_WORK"])
MIN_SAMPLES = int(os.environ.get("READER_MIN_SAMPLES", "5000"))
STEADY = 20.0
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True


def seconds() -> float:
    try:
        return float((WORK / "seconds").read_text())
    except (OSError, ValueError):
        return float(os.environ["READER_SECONDS"])


class Clock:
    """Sets the budget from the speed of the last steps. A pause (SIGSTOP) does not count."""

    def __init__(self, options) -> None:
        self.options, self.active, self.last, self.marks = options, 0.0, None, []
        self.checked = 0.0

    def tick(self, samples: int, trained: float) -> None:
        """trained: seconds of the run before this step."""
        now = time.monotonic()
        if self.last is None:
            self.active, self.last = trained, now
            self.started = trained
        self.active += min(now - self.last, 10.0)
        self.last = now
        if self.active - self.checked < 2:
            return
        self.checked = self.active
        self.marks.append((self.active, samples))
        self.marks = [m for m in self.marks if m[0] >= self.active - 60]
        left = seconds() - self.active
        first = self.marks[0]
        if self.active < self.started + STEADY and left > 0 or self.active == first[0]:
            return
        speed = (samples - first[1]) / (self.active - first[0])
        self.options.samples = max(samples + self.options.rows, int(samples + max(left, 0) * speed))
        (WORK / "state").write_text(
            f"active {self.active:.0f} of {seconds():.0f} s, samples {samples} of {self.options.samples}, "
            f"{speed:.0f} samples/s\n"
        )


class Run(training.Run):
    def __init__(self, options, model) -> None:
        super().__init__(options, model)
        self.clock = Clock(options)

    def update(self, *arguments):
        figures = super().update(*arguments)
        self.clock.tick(self.samples, self.seconds)
        return figures


training.Run = Run
Batches = main.Batches
ATTEMPT = int(os.environ.get("READER_ATTEMPT", "1"))
main.Batches = lambda molecules, programs, size, seed, *rest, **named: Batches(
    molecules, programs, size, seed + 1000 * (ATTEMPT - 1), *rest, **named
)
(WORK / "pid").write_text(str(os.getpgid(0)))
sys.argv[0] = "scripts.train.vision"
try:
    main.main()
except Exception:  # Without a worker, Python would wait for it at its end.
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
