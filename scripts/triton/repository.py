"""Follows the model repository's files and tells Triton to load and unload.

Triton knows two ways: it polls the files itself and refuses load and unload over its
API (poll), or it does what the API says and never looks at the files (explicit). Operators
need both. So the local server runs in explicit mode, and this watcher does the looking:

- a model folder that is new or changed is loaded once its files have been quiet for a
  moment, so that a half-copied file is never read;
- a folder that is gone is unloaded;
- what an operator loads or unloads over the API stays so until the files change.

Triton serves the old version until the new one is ready, and goes on serving the old one
if the new one fails to load.

It also puts settings of the environment into the configuration of loaded models, as a
configuration override of the load call: files are never rewritten.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environment import say
from server import Options, call

DELAY = "TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS"
QUEUE_DELAYS = (f"RETORT_{DELAY}", f"NIM_{DELAY}")

# Seconds between two looks at the files, and how long a folder must not change before it is loaded.
EVERY, QUIET = 0.5, 1.0

# Beside the weights a folder holds papers and editors' files; they change nothing.
IGNORED = (".md", ".swp", "~", ".pyc", ".tmp", ".part")

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Overrides:
    """What the environment changes in every model's configuration; None leaves the file's value."""

    queue_delay: int | None = None
    instances: int | None = None

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> Overrides:
        """ValueError names the variable that is no whole number."""
        return cls(
            queue_delay=whole(variables, *QUEUE_DELAYS, least=0),
            instances=whole(variables, "RETORT_TRITON_INSTANCES", least=1),
        )

    def apply(self, config: dict) -> dict | None:
        """The configuration with the overrides in it, None where it has them already.

        The delay is for models that batch dynamically, the number of instances for
        those of backend onnxruntime; a model without them keeps what it has.
        """
        changed = json.loads(json.dumps(config))
        if self.queue_delay is not None and "dynamic_batching" in changed:
            changed["dynamic_batching"]["max_queue_delay_microseconds"] = self.queue_delay
        if self.instances is not None and changed.get("backend") == "onnxruntime":
            for group in changed["instance_group"]:
                group["count"] = self.instances
        return None if changed == config else changed


def whole(variables: Mapping[str, str], *names: str, least: int) -> int | None:
    for name in names:
        text = variables.get(name, "").strip()
        if not text:
            continue
        if not text.isdigit() or int(text) < least:
            raise ValueError(f"{name}={text}: a whole number of at least {least} is wanted")
        return int(text)
    return None


def signatures(repository: Path) -> dict[str, Signature]:
    """For each model folder, its files with size and time: equal as long as nothing changed."""
    found = {}
    for folder in repository.iterdir():
        if folder.is_dir() and not folder.name.startswith("."):
            files = signature(folder)
            if any(is_model_file(name) for name, _, _ in files):
                found[folder.name] = files
    return found


def signature(folder: Path) -> Signature:
    """Sorted (path, size, time in ns); a file that vanishes while being looked at is left out."""
    files = []
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in names:
            if name.startswith(".") or name.endswith(IGNORED):
                continue
            path = Path(parent, name)
            try:
                stat = path.stat()
            except OSError:
                continue
            files.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return tuple(sorted(files))


def is_model_file(name: str) -> bool:
    return name == "config.pbtxt" or name.split("/")[0].isdigit()


class Watcher:
    """A thread that keeps Triton in step with the repository's files."""

    def __init__(self, options: Options, overrides: Overrides) -> None:
        self.options = options
        self.overrides = overrides
        self.acted = signatures(options.repository)
        self.seen: dict[str, tuple[Signature | None, float]] = {}
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Put the overrides into what Triton loaded at its start, then follow the files."""
        for model in self.ready():
            self.override(model)
        self.thread.start()

    def stop(self) -> None:
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join(timeout=5)

    def ready(self) -> list[str]:
        _, index = call(self.options, "POST", "/v2/repository/index", {"ready": True})
        return sorted({model["name"] for model in index or []})

    def _watch(self) -> None:
        while not self.ended.wait(EVERY):
            try:
                self.look(time.monotonic())
            except OSError as error:
                say(f"the model repository cannot be read: {error}")

    def look(self, now: float) -> None:
        """Act on the folders that differ from what was last acted on and have been quiet since."""
        files = signatures(self.options.repository)
        for model in sorted(files.keys() | self.acted.keys()):
            current = files.get(model)
            if current == self.acted.get(model):
                self.seen.pop(model, None)
                continue
            before, since = self.seen.get(model, (None, now))
            if model not in self.seen or before != current:
                self.seen[model] = (current, now)
            elif now - since >= QUIET:
                self.act(model, current)

    def act(self, model: str, files: Signature | None) -> None:
        self.seen.pop(model, None)
        if files is None:
            del self.acted[model]
            self.unload(model)
            return
        new = model not in self.acted
        self.acted[model] = files
        if new and model in self.ready():
            return  # loaded over the API in the meantime, perhaps with a configuration of its own
        if self.load(model):
            self.override(model)

    def load(self, model: str, config: dict | None = None) -> bool:
        body = {"parameters": {"config": json.dumps(config)}} if config else {}
        began = time.monotonic()
        code, answer = call(self.options, "POST", f"/v2/repository/models/{model}/load", body)
        if code == 200:
            say(f"{model} loaded in {time.monotonic() - began:.1f} s")
            return True
        say(f"{model} was not loaded: {reason(code, answer)}")
        return False

    def unload(self, model: str) -> None:
        code, answer = call(self.options, "POST", f"/v2/repository/models/{model}/unload", {})
        say(f"{model} unloaded" if code == 200 else f"{model} was not unloaded: {reason(code, answer)}")

    def override(self, model: str) -> None:
        """Load a model again with the environment's settings, where its own differ."""
        code, config = call(self.options, "GET", f"/v2/models/{model}/config")
        if code != 200:
            return
        changed = self.overrides.apply(config)
        if changed is not None:
            self.load(model, changed)


def reason(code: int, answer: object) -> str:
    if isinstance(answer, dict) and "error" in answer:
        return str(answer["error"]).partition("\n\nAt:")[0]
    return "Triton did not answer" if code == 0 else f"status {code}"
