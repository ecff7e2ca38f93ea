"""The label reader: its crops, its network and graph, and a training on own molecules. Run by `make test-train`."""

import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

from scripts.lint import cards
from scripts.served_reader import label_reader
from scripts.served_reader.drawing_reader import DrawingReader
from scripts.served_reader.labels import ATOM_LABELS
from scripts.tests.reader_detections import MOLECULES
from scripts.tests.train.test_reader import RUN, call, data, reader_constants  # noqa: F401
from scripts.train import reader, served, stored
from scripts.train.labels import __main__ as labels
from scripts.train.labels import crops, export, measure, model
from scripts.train.vision import batches, corpus


def drawings(count):
    programs = batches.Programs({batches.RDKIT: 1.0}, served.ENTRY)
    return crops.drawings(corpus.Corpus([(1.0, MOLECULES)], [MOLECULES]), programs, count, 1)


def tiny_model():
    torch.manual_seed(0)
    made = model.Model(model.Shape((4, 4, 8, 16), 2))
    made(torch.randint(0, 256, (8, label_reader.HEIGHT, label_reader.WIDTH), dtype=torch.uint8))  # Fills the norms.
    return made.eval()


def test_a_batch_has_the_letters_in_the_middle_of_the_crops():
    batch = crops.LabelBatches(drawings(6), 40).batch(0)
    lettered = (batch["characters"] > 0).any(1).numpy()
    middle = batch["crops"].numpy()[:, 32:80, 140:212]
    assert batch["crops"].shape == (40, label_reader.HEIGHT, label_reader.WIDTH) and lettered.sum() > 20
    assert np.mean([(crop > 60).any() for crop in middle[lettered]]) > 0.95


def test_a_batch_is_the_same_again():
    one, other = (crops.LabelBatches(drawings(4), 12).batch(3) for _ in range(2))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_the_graph_equals_the_network(tmp_path):
    network = tiny_model()
    given = torch.randint(0, 256, (5, label_reader.HEIGHT, label_reader.WIDTH), dtype=torch.uint8)
    with torch.no_grad():
        expected = network(given).numpy()
    model.graph(network).save(tmp_path / "label_reader.onnx", "label_reader")
    session = onnxruntime.InferenceSession(str(tmp_path / "label_reader.onnx"))
    np.testing.assert_allclose(session.run(None, {"crops": given.numpy()})[0], expected, atol=0.02)


def test_a_stored_network_is_loaded_again(tmp_path):
    network = tiny_model()
    (tmp_path / "1").mkdir()
    stored.write(tmp_path, {"phrases.x": torch.zeros(1), "atom_detector.x": torch.zeros(1)}, {})
    reader.replace(tmp_path, reader.LABELS, reader.stored_labels(network), network.shape)
    loaded = reader.load_labels(tmp_path)
    given = torch.randint(0, 256, (5, label_reader.HEIGHT, label_reader.WIDTH), dtype=torch.uint8)
    with torch.no_grad():
        torch.testing.assert_close(loaded(given), network(given), atol=0.02, rtol=0.02)
    assert {"phrases.x", "atom_detector.x"} < {*stored.tensors(tmp_path)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / stored.CONFIG).write_text("{}"), f"{stored.CONFIG}: labels: KeyError"),
        (lambda f: (f / stored.CONFIG).write_text('{"labels": {"size": 3}}'), f"{stored.CONFIG}: labels: TypeError"),
        (lambda f: stored.write(f, {}, stored.config(f)), "weights do not fit"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path, change, message):
    network = tiny_model()
    stored.write(tmp_path, {}, {})
    reader.replace(tmp_path, reader.LABELS, reader.stored_labels(network), network.shape)
    change(tmp_path)
    with pytest.raises(ValueError, match=message):
        reader.load_labels(tmp_path)


def test_the_shipped_weights_give_the_shipped_network(tmp_path):
    model.graph(reader.load_labels(served.ENTRY)).save(tmp_path / "label_reader.onnx", "label_reader")
    given = crops.LabelBatches(drawings(3), 16).batch(0)["crops"].numpy()
    made, shipped = (
        onnxruntime.InferenceSession(str(folder / "label_reader.onnx")).run(None, {"crops": given})[0]
        for folder in (tmp_path, served.VERSION)
    )
    np.testing.assert_allclose(made, shipped, atol=1e-4)


def test_the_shipped_network_reads_held_out_labels():
    """Bounds below the figures of the experiment 2026-11-28-reader-attachments-and-units, for fewer drawings."""
    found = measure.by_kind(reader.load_labels(served.ENTRY), measure.held_out(MOLECULES, 150))
    bounds = {"atoms": 0.86, "abbreviations": 0.8, "placeholders, such as R1 and X": 0.6}
    assert all(found[kind][0] > 50 and found[kind][1] > bound for kind, bound in bounds.items()), found


def test_an_own_label_reader_is_trained_and_exported(data, tmp_path, monkeypatch):  # noqa: F811
    own = ["--molecules", "own_train.smi.gz", "--valid", "own_valid.smi.gz", "--data", data]
    monkeypatch.setattr(measure, "QUICK", 3)
    call(monkeypatch, labels.main, "--name", "letters", "--runs", tmp_path / "runs", *own, *RUN)
    place = ["--repository", tmp_path / "repository", "--entry", "own_labels", "--calibrate", 4, "--count", 4]
    call(monkeypatch, export.main, "--run", tmp_path / "runs" / "letters", "--id", "own/labels-v1", *place)
    entry = tmp_path / "repository" / "own_labels"
    page = (entry / cards.CARD).read_text()
    assert "`own_train.smi.gz`" in page and cards.find_heading_problems(page) == []
    assert page.count("The model of drawings is that of [`retort/") == 4 and "| atoms | " in page
    for name, same in (("atom_detector", True), ("label_reader", False)):
        one, other = (reader_constants(folder / "1" / f"{name}.onnx") for folder in (entry, served.ENTRY))
        assert (one == other) == same
    assert DrawingReader(entry / "1").read(Image.new("RGB", (60, 40), "white")).smiles is None


def test_every_label_fits_into_the_slots():
    assert {len(label_reader.encoded(label)) for label in ATOM_LABELS} == {label_reader.SLOTS}
    assert max(map(len, ATOM_LABELS)) < label_reader.SLOTS
