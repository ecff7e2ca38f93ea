"""The networks of the molecule reader: batches, training, ONNX graphs, warm starts. Run by `make test-train`."""

import base64
import copy
import dataclasses
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from rdkit import Chem

from scripts.served_reader import detection, ink, networks, sparse_cells
from scripts.tests.reader_detections import MOLECULES
from scripts.train import training
from scripts.train.vision import (
    average,
    batches,
    calibration,
    corpus,
    drawing,
    evaluation,
    graphs,
    norms,
    targets,
)
from scripts.train.vision import model as vision


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = vision.Model(vision.Shape(**vision.SIZES["tiny"]))
    network(make_batches().batch(0))  # Gives the norms statistics.
    return network.half().float().eval()


RDKIT = batches.Programs({batches.RDKIT: 1.0}, Path("no such folder"))


def make_batches(programs=RDKIT, **options):
    return batches.Batches(corpus.Corpus([(1.0, MOLECULES)], []), programs, 6, 1, **{"uses": 2, **options})


def test_targets_point_at_the_atoms():
    drawn = drawing.draw(MOLECULES[0], Random(0), True)
    sample = batches.sample(drawn, np.random.default_rng(0))
    level = sparse_cells.sparse_cells([sample.ink]).levels[1]
    target, offset = targets.atoms_at_cells(level.centres(), sample.points, sample.classes)
    has_atom = target > 0
    votes = level.centres()[has_atom] + offset[has_atom]
    assert {tuple(p) for p in np.round(votes, 2)} == {tuple(p) for p in np.round(sample.points, 2)}


def test_sparse_convolution_equals_the_dense_one_on_inked_cells():
    random = np.random.default_rng(0)
    inks = [np.where(random.random((40, 56)) < 0.02, 255, 0).astype(np.uint8) for _ in range(2)]
    cells = sparse_cells.sparse_cells(inks)
    level = cells.levels[1]
    x = torch.randn(len(level), 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(45, 3, dtype=torch.float64, requires_grad=True)
    neighbours = torch.from_numpy(level.neighbours)
    y = vision.SparseConvolution.apply(x, weight, neighbours)
    plane = torch.zeros(5, level.ids.shape[0] - 2, level.ids.shape[1] - 2, dtype=torch.float64)
    plane[:, level.rows, level.columns] = x.detach().t()
    dense = torch.nn.functional.conv2d(plane[None], weight.detach().view(3, 3, 5, 3).permute(3, 2, 0, 1), padding=1)[0]
    assert torch.allclose(y, dense[:, level.rows, level.columns].t())
    inputs = x[:, :2].detach().requires_grad_(), weight[:18, :2].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: vision.SparseConvolution.apply(x, w, neighbours), inputs)


def test_a_batch_is_a_function_of_its_step():
    one, other = make_batches(), make_batches()
    other.batch(1)
    for key, value in one.batch(50).items():
        assert torch.equal(value, other.batch(50)[key]), key


def test_the_loss_falls():
    torch.manual_seed(0)
    network, batch = vision.Model(vision.Shape(**vision.SIZES["tiny"])), make_batches().batch(0)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    values = []
    for _ in range(25):
        value, _ = vision.loss(network, batch)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.6 * values[0]


def test_graphs_equal_torch(network, tmp_path):
    graphs.save(network, tmp_path)
    onnx, trained = networks.OnnxNetworks(tmp_path, 1), evaluation.TorchNetworks(network)
    small = batches.sample(drawing.draw(MOLECULES[0], Random(0), True), np.random.default_rng(0)).ink
    cells = sparse_cells.sparse_cells([small])
    features, *heads = onnx.detect_atoms(cells)
    with torch.no_grad():
        expected = network.atom_detector(batches.cell_tensors(cells))
        lines = network.bond_classifier(
            expected[0], torch.zeros(3, detection.LINE_POINTS, dtype=torch.int64), torch.ones(3, 4)
        )
    for output, wanted in zip((features, *heads), expected):
        np.testing.assert_allclose(output, wanted.numpy(), atol=1e-3)
    np.testing.assert_allclose(
        onnx.classify_bonds(features, np.zeros((3, detection.LINE_POINTS), np.int64), np.ones((3, 4), np.float32)),
        lines.numpy(),
        atol=1e-3,
    )
    assert trained.detect_atoms(cells)[0].shape == features.shape


def test_confidence_is_calibrated():
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (4000, 5))
    right = random.random(4000) < 1 / (1 + np.exp(-(0.5 + 2 * x[:, 0] - x[:, 3])))
    assert np.array(calibration.fit(x, right.astype(float))) == pytest.approx([0.5, 2, 0, 0, -1, 0], abs=0.25)


def test_a_run_writes_weights(tmp_path):
    options = training.Options(
        name="vision", runs=str(tmp_path), samples=12, batch=6, device="cpu", precision="fp32", threads=1
    )
    network = vision.Model(vision.Shape(**vision.SIZES["tiny"]))
    training.run(
        options, network, make_batches().batch, vision.loss, lambda model, step: evaluation.quick(model, MOLECULES, 1)
    )
    assert (tmp_path / "vision" / "weights.safetensors").exists()


def test_the_bond_classifier_is_trained_alone(tmp_path):
    options = training.Options(
        name="vision", runs=str(tmp_path), samples=12, batch=6, device="cpu", precision="fp32", threads=1
    )
    network = vision.Model(vision.Shape(**vision.SIZES["tiny"]))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network.train_bonds_only()
    after = training.run(options, network, make_batches().batch, vision.loss, lambda model, step: {}).state_dict()
    changed = {name.split(".")[0] for name, value in before.items() if not torch.equal(after[name], value)}
    assert changed == {"bond_classifier"}


def test_the_smallest_molecules_have_the_scales_of_retries():
    random = Random(1)
    found = {corpus.smallest_molecule(random) for _ in range(300)}
    assert {"C", "N", "O", "C=O"} <= found and all(Chem.MolFromSmiles(s).GetNumHeavyAtoms() < 3 for s in found)
    for smiles in ("C", "N", "C=O", "CO"):
        drawn = drawing.draw(smiles, random, True)
        box = ink.box_of(drawn.ink)
        usual = ink.scale_of(box)
        for seed in range(5):
            sample = batches.sample(drawn, np.random.default_rng(seed))
            scale = (sample.ink.shape[1] - 2 * ink.MARGIN) / ((box[2] - box[0]) * usual)
            assert 0.17 < scale < 0.65


def test_tight_crops_cut_through_the_outermost_letters():
    drawn = drawing.draw("OCCN", Random(1), default=True)
    box = ink.box_of(drawn.ink)
    boxes = [batches.tighten(box, drawn, np.random.default_rng(seed)) for seed in range(200)]
    moved = {side for tight in boxes for side in range(4) if tight[side] != box[side]}
    assert len(moved) >= 2
    for left, top, right, bottom in boxes:
        assert (drawn.points >= (left, top)).all() and (drawn.points < (right, bottom)).all()
    outside = dataclasses.replace(drawn, points=drawn.points - 40)  # As after a rotation that loses a corner.
    for seed in range(50):
        left, top, right, bottom = batches.tighten(box, outside, np.random.default_rng(seed))
        assert box[0] <= left < right <= box[2] and box[1] <= top < bottom <= box[3]


def test_unreadable_smiles_are_skipped():
    mixed = batches.Batches(
        corpus.Corpus([(1.0, [*MOLECULES, "c1cccc1", "not SMILES"])], []),
        RDKIT,
        12,
        1,
        uses=1,
    )
    assert all(len(mixed.drawings(group)) == 12 for group in range(20))  # One in 17 is cut to a fragment.


def test_drawings_of_other_programs_are_mixed_in(tmp_path):
    png, drawn = drawing.picture(MOLECULES[0], Random(0), True)
    record = {
        "png": base64.b64encode(png).decode(),
        "points": drawn.points.tolist(),
        "atoms": drawn.atoms,
        "bonds": drawn.bonds.tolist(),
    }
    (tmp_path / "drawings").mkdir()
    (tmp_path / "drawings" / "indigo.jsonl").write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    half = batches.Programs({batches.RDKIT: 1.0, "indigo": 1.0}, tmp_path)
    drawn_by = [half.draw(Random(seed)) for seed in range(100)]
    others = [found for found in drawn_by if found]
    assert 30 < len(others) < 70 and all(found.atoms == drawn.atoms for found in others)
    assert len(make_batches(half).drawings(0)) == 3
    alone = batches.Programs({"indigo": 1.0}, tmp_path)
    assert all(alone.draw(Random(seed)) for seed in range(10))


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "other_programs makes it"), ("", "no drawings"), ("{}\n", "drawing at byte 0: KeyError")],
)
def test_wrong_drawings_of_another_program_are_named(tmp_path, text, message):
    if text is not None:
        (tmp_path / "drawings").mkdir()
        (tmp_path / "drawings" / "cdk.jsonl").write_text(text)
    with pytest.raises((SystemExit, ValueError), match=rf"(?s)cdk.*{message}"):
        batches.Programs({"cdk": 1.0}, tmp_path).draw(Random(0))


def test_the_shares_of_own_molecules(tmp_path):
    (tmp_path / "a.smi").write_text("CCO\nCCN\n")
    (tmp_path / "b.smi").write_text(f"CCCO\n{'C' * 200}\n")
    (tmp_path / "large.smi").write_text("C" * 200)
    found = corpus.load(tmp_path, {"a.smi": 3.0, "b.smi": 1.0})
    assert [(round(share, 2), molecules) for share, molecules in found.files] == [
        (0.57, ["CCO", "CCN"]),
        (0.19, ["CCCO"]),
    ]
    assert {found._sample(Random(seed)) for seed in range(50)} == {"CCO", "CCN", "CCCO"}
    with pytest.raises(SystemExit, match="large.smi has no molecule of at most"):
        corpus.load(tmp_path, {"large.smi": 1.0})


def test_held_out_molecules_are_measured_or_tuned_on(tmp_path):
    (tmp_path / "own.smi").write_text("".join(f"{'C' * n}O\n" for n in range(2, 14)))
    measuring, tuning = evaluation.held_out(tmp_path, ["own.smi"])
    assert len(measuring) == 10 and len(tuning) == 2 and not {*measuring} & {*tuning}
    (tmp_path / "own.smi").write_text("CCO\n")
    with pytest.raises(SystemExit, match=r"--valid own.smi: too few"):
        evaluation.held_out(tmp_path, ["own.smi"])


def test_folded_norms_change_nothing():
    torch.manual_seed(0)
    model = vision.Model(vision.Shape(**vision.SIZES["tiny"]))
    for norm in (m for m in model.modules() if isinstance(m, torch.nn.BatchNorm1d)):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    batch = make_batches().batch(0)
    model(batch)
    folded = norms.fold(copy.deepcopy(model))
    with torch.no_grad():
        for training_mode in (False, True):  # Training goes on as before.
            for output, expected in zip(folded.train(training_mode)(batch), model.train(training_mode)(batch)):
                torch.testing.assert_close(output, expected, atol=2e-3, rtol=2e-3)
    for norm in (m for m in folded.modules() if isinstance(m, torch.nn.BatchNorm1d)):
        assert torch.equal(norm.weight / norms.deviation(norm), torch.ones_like(norm.weight)) or norm.training


def test_weights_are_averaged_and_norms_recalibrated():
    one, other = (vision.Model(vision.Shape(**vision.SIZES["tiny"])) for _ in range(2))
    wanted = 0.75 * one.atom_detector.stem.weight.detach() + 0.25 * other.atom_detector.stem.weight.detach()
    model = average.average(one, other, 0.25, [make_batches().batch(0), make_batches().batch(1)])
    assert torch.allclose(model.atom_detector.stem.weight, wanted, atol=1e-6) and not model.training
    norm = model.atom_detector.stem_norm
    assert int(norm.num_batches_tracked) == 2 and float(norm.running_mean.abs().max()) > 0
