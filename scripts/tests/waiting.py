"""Waiting for conditions, calls at once, and steady traffic: nothing here depends on how fast the machine is, and
nothing outlives the test that started it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

import requests
from tritonclient.utils import InferenceServerException

PATIENCE = 240
"""The timeout of every wait, in seconds. On an idle machine a wait takes a few; one that takes this long hangs."""

NOT_YET = (requests.RequestException, InferenceServerException)
"""What a condition may raise while its servers are starting, ending or busy."""


def wait_for(what: str, condition: Callable[[], object], details: Callable[[], object] = lambda: "") -> None:
    """Waits until the condition holds. After PATIENCE seconds it fails, with `what` and the details."""
    deadline = time.monotonic() + PATIENCE
    last: object = "it stayed false"
    while time.monotonic() < deadline:
        try:
            if condition():
                return
        except NOT_YET as error:
            last = error
        time.sleep(0.1)
    raise AssertionError(f"waited {PATIENCE} s for this: {what}; {last}\n{details()}")


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Makes the calls in concurrent threads and returns their results. Raises the error of the first that failed."""
    results: list[Any] = [None] * len(calls)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = calls[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    if errors:
        raise errors[0]
    waiting = sum(thread.is_alive() for thread in threads)
    assert not waiting, f"{waiting} of {len(calls)} calls did not end within {PATIENCE} s"
    return results


class Traffic:
    """Clients that call repeatedly, with a short pause after each call, until they are stopped.

    answers counts the outcomes: what a call returns, or "failed" if it raises. notes has the last errors.
    """

    PAUSE = 0.01

    def __init__(self, call: Callable[[], object], clients: int = 1) -> None:
        self.call = call
        self.ended = threading.Event()
        self.answers: Counter[object] = Counter()
        self.notes: deque[str] = deque(maxlen=50)
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def _run(self) -> None:
        while not self.ended.wait(self.PAUSE):
            try:
                self.answers[self.call()] += 1
            except Exception as error:
                self.answers["failed"] += 1
                self.notes.append(f"{type(error).__name__}: {error}")

    def stop(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(PATIENCE)


@contextlib.contextmanager
def traffic(call: Callable[[], object], clients: int = 1) -> Iterator[Traffic]:
    """Traffic during a with block."""
    running = Traffic(call, clients)
    try:
        yield running
    finally:
        running.stop()
