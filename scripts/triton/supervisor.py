"""Keeps a tritonserver running: restarts it with its watchers when it dies."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from environment import say
from repository import Overrides, Watcher
from server import Server
from stubs import StubWatch

# A server that dies within SHORT_LIFE seconds after it was ready, SHORT_LIVES times in a row, is not restarted.
SHORT_LIFE = 5
SHORT_LIVES = 5


class Supervisor:
    """A server with its watchers."""

    def __init__(self, server: Server, overrides: Overrides | None, timeout: float) -> None:
        """timeout bounds each start, in seconds. Without overrides, the files are not watched."""
        self.server = server
        self.overrides = overrides
        self.timeout = timeout
        self.folder = tempfile.TemporaryDirectory(prefix="retort-triton-")
        self.pidfile = Path(self.folder.name, "pid")
        self.watcher: Watcher | None = None
        self.stubs: StubWatch | None = None
        self.ready_at = 0.0
        self.ending = False
        self.failure: str | None = None  # why the server is not restarted
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._keep_running, daemon=True)

    def start(self) -> float:
        """Starts the server and returns the seconds until it was ready. RuntimeError: it failed."""
        start = time.monotonic()
        self._start_server()
        self.thread.start()
        return time.monotonic() - start

    def wait(self) -> int:
        """Blocks until the server is not restarted any more, then raises RuntimeError."""
        self.thread.join()
        raise RuntimeError(self.failure or "tritonserver ended")

    def stop(self) -> None:
        """Stops the watchers, then the server, and removes the pid file."""
        with self.lock:
            self.ending = True
        self._stop_watchers()
        self.server.stop()
        if self.thread.is_alive():
            self.thread.join(timeout=5)
        self.folder.cleanup()

    def _stop_watchers(self) -> None:
        if self.watcher:
            self.watcher.stop()
        if self.stubs:
            self.stubs.stop()

    def _start_server(self) -> None:
        with self.lock:
            if self.ending:
                return
            self.server.start()
        self.pidfile.write_text(f"{self.server.running().pid}\n")
        self.server.wait_ready(self.timeout)
        if self.overrides is not None:
            self.watcher = Watcher(self.server.options, self.overrides)
            self.watcher.start()
        self.stubs = StubWatch(self.server, restart=self.server.running().terminate)
        self.stubs.start()
        self.ready_at = time.monotonic()

    def _keep_running(self) -> None:
        short_lives = 0
        while True:
            code = self.server.running().wait()
            if self.ending:
                return
            self.pidfile.write_text("")
            reason = self.server.failure(f"tritonserver ended by itself with status {code}")
            short_lives = short_lives + 1 if time.monotonic() - self.ready_at < SHORT_LIFE else 0
            if short_lives == SHORT_LIVES:
                self.failure = f"tritonserver died {short_lives} times right after it was ready. {reason}"
                return
            say(f"{reason}\ntriton | restarting it")
            self._stop_watchers()
            self.server.stop()
            try:
                self._start_server()
            except RuntimeError as error:
                self.failure = str(error)
                return
            say("tritonserver is ready again")
