"""Watches the model repository, and loads and unloads models in Triton.

Triton either polls the files and refuses to load and unload models over its API (poll), or follows only the API
(explicit). Operators need both. So the local server runs in explicit mode, and this watcher polls the files:

- A model folder that is new or has changed is loaded after its files have been unchanged for a moment, so that no
  half-copied file is read.
- A model whose folder is removed is unloaded.
- A model that an operator loads or unloads over the API stays so until its files change.

Triton serves the old model until the new one is ready, and keeps it if the new one fails to load. Settings of the
environment are overrides of the configuration in load requests; files are not changed.
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

# Seconds between polls of the files, and seconds without a change before a folder is loaded.
POLL_SECONDS = 0.5
QUIET_SECONDS = 1.0

# Suffixes of documents and of editors' files, which do not change a model.
IGNORED = (".md", ".swp", "~", ".pyc", ".tmp", ".part")

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Overrides:
    """Settings of the environment that replace values in the configuration of models, or None for no change."""

    queue_delay: int | None = None
    instances: int | None = None

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> Overrides:
        """ValueError: a variable, which the text names, is not an integer in range."""
        return cls(
            queue_delay=integer(variables, *QUEUE_DELAYS, least=0),
            instances=integer(variables, "RETORT_TRITON_INSTANCES", least=1),
        )

    def apply(self, config: dict) -> dict | None:
        """Returns the configuration with the overrides, or None if they change nothing.

        The delay applies to models with dynamic batching, the number of instances to those of backend onnxruntime.
        """
        changed = json.loads(json.dumps(config))
        if self.queue_delay is not None and "dynamic_batching" in changed:
            changed["dynamic_batching"]["max_queue_delay_microseconds"] = self.queue_delay
        if self.instances is not None and changed.get("backend") == "onnxruntime":
            for group in changed["instance_group"]:
                group["count"] = self.instances
        return None if changed == config else changed


def integer(variables: Mapping[str, str], *names: str, least: int) -> int | None:
    """Returns the first of these variables that is set. ValueError: it is not an integer of at least `least`."""
    for name in names:
        text = variables.get(name, "").strip()
        if not text:
            continue
        if not text.isdigit() or int(text) < least:
            raise ValueError(f"{name}={text}: must be a whole number of at least {least}")
        return int(text)
    return None


def signatures(repository: Path) -> dict[str, Signature]:
    """Returns the signature of each model folder."""
    by_model = {}
    for folder in repository.iterdir():
        if folder.is_dir() and not folder.name.startswith("."):
            files = signature(folder)
            if any(is_model_file(name) for name, _, _ in files):
                by_model[folder.name] = files
    return by_model


def signature(folder: Path) -> Signature:
    """Returns the sorted (path, size, modification time in ns) of a folder's files, which show any change.

    A file that disappears meanwhile is left out.
    """
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
    """A thread that keeps Triton's models in sync with the files."""

    def __init__(self, options: Options, overrides: Overrides) -> None:
        self.options = options
        self.overrides = overrides
        self.applied = signatures(options.repository)
        self.pending: dict[str, tuple[Signature | None, float]] = {}  # changes, with the time of the last one
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Applies the overrides to the models that Triton has loaded, then watches the files."""
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
        while not self.ended.wait(POLL_SECONDS):
            try:
                self.poll(time.monotonic())
            except OSError as error:
                say(f"the model repository cannot be read: {error}")

    def poll(self, now: float) -> None:
        """Loads or unloads the models whose folder differs from the applied signature and has stopped changing."""
        files = signatures(self.options.repository)
        for model in sorted(files.keys() | self.applied.keys()):
            current = files.get(model)
            if current == self.applied.get(model):
                self.pending.pop(model, None)
                continue
            before, since = self.pending.get(model, (None, now))
            if model not in self.pending or before != current:
                self.pending[model] = (current, now)
            elif now - since >= QUIET_SECONDS:
                self.apply_change(model, current)

    def apply_change(self, model: str, files: Signature | None) -> None:
        self.pending.pop(model, None)
        if files is None:
            del self.applied[model]
            self.unload(model)
            return
        new = model not in self.applied
        self.applied[model] = files
        if new and model in self.ready():
            return  # loaded over the API meanwhile, perhaps with an operator's configuration
        if self.load(model):
            self.override(model)

    def load(self, model: str, config: dict | None = None) -> bool:
        body = {"parameters": {"config": json.dumps(config)}} if config else {}
        start = time.monotonic()
        code, answer = call(self.options, "POST", f"/v2/repository/models/{model}/load", body)
        if code == 200:
            say(f"{model} loaded in {time.monotonic() - start:.1f} s")
            return True
        say(f"{model} was not loaded: {reason(code, answer)}")
        return False

    def unload(self, model: str) -> None:
        code, answer = call(self.options, "POST", f"/v2/repository/models/{model}/unload", {})
        say(f"{model} unloaded" if code == 200 else f"{model} was not unloaded: {reason(code, answer)}")

    def override(self, model: str) -> None:
        """Reloads a model with the overrides if its configuration differs from them."""
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
