"""Makes the files of molecules, a SMILES per line, from the public files. Each function returns the lines of each
result.

ZINC250k keeps its public split. The other collections are cleaned and split as own molecules are, by
scripts.train.molecules: a training, a held-out file, and the mixtures of the training part.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import PurePosixPath
from typing import IO, cast

from rdkit import Chem

from scripts.train import files, molecules
from scripts.train.data.texts import Contents, WrongSourceError, read_whole

COLUMNS = ("canonical_smiles", "smiles")
"""Names of the column of SMILES, in any case."""
WORDS = {".smi": (0,), ".smi.gz": (0,), "_sss.txt.gz": (1,), ".pairs.txt.gz": (1, 3), "smiles.txt": (-1,)}
"""Places of the SMILES among the words of a line, by the end of the name, in files without a header."""
LONGEST_LINE = 2**24
"""Characters of a line of a table: a column may be a MOL block."""
HEAVIEST, HELD_OUT = 60, 0.02
"""Of collections: heavy atoms of the largest molecule, and the share that is held out."""
ZINC_PARTS, DRUGS = ("data/zinc/valid.txt", "data/zinc/test.txt"), "data/fragments.csv"
"""Sources whose molecules are left out of other collections."""
DRUGLIKE_SIZES = range(8, 46)
"""Heavy atoms of the molecules of MUV that are used."""
DRUGLIKE_ELEMENTS = frozenset({"C", "N", "O", "F", "P", "S", "Cl", "Br", "I"})


def canonical(text: str, stereo: bool = True) -> str:
    molecule = Chem.MolFromSmiles(text)
    if molecule is None:
        raise WrongSourceError(f"{text!r} is no SMILES")
    return Chem.MolToSmiles(molecule, isomericSmiles=stereo)


def read_zinc(contents: Contents) -> list[str]:
    """Returns the molecules of zinc.txt.gz, which is a tar archive in spite of its name."""
    with tarfile.open(fileobj=io.BytesIO(contents["data/zinc.txt.gz"])) as archive:
        (member,) = archive.getmembers()
        file = archive.extractfile(member)
        if file is None:
            raise WrongSourceError("zinc.txt.gz has no file")
        return read_whole(file).decode().split()


def zinc250k(contents: Contents) -> list[list[str]]:
    """The split of the junction-tree VAE (Jin et al. 2018): its validation part, and all but its two parts."""
    held_out, test = (
        {canonical(line) for line in contents[f"data/zinc/{part}.txt"].decode().split()} for part in ("valid", "test")
    )
    every = [canonical(line) for line in read_zinc(contents)]
    return [
        [smiles for smiles in every if smiles not in held_out and smiles not in test],
        [smiles for smiles in every if smiles in held_out],
    ]


def muv(contents: Contents) -> list[list[str]]:
    """The drug-like molecules of MUV (Rohrer and Baumann 2009) that are not in ZINC250k, and in no stereo form in its
    test part or the benchmark of fragments."""
    known = {canonical(line) for line in read_zinc(contents)}
    starts = benchmark_molecules(contents)
    out: dict[str, None] = {}
    for row in csv.DictReader(io.StringIO(contents["tests/test_sets/molnet/muv.csv"].decode())):
        molecule = Chem.MolFromSmiles(row["smiles"])
        if molecule is None:
            continue
        smiles = Chem.MolToSmiles(molecule)
        fits = (
            "." not in smiles
            and molecule.GetNumHeavyAtoms() in DRUGLIKE_SIZES
            and {atom.GetSymbol() for atom in molecule.GetAtoms()} <= DRUGLIKE_ELEMENTS
        )
        if fits and smiles not in known and Chem.MolToSmiles(molecule, isomericSmiles=False) not in starts:
            out[smiles] = None
    return [list(out)]


def benchmark_molecules(contents: Contents) -> set[str]:
    """Returns the molecules of ZINC_PARTS, as far as they are among the sources, and of DRUGS, without
    stereochemistry."""
    drugs = csv.DictReader(io.StringIO(contents[DRUGS].decode()))
    parts = (contents[path].decode().split() for path in ZINC_PARTS if path in contents)
    return {canonical(line, False) for line in (*chain(*parts), *(row["smiles"] for row in drugs))}


def subsets(contents: Contents) -> list[list[str]]:
    """Several files of molecules, without those of the benchmarks in any stereo form, also as a part of a mixture."""
    collections = [(path, content) for path, content in contents.items() if path not in (*ZINC_PARTS, DRUGS)]
    texts = chain.from_iterable(molecules_of(path, content) for path, content in collections)
    # ChEBI-20 doubles the backslashes of some SMILES.
    return divide(dict.fromkeys(text.replace("\\\\", "\\") for text in texts), benchmark_molecules(contents))


def unmixed_subsets(contents: Contents) -> list[list[str]]:
    """Several files without mixtures."""
    return subsets(contents)[:2]


def table(contents: Contents) -> list[list[str]]:
    """A table with a column of SMILES."""
    (content,) = contents.values()
    return divide(column(content), set())


def divide(texts: Iterable[str], known: set[str]) -> list[list[str]]:
    """Returns the molecules to train on, the held-out ones, and the mixtures to train on, each once. Leaves out those
    of which a component is known, without stereochemistry."""
    left_out: Counter[str] = Counter()
    every = list(molecules.clean(texts, HEAVIEST, True, left_out))
    training: list[str] = []
    held_out: list[str] = []
    mixtures: list[str] = []
    for smiles in molecules.shuffle(every):
        flat = canonical(smiles, False)
        if not known.isdisjoint(flat.split(".")):
            left_out["of the benchmarks"] += 1
        elif molecules.has_dative_bond(smiles):
            left_out["with dative bonds"] += 1
        elif files.is_held_out(flat, HELD_OUT):
            held_out += [smiles] if "." not in smiles else []
        else:
            (mixtures if "." in smiles else training).append(smiles)
    print("left out:", ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "none", file=sys.stderr)
    if not training:
        raise WrongSourceError("no molecules to train on")
    return [training, held_out, mixtures]


def molecules_of(path: str, content: bytes) -> Iterator[str]:
    """Yields the SMILES of a file: of a table with a header, or the words of each line at the places of WORDS."""
    places = next((places for end, places in WORDS.items() if path.endswith(end)), None)
    if places is None:
        yield from column(content)
        return
    with io.TextIOWrapper(opened(content), "utf-8-sig") as text:
        for line in read_lines(text):
            words = line.split()
            if words and len(words) <= places[-1]:
                raise WrongSourceError(f"{path}: {places[-1] + 1} words a line are expected, not: {line[:100]!r}")
            yield from (words[place] for place in places if words)


def opened(content: bytes) -> IO[bytes]:
    """Returns a file as it is, gzipped, or alone in a zip archive, uncompressed."""
    if content.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(io.BytesIO(content)))
    if not content.startswith(b"PK"):
        return io.BytesIO(content)
    archive = zipfile.ZipFile(io.BytesIO(content))
    tables = (name for name in archive.namelist() if name.endswith((".csv", ".tsv", ".txt")))
    names = [name for name in tables if not PurePosixPath(name).name.startswith(".")]  # macOS adds ._NAME.
    if len(names) != 1:
        raise WrongSourceError(f"one table is expected in the archive, not {', '.join(names) or 'none'}")
    return archive.open(names[0])


def column(content: bytes) -> Iterator[str]:
    """Yields the column of SMILES of a tab- or comma-separated table."""
    csv.field_size_limit(LONGEST_LINE)
    with io.TextIOWrapper(opened(content), "utf-8-sig", newline="") as text:
        lines = read_lines(text)
        header = next(lines, "").rstrip("\r\n")
        delimiter = "\t" if "\t" in header else ","
        names = [name.strip('"').lower() for name in header.split(delimiter)]
        places = [names.index(name) for name in COLUMNS if name in names]
        if not places:
            raise WrongSourceError(f"no column {' or '.join(COLUMNS)} in: {header[:100]}")
        for row in csv.reader(lines, delimiter=delimiter):
            if len(row) > places[0] and row[places[0]].strip():
                yield row[places[0]].strip()


def read_lines(text: IO[str]) -> Iterator[str]:
    """Yields the lines of a text. WrongSourceError: one is too long, as in a file that is no table."""
    while line := text.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise WrongSourceError(f"a line of more than {LONGEST_LINE:,} characters")
        yield line


BUILDERS: dict[str, Callable[[Contents], list[list[str]]]] = {
    "zinc250k": zinc250k,
    "muv": muv,
    "chembl_subsets": subsets,
    "coconut_subsets": unmixed_subsets,
    "common_chemicals": subsets,
    "chembl": table,
    "coconut": table,
    "chebi": table,
}
"""Functions by set."""
