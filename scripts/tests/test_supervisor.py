"""The launcher restarts a server that dies, with limits. Tested without a Triton, which rarely dies by itself."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from servers import ROOT

sys.path.insert(0, str(ROOT / "scripts/triton"))

import supervisor  # noqa: E402


class Dying:
    """A server that is ready at once and then dies."""

    options = SimpleNamespace()

    def __init__(self) -> None:
        self.starts = 0
        self.process = SimpleNamespace(pid=1, wait=lambda: 139, terminate=lambda: None)

    def start(self) -> None:
        self.starts += 1

    def wait_ready(self, timeout: float) -> None:
        pass

    def running(self) -> SimpleNamespace:
        return self.process

    def failure(self, reason: str) -> str:
        return reason

    def stop(self) -> int:
        return 139


class Quiet:
    """Replaces the watch of the stubs."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    start = stop = __init__


def test_a_server_that_keeps_dying_is_given_up(monkeypatch):
    monkeypatch.setattr(supervisor, "StubWatch", Quiet)
    server: Any = Dying()
    running = supervisor.Supervisor(server, None, timeout=1)
    running.start()
    with pytest.raises(RuntimeError, match="died 5 times right after it was ready.* status 139"):
        running.wait()
    assert server.starts == supervisor.SHORT_LIVES
    running.stop()
