"""Checks arguments with the argparse parser of a Python program of this repository, without running the rest of it.

    python -I -S arguments.py ROOT PROGRAM [ARGUMENT ...]

PROGRAM is a module, or the path of a file relative to ROOT. The exit status is 0 if its parser accepts the arguments,
else 1, and the reason is printed. Stubs replace all packages outside the standard library, so the program's virtual
environment is not needed. Words in capitals (DATA) and expansions ($DATA) stand for any value.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*|.*[$…].*", re.DOTALL)
# Python audit events of what a program must not do before it parses its arguments.
FORBIDDEN = re.compile(
    r"subprocess\.|os\.(system|exec|fork|posix_spawn|remove|rename|mkdir|rmdir|link|symlink|truncate|kill)|"
    r"shutil\.|socket\.(connect|bind|getaddrinfo)"
)


class Stub:
    """Stands for a module and every object in it. Operations return it; a class derived from it has no base class."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Stub:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_, **__) -> Stub:
        return self

    def __mro_entries__(self, _: tuple) -> tuple:
        return ()

    def __hash__(self) -> int:
        return 1

    def __iter__(self) -> Iterator:
        return iter(())

    def __fspath__(self) -> str:
        return "stub"

    def __bytes__(self) -> bytes:
        return b"stub"


for operator in (
    "getitem setitem contains enter exit neg pos invert add radd sub rsub mul rmul matmul truediv rtruediv floordiv "
    "mod pow rpow and rand or ror xor lt le gt ge eq ne"
).split():
    setattr(Stub, f"__{operator}__", Stub.__call__)
for conversion in (int, float, bool, len):
    setattr(Stub, f"__{conversion.__name__}__", lambda _, kind=conversion: 0 if kind is len else kind(1))


class Stubs:
    """A module finder that gives a stub for each module outside the standard library and the repository."""

    def find_spec(self, name: str, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        top = name.partition(".")[0]
        found = top in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(top)
        # The Go folder tokenizers is found as a namespace package, which has no origin.
        if found is True or (found and (found.origin or top == "scripts")):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Stub:
        return Stub()

    def exec_module(self, module: Stub) -> None:
        pass


def guard(event: str, values: tuple) -> None:
    """Ends the process at a forbidden audit event. values: the event's arguments."""
    writes = event == "open" and isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or FORBIDDEN.match(event):
        refuse(None, f"the program does more than parse its arguments: {event} {values}")


def refuse(parser: argparse.ArgumentParser | None, message: str) -> None:
    """Prints why the arguments are refused and ends the process. Replaces ArgumentParser.error."""
    print(message)
    sys.stdout.flush()
    os._exit(1)


def print_help(*_) -> None:
    """Replaces ArgumentParser.print_help, so that --help prints nothing."""


def main() -> None:
    root, program, *arguments = sys.argv[1:]
    original_parse_args = argparse.ArgumentParser.parse_args
    get_value, check_value = argparse.ArgumentParser._get_value, argparse.ArgumentParser._check_value

    def parse_args(self, *_, **__):
        original_parse_args(self, arguments)
        sys.exit(0)

    def convert(self, action, text):
        return text if PLACEHOLDER.fullmatch(text) else get_value(self, action, text)

    def choose(self, action, value):
        if not (isinstance(value, str) and PLACEHOLDER.fullmatch(value)):
            check_value(self, action, value)

    for method in (parse_args, print_help):
        setattr(argparse.ArgumentParser, method.__name__, method)
    argparse.ArgumentParser.error = refuse  # type: ignore[method-assign,assignment]
    argparse.ArgumentParser._get_value = convert  # type: ignore[method-assign]
    argparse.ArgumentParser._check_value = choose  # type: ignore[method-assign]
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(Path(root, program).parent), root] if program.endswith(".py") else [root]
    sys.meta_path.insert(0, Stubs())
    sys.argv[1:] = arguments
    os.chdir(root)
    sys.addaudithook(guard)
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    refuse(None, "the program does not parse its arguments with argparse")


if __name__ == "__main__":
    main()
