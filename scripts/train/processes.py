"""The processes of a run: one, or those that torchrun starts, on one machine or several.

Each process has the whole model and computes a share of every step's parts. After join, every function but count,
is_first and local_rank must be called by all processes, in the same order.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator

import torch
from torch import distributed

PATIENCE = datetime.timedelta(hours=12)
"""How long the others wait while the first process prepares data or evaluates."""

BUCKET = 1 << 24
"""Numbers that are exchanged in one message."""


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def local_rank() -> int:
    """Returns the number of this process on its machine, from 0: its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def is_first() -> bool:
    """Reports whether this process writes the run's files."""
    return rank() == 0


def join(device: torch.device) -> None:
    """Joins the other processes, if there are any."""
    if count() == 1 or distributed.is_initialized():
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=PATIENCE)


def share(parts: int) -> range:
    """Returns the parts of a step that this process computes."""
    return range(rank(), parts, count())


def add(tensors: list[torch.Tensor]) -> None:
    """Replaces each tensor by its sum over all processes."""
    if count() == 1:
        return
    bucket: list[torch.Tensor] = []
    for i, tensor in enumerate(tensors):
        bucket.append(tensor)
        if sum(t.numel() for t in bucket) >= BUCKET or i == len(tensors) - 1:
            flat = torch.cat([t.reshape(-1).float() for t in bucket])
            distributed.all_reduce(flat)
            for t, values in zip(bucket, flat.split([t.numel() for t in bucket])):
                t.copy_(values.view_as(t))
            bucket = []


def copy_first(tensors: list[torch.Tensor]) -> None:
    """Replaces each tensor by the one of the first process."""
    if count() > 1:
        for tensor in tensors:
            distributed.broadcast(tensor, 0)


def any_process(flag: bool, device: torch.device) -> bool:
    """Reports whether the flag is true in any process."""
    if count() == 1:
        return flag
    value = torch.tensor(int(flag), device=device)
    distributed.all_reduce(value, distributed.ReduceOp.MAX)
    return bool(value)


@contextlib.contextmanager
def first_alone() -> Iterator[None]:
    """A block that the first process runs before the others, which then read the files that it wrote."""
    if count() > 1 and not is_first():
        distributed.barrier()
    yield
    if count() > 1 and is_first():
        distributed.barrier()
