"""Notices a model whose Python stub has died, and has Triton load the model again.

Each instance of a model of a Python-based backend is a process of its own, the stub. When one is killed (by the kernel for want of
memory, say), Triton goes on calling the model ready and answers each of its requests with an error, for ever. So this watcher
counts the stubs of each ready version and compares them with the instances of its configuration.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from environment import say
from server import Server, call

# Seconds between two looks. A version is loaded again when stubs were missing at two looks in a row.
EVERY = 1.0

# How long Triton may take to load a model again before the whole server is started again, in seconds.
LOADS_WITHIN = 300

Version = tuple[str, str]
"""A model's name and its version."""


class StubWatch:
    """A thread that looks at the stubs of one running server."""

    def __init__(self, server: Server, restart: Callable[[], None]) -> None:
        """restart is called where a model cannot be loaded again: it has to end the server."""
        self.server = server
        self.restart = restart
        self.most: dict[Version, int] = {}  # stubs seen while the version was well
        self.backends: set[str] = set()  # those that run in stubs
        self.suspected: set[Version] = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin once the server is ready: its stubs are counted before anything can happen to them."""
        self.look()
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        if self.thread.is_alive() and self.thread is not threading.current_thread():
            self.thread.join(timeout=5)

    def _watch(self) -> None:
        while not self.ended.wait(EVERY):
            self.look()

    def look(self) -> None:
        """Find versions that lack stubs, and load again the models of those that lacked them at the last look too."""
        lacking = {version for version in self.ready() if self.lacks(version)}
        for model in sorted({model for model, _ in lacking & self.suspected}):
            self.heal(model)
            lacking = {version for version in lacking if version[0] != model}
        self.suspected = lacking

    def ready(self) -> list[Version]:
        _, index = call(self.server.options, "POST", "/v2/repository/index", {"ready": True})
        return [(entry["name"], entry.get("version", "")) for entry in index or []]

    def lacks(self, version: Version) -> bool:
        """Whether a version has fewer stubs than before and than its configuration says.

        A version that was never seen with any may have lost them before it was looked at, unless its backend is one of those
        that never have any.
        """
        now = stubs(self.server.running().pid)[version]
        before = self.most.get(version, 0)
        if 0 < before <= now:
            self.most[version] = now
            return False
        code, config = call(self.server.options, "GET", f"/v2/models/{version[0]}/versions/{version[1]}/config")
        if code != 200:
            return False
        if now > 0:
            self.backends.add(config["backend"])
        if config["backend"] in self.backends and now < sum(group["count"] for group in config["instance_group"]):
            return True
        self.most[version] = now  # a native backend, or loaded with fewer instances
        return False

    def heal(self, model: str) -> None:
        """Have the model unloaded, and loaded as it is configured now.

        Unloaded first, because Triton does nothing when it is told to load what is loaded, in its view, and has not changed.
        """
        say(f"{model} lost a stub and is loaded again")
        began = time.monotonic()
        code, config = call(self.server.options, "GET", f"/v2/models/{model}/config")
        if code == 200:
            body = {"parameters": {"config": json.dumps(config)}}
            call(self.server.options, "POST", f"/v2/repository/models/{model}/unload", {}, timeout=LOADS_WITHIN)
            code, _ = call(
                self.server.options, "POST", f"/v2/repository/models/{model}/load", body, timeout=LOADS_WITHIN
            )
        if self.ended.is_set():
            return
        if code == 200:
            say(f"{model} is well again after {time.monotonic() - began:.1f} s")
            return
        say(f"{model} could not be loaded again: tritonserver is ended")
        self.ended.set()
        self.restart()


def stubs(server: int) -> Counter[Version]:
    """How many stubs of each version are children of the process `server`."""
    found: Counter[Version] = Counter()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0") if parent == server else []
        except (OSError, IndexError):
            continue  # it has ended
        if len(words) > 1 and words[0].endswith(b"triton_python_backend_stub"):
            version = Path(words[1].decode()).parent  # REPOSITORY/MODEL/VERSION/FILE
            found[(version.parent.name, version.name)] += 1
    return found
