"""A small model to train: python line.py FOLDER SAMPLES PARTS [WORKERS]."""

import os
import signal
import sys
from typing import Any

import numpy as np
import torch

from scripts.train import batches, processes, training


class Line(torch.nn.Module):
    """y = w x with dropout, so that a wrong random state shows."""

    def __init__(self, dropout):
        super().__init__()
        torch.manual_seed(3)
        self.inner = torch.nn.Linear(8, 8)
        self.drop = torch.nn.Dropout(dropout)
        self.outer = torch.nn.Linear(8, 1)

    def forward(self, x):
        return self.outer(self.drop(torch.relu(self.inner(x))))


def train(folder, stop_at=None, dropout=0.2, figures=None, **more):
    """Trains a Line; with stop_at, a SIGTERM arrives in that part. figures: those of an evaluation."""
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(1))
    settings: dict[str, Any] = dict(batch=4, precision="fp32", lr=0.01, warmup=20, threads=1, eval_samples=4)
    options = training.Options(name="line", runs=str(folder), device="cpu", **settings | more)
    buckets = batches.Buckets(np.arange(64), options.batch, seed=5)
    current = 0
    os.makedirs(folder, exist_ok=True)

    def batch(number):
        nonlocal current
        current = number
        if number == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return rows[buckets.rows(number)]

    def loss(model, x):
        value = (model(x) - x.sum(1, keepdim=True)).square().mean()
        with open(f"{folder}/losses-{processes.rank()}", "a") as file:
            file.write(f"{current} {value.item()}\n")
        return value, {}

    def evaluate(model, step):
        return figures() if figures else {"weight": float(model.outer.weight.sum())}

    processes.join(options.torch_device())
    return training.run(options, Line(dropout), batch, loss, evaluate)


if __name__ == "__main__":
    samples, parts, workers = (int(text) for text in [*sys.argv[2:], "0"][:3])
    train(sys.argv[1], samples=samples, parts=parts, workers=workers)
