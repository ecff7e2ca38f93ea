"""Makes the data files of the training from public sources, without network:

    python -m scripts.train.data --data DATA                             lists the sets: what DATA has, what it lacks
    python -m scripts.train.data medquad --from MedQuAD --data DATA      makes the files of a set

--from names what you downloaded: files, folders of them, or clones of their repositories. The hash of each source is
compared with sets.toml; --changed accepts another version of a source, of which files with other hashes are made.
Another version of RDKit than that of scripts/train/requirements.txt may write some molecules differently. Formats:
scripts/train/data/texts.py, smiles.py and benchmarks.py.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

from rdkit import RDLogger

from scripts import sections
from scripts.train import files
from scripts.train.data import benchmarks, manifest, smiles, texts
from scripts.train.data.manifest import Set, Source
from scripts.train.data.texts import WrongSourceError

PAGE = Path("scripts/train/README.md")
SECTION = "data-sets"


def find(source: Source, places: list[Path]) -> dict[str, bytes]:
    """Returns the contents of a source by path: those with the right digest, else the first that fit its name."""
    name = PurePosixPath(source.path).name
    found: list[dict[str, bytes]] = []
    for place in places:
        if source.is_folder():
            contents = {path.relative_to(place).as_posix(): path.read_bytes() for path in place.glob(source.path)}
            found += [contents] if contents else []
        else:
            alone = [place] if place.is_file() and (place.name == name or len(places) == 1) else []
            found += [{source.path: p.read_bytes()} for p in (*alone, place / source.path, place / name) if p.is_file()]
    if not found:
        sought, form = (source.path, "give the unpacked folder of") if source.is_folder() else (name, "it is at")
        raise WrongSourceError(f"no {sought} in {' '.join(map(str, places))}; {form} {source.at}")
    return next((contents for contents in found if digest(source, contents) == source.sha256), found[0])


def digest(source: Source, contents: dict[str, bytes]) -> str:
    return manifest.folder_digest(contents) if source.is_folder() else manifest.digest(contents[source.path])


def collect(chosen: Set, places: list[Path], changed: bool) -> dict[str, bytes]:
    """Returns the contents of all sources. WrongSourceError: one is missing, or has another digest."""
    every: dict[str, bytes] = {}
    for source in chosen.sources:
        contents = find(source, places)
        found = digest(source, contents)
        if not source.sha256:
            print(f"{source.path}: SHA-256 {found}; sets.toml knows none of this file")
        elif found != source.sha256 and not changed:
            raise WrongSourceError(
                f"{source.path} has changed: its SHA-256 is {found}, expected {source.sha256} ({source.at}); "
                "--changed takes it as it is"
            )
        every |= contents
    return every


def build(chosen: Set, contents: dict[str, bytes]) -> list[bytes]:
    """Returns the uncompressed content of each result. WrongSourceError: a source does not have the expected form."""
    try:
        made = _build(chosen.name, contents)
        if not made[0]:
            raise WrongSourceError("no rows")
        return made
    except (
        *(WrongSourceError, ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, RuntimeError),
        *(csv.Error, tarfile.TarError, zlib.error, ElementTree.ParseError, zipfile.BadZipFile),
    ) as error:
        sources = " ".join(source.path for source in chosen.sources)
        reason = "" if isinstance(error, WrongSourceError) else f"{type(error).__name__}: "
        raise WrongSourceError(f"{sources}: another form than expected: {reason}{error}") from error


def _build(name: str, contents: dict[str, bytes]) -> list[bytes]:
    if name in texts.BUILDERS:
        return [texts.lines(rows) for rows in texts.BUILDERS[name](name, contents)]
    if name in benchmarks.BUILDERS:
        return benchmarks.BUILDERS[name](contents)
    return ["".join(f"{line}\n" for line in lines).encode() for lines in smiles.BUILDERS[name](contents)]


def make(chosen: Set, places: list[Path], data: Path, changed: bool) -> bool:
    """Writes the results of a set, and reports whether each is the expected one."""
    made = build(chosen, collect(chosen, places, changed))
    as_expected = True
    for result, content in zip(chosen.results, made, strict=True):
        files.replace(data / result.name, gzip.compress(content, mtime=0) if result.name.endswith(".gz") else content)
        found, rows = manifest.digest(content), content.count(b"\n")
        if not result.sha256:
            verdict = f"SHA-256 of the content {found}; sets.toml knows none of this file"
        elif found == result.sha256:
            verdict = "as expected"
        else:
            verdict = f"DIFFERS: SHA-256 of the content {found}, expected {result.sha256} with {result.rows:,} rows"
            as_expected = False
        print(f"{result.name}: {rows:,} rows, {verdict}")
    return as_expected


def state(chosen: Set, data: Path) -> str:
    """Returns the state of the files of a set in DATA: there, missing, different or damaged."""
    try:
        digests = [manifest.digest(manifest.content(data / result.name)) for result in chosen.results]
    except FileNotFoundError:
        return "missing"
    except (OSError, EOFError, zlib.error):
        return "damaged"
    if all(found == result.sha256 for found, result in zip(digests, chosen.results)):
        return "there"
    return "there, hash unknown" if not any(result.sha256 for result in chosen.results) else "differs"


def list_sets(data: Path) -> None:
    for name, each in manifest.read().items():
        found = state(each, data)
        print(f"{name:28} {found:20} {each.used_by}")
        if found not in ("there", "there, hash unknown"):
            for source in each.sources:
                print(f"    {source.at}" + (f" ({source.size / 1e6:,.1f} MB)" if source.size else ""))


def table() -> str:
    """Returns the table of the sets for the README."""
    rows = ["| set | content | used by | rows | source | licence |", "| --- | --- | --- | ---: | --- | --- |"]
    for name, each in manifest.read().items():
        counts = "<br>".join(f"{result.rows:,}" if result.rows else "not known" for result in each.results)
        note = f" ({each.note})" if each.note else ""
        rows.append(
            f"| `{name}` | {each.what}{note} | {each.used_by} | {counts} | {each.links()} "
            f"| [{each.licence}]({each.licence_at}) |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.train.data",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", nargs="?", choices=list(manifest.read()), metavar="SET", help="set to make")
    parser.add_argument("--from", dest="places", type=Path, nargs="+", metavar="PATH", help="what was downloaded")
    parser.add_argument("--data", type=Path, default=os.environ.get("RETORT_DATA"), help="data folder (or RETORT_DATA)")
    parser.add_argument("--changed", action="store_true", help="accept a source whose hash differs")
    parser.add_argument("--write", action="store_true", help="write the table of the sets into scripts/train/README.md")
    given = parser.parse_args()
    if given.write:
        sections.write(PAGE, SECTION, table())
        return
    if not given.data:
        parser.error("--data is required")
    if not given.set:
        list_sets(Path(given.data))
        return
    if not given.places:
        parser.error(f"--from is required; {given.set} is at {manifest.read()[given.set].sources[0].at}")
    RDLogger.DisableLog("rdApp.*")
    try:
        as_expected = make(manifest.read()[given.set], given.places, Path(given.data), given.changed)
    except (WrongSourceError, OSError) as error:
        sys.exit(f"data: {given.set}: {error}")
    if not as_expected:
        sys.exit(1)


if __name__ == "__main__":
    main()
