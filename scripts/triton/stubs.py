"""Detects models whose Python stub has died, and reloads them.

Each instance of a model of a Python-based backend runs in a process, the stub. After one is killed, for example by the
kernel when memory runs out, Triton still reports the model as ready and answers its requests with errors. So this
watcher compares the number of stubs of each ready version with the instances in its configuration.
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

# Seconds between polls. A model is reloaded when stubs are missing in two polls in a row.
POLL_SECONDS = 1.0

# Seconds that Triton has to reload a model before the server is restarted.
RELOAD_TIMEOUT = 300

Version = tuple[str, str]
"""A model's name and version."""


class StubWatch:
    """A thread that watches the stubs of a running server."""

    def __init__(self, server: Server, restart: Callable[[], None]) -> None:
        """restart is called if a model cannot be reloaded, and must terminate the server."""
        self.server = server
        self.restart = restart
        self.healthy: dict[Version, int] = {}  # number of stubs when none was missing
        self.backends: set[str] = set()  # backends with stubs
        self.suspected: set[Version] = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Counts the stubs of the server, which must be ready, then polls them."""
        self.poll()
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        if self.thread.is_alive() and self.thread is not threading.current_thread():
            self.thread.join(timeout=5)

    def _watch(self) -> None:
        while not self.ended.wait(POLL_SECONDS):
            self.poll()

    def poll(self) -> None:
        """Reloads the models with versions that lack stubs now and lacked them in the last poll."""
        lacking = {version for version in self.ready() if self.lacks_stubs(version)}
        for model in sorted({model for model, _ in lacking & self.suspected}):
            self.reload(model)
            lacking = {version for version in lacking if version[0] != model}
        self.suspected = lacking

    def ready(self) -> list[Version]:
        _, index = call(self.server.options, "POST", "/v2/repository/index", {"ready": True})
        return [(entry["name"], entry.get("version", "")) for entry in index or []]

    def lacks_stubs(self, version: Version) -> bool:
        """Reports whether a version has fewer stubs than before and than instances in its configuration.

        A version that has had no stub in any poll may have lost them before the first, unless its backend runs in the
        server's process.
        """
        now = stubs(self.server.running().pid)[version]
        before = self.healthy.get(version, 0)
        if 0 < before <= now:
            self.healthy[version] = now
            return False
        code, config = call(self.server.options, "GET", f"/v2/models/{version[0]}/versions/{version[1]}/config")
        if code != 200:
            return False
        if now > 0:
            self.backends.add(config["backend"])
        if config["backend"] in self.backends and now < sum(group["count"] for group in config["instance_group"]):
            return True
        self.healthy[version] = now  # a native backend, or loaded with fewer instances
        return False

    def reload(self, model: str) -> None:
        """Unloads the model and loads it with its present configuration, or restarts the server if that fails.

        Without the unload, Triton would ignore the load, because the model is loaded and has not changed.
        """
        say(f"{model} lost a stub: reloading it")
        start = time.monotonic()
        code, config = call(self.server.options, "GET", f"/v2/models/{model}/config")
        if code == 200:
            body = {"parameters": {"config": json.dumps(config)}}
            call(self.server.options, "POST", f"/v2/repository/models/{model}/unload", {}, timeout=RELOAD_TIMEOUT)
            code, _ = call(
                self.server.options, "POST", f"/v2/repository/models/{model}/load", body, timeout=RELOAD_TIMEOUT
            )
        if self.ended.is_set():
            return
        if code == 200:
            say(f"{model} reloaded in {time.monotonic() - start:.1f} s")
            return
        say(f"{model} could not be reloaded: restarting tritonserver")
        self.ended.set()
        self.restart()


def stubs(server: int) -> Counter[Version]:
    """Returns the number of stubs of each version among the children of the process `server`."""
    counts: Counter[Version] = Counter()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words = (folder / "cmdline").read_bytes().split(b"\0") if parent == server else []
        except (OSError, IndexError):
            continue  # the process has ended
        if len(words) > 1 and words[0].endswith(b"triton_python_backend_stub"):
            version = Path(words[1].decode()).parent  # REPOSITORY/MODEL/VERSION/FILE
            counts[(version.parent.name, version.name)] += 1
    return counts
