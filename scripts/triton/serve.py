#!/usr/bin/env python3
"""Runs a real Triton Inference Server on the CPU of this machine.

    scripts/triton/serve.py                         serve model_repository/ until Ctrl-C
    scripts/triton/serve.py --ports free --repository DIR --control explicit
    scripts/triton/serve.py --scratch -- go test ./orchestrator/triton/...
                                                    run a command with a server of its own

With a command after `--`, the server listens on free ports and stops when the command ends; the exit status is the
command's, or 128+N if signal N arrives before the command starts. The command has these environment variables:
RETORT_TRITON_URL and RETORT_TEST_TRITON_URL (gRPC, host:port), RETORT_TEST_TRITON_HTTP and RETORT_TEST_TRITON_METRICS
(host:port), RETORT_TEST_TRITON_REPOSITORY (the model folder) and RETORT_TEST_TRITON_PIDFILE (a file with the process id
of the server, so that a test can kill it). --scratch serves a temporary copy of the repository, in which models can be
added, changed and removed.

A tritonserver that dies is restarted on the same ports, and a model whose Python stub dies is reloaded. The first start
installs tritonserver, onnxruntime and rdkit from PyPI, pinned and checked against hashes, into .venv-triton/ of the
checkout. Later starts take seconds.

environment:
  RETORT_TRITON_GRPC_PORT, RETORT_TRITON_HTTP_PORT, RETORT_TRITON_METRICS_PORT
                                  ports; default 8701, 8700, 8702; 0: a free one
  RETORT_TRITON_HOST              address to listen on; default 127.0.0.1. Addresses that other machines reach give a
                                  warning: this release has published vulnerabilities
                                  (orchestrator/docs/operate/SECURITY.md)
  RETORT_TRITON_REPOSITORY        model folder; default model_repository/ of the checkout
  RETORT_TRITON_MODELS            models to load at the start, separated by commas; default: all of the folder; not with
                                  poll. The API can load the others, and watch loads those whose files change
  RETORT_TRITON_CONTROL_KEY       key in the header X-Retort-Control, which HTTP requests to load, unload or list models
                                  need; without it, only the launcher can send them. gRPC needs no key
  RETORT_TRITON_MODEL_CONTROL     watch (default): the launcher follows the files, and the API can load and unload
                                  models too; explicit: only the API can; poll: Triton follows the files, and the API
                                  cannot
  RETORT_TRITON_DYNAMIC_BATCHING_MAX_QUEUE_DELAY_MICROSECONDS  (or NIM_TRITON_...)
                                  queue delay of all models with dynamic batching; only with watch (otherwise a gateway
                                  with this variable sets it)
  RETORT_TRITON_INSTANCES         instances of each onnxruntime model; only with watch
  RETORT_TRITON_THREADS           threads of each instance; default: an equal share of the cores
  RETORT_TRITON_SPIN_MICROSECONDS how long such a thread spins for its next work; default 50; 0: not
  RETORT_TRITON_READY_SECONDS     upper bound of the start; default 120
  RETORT_TRITON_BACKENDS          folder of backends; default .cache/triton/backends of the checkout
  RETORT_PYTHON                   Python 3.11 or 3.12 with venv and libpython
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

sys.dont_write_bytecode = True

from environment import ROOT, Unusable, prepare, say  # noqa: E402
from repository import QUEUE_DELAYS, Overrides  # noqa: E402
from server import Options, Server, call, free_ports  # noqa: E402
from supervisor import Supervisor  # noqa: E402

PORTS = {"grpc": 8701, "http": 8700, "metrics": 8702}
CONTROLS = ("watch", "explicit", "poll")

# Signals that end the launcher, also SIGINT, which a shell's background jobs ignore otherwise.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Seconds that a terminated command may drain before it is killed.
DRAIN_SECONDS = 40


class Stop(Exception):
    """The signal that ends the launcher."""

    def __init__(self, number: int) -> None:
        self.number = number


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, help="model folder to serve")
    parser.add_argument("--scratch", action="store_true", help="serve a temporary copy of the repository")
    parser.add_argument("--empty", action="store_true", help="serve an empty temporary folder")
    parser.add_argument(
        "--ports", choices=("set", "free"), help="those set, or free ones; default: free with a command"
    )
    parser.add_argument("--control", choices=CONTROLS, help="who loads models: see RETORT_TRITON_MODEL_CONTROL")
    parser.add_argument("--prepare", action="store_true", help="only install the environment")
    parser.add_argument("--verbose", action="store_true", help="show everything tritonserver prints")
    parser.add_argument("command", nargs="*", help="after `--`: run this while the server is up")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    for number in SIGNALS:
        signal.signal(number, interrupt)
    try:
        environment = prepare()
        if args.prepare:
            return 0
        overrides = Overrides.from_environment(os.environ)
        control = args.control or os.environ.get("RETORT_TRITON_MODEL_CONTROL") or "watch"
        if control not in CONTROLS:
            raise ValueError(f"RETORT_TRITON_MODEL_CONTROL={control}: must be one of {', '.join(CONTROLS)}")
        with repository(args) as folder:
            options = listen(args, folder, control)
            server = Server(environment, options)
            timeout = float(os.environ.get("RETORT_TRITON_READY_SECONDS") or 120)
            return serve(Supervisor(server, overrides if control == "watch" else None, timeout), args.command)
    except Stop as stopped:  # before the command or the installation has finished, if there is one
        return 128 + stopped.number if args.command or args.prepare else 0
    except (Unusable, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        say(str(error))
        return 1


def interrupt(number: int, _: object) -> None:
    raise Stop(number)


def listen(args: argparse.Namespace, folder: Path, control: str) -> Options:
    """Returns the options of the server, with free ports for a command and the settings otherwise."""
    ports = {name: int(os.environ.get(f"RETORT_TRITON_{name.upper()}_PORT") or port) for name, port in PORTS.items()}
    if (args.ports or ("free" if args.command else "set")) == "free":
        ports = dict.fromkeys(ports, 0)
    free = iter(free_ports(len(ports)))
    ports = {name: port or next(free) for name, port in ports.items()}
    host = os.environ.get("RETORT_TRITON_HOST") or "127.0.0.1"
    if not is_loopback(host):
        say(
            f"WARNING: RETORT_TRITON_HOST={host}: other machines can reach this Triton, which requires no key. "
            "Release 24.10 has published vulnerabilities with which any client can run code: "
            "orchestrator/docs/operate/SECURITY.md#triton"
        )
    return Options(
        folder,
        host,
        ports["grpc"],
        ports["http"],
        ports["metrics"],
        control="poll" if control == "poll" else "explicit",
        models=chosen_models(folder, control),
        verbose=args.verbose,
        control_key=os.environ.get("RETORT_TRITON_CONTROL_KEY") or secrets.token_hex(16),
    )


def chosen_models(folder: Path, control: str) -> tuple[str, ...]:
    """Returns the models to load at the start. ValueError: one does not exist, or Triton itself follows the files."""
    text = os.environ.get("RETORT_TRITON_MODELS", "")
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        return ("*",)
    if control == "poll":
        raise ValueError(f"RETORT_TRITON_MODELS={text}: needs the model control watch or explicit, not poll")
    for name in names:
        if "/" in name or not (folder / name).is_dir():
            raise ValueError(f"RETORT_TRITON_MODELS={text}: {folder} has no folder {name}")
    return names


def is_loopback(host: str) -> bool:
    """Reports whether only this machine reaches host. Names other than localhost may resolve to any address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def repository(args: argparse.Namespace):
    """Yields the folder to serve. A temporary one is removed at the end."""
    folder = Path(args.repository or os.environ.get("RETORT_TRITON_REPOSITORY") or ROOT / "model_repository").resolve()
    if not args.empty and not folder.is_dir():
        raise RuntimeError(f"there is no model repository {folder}")
    if not (args.scratch or args.empty):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="retort-models-") as scratch:
        target = Path(scratch, "models")
        if args.empty:
            target.mkdir()
        else:
            shutil.copytree(folder, target)
        yield target


def serve(supervisor: Supervisor, command: list[str]) -> int:
    """Starts the server, runs the command or waits for a signal, and stops the server."""
    say("starting tritonserver")
    try:
        seconds = supervisor.start()
        report(supervisor.server.options, seconds)
        return run(supervisor, command) if command else supervisor.wait()
    finally:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        supervisor.stop()
        say("stopped")


def report(options: Options, seconds: float) -> None:
    """Logs the models that are served, and why others are not."""
    _, index = call(options, "POST", "/v2/repository/index", {})
    ready = sorted({model["name"] for model in index or [] if model.get("state") == "READY"})
    for model in index or []:
        if model.get("state") not in (None, "READY"):
            say(f"{model['name']} is not served: {model.get('reason', model['state'])}")
    say(
        f"ready in {seconds:.1f} s on grpc {options.host}:{options.grpc}, http {options.host}:{options.http}, "
        f"metrics {options.host}:{options.metrics}: {', '.join(ready) or 'no models'}"
    )


def run(supervisor: Supervisor, command: list[str]) -> int:
    """Runs the command and returns its exit status, or 128+N for signal N. A signal to this process ends it too."""
    options = supervisor.server.options
    # The launcher has set the queue delay; a gateway with the variable would load every model again.
    hidden = QUEUE_DELAYS if supervisor.overrides is not None else ()
    child = subprocess.Popen(
        command,
        env={
            **{name: value for name, value in os.environ.items() if name not in hidden},
            "RETORT_TRITON_URL": f"{options.host}:{options.grpc}",
            "RETORT_TEST_TRITON_URL": f"{options.host}:{options.grpc}",
            "RETORT_TEST_TRITON_HTTP": f"{options.host}:{options.http}",
            "RETORT_TEST_TRITON_METRICS": f"{options.host}:{options.metrics}",
            "RETORT_TEST_TRITON_REPOSITORY": str(options.repository),
            "RETORT_TEST_TRITON_PIDFILE": str(supervisor.pidfile),
        },
    )
    try:
        code = child.wait()
    except Stop:
        child.terminate()  # also after Ctrl-C, which reaches the command itself only at a terminal
        code = drain(child)
    return code if code >= 0 else 128 - code


def drain(child: subprocess.Popen) -> int:
    """Waits for the command to end, kills it after DRAIN_SECONDS, and returns its exit status."""
    try:
        return child.wait(DRAIN_SECONDS)
    except (subprocess.TimeoutExpired, Stop):
        child.kill()
        return child.wait()


if __name__ == "__main__":
    sys.exit(main())
