"""When the onnxruntime backend asks whether a request was cancelled: never one that is answered.

The real server frees a request with its answer, and a question about it afterwards kills the server, rarely
enough that only stand-ins for the session and the requests show it each time.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
import time
import types
from typing import Any

import pytest
from servers import ROOT

ENOUGH = 240  # seconds that no wait of these tests comes near


class Request:
    """A request that notes each question put to it after its answer, or still open then."""

    def __init__(self, cancelled: bool, takes: float = 0) -> None:
        self.cancelled, self.takes = cancelled, takes
        self.asked = threading.Event()
        self.answered = False
        self.late = 0

    def is_cancelled(self) -> bool:
        self.late += self.answered
        self.asked.set()
        time.sleep(self.takes)
        self.late += self.answered
        return self.cancelled


class Session:
    """Runs until `until` says so, or until it is told to stop, which it notes."""

    def __init__(self, until) -> None:
        self.until, self.terminated = until, False

    def run(self, names, feed, options):
        end = time.monotonic() + ENOUGH
        while not self.until() and not options.terminate and time.monotonic() < end:
            time.sleep(0.001)
        self.terminated = options.terminate
        return []


@pytest.fixture
def watch(monkeypatch):
    runtime: Any = types.ModuleType("onnxruntime")
    runtime.RunOptions = lambda: types.SimpleNamespace(terminate=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", types.ModuleType("triton_python_backend_utils"))
    path = ROOT / "scripts/triton/backends/onnxruntime/model.py"
    spec = importlib.util.spec_from_file_location("onnxruntime_backend", path)
    backend: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    backend.ASK_EVERY = 0.01
    instance = backend.Watch()
    yield instance
    instance.stop()


def answer(watch, until, *requests: Request) -> Session:
    """Run the requests as one batch and answer them, as execute does."""
    session = Session(until)
    watch.run(session, [], {}, list(requests))
    for request in requests:
        request.answered = True
    return session


def test_a_run_does_not_end_while_a_question_is_open(watch):
    request = Request(cancelled=False, takes=0.2)
    answer(watch, request.asked.is_set, request)
    time.sleep(0.3)
    assert request.asked.is_set() and request.late == 0


def test_the_rest_of_a_batch_is_not_asked_after_it_ended(watch):
    requests = [Request(cancelled=True, takes=0.2), *(Request(cancelled=True, takes=0.05) for _ in range(3))]
    session = answer(watch, requests[0].asked.is_set, *requests)
    time.sleep(0.5)
    assert [r.late for r in requests] == [0, 0, 0, 0]
    assert not session.terminated


def test_a_run_ends_when_all_its_callers_left(watch):
    assert answer(watch, lambda: False, Request(cancelled=True), Request(cancelled=True)).terminated


def test_a_run_goes_on_while_one_caller_waits(watch):
    left, waits = Request(cancelled=True), Request(cancelled=False)
    assert not answer(watch, waits.asked.is_set, left, waits).terminated
    assert left.asked.is_set() and left.late == waits.late == 0
