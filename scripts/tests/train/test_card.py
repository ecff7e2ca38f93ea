"""Cards describe their run: trains, measures and exports tiny latent and masked models. Run by `make test-train`."""

import gzip
import hashlib
import json
import sys

import pytest
from rdkit import Chem

from scripts.lint import cards, manifest
from scripts.train import card, checkpoint, entry, provenance, training
from scripts.train.data import manifest as data_manifest
from scripts.train.embedding import export as embedding_export
from scripts.train.latent import __main__ as latent
from scripts.train.latent import corpus
from scripts.train.latent import evaluation as latent_evaluation
from scripts.train.latent import export as latent_export
from scripts.train.latent import report as latent_report
from scripts.train.masked import __main__ as masked
from scripts.train.masked import export as masked_export
from scripts.train.masked import report as masked_report
from scripts.train.phrases import export as phrases_export
from scripts.train.ranking import export as ranking_export
from scripts.train.vision import export as vision_export

MOLECULES = [
    Chem.CanonSmiles(smiles)
    for smiles in (
        "O=C(Nc1ccccc1)C1CCNCC1",
        "CC(=O)Oc1ccccc1C(=O)O",
        "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
        "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
        "CC(=O)Nc1ccc(O)cc1",
        "CN1CCC(CC1)NC(=O)c1ccccc1",
        "COc1ccccc1OCC(O)CN",
        "CCOC(=O)c1ccc(N)cc1",
        "CCN(CC)CC(=O)Nc1c(C)cccc1C",
        "CC(C)NCC(O)COc1cccc2ccccc12",
        "O=C(O)c1ccccc1Nc1ccccc1",
        "CCCC(=O)Nc1ccc(OC)cc1",
        "Clc1ccc(cc1)C1CCNCC1",
        "COc1ccc(CCN)cc1OC",
        "CC(=O)N1CCN(CC1)c1ccccc1",
        "O=S(=O)(Nc1ccccc1)c1ccccc1",
    )
]
SHIPPED_FACTS = (
    "ChEMBL",
    "PubChem",
    "shared CPU",
    "one thread",
    "retort/latent-v4",
    "retort/masked-v3",
    "Licence of these weights",
)
"""Facts of the shipped models, which the card of another run must not claim."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name in {*corpus.SHARES, *latent_evaluation.VALID}:
        text = "\n".join(MOLECULES) + "\n"
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return folder


TINY = (
    "--name tiny --size tiny --samples 32 --batch 8 --seed 5 --threads 1 --device cpu --precision fp32 --evaluate 2"
).split()
"""Options of a training of a few steps."""


def call(monkeypatch, main, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", *map(str, arguments)])
    main()


@pytest.fixture
def latent_run(data, tmp_path, monkeypatch):
    monkeypatch.setattr(latent.corpus.mix, "__defaults__", (64,))
    call(monkeypatch, latent.main, "--data", data, "--runs", tmp_path, "--merges", 3, *TINY)
    report = f"--run {tmp_path}/tiny --data {data} --molecules 4 --seeds 2 --threads 1"
    call(monkeypatch, latent_report.main, *report.split())
    return tmp_path / "tiny"


@pytest.fixture
def masked_run(data, tmp_path, monkeypatch):
    call(
        monkeypatch,
        masked.main,
        "--data",
        data,
        "--runs",
        tmp_path,
        "--merges",
        5,
        *TINY,
        "--mix",
        "druglike",
        "--qed",
        0.1,
    )
    report = f"--run {tmp_path}/tiny --data {data} --samples 4 --settings 1 --threads 1"
    call(monkeypatch, masked_report.main, *report.split())
    return tmp_path / "tiny"


def check(text, run, data, model_id, files):
    """A card describes its run, and claims nothing about another."""
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("| ", "    "))]
    flat = " ".join(text.split())
    state = checkpoint.load(run / "checkpoint.pt")
    assert f"| public id | `{model_id}` |" in text and cards.find_heading_problems(text) == []
    assert f"32 samples in {state['step']} steps of 8" in flat and "seed 5, fp32" in flat and ", 1 thread; " in flat
    assert "    python -m program --data DATA " in text and str(data) not in text and str(run.parent) not in text
    for name in files:
        held = hashlib.sha256(data_manifest.content(data / name)).hexdigest()
        assert f"| `{name}` | {len(MOLECULES)} | `{held}` | not known | not known |" in text
    table = text.partition("<!-- card-data -->\n")[2].partition("<!-- end of card-data -->\n")[0]
    assert sum(line.startswith("| `") for line in table.splitlines()) == len(files)
    assert not [words for words in SHIPPED_FACTS if words in text]
    assert (
        "## Licence of the weights\n\nNot stated." in text
        and 'Source and licence of the files marked "not known": not stated.' in text
    )


def export_again(export, run, repository, page, monkeypatch):
    """A second export rewrites the generated sections and leaves the author's text."""
    page.write_text(
        page.read_text().replace("Not stated.", "By the author.").replace("not stated", "my own molecules, CC0")
    )
    state = json.loads((run / "figures.json").read_text())
    (run / "figures.json").write_text(json.dumps({**state, "training": {**state["training"], "samples": 4096}}))
    monkeypatch.setattr(provenance, "read", lambda folder: {"commands": [], "machines": [], "data": {}})
    export(["--run", str(run), "--repository", str(repository), "--id", "house/second-v2"])
    text = page.read_text()
    assert text.count("By the author.") == 4 and "my own molecules, CC0" in text
    assert "`house/second-v2`" in text and "house/first" not in text and "4,096 samples" in text
    assert (
        "On a machine that was not recorded." in " ".join(text.split())
        and "The data files of the run were not recorded." in text
    )


def test_the_latent_card(latent_run, data, tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    latent_export.main(["--run", str(latent_run), "--repository", str(repository), "--id", "house/first-v1"])
    assert {e["id"] for e in manifest.read_entries(repository).values()} == {"house/first-v1"} and len(
        manifest.read_entries(repository)
    ) == 3
    page = repository / "latent_encoder" / "CARD.md"
    check(page.read_text(), latent_run, data, "house/first-v1", [*corpus.SHARES, *latent_evaluation.VALID])
    export_again(latent_export.main, latent_run, repository, page, monkeypatch)


def test_the_masked_card(masked_run, data, tmp_path, monkeypatch):
    repository = tmp_path / "repository"
    masked_export.main(["--run", str(masked_run), "--repository", str(repository), "--id", "house/first-v1"])
    page = repository / "masked" / "CARD.md"
    check(page.read_text(), masked_run, data, "house/first-v1", ["zinc250k_train.smi.gz", "zinc250k_valid.smi.gz"])
    export_again(masked_export.main, masked_run, repository, page, monkeypatch)


@pytest.mark.parametrize("export", [latent_export, masked_export], ids=["latent", "masked"])
def test_an_export_needs_a_new_id(export, tmp_path):
    record = {"entries": {}, "ids": {"house/old-v1": {"masked": [{"digest": "0"}]}}}
    (tmp_path / manifest.NAME).write_text(json.dumps(record))
    for arguments, message in (
        ([], "--id, .* is required"),
        (["--id", "house/old-v1"], "has house/old-v1 for other files"),
    ):
        with pytest.raises(SystemExit, match=message):
            export.main(["--repository", str(tmp_path), *arguments])
    entry.check_new("house/old-v2", tmp_path)


@pytest.mark.parametrize(
    ("export", "arguments"),
    [
        (embedding_export, ["--run", "."]),
        (ranking_export, ["--run", "."]),
        (phrases_export, ["--data", "."]),
        (vision_export, ["--data", "."]),
    ],
    ids=["embedding", "ranking", "phrases", "vision"],
)
def test_exports_into_the_repository_need_a_new_id(export, arguments, monkeypatch):
    for more, message in (
        ([], "--id, .* is required"),
        (["--id", "retort/molecule-reader-v2"], "has retort/molecule-reader-v2 for other files"),
    ):
        monkeypatch.setattr(sys, "argv", ["export", *arguments, *more])
        with pytest.raises(SystemExit, match=message):
            export.main()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "own reader", "-v", 'a"b', "é", "own\n"])
@pytest.mark.parametrize(
    "export", [embedding_export, ranking_export, latent_export, masked_export, phrases_export, vision_export]
)
def test_a_name_that_no_entry_can_have_is_refused(export, name, capsys):
    with pytest.raises(SystemExit):
        export.main([f"--entry={name}", "--id", "own/new-v1", "--run", "nowhere"])
    assert f"{name!r}: letters, digits, _, - and . are expected" in capsys.readouterr().err


def test_an_export_replaces_parameters_in_config(tmp_path):
    config = tmp_path / "config.pbtxt"
    config.write_text('name: "reader"\nparameters { key: "model_id"   value { string_value: "house/old-v1" } }\n')
    entry.set_parameter(config, "model_id", "house/new-v2")
    assert (
        config.read_text()
        == 'name: "reader"\nparameters { key: "model_id"   value { string_value: "house/new-v2" } }\n'
    )
    with pytest.raises(SystemExit, match="must have one parameter created, got 0"):
        entry.set_parameter(config, "created", "0")


def test_a_card_without_its_sections_is_left_alone(tmp_path):
    page = tmp_path / "CARD.md"
    page.write_text("# All by hand\n")
    with pytest.raises(LookupError, match="card-model"):
        card.write(page, "fill-mask", "A network.", tmp_path, {}, "")
    assert page.read_text() == "# All by hand\n"


def test_a_file_that_changes_between_calls_is_an_error(tmp_path):
    options = training.Options(name="run", runs=str(tmp_path), data=str(tmp_path), device="cpu")
    (tmp_path / "a.smi").write_text("C\n")
    provenance.record(options, ["a.smi"])
    provenance.record(options, ["a.smi"])
    assert (
        provenance.read(options.folder)["data"]["a.smi"]["rows"] == 1
        and len(provenance.read(options.folder)["machines"]) == 1
    )
    (tmp_path / "a.smi").write_text("CC\n")
    with pytest.raises(SystemExit, match="a.smi has changed"):
        provenance.record(options, ["a.smi"])


@pytest.mark.parametrize(("samples", "state"), [(99, "**an unfinished run, of 100 samples**"), (100, "fully decayed")])
def test_a_card_says_that_its_run_is_unfinished(samples, state):
    training = {
        "samples": samples, "step": 9, "seconds": 60, "falling": True,
        "options": {"samples": 100, "batch": 8, "seed": 1, "precision": "fp32"},
    }  # fmt: skip
    text = card.describe_training({"commands": [], "machines": [], "data": {}}, training)
    assert state in text and text.count(";") == 1
