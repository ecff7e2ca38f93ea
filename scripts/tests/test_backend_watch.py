"""The onnxruntime backend checks for cancellation only requests without a response.

The real server frees a request with its response, and a check afterwards crashes the server. That is rare, so fakes of
the session and of the requests make it certain.
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

ENOUGH = 240  # seconds: far longer than any wait of these tests


class Request:
    """A request that records the checks that are made, or still running, after its response."""

    def __init__(self, cancelled: bool, takes: float = 0) -> None:
        self.cancelled, self.takes = cancelled, takes
        self.checked = threading.Event()
        self.answered = False
        self.late = 0

    def is_cancelled(self) -> bool:
        self.late += self.answered
        self.checked.set()
        time.sleep(self.takes)
        self.late += self.answered
        return self.cancelled


class Session:
    """Runs until until() is true or the run is terminated, which it records."""

    def __init__(self, until) -> None:
        self.until, self.terminated = until, False

    def run(self, names, feed, options):
        end = time.monotonic() + ENOUGH
        while not self.until() and not options.terminate and time.monotonic() < end:
            time.sleep(0.001)
        self.terminated = options.terminate
        return []


@pytest.fixture
def runner(monkeypatch):
    runtime: Any = types.ModuleType("onnxruntime")
    runtime.RunOptions = lambda: types.SimpleNamespace(terminate=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", runtime)
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", types.ModuleType("triton_python_backend_utils"))
    path = ROOT / "scripts/triton/backends/onnxruntime/model.py"
    spec = importlib.util.spec_from_file_location("onnxruntime_backend", path)
    backend: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    backend.CHECK_SECONDS = 0.01
    instance = backend.Runner()
    yield instance
    instance.stop()


def answer(runner, until, *requests: Request) -> Session:
    """Runs the requests as one batch and answers them, as execute does."""
    session = Session(until)
    runner.run(session, [], {}, list(requests))
    for request in requests:
        request.answered = True
    return session


def test_a_run_waits_for_a_pending_check(runner):
    request = Request(cancelled=False, takes=0.2)
    answer(runner, request.checked.is_set, request)
    time.sleep(0.3)
    assert request.checked.is_set() and request.late == 0


def test_no_request_is_checked_after_its_batch_has_ended(runner):
    requests = [Request(cancelled=True, takes=0.2), *(Request(cancelled=True, takes=0.05) for _ in range(3))]
    session = answer(runner, requests[0].checked.is_set, *requests)
    time.sleep(0.5)
    assert [r.late for r in requests] == [0, 0, 0, 0]
    assert not session.terminated


def test_a_run_is_terminated_when_all_clients_have_left(runner):
    assert answer(runner, lambda: False, Request(cancelled=True), Request(cancelled=True)).terminated


def test_a_run_continues_while_one_client_waits(runner):
    left, waits = Request(cancelled=True), Request(cancelled=False)
    assert not answer(runner, waits.checked.is_set, left, waits).terminated
    assert left.checked.is_set() and left.late == waits.late == 0
