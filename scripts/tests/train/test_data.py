"""The builders of public data sets, on samples in the format of each source (scripts/tests/train/samples; own texts and
made-up molecules), and training on what they make. Run by `make test-train`."""

import gzip
import hashlib
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import sections
from scripts.eval import drawing_sets
from scripts.train import card, molecules
from scripts.train.data import __main__ as data
from scripts.train.data import benchmarks, manifest, smiles, texts
from scripts.train.embedding import corpora
from scripts.train.latent import __main__ as latent
from scripts.train.latent import corpus, tokens
from scripts.train.latent import evaluation as latent_evaluation
from scripts.train.masked import __main__ as masked
from scripts.train.masked import broad
from scripts.train.vision import evaluation

SAMPLES = Path(__file__).with_name("samples")
LIKE = {"squadshifts_new_wiki": "squadshifts"}
"""Folders of samples with another name than the set."""
SETS = [name for name in manifest.read() if (SAMPLES / LIKE.get(name, name)).exists()]


def call(monkeypatch, main, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", *map(str, arguments)])
    main()


def make(monkeypatch, name, folder, *more):
    """Makes a set of its sample, which differs from the public set."""
    with pytest.raises(SystemExit) if manifest.read()[name].results[0].sha256 else open("/dev/null"):
        call(monkeypatch, data.main, name, "--from", SAMPLES / LIKE.get(name, name), "--data", folder, *more)


def test_every_set_has_a_builder_and_a_sample():
    assert {*texts.BUILDERS} | {*smiles.BUILDERS} | {*benchmarks.BUILDERS} == {*manifest.read()}
    like_another = {"squadshifts_amazon", "squadshifts_reddit"}
    assert {*manifest.read()} - {*SETS} == like_another | {*benchmarks.BUILDERS}  # these have tests of their own


def test_the_defaults_of_the_training_are_public():
    public = {result.name for each in manifest.read().values() for result in each.results}
    assert {*corpus.SHARES, *broad.SHARES, *latent_evaluation.VALID, *evaluation.VALID, *drawing_sets.FILES} <= public
    for name in (*corpora.OPEN_SETS, *corpora.UNCLEAR_SETS, *corpora.MEASURE_SETS):
        assert name in manifest.read()


def test_the_readme_has_the_table_of_the_sets():
    assert sections.read(data.PAGE, data.SECTION).strip() == data.table()


@pytest.mark.parametrize("name", SETS)
def test_a_sample_is_made_and_told_from_the_public_set(name, tmp_path, monkeypatch, capsys):
    known = manifest.read()[name]
    make(monkeypatch, name, tmp_path, "--changed")
    made = [manifest.content(tmp_path / result.name) for result in known.results]
    assert all(made)
    printed = capsys.readouterr().out
    for result, content in zip(known.results, made):
        verdict = "DIFFERS" if result.sha256 else "sets.toml knows none of this file"
        line = next(line for line in printed.splitlines() if line.startswith(f"{result.name}: "))
        assert verdict in line and hashlib.sha256(content).hexdigest() in line
    call(monkeypatch, data.main, "--data", tmp_path)
    state = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{name} "))
    assert ("differs" if known.results[0].sha256 else "there, hash unknown") in state


def test_the_expected_content_is_recognised(tmp_path, monkeypatch, capsys):
    """With the hashes of the sample in the manifest, the set is as expected, whatever gzip did."""
    source = SAMPLES / "banking77" / "banking_data" / "train.csv"
    make(monkeypatch, "banking77", tmp_path, "--changed")
    known = manifest.read()["banking77"]
    content = manifest.content(tmp_path / known.results[0].name)
    text = manifest.FILE.read_text().replace(known.results[0].sha256, hashlib.sha256(content).hexdigest())
    for each in known.sources:
        path = SAMPLES / "banking77" / each.path
        text = text.replace(each.sha256, hashlib.sha256(path.read_bytes()).hexdigest())
    (tmp_path / "sets.toml").write_text(text)
    changed = manifest.read(tmp_path / "sets.toml")
    monkeypatch.setattr(manifest, "read", lambda: changed)
    flat = tmp_path / "flat"  # the downloaded files, without the folders of their repository
    flat.mkdir()
    for part in ("train.csv", "test.csv"):
        shutil.copy(source.with_name(part), flat)
    call(monkeypatch, data.main, "banking77", "--from", flat, "--data", tmp_path)
    (tmp_path / known.results[0].name).write_bytes(gzip.compress(content, 1))
    call(monkeypatch, data.main, "--data", tmp_path)
    printed = capsys.readouterr().out
    assert "11 rows, as expected" in printed
    assert "banking77                    there  " in printed
    origin = {"data": {"a.jsonl.gz": {"rows": 11, "sha256": changed["banking77"].results[0].sha256}}}
    row = card.data_table(origin).splitlines()[-1]
    assert "https://github.com/PolyAI-LDN/task-specific-datasets/tree/57ec275d" in row and "[CC BY 4.0](https" in row


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("banking77", ["--from", SAMPLES / "banking77"], "train.csv has changed: its SHA-256 is .*, expected .*"),
        ("banking77", ["--from", SAMPLES / "chebi"], "no train.csv in .*; it is at https://"),
        ("medquad", ["--from", SAMPLES / "medquad"], r"\*/\*.xml has changed"),
        ("medquad", ["--from", SAMPLES / "chebi"], "give the unpacked folder of https://github.com/abachaa/MedQuAD"),
        ("chebi", ["--from", SAMPLES / "banking77" / "banking_data" / "train.csv"], "no column canonical_smiles"),
        ("chebi", ["--from", SAMPLES / "zinc250k" / "data" / "zinc.txt.gz"], "no column canonical_smiles"),
        ("nq_gold", ["--changed", "--from", SAMPLES / "banking77" / "banking_data" / "train.csv"], "BadGzipFile"),
    ],
)
def test_a_wrong_source_is_named_and_leaves_nothing(name, arguments, message, tmp_path, monkeypatch):
    with pytest.raises(SystemExit, match=message):
        call(monkeypatch, data.main, name, *arguments, "--data", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def zipped(**tables):
    """Returns a zip archive. Keywords: the content of each table by its name without .csv."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in tables.items():
            archive.writestr(f"{name}.csv", content)
    return out.getvalue()


ENCRYPTED = (
    zipped(a="smiles\nCCO\n")
    .replace(b"PK\3\4\x14\0\0", b"PK\3\4\x14\0\1")
    .replace(b"PK\1\2\x14\3\x14\0\0", b"PK\1\2\x14\3\x14\0\1")
)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("chebi", b"", "no column canonical_smiles or smiles"),
        ("chebi", "smiles\nCCO\n".encode("utf-16"), "UnicodeDecodeError"),
        ("chebi", b"smiles\nno molecule\n", "no molecules to train on"),
        ("chebi", b'smiles\n"C\n' * 9 + b"C" * 3000, "a line of more than 1,000 characters"),
        ("chebi", b'smiles\n"' + b"C\n" * 999, "Error: field larger than field limit"),
        ("chebi", gzip.compress(b"C" * 3000), "a line of more than 1,000 characters"),
        ("chebi", (SAMPLES / "chebi" / "structures.tsv.gz").read_bytes()[:-300], "EOFError"),
        (
            "coconut",
            zipped(a="smiles\nCCO\n", b="smiles\nCCO\n"),
            "one table is expected in the archive, not a.csv, b.csv",
        ),
        ("coconut", zipped(a="smiles\nCCO\n")[:-30], "BadZipFile"),
        ("coconut", ENCRYPTED, "is encrypted"),
        ("zinc250k", gzip.compress(b"CCO\n"), "ReadError"),
        ("nq_gold", gzip.compress(b"{}" * 3000), "more than 5,000 bytes after decompression"),
        ("nq_gold", b"no gzip", "BadGzipFile"),
        ("pubmedqa", b"[" * 200_000, "RecursionError"),
        ("pubmedqa", b"[]", "AttributeError"),
        ("pubmedqa", b"{}", "no rows"),
    ],
)
def test_a_source_of_another_form_is_named_and_leaves_nothing(name, content, message, tmp_path, monkeypatch):
    monkeypatch.setattr(smiles, "LONGEST_LINE", 1000)
    monkeypatch.setattr(texts, "LARGEST", 5000)
    path = manifest.read()[name].sources[0].path
    source = tmp_path / "source" / path
    source.parent.mkdir(parents=True)
    source.write_bytes(content)
    places = [tmp_path / "source", SAMPLES / name]  # the other sources are samples
    with pytest.raises(SystemExit, match=f"(?s)data: {name}: {path}.*: another form than expected: .*{message}"):
        call(monkeypatch, data.main, name, "--changed", "--from", *places, "--data", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_files_in_an_archive_that_are_no_tables_are_passed_over(tmp_path):
    lines = smiles.column(zipped(**{"../../a": "SMILES,name\nCCO,b\n", "__MACOSX/._a": "c"}))
    assert list(lines) == ["CCO"]  # read in place: a name with folders writes nothing


def test_a_result_that_cannot_be_written_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "chebi_train.smi.gz").mkdir()
    with pytest.raises(SystemExit, match="Is a directory"):
        call(monkeypatch, data.main, "chebi", "--from", SAMPLES / "chebi", "--data", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["chebi_train.smi.gz"]


def test_texts_have_their_answers_and_splits(tmp_path, monkeypatch):
    for name in ("medquad", "nq_gold", "squadshifts_new_wiki", "chebi20", "banking77"):
        make(monkeypatch, name, tmp_path, "--changed")
    folder = tmp_path / "retrieval"
    wiki = corpora.read_lines(folder / "squadshifts_new_wiki.queries.jsonl.gz")
    assert len(wiki) == 12 and wiki[0]["answer"] == "distils liquids"  # each question once
    medical = corpora.read_lines(folder / "medquad.queries.jsonl.gz")
    assert len(medical) == 12 and all(row["qtype"] == "information" for row in medical)  # "Topics" is no answer
    for name in ("medquad", "nq_gold"):
        loaded = corpora.load(folder, name, "train")
        assert loaded.queries and all(query.positives <= set(loaded.passages) for query in loaded.queries)
        assert not any("  " in text for text in loaded.passages.values())
    assert corpora.load(folder, "chebi20", "train").queries and corpora.load(folder, "banking77", "test").passages
    assert corpora.read_lines(folder / "chebi20_captions.jsonl.gz")[0]["smiles"] == "C/C=C\\C"


def test_more_documents_than_the_split_has_are_refused():
    split = texts.Splitter("pubmedqa")
    assert {split(str(number)) for number in range(1000)} == {"train", "dev", "test"}
    with pytest.raises(texts.WrongSourceError, match="more documents than the 1000"):
        split("another")


def test_molecules_keep_their_public_split(tmp_path, monkeypatch):
    make(monkeypatch, "zinc250k", tmp_path, "--changed")
    training, held_out = (molecules.read_molecules(tmp_path / f"zinc250k_{part}.smi.gz") for part in ("train", "valid"))
    source = SAMPLES / "zinc250k" / "data" / "zinc"
    assert set(held_out) == {smiles.canonical(line) for line in (source / "valid.txt").read_text().split()}
    test = {smiles.canonical(line) for line in (source / "test.txt").read_text().split()}
    assert len(training) > 90 and not set(training) & ({*held_out} | test)
    make(monkeypatch, "muv", tmp_path, "--changed")
    assert molecules.read_molecules(tmp_path / "muv_druglike.smi.gz") == ["CN1CCC(NC(=O)c2ccccc2)CC1"]


def test_salts_are_apart_and_no_held_out_molecule_is_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(smiles, "HELD_OUT", 0.2)
    for name in ("chembl", "coconut", "chebi"):
        make(monkeypatch, name, tmp_path)
    parts = {
        part: [set(molecules.read_molecules(tmp_path / f"{name}_{part}.smi.gz")) for name in ("chembl", "chebi")]
        for part in ("train", "valid", "salts")
    }
    assert parts["train"][0] == parts["train"][1] and not parts["train"][0] & parts["valid"][1]
    assert all("." in text for text in parts["salts"][0]) and not any("." in text for text in parts["train"][0])


@pytest.mark.parametrize("name", ["chembl_subsets", "coconut_subsets", "common_chemicals"])
def test_subsets_have_every_source_and_no_molecule_of_the_benchmarks(name, tmp_path, monkeypatch):
    monkeypatch.setattr(smiles, "HELD_OUT", 0.2)
    make(monkeypatch, name, tmp_path, "--changed")
    made = {
        result.name: {smiles.canonical(text, False) for text in molecules.read_molecules(tmp_path / result.name)}
        for result in manifest.read()[name].results
    }
    training, held_out = made[f"{name}_train.smi.gz"], made[f"{name}_valid.smi.gz"]
    assert training and held_out and not training & held_out
    assert all(tokens.split(text) for each in made.values() for text in each)
    components = {part for each in made.values() for text in each for part in text.split(".")}
    sources = {source.path: (SAMPLES / name / source.path).read_bytes() for source in manifest.read()[name].sources}
    assert len(smiles.benchmark_molecules(sources)) == 8 and not components & smiles.benchmark_molecules(sources)
    for path, content in sources.items():
        if path not in (*smiles.ZINC_PARTS, smiles.DRUGS):
            read = {smiles.canonical(text.replace("\\\\", "\\"), False) for text in smiles.molecules_of(path, content)}
            assert read & set().union(*made.values()), path


def test_a_line_without_the_word_of_the_molecule_is_named():
    with pytest.raises(texts.WrongSourceError, match="a.pairs.txt.gz: 4 words a line are expected, not: '1 CCO'"):
        list(smiles.molecules_of("a.pairs.txt.gz", b"1 CCO 2 CCN\n\n1 CCO"))


def test_benchmarks_use_the_lines_that_were_chosen():
    """Made-up molecules in as many lines as the public files have."""
    lines = [f"{'C' * (number % 20 + 1)}O" for number in range(800)]
    test, tune = "".join(f"{line}\n" for line in lines), "".join(f"{line}\n" for line in lines[:360])
    dev, _ = benchmarks.qed_opt({"test": test.encode(), "valid": tune.encode()})
    assert dev.count(b"\n") == 400
    test, tune = ("".join(f"{line} -2.5\n" for line in lines[:count]) for count in (800, 200))
    table, _ = benchmarks.plogp_opt({"test": test.encode(), "valid": tune.encode()})
    assert table.count(b"\n") == 401 and table.splitlines()[1].endswith(b"\t0\t-2.5")
    with pytest.raises(texts.WrongSourceError, match="359 lines, expected 800"):
        benchmarks.qed_opt({"test": b"C\n" * 359})


def test_penalised_logp_of_a_published_molecule():
    row = benchmarks.penalised_logp("C[C@@H]1CC[C@@H](C(N)=O)CN1C(=O)c1nnn[n-]1", "-5.93727899018").split("\t")
    assert row[1:3] == ["-5.937279", "-4.277848"] and benchmarks.penalised_logp("C1CCCCCCC1", "0").split("\t")[5] == "2"


@pytest.mark.parametrize("model", [masked, latent], ids=["masked", "latent"])
def test_a_model_is_trained_on_the_public_sets(model, tmp_path, monkeypatch):
    """With the default files of the mix of every kind of molecule."""
    monkeypatch.setattr(smiles, "HELD_OUT", 0.2)
    monkeypatch.setattr(corpus.mix, "__defaults__", (400,))
    for name in ("zinc250k", "muv", "chembl_subsets", "coconut_subsets", "common_chemicals"):
        make(monkeypatch, name, tmp_path, "--changed")
    tiny = "--size tiny --samples 16 --batch 8 --threads 1 --device cpu --precision fp32 --evaluate 2 --merges 3"
    count = ["--count", "64"] if model is masked else []
    call(
        monkeypatch, model.main, "--data", tmp_path, "--runs", tmp_path / "runs", "--name", "run", *tiny.split(), *count
    )
    origin = json.loads((tmp_path / "runs" / "run" / "provenance.json").read_text())
    assert {*(broad.SHARES if model is masked else corpus.SHARES)} <= {*origin["data"]}
