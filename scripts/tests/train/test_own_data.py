"""Models trained on a user's own molecules: from a file with a SMILES per line to entries that can be served."""

import gzip
import json
import shutil
import sys
import types
from collections import Counter

import pytest
import tiny_entries
import torch

from scripts.lint import manifest
from scripts.train import collection, configuration, files, molecules, training
from scripts.train import stored as entry_weights
from scripts.train.embedding import __main__ as embedding
from scripts.train.embedding import corpora, examples
from scripts.train.latent import __main__ as latent
from scripts.train.latent import export as latent_export
from scripts.train.latent import report as latent_report
from scripts.train.masked import __main__ as masked
from scripts.train.masked import data as masked_data
from scripts.train.masked import export as masked_export
from scripts.train.masked import report as masked_report

TINY = "--size tiny --samples 32 --batch 8 --threads 1 --device cpu --precision fp32 --evaluate 2".split()
RESIDUES = ("C", "CC", "CO", "CN(C)C", "c1ccccc1", "C(F)(F)F", "Cl", "OC", "C#N", "C1CC1")


def call(monkeypatch, main, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", *map(str, arguments)])
    main()


@pytest.fixture
def data(tmp_path, monkeypatch, capsys):
    """Own molecules with names, in two files, prepared by scripts.train.molecules."""
    rows = [
        f"O=C(N{a})c1ccc({b})cc1 compound {i}" for i, (a, b) in enumerate((a, b) for a in RESIDUES for b in RESIDUES)
    ]
    left_out = ["", "nonsense", "C", rows[0], "CCO.Cl", "C" * 90, "[NH3]->[Pt+2]<-[NH3]"]
    (tmp_path / "one.smi").write_text("\n".join([*rows[:50], *left_out]) + "\n")
    (tmp_path / "two.smi.gz").write_bytes(gzip.compress("\n".join(rows[50:]).encode()))
    files = tmp_path / "one.smi", tmp_path / "two.smi.gz"
    call(monkeypatch, molecules.main, *files, "--data", tmp_path / "data", "--held-out", 0.1)
    printed = capsys.readouterr().out
    reasons = "1 invalid, 1 mixtures, 1 repeated, 2 too small or large, 1 with dative bonds"
    assert printed.startswith("106 lines: ") and reasons in printed
    return tmp_path / "data"


def test_the_files_have_each_molecule_once(data, tmp_path, monkeypatch):
    training = molecules.read_molecules(data / "own_train.smi.gz")
    held_out = molecules.read_molecules(data / "own_valid.smi.gz")
    assert len({*training, *held_out}) == len(training) + len(held_out) == 100
    assert all(molecules.is_held_out(m, 0.1) for m in held_out) and not any(
        molecules.is_held_out(m, 0.1) for m in training
    )
    before = (data / "own_train.smi.gz").read_bytes()
    call(monkeypatch, molecules.main, tmp_path / "one.smi", tmp_path / "two.smi.gz", "--data", data, "--held-out", 0.1)
    assert (data / "own_train.smi.gz").read_bytes() == before


def test_stereoisomers_are_held_out_together():
    for smiles in ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O", "CC(N)C(=O)O"):
        assert molecules.is_held_out(smiles, 0.5) == molecules.is_held_out("CC(N)C(=O)O", 0.5)


def test_long_lines_are_not_parsed():
    left_out: Counter[str] = Counter()
    assert list(molecules.clean(["CCO", "C" * 500_000, "?" * 3001, "?"], 60, False, left_out)) == ["CCO"]
    assert left_out == {"too small or large": 2, "invalid": 1}


def test_files_of_windows_are_read(tmp_path):
    (tmp_path / "own.smi").write_bytes("\ufeffCCO\tÉthanol\r\n\r\n".encode() + b"CCN \xe9thylamine\r\n")
    assert molecules.read_molecules(tmp_path / "own.smi") == ["CCO", "CCN"]


def test_a_damaged_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "own.smi.gz").write_bytes(gzip.compress(b"CCO\n" * 99)[:-12])
    (tmp_path / "own.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 99)[:-12])
    (tmp_path / "latin.jsonl").write_bytes(b'{"text": "\xe9"}')
    for program, name in ((molecules, "own.smi.gz"), (collection, "own.jsonl.gz"), (collection, "latin.jsonl")):
        with pytest.raises(SystemExit, match=name):
            call(monkeypatch, program.main, tmp_path / name, "--data", tmp_path)


def test_a_line_without_end_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    for program, name in ((molecules, "own.smi"), (collection, "own.jsonl")):
        (tmp_path / name).write_text("\n" + "C" * 101)
        with pytest.raises(
            SystemExit, match=f"{program.__name__.rpartition('.')[2]}: .*{name}:2: a line of more than 100"
        ):
            call(monkeypatch, program.main, tmp_path / name, "--data", tmp_path)


@pytest.mark.parametrize("name", ["../own", "a/b", ""])
def test_a_name_is_no_folder(tmp_path, monkeypatch, capsys, name):
    for program in (molecules, collection):
        with pytest.raises(SystemExit):
            call(monkeypatch, program.main, tmp_path / "own", "--data", tmp_path / "data", "--name", name)
        assert f"--name {name}: " in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "nonsense\n", "CCO\n"])
def test_too_few_molecules_are_refused(tmp_path, monkeypatch, text):
    (tmp_path / "own.smi").write_text(text)
    with pytest.raises(SystemExit, match="too few"):
        call(monkeypatch, molecules.main, tmp_path / "own.smi", "--data", tmp_path)
    assert not list(tmp_path.glob("own_*"))


@pytest.mark.parametrize(
    ("name", "model", "report", "export", "valid"),
    [
        ("masked", masked, masked_report, masked_export, ["--valid", "own_valid.smi.gz"]),
        ("latent", latent, latent_report, latent_export, ["--valid", "own_valid.smi.gz"]),
    ],
    ids=["masked", "latent"],
)
def test_a_model_is_trained_on_own_molecules(name, model, report, export, valid, data, tmp_path, monkeypatch):
    run = ["--name", "own", "--runs", str(tmp_path / "runs")]
    call(monkeypatch, model.main, *run, *TINY, "--data", data, "--molecules", "own_train.smi.gz", "--merges", 3, *valid)
    stored = configuration.load(tmp_path / "runs" / "own")
    assert stored["molecules"] == ["own_train.smi.gz"] and stored["samples"] == 32
    call(monkeypatch, model.main, *run, "--samples", 64)  # resumes with the same configuration
    measure = {"masked": ["--samples", "4", "--settings", "1"], "latent": ["--molecules", "4", "--seeds", "2"]}[name]
    call(monkeypatch, report.main, "--run", tmp_path / "runs/own", "--data", data, "--threads", 1, *measure)
    repository = tmp_path / "repository"
    entry = {"masked": "own", "latent": "own_latent"}[name]
    export.main(
        ["--run", str(tmp_path / "runs/own"), "--repository", str(repository), "--id", "own/v1", "--entry", entry]
    )
    entries = manifest.read_entries(repository)
    assert all(e["id"] == "own/v1" for e in entries.values()) and all(n.startswith("own") for n in entries)
    weights = next(repository.glob("*/model.safetensors")).parent
    assert entry_weights.config(weights)["ranges"] == {}
    rounding = ["--run", str(tmp_path / "runs/own"), "--repository", str(tmp_path / "int8"), "--id", "own/v1", "--int8"]
    if model is masked:
        with pytest.raises(SystemExit, match="the report measured the graph without --int8"):
            export.main(rounding)
        call(
            monkeypatch, report.main, "--run", tmp_path / "runs/own", "--data", data, "--int8", "--threads", 1, *measure
        )
    export.main(rounding)
    rounded = next((tmp_path / "int8").glob("*/model.safetensors")).parent
    assert entry_weights.config(rounded)["ranges"] and (rounded / "1/model.onnx").exists()
    page = next(repository.glob("*/CARD.md")).read_text()
    assert "`own_train.smi.gz`" in page and "zinc250k" not in page
    damaged = tmp_path / "damaged"
    shutil.copytree(tmp_path / "runs/own", damaged)
    again = ["--run", str(damaged), "--repository", str(repository), "--id", "own/v2", "--entry", entry, "--int8"]
    for file in ("figures.json", "vocab.txt", {"masked": "strings.npz", "latent": "corpus.npz"}[name]):
        content = (damaged / file).read_bytes()
        (damaged / file).write_bytes(b"{}")
        with pytest.raises(SystemExit, match="^export: .*damaged"):
            export.main(again)
        (damaged / file).write_bytes(content)
    assert manifest.read_entries(repository) == entries and {p.name for p in damaged.iterdir() if p.is_dir()} <= {
        "tensorboard"
    }
    for number, start in enumerate((tmp_path / "runs/own", next(repository.glob("*/model.safetensors")).parent)):
        more = ["--name", f"more{number}", "--runs", tmp_path / "runs", "--data", data, "--start", start, *TINY[2:]]
        call(monkeypatch, model.main, *more, "--molecules", "own_train.smi.gz", "--merges", 0, *valid)
    shapes = [(tmp_path / "runs" / name / "shape.json").read_text() for name in ("own", "more0", "more1")]
    assert len(set(shapes)) == 1


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (masked, ["--molecules", "missing.smi"], "missing.smi"),
        (latent, ["--molecules", "own_train.smi.gz=0"], "share must be a positive number"),
        (latent, ["--molecules", "own_train.smi.gz=half"], "share must be a positive number"),
        (masked, ["--size", "tiny", "--start", "somewhere"], "leave out --size"),
        (
            masked,
            ["--molecules", "own_train.smi.gz", "--valid", "own_valid.smi.gz", "--start", "nowhere"],
            "--start: nowhere/model.safetensors: ",
        ),
        (
            latent,
            ["--molecules", "own_train.smi.gz", "--valid", "own_valid.smi.gz", "--start", "nowhere"],
            "--start: nowhere/model.safetensors: ",
        ),
        (
            masked,
            ["--molecules", "header.smi", "--valid", "own_valid.smi.gz"],
            "header.smi: tokens: no token at character 2 of 'smiles'",
        ),
        (latent, ["--molecules", "own_train.smi.gz", "--valid", "empty.smi"], "empty.smi has no molecules"),
        (latent, ["--molecules", "own_train.smi.gz", "--valid", "own_valid.smi.gz", "own_valid.b.smi"], "must differ"),
        (
            masked,
            [*"--molecules own_train.smi.gz --valid own_valid.smi.gz --batch 5000".split()],
            "fewer than one batch",
        ),
    ],
)
def test_wrong_data_is_named(model, arguments, message, data, tmp_path, monkeypatch):
    (data / "header.smi").write_text("smiles\nCCO\n")
    (data / "empty.smi").touch()
    (data / "own_valid.b.smi").write_text("CCO\n")
    run = ["--runs", str(tmp_path / "runs"), "--samples", "8", "--data", data, "--device", "cpu"]
    with pytest.raises(SystemExit, match=message):
        call(monkeypatch, model.main, *run, *arguments)


ROWS = [
    {"query": f"How is disease {i} treated?", "passage": f"Disease {i} is treated with drug {i * 7}.", "title": f"{i}"}
    for i in range(60)
]
DOCUMENT = {"text": "The first sentence is about a retort. The second one is about glass. A third is about heating it."}


def collect(monkeypatch, tmp_path, rows):
    (tmp_path / "own.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    call(monkeypatch, collection.main, tmp_path / "own.jsonl", "--data", tmp_path / "data")


def test_a_collection_has_the_passages_of_pairs_triples_and_documents(tmp_path, monkeypatch):
    same = {"query": ROWS[0]["query"], "passage": "Another answer.", "negative": ROWS[1]["passage"]}
    collect(monkeypatch, tmp_path, [*ROWS, ROWS[3], same, DOCUMENT, {"text": "Too short."}])
    train, dev, test = (corpora.load(tmp_path / "data", "own", split) for split in ("train", "dev", "test"))
    queries = {query.text: query for query in (*train.queries, *dev.queries, *test.queries)}
    assert len(queries) == 61 and train.queries and dev.queries and test.queries
    assert len(queries[ROWS[0]["query"]].positives) == 2
    cut = next(text for text in queries if text in DOCUMENT["text"])
    rest = train.passages | test.passages
    assert cut not in (answer := rest[min(queries[cut].positives)]) and len(answer) + len(cut) >= 90
    assert "Too short." in rest.values() and len(rest) == 64  # the negative has another title than its pair


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "own.jsonl:2: Expecting"),
        ('{"text": "\\ud800"}', "own.jsonl:2: 'utf-8'"),
        ("[" * 100_000, "own.jsonl:2: "),
        ("[]", "own.jsonl:2: expected"),
        ('{"query": "q"}', "own.jsonl:2: expected"),
        ('{"query": "q", "passage": 3}', "own.jsonl:2: passage must be a text"),
        ('{"query": " ", "passage": "p"}', "own.jsonl:2: query must be a text"),
        ('{"query": "q", "passage": "p", "score": 1}', "own.jsonl:2: expected"),
        ('{"query": "q", "passage": "p"}', "too few queries"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, monkeypatch, line, message):
    (tmp_path / "own.jsonl").write_text(f'{{"text": "A document."}}\n{line}\n')
    with pytest.raises(SystemExit, match=message):
        call(monkeypatch, collection.main, tmp_path / "own.jsonl", "--data", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_two_files_of_one_stem_have_their_own_scores(tmp_path):
    (tmp_path / "own.a.smi").write_text("CCO\n")
    (tmp_path / "own.b.smi").write_text("c1ccccc1C(=O)NC\n")
    options = training.Options(runs=str(tmp_path), data=str(tmp_path))
    strings = masked_data.prepare_druglike(options, ["own.a.smi", "own.b.smi"], 0, 0.0, 10.0)
    assert "".join(strings.vocabulary.tokens).count("c") > 0


def test_a_public_name_is_refused(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        call(monkeypatch, collection.main, tmp_path / "x", "--data", tmp_path, "--name", "medquad")
    assert "--name medquad: " in capsys.readouterr().err


def test_examples_of_a_changed_collection_are_refused(tmp_path, monkeypatch):
    start = tmp_path / "start"
    tiny_entries.write_minilm(start)
    monkeypatch.setattr(examples.vectors, "load_tokenizer", lambda _: LetterTokenizer())
    monkeypatch.setattr(examples.vectors, "torch_embed", lambda *_: embed_letters)
    arguments = "--start", start, "--sets", "own", "--data", tmp_path / "data", "--out", tmp_path / "out"
    with pytest.raises(SystemExit, match="has no collection own"):
        call(monkeypatch, examples.main, *arguments)
    collect(monkeypatch, tmp_path, ROWS)
    call(monkeypatch, examples.main, *arguments)
    call(monkeypatch, examples.main, *arguments)  # not mined again
    mined = examples.load_sets(tmp_path / "out")
    with pytest.raises(SystemExit, match="no set has a batch of 500 queries"):
        embedding.Sampler(mined, LetterTokenizer(), 500, 2, 64, 8, 32, 32, 1)
    (start / "config.json").write_text('{"model_type": "two-mode"}')
    with pytest.raises(SystemExit, match="start.model.safetensors: .* do not fit"):
        call(monkeypatch, examples.main, *arguments)
    tiny_entries.write_minilm(start, seed=2)
    with pytest.raises(SystemExit, match="own.pt was mined with another model"):
        call(monkeypatch, examples.main, *arguments)
    with pytest.raises(SystemExit, match="own.pt was mined with another model"):
        examples.load_sets(tmp_path / "out", start)
    collect(monkeypatch, tmp_path, ROWS[1:])
    with pytest.raises(SystemExit, match="own has changed since"):
        call(monkeypatch, examples.main, *arguments)


def test_examples_are_mined_from_an_own_collection(tmp_path, monkeypatch):
    collect(monkeypatch, tmp_path, ROWS)
    chosen = examples.training_collection(tmp_path / "data", "own", None, 1)
    mined = examples.mine(chosen, None, embed_letters, LetterTokenizer(), 1)
    assert len(mined.queries) == len(chosen.queries) and any(mined.negatives)
    for positive, negatives in zip(mined.positives, mined.negatives):
        assert positive not in negatives


class LetterTokenizer:
    """A token a letter."""

    def encode_batch(self, texts):
        return [types.SimpleNamespace(ids=[ord(letter) % 100 for letter in text]) for text in texts]


def embed_letters(ids, mask):
    counts = torch.stack([torch.bincount(row[m > 0], minlength=100) for row, m in zip(ids, mask)]).float()
    return counts / counts.norm(dim=1, keepdim=True)
