"""Checks and writes the manifest of the model repository: the files of each public model id.

    python -m scripts.lint.manifest                                          check: `make lint` runs this
    python -m scripts.lint.manifest --write                                  record entries whose id is new
    python -m scripts.lint.manifest --write masked --same-outputs REASON     record changed files under the old id

An id stands for outputs (orchestrator/docs/operate/MODELS.md): entries with different outputs have different ids. Any
file of an entry may affect the outputs, except pages (*.md) and hidden files. So a changed file needs a new model_id in
config.pbtxt or, if the outputs are the same (a refactoring, another number of instances), a reason. A retired id stays
in the manifest and is never reused.

manifest.json:
entries     the current id of each entry, and the SHA-256 of each of its files
ids         all digests of each id and entry, oldest first; each but the first with the reason why the outputs are the
            same. A later digest without a reason means that the outputs changed under the id
A digest is the SHA-256 of the output of `sha256sum` for the files of an entry, sorted by path.

An entry that git does not track, such as an imported model, is ignored unless --write names it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
NAME = "manifest.json"
HINT = (
    "If the outputs changed, choose a new model_id in config.pbtxt, then run "
    "python -m scripts.lint.manifest --write. If not, see --help."
)
ID = re.compile(r'key:\s*"model_id"\s*value\s*\{\s*string_value:\s*"([^"]*)"')


class Refused(Exception):
    """An entry cannot be recorded. The text is the reason."""


def hashes(entry: Path) -> dict[str, str]:
    """Returns the SHA-256 of the files of an entry that may affect its outputs, by path."""
    files = (
        f
        for f in entry.rglob("*")
        if f.is_file() and f.suffix not in (".md", ".pyc") and not is_hidden(f.relative_to(entry))
    )
    return {
        path: hashlib.sha256((entry / path).read_bytes()).hexdigest()
        for path in sorted(f.relative_to(entry).as_posix() for f in files)
    }


def is_hidden(path: Path) -> bool:
    """Reports whether a desktop or an editor left this file: .DS_Store, ._model.onnx, .model.py.swp, Thumbs.db."""
    return any(part.startswith(".") for part in path.parts) or path.name == "Thumbs.db"


def digest(files: dict[str, str]) -> str:
    """Returns the digest of an entry: see the module."""
    return hashlib.sha256("".join(f"{files[path]}  {path}\n" for path in sorted(files)).encode()).hexdigest()


def read_entries(repository: Path) -> dict[str, dict]:
    """Returns the id and the hashes of each entry."""
    found = {}
    for config in sorted(repository.glob("*/config.pbtxt")):
        match = ID.search(config.read_text())
        found[config.parent.name] = {"id": match[1] if match else "", "files": hashes(config.parent)}
    return found


def is_untracked(entry: Path) -> bool:
    """Reports whether an entry is in a git checkout that does not track it. False without git."""
    command = ["git", "status", "--porcelain", "--ignored", "--untracked-files=all", "--", "config.pbtxt"]
    try:
        answer = subprocess.run(command, cwd=entry, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return answer.startswith(("??", "!!"))


def load(repository: Path) -> dict:
    """Reads the manifest, or returns an empty one if there is none."""
    file = repository / NAME
    return json.loads(file.read_text()) if file.exists() else {"entries": {}, "ids": {}}


def find_problems(repository: Path) -> list[str]:
    """Returns the differences between the repository and its manifest, one line each."""
    manifest, found = load(repository), read_entries(repository)
    entries, ids = manifest["entries"], manifest["ids"]
    lines = [f"{name}: in the manifest, but not in the repository" for name in sorted(set(entries) - set(found))]
    for name, now in found.items():
        if name not in entries and is_untracked(repository / name):
            continue
        if not now["id"]:
            lines.append(f"{name}: config.pbtxt has no parameter model_id")
            continue
        record = entries.get(name)
        if record is None:
            lines.append(f"{name}: not in the manifest")
            continue
        changes = describe_changes(record["files"], now["files"])
        if record["id"] != now["id"]:
            lines.append(f"{name}: its id is {now['id']}, in the manifest {record['id']}")
        elif changes:
            lines.append(f"{name}: {changes}; the id is still {now['id']}")
            continue
        history = ids.get(now["id"], {}).get(name, [])
        if digest(now["files"]) != (history[-1]["digest"] if history else ""):
            lines.append(f"{name}: these are not the files recorded for {now['id']}")
        elif changed := sum("same_outputs" not in r for r in history[1:]):
            lines.append(f"{name}: {now['id']} has had {changed + 1} different outputs")
    return lines


def describe_changes(before: dict[str, str], now: dict[str, str]) -> str:
    """Returns one line with the files that are changed, new or missing, or "" if there are none."""
    words = {
        "changed": [p for p in now if p in before and before[p] != now[p]],
        "new": [p for p in now if p not in before],
        "missing": [p for p in before if p not in now],
    }
    return "; ".join(f"{word}: {', '.join(paths)}" for word, paths in words.items() if paths)


def record(repository: Path, names: list[str], same_outputs: str = "") -> list[str]:
    """Records entries in the manifest, by default all but untracked ones, and returns those that changed.

    Refused: the outputs of an id would change, or the repository has no such entry.
    """
    manifest, found = load(repository), read_entries(repository)
    if unknown := set(names) - set(found):
        raise Refused(f"no such entry: {', '.join(sorted(unknown))}")
    current = {entry["id"] for entry in manifest["entries"].values()}
    fresh = {entry["id"] for entry in found.values()} - set(manifest["ids"])
    updated = []
    for name in names or [n for n in found if n in manifest["entries"] or not is_untracked(repository / n)]:
        now = found[name]
        if manifest["entries"].get(name) == now:
            continue
        if not now["id"]:
            raise Refused(f"{name}: config.pbtxt has no parameter model_id")
        history = manifest["ids"].setdefault(now["id"], {}).setdefault(name, [])
        new = {"digest": digest(now["files"])}
        if now["id"] in fresh:
            history.append(new)
        elif not history or history[-1]["digest"] != new["digest"]:
            if now["id"] not in current:
                raise Refused(f"{name}: {now['id']} stands for other files and is retired: choose a new id")
            if not same_outputs:
                raise Refused(
                    f"{name}: {now['id']} stands for other files: choose a new id, "
                    "or give the reason why the outputs are the same with --same-outputs"
                )
            history.append(new | {"same_outputs": same_outputs})
        manifest["entries"][name] = now
        updated.append(name)
    if not names:
        for name in set(manifest["entries"]) - set(found):
            del manifest["entries"][name]
            updated.append(name)
    manifest["entries"] = dict(sorted(manifest["entries"].items()))
    manifest["ids"] = dict(sorted(manifest["ids"].items()))
    if updated:
        (repository / NAME).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    return updated


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.lint.manifest",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("entries", nargs="*", help="entries to record (default: all)")
    parser.add_argument("--write", action="store_true", help="record instead of checking")
    parser.add_argument(
        "--same-outputs", default="", metavar="REASON", help="why the outputs of the changed files are the same"
    )
    parser.add_argument("--repository", type=Path, default=REPOSITORY)
    options = parser.parse_args(given)
    if not options.write:
        if options.entries or options.same_outputs:
            parser.error("entries and --same-outputs need --write")
        lines = find_problems(options.repository)
        print("".join(f"model_repository: {line}\n" for line in lines), end="", file=sys.stderr)
        if lines:
            print(HINT, file=sys.stderr)
        return 1 if lines else 0
    try:
        for name in record(options.repository, options.entries, options.same_outputs):
            print(name)
    except Refused as refusal:
        print(f"manifest: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
