"""The entry of the molecule reader: its weights, the graphs made of them, and models that are trained on own data and
exported. Run by `make test-train`."""

import dataclasses
import json
import os
import re
import shutil
import signal
import sys
import time

import onnx
import pytest
import safetensors.torch
import torch
from PIL import Image, ImageDraw

from scripts.lint import cards, manifest
from scripts.served_reader import intents, labels
from scripts.served_reader.drawing_reader import DrawingReader
from scripts.tests.reader_detections import MOLECULES
from scripts.train import checkpoint, reader, served, stored
from scripts.train.molecules import main as split_molecules
from scripts.train.phrases import __main__ as questions
from scripts.train.phrases import export as questions_export
from scripts.train.phrases import model as phrases
from scripts.train.vision import __main__ as drawings
from scripts.train.vision import average, batches, corpus
from scripts.train.vision import export as drawings_export
from scripts.train.vision import model as vision


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """An entry with the graphs made of the shipped weights."""
    folder = tmp_path_factory.mktemp("rebuilt")
    (folder / "1").mkdir()
    for name in (stored.WEIGHTS, stored.CONFIG):
        shutil.copy(served.ENTRY / name, folder)
    reader.write_graphs(folder)
    return folder


@pytest.mark.parametrize("name", ["atom_detector", "bond_classifier", "phrases"])
def test_the_shipped_weights_give_the_shipped_networks(rebuilt, name):
    """Equal bytes, but for the name of the graph."""
    made, shipped = (onnx.load(folder / "1" / f"{name}.onnx") for folder in (rebuilt, served.ENTRY))
    for model in (made, shipped):
        model.graph.ClearField("name")
    assert made.SerializeToString(deterministic=True) == shipped.SerializeToString(deterministic=True)


def test_the_configuration_has_the_served_labels():
    config = json.loads((served.ENTRY / stored.CONFIG).read_text())
    assert tuple(config["drawings"]["labels"]) == labels.DETECTED_LABELS
    shown = json.loads((served.VERSION / "phrases.json").read_text())
    assert {head: shown[head] for head in intents.HEADS} == config["questions"]["labels"]


def tiny_entry(folder, model):
    """Writes an entry with a model of drawings and the shipped one of questions."""
    (folder / "1").mkdir(parents=True)
    for name in (stored.WEIGHTS, stored.CONFIG):
        shutil.copy(served.ENTRY / name, folder)
    reader.replace(folder, reader.DRAWINGS, reader.stored_drawings(model), model.shape)
    return folder


def tiny_model(**shape):
    torch.manual_seed(0)
    model = vision.Model(vision.Shape(**vision.SIZES["tiny"] | shape))
    model(tiny_batch())  # Gives the norms statistics.
    return model.eval()


def tiny_batch():
    programs = batches.Programs({batches.RDKIT: 1.0}, served.ENTRY)
    return batches.Batches(corpus.Corpus([(1.0, MOLECULES)], []), programs, 6, 1).batch(0)


@pytest.mark.parametrize("blocks", [(1, 1), (3, 2)], ids=["the same blocks", "more blocks"])
def test_a_loaded_network_equals_the_stored_one(tmp_path, blocks):
    model = tiny_model()
    folder = tiny_entry(tmp_path / "entry", model)
    loaded = reader.load_drawings(folder, vision.Shape(**vision.SIZES["tiny"] | {"blocks": blocks}))
    with torch.no_grad():
        for output, expected in zip(loaded(tiny_batch()), model(tiny_batch()), strict=True):
            torch.testing.assert_close(output, expected, atol=0.02, rtol=0.02)
    again = reader.stored_drawings(reader.load_drawings(folder))
    before = safetensors.torch.load_file(folder / stored.WEIGHTS)
    assert all(torch.equal(before[name], value) for name, value in again.items())


def test_labels_are_matched_by_name(tmp_path):
    new = ["NH", "D", "CF3", "NTs"]
    old = tuple(name for name in labels.DETECTED_LABELS if name not in new)
    fewer = tiny_model(labels=old)
    fewer.atom_detector.atom[2].bias.data[:-2] -= 50  # The level of all logits is arbitrary.
    folder = tiny_entry(tmp_path / "entry", fewer)
    model = reader.load_drawings(folder, vision.Shape(**vision.SIZES["tiny"]))
    with torch.no_grad():
        atoms, wanted = model(tiny_batch())[0], fewer(tiny_batch())[0]
    at = [1 + labels.CLASSES[name] for name in new]
    same = [place for place in range(atoms.shape[1]) if place not in at]
    torch.testing.assert_close(atoms[:, same], wanted, atol=0.05, rtol=0.02)
    assert (atoms[:, at].amax(1) < wanted[:, :-2].amax(1)).all()


def test_labels_of_questions_are_matched_by_name():
    shape = phrases.Shape()
    shipped = reader.load_questions(served.ENTRY)
    more = dataclasses.replace(shape, labels=shape.labels | {"mode": ["maybe", *shape.labels["mode"]]})
    grown = reader.load_questions(served.ENTRY, more)
    assert torch.equal(grown.heads["mode"].weight[1:], shipped.heads["mode"].weight)
    torch.testing.assert_close(grown.heads["mode"].weight[0], shipped.heads["mode"].weight.mean(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / stored.WEIGHTS).unlink(), stored.WEIGHTS),
        (lambda f: (f / stored.WEIGHTS).write_bytes(b"x" * 99), stored.WEIGHTS),
        (lambda f: (f / stored.CONFIG).write_text("{"), stored.CONFIG),
        (lambda f: (f / stored.CONFIG).write_text("{}"), f"{stored.CONFIG}: drawings: KeyError"),
        (lambda f: (f / stored.CONFIG).write_text('{"drawings": []}'), f"{stored.CONFIG}: drawings: AttributeError"),
        (lambda f: (f / stored.CONFIG).write_text('{"drawings": {"widths": "x"}}'), f"{stored.CONFIG}: drawings: "),
        (
            lambda f: (f / stored.CONFIG).write_text('{"drawings": {"size": 3}}'),
            f"{stored.CONFIG}: drawings: TypeError",
        ),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, change, message):
    folder = tiny_entry(tmp_path / "entry", tiny_model())
    change(folder)
    with pytest.raises(ValueError, match=message):
        reader.load_drawings(folder)


def test_weights_that_do_not_fit_are_named(tmp_path):
    folder = tiny_entry(tmp_path / "entry", tiny_model())
    with pytest.raises(ValueError, match=r"do not fit: atom_detector\S+ is \(.*\), not \("):
        reader.load_drawings(folder, vision.Shape(**vision.SIZES["small"]))
    with pytest.raises(ValueError, match=r"at16.1.\S+ is \(.*\), not known"):
        reader.load_drawings(
            tiny_entry(tmp_path / "more", tiny_model(blocks=(2, 2))), vision.Shape(**vision.SIZES["tiny"])
        )


def call(monkeypatch, main, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "program", *map(str, arguments)])
    main()


RUN = "--samples 12 --batch 6 --threads 1 --device cpu --precision fp32".split()


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Own molecules and questions."""
    rows = [f"O=C(N{a})c1ccc({b})cc1" for a in ("C", "CC", "CCO", "CC#N") for b in ("C", "Cl", "OC", "F", "N", "Br")]
    (tmp_path / "own.smi").write_text("\n".join(rows))
    call(monkeypatch, split_molecules, tmp_path / "own.smi", "--data", tmp_path / "data", "--held-out", 0.4)
    (tmp_path / "data" / "own.txt").write_text("== beyond\nwhen does the [shop|bar] open\n--\nwho won the match\n")
    return tmp_path / "data"


def test_an_own_reader_is_trained_exported_and_trained_further(data, tmp_path, monkeypatch):
    shipped = manifest.hashes(served.ENTRY)
    runs, repository = tmp_path / "runs", tmp_path / "repository"
    own = ["--molecules", "own_train.smi.gz", "--valid", "own_valid.smi.gz", "--evaluate", 1, "--data", data]
    call(monkeypatch, drawings.main, "--name", "own", "--runs", runs, "--size", "tiny", *own, *RUN)
    export = ["--repository", repository, "--entry", "own_reader", "--calibrate", 4, "--count", 4]
    call(monkeypatch, drawings_export.main, "--run", runs / "own", "--id", "own/reader-v1", *export)
    entry = repository / "own_reader"
    page = (entry / cards.CARD).read_text()
    assert manifest.read_entries(repository)["own_reader"]["id"] == "own/reader-v1"
    assert 'name: "own_reader"' in (entry / "config.pbtxt").read_text() and not (entry / "EVALUATION.md").exists()
    assert DrawingReader(entry / "1").read(simple_drawing()) is not None
    assert "`own_train.smi.gz`" in page and "zinc250k" not in page and cards.find_heading_problems(page) == []
    assert "12 samples in 2 steps of 6" in page and f"`{served.ENTRY.name}" not in page and str(tmp_path) not in page
    assert page.count("The model of questions is that of [`retort/") == 4 and "| RDKit's default style |" in page
    for name in ("phrases.onnx", "phrases.json"):
        wanted = reader_constants(served.VERSION / name), reader_constants(entry / "1" / name)
        assert wanted[0].items() <= wanted[1].items()

    # The same entry gets an own model of questions, and keeps that of drawings.
    call(
        monkeypatch,
        questions.main,
        "--name",
        "asked",
        "--runs",
        runs,
        "--questions",
        "own.txt",
        "--sets",
        "--data",
        data,
        *RUN,
    )
    monkeypatch.setattr(questions_export.measure, "TEXTS", 20)
    export = ["--repository", repository, "--entry", "own_reader", "--id", "own/reader-v2"]
    before = (entry / "1" / "atom_detector.onnx").read_bytes()
    call(monkeypatch, questions_export.main, "--run", runs / "asked", *export)
    page = (entry / cards.CARD).read_text()
    assert (entry / "1" / "atom_detector.onnx").read_bytes() == before
    assert "`own_train.smi.gz`" in page and "`own.txt`" in page
    assert page.count("is that of [`retort/") == page.count("The model of labels is that of [`retort/") == 4
    assert re.search(r"\| 1[89]\d held-out wordings: the family is right", page) and "`own/reader-v2`" in page

    # Both are trained further.
    call(monkeypatch, drawings.main, "--name", "more", "--runs", runs, "--start", entry, *own, *RUN)
    call(
        monkeypatch,
        questions.main,
        "--name",
        "asked-more",
        "--runs",
        runs,
        "--start",
        served.ENTRY,
        "--sets",
        "--data",
        data,
        *RUN,
    )
    started = checkpoint.load(runs / "more" / "checkpoint.pt")["model"]["atom_detector.stem.weight"]
    assert (started - reader.load_drawings(entry).atom_detector.stem.weight).abs().max() < 0.1
    monkeypatch.setattr(average, "NORM_BATCHES", 1)
    call(monkeypatch, average.main, "--run", runs / "more", "--start", entry, "--to", runs / "averaged")
    export = ["--repository", repository, "--entry", "second", "--calibrate", 4, "--count", 4, "--id", "own/reader-v3"]
    call(monkeypatch, drawings_export.main, "--run", runs / "averaged", *export)
    assert (
        "The training started from [`own/reader-v2`](../own_reader/CARD.md)"
        in (repository / "second" / cards.CARD).read_text()
    )
    assert manifest.hashes(served.ENTRY) == shipped  # nothing changes the shipped entry


def reader_constants(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())
    return {tensor.name: tensor.SerializeToString() for tensor in onnx.load(path).graph.initializer}


def simple_drawing():
    picture = Image.new("RGB", (120, 90), "white")
    ImageDraw.Draw(picture).line([(10, 10), (60, 70), (110, 10)], "black", 2)
    return picture


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--molecules", "own_valid.smi.gz"], "a file of --molecules cannot be one of --valid"),
        (["--molecules", "own_train.smi.gz", "--programs", "rdkit=0"], "--programs rdkit=0: the share"),
        (["--molecules", "own_train.smi.gz", "--programs", "rdkit", "cdk"], "cdk.jsonl.*other_programs makes it"),
        (["--molecules", "none.smi"], "none.smi: "),
        (["--molecules", "own_train.smi.gz", "--start", "nowhere"], "--start: nowhere/config.json: "),
        (["--molecules", "own_train.smi.gz", "--bonds-only"], "--bonds-only needs --start"),
        (["--molecules", "own_train.smi.gz", "--size", "large", "--start", str(served.ENTRY)], "weights do not fit"),
    ],
)
def test_wrong_options_are_named(data, tmp_path, monkeypatch, arguments, message):
    more = ["--valid", "own_valid.smi.gz", "--data", data, "--runs", tmp_path / "runs"]
    with pytest.raises(SystemExit, match=f"(?s){message}"):
        call(monkeypatch, drawings.main, *more, *RUN, *arguments)


def test_an_entry_with_other_code_or_a_card_by_hand_is_left_alone(tmp_path, monkeypatch):
    target = tmp_path / "repository" / "own_reader"
    shutil.copytree(served.ENTRY, target)
    before = manifest.hashes(target)
    for file, text, message in (
        (target / cards.CARD, "# By hand\n", "card-model-drawings"),
        (target / "1" / "reader" / "labels.py", "ATOM_LABELS = ()", "has other labels"),
    ):
        file.write_text(text)
        with pytest.raises(SystemExit, match=message), reader.draft(target.parent, target.name, tmp_path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["repository"]
    assert {n: h for n, h in manifest.hashes(target).items() if n != "1/reader/labels.py"} == {
        n: h for n, h in before.items() if n != "1/reader/labels.py"
    }


def test_an_export_that_is_terminated_leaves_nothing(tmp_path):
    with (
        pytest.raises(SystemExit, match="143"),
        reader.draft(tmp_path / "repository", "own_reader", tmp_path) as folder,
    ):
        assert (folder / stored.WEIGHTS).exists()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
