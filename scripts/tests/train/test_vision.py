"""The molecule reader: drawings and their labels, networks over inked cells, molecules built from what is seen. Run by
`make test-train`."""

import base64
import dataclasses
import io
import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.eval import drawing_sets
from scripts.served_reader import (
    cropping,
    detection,
    drawing_reader,
    ink,
    labels,
    molecule_builder,
    networks,
    sparse_cells,
    views,
)
from scripts.train import training
from scripts.train.vision import (
    abbreviated,
    average,
    calibration,
    corpus,
    damage,
    data,
    drawing,
    evaluation,
    foreign,
    graphs,
    located,
    negatives,
    sketched,
    start,
    styles,
    targets,
)
from scripts.train.vision import model as vision
from scripts.train.vision.programs import smilesdrawer

MOLECULES = [
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C[C@H](N)C(=O)[O-]",
    "C[C@@H]1CC[C@H]2CCCC[C@@H]2[NH2+]1",
    "C/C=C/C(=O)Nc1ccc(Cl)cc1",
    "C/C=C\\C#N",
    "O=[N+]([O-])c1ccc(Br)cc1",
    "CC(C)(C)OC(=O)N1CC[C@@H](CO)C1",
    "Cc1nn(C)c(S)c1C(F)(F)F",
]


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    network = vision.Model(vision.Shape(**vision.PRESETS["tiny"]))
    network(batches().batch(0))  # The norms have seen a batch.
    return network.half().float().eval()


def batches(folder=Path("no such folder"), **options):
    return data.Batches(corpus.Corpus([(1.0, MOLECULES)], []), data.Foreign(folder), 6, 1, **{"uses": 2, **options})


def seen_of(drawn: drawing.Drawing) -> detection.Detections:
    """What perfect networks would see."""
    atoms = np.eye(len(labels.ATOM_LABELS))[[data.INDEX[a] for a in drawn.atoms]]
    return detection.Detections(
        drawn.points,
        np.ones(len(atoms)),
        atoms,
        drawn.bonds[:, :2],
        np.eye(len(labels.REVERSED_KIND))[drawn.bonds[:, 2]],
    )


@pytest.mark.parametrize("smiles", MOLECULES)
@pytest.mark.parametrize("style", ["default", 1, 2, 3])
def test_labels_build_the_molecule(smiles, style):
    _, drawn = drawing.picture(smiles, Random(str(style)), style == "default")
    built = molecule_builder.build(seen_of(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == built.replacements == 0


def test_points_lie_on_ink():
    for seed, smiles in enumerate(MOLECULES):
        drawn = drawing.draw(smiles, Random(seed), False)
        for x, y in drawn.points:
            assert drawn.ink[max(0, int(y) - 8) : int(y) + 9, max(0, int(x) - 8) : int(x) + 9].max() > 60


def test_a_scaled_drawing_keeps_its_labels_in_place():
    drawn = drawing.draw(MOLECULES[0], Random(0), True)
    sample = data.sample(drawn, np.random.default_rng(0))
    level = sparse_cells.sparse_cells([sample.ink]).levels[1]
    target, offset = targets.at_cells(level.centres(), sample.points, sample.classes)
    named = target > 0
    votes = level.centres()[named] + offset[named]
    assert {tuple(p) for p in np.round(votes, 2)} == {tuple(p) for p in np.round(sample.points, 2)}


@pytest.mark.parametrize("flaw", ["a charge lost", "a bond too many", "a hydrogen lost"])
def test_contradictions_are_resolved_by_the_next_best(flaw):
    _, drawn = drawing.picture("C[N+](C)(C)CC(=O)[O-]", Random(0), True)
    seen = seen_of(drawn)
    seen.atoms, seen.kinds = seen.atoms * 0.98 + 1e-3, seen.kinds * 0.98 + 1e-3
    names = list(labels.ATOM_LABELS)
    if flaw == "a bond too many":  # Five bonds at N+.
        seen.pairs, seen.kinds = (
            np.concatenate([seen.pairs, [[1, 5]]]),
            np.concatenate([seen.kinds, [[0.4, 0.6, *np.zeros(len(labels.REVERSED_KIND) - 2)]]]),
        )
        built = molecule_builder.build(seen)
        assert built.smiles == "C[N+](C)(C)CC(=O)[O-]" and built.replacements == 1 and built.faults == 0
        return
    wrong, right = ("N", "N+") if flaw == "a charge lost" else ("O", "O-")
    atom = drawn.atoms.index(right)
    seen.atoms[atom] = 1e-3
    seen.atoms[atom, [names.index(wrong), names.index(right)]] = 0.6, 0.38
    built = molecule_builder.build(seen)
    assert built.smiles == "C[N+](C)(C)CC(=O)[O-]" and built.replacements == 1 and built.faults == 0


@pytest.mark.parametrize(
    "smiles, faults",
    [
        ("[Br-].CCCC[N+](C)(C)C", 0),
        ("[Na+].[Na+].[O-]C(=O)CCC(=O)[O-]", 0),
        ("Cl.CCN", 0),
        ("Br.c1ccncc1", 0),
        ("CS(=O)(=O)O.CCN", 0),
        ("O.Cl.CN(C)CCO", 0),
        ("[Br-].CCCN", molecule_builder.UNBALANCED),
        ("[Na+].CC(=O)[O-].CC(=O)[O-]", molecule_builder.UNBALANCED),
        ("Cl.Cc1ccccc1", molecule_builder.UNRELATED),
        ("Cl.CC(=O)NC", molecule_builder.UNRELATED),
        ("CCO.CCCN", molecule_builder.UNRELATED),
        ("NCCN.OC(=O)c1ccccc1", 0),
        ("CC(=O)[O-]", 0),
    ],
)
def test_pieces_contradict_each_other_unless_they_make_a_salt(smiles, faults):
    _, drawn = drawing.picture(smiles, Random(0), True)
    built = molecule_builder.build(seen_of(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == faults and built.pieces == 1 + smiles.count(".")


def test_charges_that_add_up_decide_between_two_readings():
    _, drawn = drawing.picture("[Br-].CCCC[N+](C)(C)C", Random(0), True)
    seen = seen_of(drawn)
    seen.atoms = seen.atoms * 0.98 + 1e-4
    names = list(labels.ATOM_LABELS)
    seen.atoms[drawn.atoms.index("Br-"), [names.index("BrH"), names.index("Br-")]] = 0.6, 0.38
    built = molecule_builder.build(seen)
    assert built.smiles == "CCCC[N+](C)(C)C.[Br-]" and built.replacements == 1 and built.faults == 0


@pytest.mark.parametrize(
    "smiles, faults, confidence, together",
    [
        ("[I-].C[S+](C)C", 0, 0.2, True),
        ("[I-].C[S+](C)C", 0.5, 0.2, False),
        ("Cl.CCN", 0, 0.9, True),
        ("Cl.CCN", 0, 0.3, False),
        ("CCN", 0, 0.9, False),
    ],
    ids=["ions", "ions that do not add up", "sure of an acid", "not sure of it", "one piece"],
)
def test_pieces_that_belong_together_are_not_cut_off(smiles, faults, confidence, together):
    built = molecule_builder.Built(Chem.MolFromSmiles(smiles), smiles, 0.0, 0, faults, 0, pieces=1 + smiles.count("."))
    surest = views.View(built, np.array([np.log(confidence / (1 - confidence))]), 20.0, np.zeros(2), np.ones(2))
    other = views.View(
        molecule_builder.Built(Chem.MolFromSmiles("C"), "C", 0.0, 0, 0, 0),
        np.array([-5.0]),
        20.0,
        np.zeros(2),
        np.ones(2),
    )
    one = drawing_reader.Reader(Path(), networks=object(), calibration=views.Calibration([0.0, 1.0], [0.0, 1.0]))
    assert one._belong_together([other, surest]) == together


@pytest.mark.parametrize(
    "name",
    [
        "methyltriphenylphosphonium iodide",
        "pyridostigmine bromide",
        "fluoxetine hydrochloride",
        "naproxen sodium",
        "metformin hydrochloride",
        "sumatriptan succinate",
        "imatinib mesylate",
    ],
)
def test_the_served_reader_reads_salts(name):
    smiles = drawing_sets.SALTS[name]
    drawer = rdMolDraw2D.MolDraw2DCairo(400, 300)
    drawer.drawOptions().includeMetadata = False
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, Chem.MolFromSmiles(smiles))
    drawer.FinishDrawing()
    reading = drawing_reader.Reader(Path("model_repository/molecule_reader/1")).read(
        Image.open(io.BytesIO(drawer.GetDrawingText()))
    )
    assert reading.smiles == Chem.CanonSmiles(smiles) and not reading.is_unsure()


@pytest.mark.parametrize(
    "smiles, beside, sure",
    [
        ("CCCC[N+](C)(C)Cc1ccccc1", "Pt", False),
        ("CCCC[N+](C)(C)Cc1ccccc1", "", True),
        ("CCCCN(C)Cc1ccccc1", "Pt", True),
    ],
    ids=["an ion beside what was not read", "an ion alone", "no ion"],
)
def test_an_ion_is_doubted_where_the_other_may_not_have_been_read(smiles, beside, sure):
    drawer = rdMolDraw2D.MolDraw2DCairo(400, 300)
    drawer.DrawMolecule(Chem.MolFromSmiles(smiles))
    drawer.FinishDrawing()
    page = Image.new("RGB", (640, 300), "white")
    page.paste(Image.open(io.BytesIO(drawer.GetDrawingText())))
    ImageDraw.Draw(page).text((560, 130), beside, "black", ImageFont.load_default(size=20))
    reading = drawing_reader.Reader(Path("model_repository/molecule_reader/1")).read(page)
    assert reading.smiles == Chem.CanonSmiles(smiles) and reading.is_unsure() != sure


def test_sparse_convolution_is_the_dense_one_on_inked_cells():
    random = np.random.default_rng(0)
    inks = [np.where(random.random((40, 56)) < 0.02, 255, 0).astype(np.uint8) for _ in range(2)]
    found = sparse_cells.sparse_cells(inks)
    level = found.levels[1]
    x = torch.randn(len(level), 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(45, 3, dtype=torch.float64, requires_grad=True)
    neighbours = torch.from_numpy(level.neighbours)
    y = vision.Square.apply(x, weight, neighbours)
    plane = torch.zeros(5, level.ids.shape[0] - 2, level.ids.shape[1] - 2, dtype=torch.float64)
    plane[:, level.rows, level.columns] = x.detach().t()
    dense = torch.nn.functional.conv2d(plane[None], weight.detach().view(3, 3, 5, 3).permute(3, 2, 0, 1), padding=1)[0]
    assert torch.allclose(y, dense[:, level.rows, level.columns].t())
    inputs = x[:, :2].detach().requires_grad_(), weight[:18, :2].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: vision.Square.apply(x, w, neighbours), inputs)


def test_levels_fit_into_each_other():
    found = sparse_cells.sparse_cells([drawing.draw(s, Random(1), False).ink for s in MOLECULES[:3]])
    for number, (fine, coarse) in enumerate(zip(found.levels, found.levels[1:])):
        assert (coarse.children.ravel()[fine.place] == np.arange(len(fine))).all()
        assert (found.drawing(number + 1)[fine.place // 4] == found.drawing(number)).all()
    assert (found.levels[0].at(found.levels[0].centres()) == np.arange(len(found.levels[0]))).all()


def test_a_batch_is_a_function_of_its_step():
    one, other = batches(), batches()
    other.batch(1)
    for key, value in one.batch(50).items():
        assert torch.equal(value, other.batch(50)[key]), key


def test_the_loss_falls():
    torch.manual_seed(0)
    network, batch = vision.Model(vision.Shape(**vision.PRESETS["tiny"])), batches().batch(0)
    optimiser = torch.optim.Adam(network.parameters(), 1e-2)
    values = []
    for _ in range(25):
        value, _ = vision.loss(network, batch)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.6 * values[0]


def test_graphs_compute_what_the_model_does(network, tmp_path):
    graphs.save(network, tmp_path)
    onnx, trained = networks.OnnxNetworks(tmp_path, 1), evaluation.Trained(network)
    small = data.sample(drawing.draw(MOLECULES[0], Random(0), True), np.random.default_rng(0)).ink
    found = sparse_cells.sparse_cells([small])
    features, *heads = onnx.detect_atoms(found)
    with torch.no_grad():
        wanted = network.atom_detector(data.indices(found))
        lines = network.bond_classifier(wanted[0], torch.zeros(3, detection.STEPS, dtype=torch.int64), torch.ones(3, 4))
    for mine, other in zip((features, *heads), wanted):
        np.testing.assert_allclose(mine, other.numpy(), atol=1e-3)
    np.testing.assert_allclose(
        onnx.classify_bonds(features, np.zeros((3, detection.STEPS), np.int64), np.ones((3, 4), np.float32)),
        lines.numpy(),
        atol=1e-3,
    )
    assert trained.detect_atoms(found)[0].shape == features.shape


@pytest.mark.parametrize("picture", ["blank", "one pixel", "black", "noise", "clear", "large"])
def test_pictures_that_are_no_drawings(network, picture):
    random = np.random.default_rng(0)
    image = {
        "blank": lambda: Image.new("RGB", (300, 200), "white"),
        "one pixel": lambda: Image.new("RGB", (1, 1), "red"),
        "black": lambda: Image.new("L", (300, 200), 0),
        "clear": lambda: Image.new("RGBA", (50, 50), (0, 0, 0, 0)),
        "noise": lambda: Image.fromarray(random.integers(0, 255, (90, 90, 3)).astype(np.uint8)),
        "large": lambda: Image.new("1", (5000, 9000), 1),
    }[picture]()
    reading = drawing_reader.Reader(Path(), networks=evaluation.Trained(network), calibration=views.UNFITTED).read(
        image
    )
    assert reading.smiles is None and reading.drawing < 0.5 and reading.size == image.size


def test_ink_is_the_same_on_any_paper():
    png, _ = drawing.picture(MOLECULES[0], Random(0), True)
    image = Image.open(io.BytesIO(png)).convert("L").convert("RGB")
    turned = Image.fromarray(255 - np.asarray(image))
    clear = Image.merge(
        "RGBA", (*Image.new("RGB", image.size, 0).split(), Image.fromarray(255 - np.asarray(image.convert("L"))))
    )
    assert (ink.ink_of(image) == ink.ink_of(turned)).all() and abs(
        ink.ink_of(image).astype(int) - ink.ink_of(clear)
    ).max() <= 1


def test_the_reading_lies_in_the_picture(monkeypatch):
    png, drawn = drawing.picture(MOLECULES[2], Random(0), True)
    image = Image.open(io.BytesIO(png))
    box = cropping.drawing_box(ink.ink_of(image))

    def perfect(_, small):
        factor = (np.array(small.shape[::-1]) - 2 * ink.MARGIN) / [box[2] - box[0], box[3] - box[1]]
        return dataclasses.replace(seen_of(drawn), points=(drawn.points - box[:2]) * factor + ink.MARGIN), 5.0

    monkeypatch.setattr(drawing_reader, "detect", perfect)
    reading = drawing_reader.Reader(Path(), networks=object(), calibration=views.UNFITTED).read(image)
    assert reading.smiles == Chem.CanonSmiles(MOLECULES[2])
    found = reading.molecule.GetConformer().GetPositions()[:, :2]
    heavy = drawn.points[[a != "H" for a in drawn.atoms]] * [1, -1]
    assert np.abs(found[:, None] - heavy[None]).sum(2).min(1).max() < 0.01


def test_a_caption_is_wiped_away():
    page = np.zeros((200, 200), np.uint8)
    page[40:44, 20:60], page[160:180, 20:100] = 255, 255
    molecule = Chem.RWMol(Chem.MolFromSmiles("CC"))
    molecule.AddConformer(Chem.Conformer(2))
    drawing_reader.with_positions(molecule, np.array([[20.0, 42.0], [60.0, 42.0]]))
    built = molecule_builder.Built(molecule, "CC", 0.0, 0, 1, 1)
    view = views.View(built, np.zeros(5), 40.0, np.array([ink.MARGIN, ink.MARGIN]) * 1.0, np.ones(2))
    clean = view.ink_near(built, page)
    assert (clean[:100] == page[:100]).all() and clean[160:].max() == 0


def page_with(*boxes):
    """A page of ink, each box (left, top, right, bottom) a frame of lines."""
    page = np.zeros((300, 900), np.uint8)
    for left, top, right, bottom in boxes:
        page[top:bottom, left:right] = 255
        page[top + 3 : bottom - 3, left + 3 : right - 3] = 0
    return page


@pytest.mark.parametrize(
    "others, gap",
    [
        ([(600, 100, 612, 120), (616, 100, 628, 120)], 400),
        ([(100, 250, 120, 270)], 50),
        ([(0, 0, 20, 20)], 80),
        ([], 0),
        ([(x, 260, x + 14, 280) for x in range(0, 900, 18)], 60),
    ],
    ids=["to the right", "below", "above", "nothing", "a long line of letters"],
)
def test_the_larger_part_of_a_page_is_the_one_with_unbroken_ink(others, gap):
    molecule = (100, 100, 200, 200)
    page = page_with(molecule, *others)
    assert cropping.split_at_widest_gap(page, ink.box_of(page)) == (gap, molecule)


@pytest.mark.parametrize(
    "name", ["CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "O=C(O)c1ccccc1OC(C)=O", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O"]
)
@pytest.mark.parametrize(
    "places", [[(1400, 150)], [(20, 300), (1390, 20)], [(150, 310)]], ids=["to the right", "two", "below"]
)
def test_the_served_reader_passes_over_what_is_written_beside_a_molecule(name, places):
    page = Image.new("RGB", (1600, 340), "white")
    drawer = rdMolDraw2D.MolDraw2DCairo(200, 150)
    drawer.DrawMolecule(Chem.MolFromSmiles(name))
    drawer.FinishDrawing()
    page.paste(Image.open(io.BytesIO(drawer.GetDrawingText())), (100, 60))
    for place in places:
        ImageDraw.Draw(page).text(place, "GENERAL FORMULA (12a)", "black", ImageFont.load_default(size=20))
    assert drawing_reader.Reader(Path("model_repository/molecule_reader/1")).read(page).smiles == Chem.CanonSmiles(name)


@pytest.mark.parametrize(
    "atoms, bond, factors",
    [
        (20, 24.0, views.RETRY_SCALES),
        (4, 24.0, views.SMALL_MOLECULE_SCALES),
        (4, 76.0, (0.5,)),
        (2, 200.0, views.SMALL_MOLECULE_SCALES),
        (30, 12.0, (2.0,)),
        (0, 0.0, views.SMALL_MOLECULE_SCALES),
    ],
)
def test_sizes_of_further_looks(atoms, bond, factors):
    built = molecule_builder.Built(Chem.MolFromSmiles("C" * atoms), "C" * atoms, 0.0, 0, 0, 0) if atoms else None
    view = views.View(built, np.zeros(5), bond, np.zeros(2), np.ones(2))
    assert view.retry_scales()[: len(factors)] == pytest.approx(factors)


def test_confidence_is_calibrated():
    random = np.random.default_rng(0)
    x = random.normal(0, 1, (4000, 5))
    right = random.random(4000) < 1 / (1 + np.exp(-(0.5 + 2 * x[:, 0] - x[:, 3])))
    assert np.array(calibration.fit(x, right.astype(float))) == pytest.approx([0.5, 2, 0, 0, -1, 0], abs=0.25)


def test_negatives_are_seeded_and_not_blank():
    one, other = (negatives.picture(np.random.default_rng(5)) for _ in range(2))
    assert (one == other).all() and one.max() > 0


def test_a_run_trains_and_resumes(tmp_path):
    options = training.Options(
        name="vision", runs=str(tmp_path), samples=12, batch=6, device="cpu", precision="fp32", threads=1
    )
    network = vision.Model(vision.Shape(**vision.PRESETS["tiny"]))
    training.run(
        options, network, batches().batch, vision.loss, lambda model, step: evaluation.brief(model, MOLECULES, 1)
    )
    assert (tmp_path / "vision" / "weights.pt").exists()


LABELLED = {
    "CCOC(=O)c1ccc(N)cc1": "CO2Et",
    "COc1ccc(C#N)cc1": "OMe",
    "CC(C)(C)OC(=O)NC1CCCC1": "NHBoc",
    "O=[N+]([O-])c1ccc(Cl)cc1": "NO2",
    "CC(=O)Oc1ccccc1C(=O)O": "COOH",
}


@pytest.mark.parametrize("smiles", LABELLED)
def test_abbreviations_stand_for_their_groups(smiles):
    for seed in range(200):
        random = Random(seed)
        short = abbreviated.condensed(Chem.MolFromSmiles(smiles), random)
        marks = [drawing.atom_class(a) for a in short.GetAtoms()]
        if LABELLED[smiles] in marks:
            break
    else:
        raise AssertionError("never abbreviated")
    _, drawn = drawing.picture(smiles, Random(seed), False)
    built = molecule_builder.build(seen_of(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == 0


@pytest.mark.parametrize("name", [*labels.LINKS, "NMe"])
def test_groups_that_join_two_lines_are_built(name):
    for ring in ("C1CCCC*1", "c1ccccc1*C1CC1"):
        molecule = Chem.RWMol(Chem.MolFromSmiles(ring))
        at = next(a.GetIdx() for a in molecule.GetAtoms() if not a.GetAtomicNum())
        abbreviated.stand_in(molecule, at, name, name, name)
        _, drawn = drawing.picture(Chem.MolToSmiles(molecule), Random(1), True, lambda *_, drawn=molecule: drawn)
        built = molecule_builder.build(seen_of(drawn))
        truth = drawing_sets.spelled_at(Chem.MolFromSmiles(ring), at, (labels.GROUPS | labels.LINKS)[name])
        assert built.smiles == truth and built.faults == 0


def test_a_group_that_ends_a_line_does_not_join_two():
    molecule = Chem.RWMol(Chem.MolFromSmiles("C1CCCCC1"))
    abbreviated.stand_in(molecule, 0, "CHO", "CHO", "OHC")
    _, drawn = drawing.picture("C1CCCCC1", Random(1), True, lambda *_: molecule)
    built = molecule_builder.build(seen_of(drawn))
    assert built.faults > 0 or built.replacements > 0


RARE = [
    "CN(C)CCc1ccccc1.Cl",
    "[Na+].[O-]C(=O)c1ccccc1",
    "C[N+](C)(C)C.[Br-]",
    "O.OC(=O)c1ccccc1",
    "CB(O)O",
    "C[Si](C)(C)O",
    "[2H]C(Cl)(Cl)Cl",
]


@pytest.mark.parametrize("smiles", RARE)
def test_salts_and_rare_elements_are_built(smiles):
    _, drawn = drawing.picture(smiles, Random(0), True)
    assert molecule_builder.build(seen_of(drawn)).smiles == Chem.CanonSmiles(smiles)


@pytest.mark.parametrize("default", [True, False])
def test_drawings_to_learn_from_have_unknown_labels_in_every_style(default):
    marks = [mark for seed in range(60) for mark in drawing.draw("CC(=O)Nc1ccc(OCC)cc1", Random(seed), default).atoms]
    assert "?" in marks


def test_pictures_with_unknown_labels_are_told_from_those_without():
    shown = [
        evaluation.pictures(MOLECULES, 3, True, 1, alter)
        for alter in (None, abbreviated.estranged, abbreviated.grouped)
    ]
    for drawings in shown:
        assert len(drawings) == 3 and {png[:4] for _, png in drawings} == {b"\x89PNG"}
    assert shown[0] != shown[1] != shown[2] != shown[0]


def test_small_letters_beside_atoms_leave_the_labels_as_they_are():
    molecule = "C[C@H](N)C(=O)N1CCC[C@@H]1C(=O)O"
    marks = [drawing.atom_class(a) for a in Chem.MolFromSmiles(molecule).GetAtoms()]
    noted = 0
    for seed in range(60):
        given = Chem.MolFromSmiles(molecule)
        styles.annotate(rdMolDraw2D.MolDraw2DCairo(200, 200).drawOptions(), given, Random(seed))
        notes = [atom.GetProp("atomNote") for atom in given.GetAtoms() if atom.HasProp("atomNote")]
        noted += bool(notes)
        assert len(notes) in (0, 2) and [drawing.atom_class(a) for a in given.GetAtoms()] == marks
    assert 0 < noted < 20


def test_metals_for_programs_that_draw_elements_alone():
    """An element in place of a label, so that a program without labels can draw it; it stands for what is not known."""
    random = Random(1)
    altered = [abbreviated.alien(Chem.MolFromSmiles("CCOC(=O)CBr"), random) for _ in range(200)]
    unknown = [m for m in altered if any(drawing.atom_class(a) == "?" for a in m.GetAtoms())]
    assert 10 < len(unknown) < 60
    assert all(a.GetAtomicNum() for m in altered for a in m.GetAtoms())
    assert {a.GetSymbol() for m in unknown for a in m.GetAtoms()} & set(abbreviated.METALS)
    assert any(a.GetIsotope() for m in unknown for a in m.GetAtoms())


@pytest.mark.parametrize("smiles", [*MOLECULES, "O=C(Cn1cccc1)N[C@@H](C)c1c[nH]nc1"])
def test_pieces_have_hydrogens_where_bonds_were_cut(smiles):
    whole = Chem.MolFromSmiles(smiles)
    for seed in range(10):
        parts = abbreviated.pieces(whole, 2, Random(seed))
        assert sum(p.GetNumAtoms() for p in parts) == whole.GetNumAtoms()
        for part in parts:
            again = Chem.MolFromSmiles(Chem.MolToSmiles(part))
            assert again.GetNumAtoms() == part.GetNumAtoms()
            assert not any(a.GetNumRadicalElectrons() for a in again.GetAtoms())


def test_unknown_letters_metals_and_isotopes_are_learnt_from_in_small_molecules_too():
    random = Random(3)
    altered = [
        abbreviated.estranged(Chem.MolFromSmiles("O=C(COc1ccccc1)N1CCN(Cc2ccc(Br)cc2)CC1"), random) for _ in range(300)
    ]
    unknown = [[a for a in m.GetAtoms() if drawing.atom_class(a) == "?"] for m in altered]
    assert sum(map(bool, unknown)) > 270 and any(len(some) == 2 for some in unknown)
    assert sum(m.GetNumAtoms() < 12 for m in altered) > 60
    metals = [a for some in unknown for a in some if a.GetSymbol() in abbreviated.METALS]
    assert {a.GetDegree() for a in metals} >= {1, 2, 3, 4}
    assert all(drawing.picture(Chem.MolToSmiles(m), random, True)[0] for m in altered[:20])


def test_atoms_with_nothing_between_them_are_not_joined():
    ink = np.zeros((80, 80), np.uint8)
    ink[20, 10:41] = 200  # a line
    ink[60, 10:24] = 200  # two ends, their middle blank
    ink[60, 28:41:4] = 20  # of which some dust is all that is seen
    points = np.array([[10.0, 20], [40, 20], [10, 60], [40, 60]])
    pairs = np.array([[0, 1], [2, 3], [0, 2], [1, 3]])
    plain, letters = np.eye(len(labels.ATOM_LABELS))[[detection.CARBON, labels.ATOM_LABELS.index("NO2")]]
    joined, apart = np.eye(len(labels.REVERSED_KIND))[[labels.SINGLE, labels.NONE]]
    found = detection._blank_bonds(ink, points, pairs, np.array([plain] * 4), np.array([joined] * 3 + [apart]))
    assert found.tolist() == [2]  # the second pair has ink left on its middle; what is not joined need not be parted
    ink[60, 15:] = 20
    assert detection._blank_bonds(ink, points, pairs, np.array([plain] * 4), np.array([joined] * 4)).tolist() == [
        1,
        2,
        3,
    ]
    assert detection._blank_bonds(
        ink, points, pairs, np.array([plain, plain, letters, letters]), np.array([joined] * 4)
    ).tolist() == [2, 3]
    assert not len(
        detection._blank_bonds(ink, points, pairs[:0], np.array([plain] * 4), np.zeros((0, len(labels.REVERSED_KIND))))
    )


def test_reagents_are_molecules_with_a_group_that_files_lack():
    random = Random(1)
    found = {corpus.reagent("CCc1ccc(OC)cc1", random) for _ in range(900)}
    molecules = [Chem.MolFromSmiles(s) for s in found]
    assert all(molecules) and len(found) > len(set(corpus.REAGENTS))
    assert {
        Chem.CanonSmiles(f"COc1ccc(C{group})cc1")
        for group in ("[Sn](C)(C)C", "B2OC(C)(C)C(C)(C)O2", "I(OC(C)=O)OC(C)=O")
    } <= found
    salts = [Chem.GetMolFrags(m, asMols=True) for s, m in zip(found, molecules) if "." in s]
    assert (
        salts
        and all(sum(Chem.GetFormalCharge(p) for p in pair) == 0 for pair in salts)
        and all(Chem.GetFormalCharge(m) < 1 for m in molecules)
    )
    unknown = {a.GetSymbol() for m in molecules for a in m.GetAtoms() if drawing.atom_class(a) == labels.UNKNOWN_LABEL}
    assert unknown == {"Hg", "Mg", "Li", "Zn"}
    assert corpus.reagent("C1CC1", random) == "C1CC1"  # no end


def test_the_smallest_molecules_are_learnt_from_at_the_sizes_at_which_they_are_looked_at():
    random = Random(1)
    found = {corpus.smallest(random) for _ in range(300)}
    assert {"C", "N", "O", "C=O"} <= found and all(Chem.MolFromSmiles(s).GetNumHeavyAtoms() < 3 for s in found)
    for smiles in ("C", "N", "C=O", "CO"):
        drawn = drawing.draw(smiles, random, True)
        box = ink.box_of(drawn.ink)
        usual = ink.scale_of(box)
        for seed in range(5):
            seen = data.sample(drawn, np.random.default_rng(seed))
            part = (seen.ink.shape[1] - 2 * ink.MARGIN) / ((box[2] - box[0]) * usual)
            assert 0.17 < part < 0.65


def test_what_is_unknown_is_not_read():
    _, drawn = drawing.picture("[Pt]c1ccccc1", Random(0), True)
    assert "?" in drawn.atoms and molecule_builder.build(seen_of(drawn)).unknown == 1


def test_rings_with_circles_are_kekulised():
    _, drawn = drawing.picture("Cc1ccc2[nH]ccc2c1", Random(0), True)
    ring = Chem.MolFromSmiles("Cc1ccc2[nH]ccc2c1")
    drawn.bonds[[b.GetIdx() for b in ring.GetBonds() if b.GetIsAromatic()], 2] = labels.AROMATIC
    assert molecule_builder.build(seen_of(drawn)).smiles == "Cc1ccc2[nH]ccc2c1"


@pytest.mark.parametrize(
    "handle",
    [
        lambda i, p, r: damage.turned(i, p, 1),
        lambda i, p, r: damage.turned(i, p, 3),
        damage.tilted,
        damage.photographed,
    ],
)
def test_points_stay_on_their_atoms(handle):
    """A black dot on white paper is found where its point is said to be."""
    image = Image.new("RGB", (200, 160), "white")
    image.paste("black", (146, 36, 155, 45))
    out, points = handle(image, np.array([[150.0, 40.0]], np.float32), Random(3))
    dark = np.argwhere(ink.ink_of(out) > 128)
    assert np.abs(dark.mean(0)[::-1] - points[0]).max() < 2.5


@pytest.mark.parametrize("smiles", MOLECULES)
def test_sketches_have_uneven_bonds_and_show_the_same_molecule(smiles):
    ratios = []
    for seed in range(12):
        _, drawn = drawing.picture(smiles, Random(seed), False, uneven=1.0)
        first, second = drawn.points[drawn.bonds[:, 0]], drawn.points[drawn.bonds[:, 1]]
        lengths = np.linalg.norm(first - second, axis=1)
        ratios.append(lengths.max() / lengths.min())
        assert molecule_builder.build(seen_of(drawn)).smiles == Chem.CanonSmiles(smiles)
    assert np.median(ratios) > 1.2


def test_a_sketch_lays_no_atom_on_lines_of_others():
    for seed in range(40):
        molecule = Chem.MolFromSmiles("CC1CCCCC1C(C)(C)C(C)(C)CC")
        styles.place(molecule, Random(seed))
        bonds = drawing.lines(molecule)[:, :2]
        before = molecule.GetConformer().GetPositions()[:, :2]
        bond = np.median(np.linalg.norm(before[bonds[:, 0]] - before[bonds[:, 1]], axis=1))
        sketched.sketched(molecule, Random(seed))
        after = molecule.GetConformer().GetPositions()[:, :2]
        assert sketched._crowded(after, bonds, bond) <= sketched._crowded(before, bonds, bond)


def test_a_molecule_may_be_cut_off_through_its_outermost_letters():
    shown = drawing.draw("OCCN", Random(1), default=True)
    box = ink.box_of(shown.ink)
    cut = [data.cut_off(box, shown, np.random.default_rng(seed)) for seed in range(200)]
    moved = {side for c in cut for side in range(4) if c[side] != box[side]}
    assert len(moved) >= 2
    for left, top, right, bottom in cut:
        assert (shown.points >= (left, top)).all() and (shown.points < (right, bottom)).all()
    beside = dataclasses.replace(shown, points=shown.points - 40)  # as after a turn that loses a corner
    for seed in range(50):
        left, top, right, bottom = data.cut_off(box, beside, np.random.default_rng(seed))
        assert box[0] <= left < right <= box[2] and box[1] <= top < bottom <= box[3]


def test_a_frame_is_wiped_away():
    image = Image.open(io.BytesIO(drawing.picture(MOLECULES[0], Random(0), True)[0])).convert("RGB")
    framed = damage.framed(image, Random(1))
    assert ink.box_of(ink.remove_frame(ink.ink_of(framed))) == ink.box_of(ink.ink_of(image))


def test_atoms_of_another_program_are_located():
    """RDKit's own drawing, as if of another program: the points found are those it says."""
    random = Random(5)
    molecule = Chem.MolFromSmiles("CC(C)Cc1ccc(cc1)C(C)C(=O)O")
    png, drawn = drawing.picture(Chem.MolToSmiles(molecule), random, True)
    points = drawn.points.astype(float)
    coordinates = np.stack([points[:, 0], -points[:, 1]], 1) / 23.0 + 7.0
    single = drawn.bonds[drawn.bonds[:, 2] != labels.DOUBLE]
    found = located.located(ink.ink_of(Image.open(io.BytesIO(png))), coordinates, single)
    assert found is not None and np.abs(found - points).max() < 3


def test_groups_are_written_in_all_their_ways():
    written = set()
    for number in range(60):
        molecule = Chem.RWMol(Chem.MolFromSmiles("CCCC"))
        abbreviated._condense(molecule, 0, "NMe", Random(number))
        written.add(
            (molecule.GetAtomWithIdx(0).GetProp("_displayLabel"), molecule.GetAtomWithIdx(0).GetProp("_displayLabelW"))
        )
    assert written == {("NHMe", "MeHN"), ("NMe", "MeN"), ("NHCH<sub>3</sub>", "H<sub>3</sub>CHN")}


def test_carbons_are_written_as_in_older_patents():
    molecule = Chem.MolFromSmiles("CC(C)=C[C@H](N)c1ccccc1")
    written = [
        {
            a.GetProp("_displayLabel")
            for a in abbreviated.spelled(molecule, Random(seed)).GetAtoms()
            if a.HasProp("_displayLabel")
        }
        for seed in range(30)
    ]
    assert {"CH<sub>3</sub>", "CH", "C"} in written and len({frozenset(some) for some in written}) > 3
    spelled = abbreviated.spelled(molecule, Random(0))
    assert [drawing.atom_class(a) for a in spelled.GetAtoms()] == [drawing.atom_class(a) for a in molecule.GetAtoms()]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_molecules_with_hydrogens_of_their_own_are_built_again(smiles):
    drawn = [drawing.picture(smiles, Random(seed), True, abbreviated.with_hydrogens)[1] for seed in range(8)]
    assert any("H" in d.atoms for d in drawn)
    assert {molecule_builder.build(seen_of(d)).smiles for d in drawn} == {Chem.CanonSmiles(smiles)}


def test_coordinates_of_another_program():
    molecule = Chem.MolFromSmiles("C[C@H](O)/C=C/Cl")
    styles.place(molecule, Random(1))
    before = molecule.GetConformer().GetPositions()
    foreign.moved(molecule, lambda text: [(2 * y, 2 * -x) for x, y in before[:, :2]])
    assert np.allclose(molecule.GetConformer().GetPositions()[:, :2], 2 * before[:, :2] @ [[0, -1], [1, 0]])
    with pytest.raises(foreign.OtherMolecule):  # E becomes Z.
        foreign.moved(
            molecule,
            lambda text: [
                *molecule.GetConformer().GetPositions()[:-1, :2],
                molecule.GetConformer().GetPositions()[1, :2] * 0.9,
            ],
        )
    text, _, _ = foreign.block(
        Chem.MolFromSmiles("C[C@H](O)/C=C/Cl"), Random(1), None, lambda text: before[:, :2].tolist()
    )
    assert Chem.MolToSmiles(Chem.MolFromMolBlock(text)) == Chem.CanonSmiles("C[C@H](O)/C=C/Cl")


SULFONAMIDE = "C[C@H](N)c1ccc(S(N)(=O)=O)cc1"


def by_smilesdrawer(wedge: str = "down") -> dict:
    """What SmilesDrawer 2.4.1 says of its drawing of SULFONAMIDE."""
    columns = "index element hydrogens x y drawn holds".split()
    rows = [
        (0, "C", 3, 234.9, 101.0, True, False),
        (1, "C", 0, 208.9, 86.0, True, False),
        (None, "H", 0, 193.9, 112.0, True, False),
        (2, "N", 2, 223.9, 60.0, True, False),
        (3, "C", 0, 182.9, 71.0, True, False),
        (4, "C", 1, 182.9, 41.0, True, False),
        (5, "C", 1, 157.0, 26.0, True, False),
        (6, "C", 0, 131.0, 41.0, True, False),
        (7, "S", 0, 105.0, 26.0, True, True),
        (8, "N", 2, 79.0, 11.0, False, False),
        (9, "O", 0, 120.0, 0.0, False, False),
        (10, "O", 0, 90.0, 52.0, False, False),
        (11, "C", 1, 131.0, 71.0, True, False),
        (12, "C", 1, 157.0, 86.0, True, False),
    ]
    bonds = [
        (0, 1),
        (1, 2),
        (1, 3),
        (1, 4),
        (4, 5),
        (5, 6),
        (6, 7),
        (7, 8),
        (8, 9),
        (8, 10),
        (8, 11),
        (7, 12),
        (12, 13),
        (4, 13),
    ]
    return {
        "atoms": [dict(zip(columns, row, strict=True)) | {"charge": 0, "isotope": 0} for row in rows],
        "bonds": [
            {"atoms": list(ends), "narrow": 1 if 1 in ends else ends[0], "wedge": wedge if ends == (1, 3) else ""}
            for ends in bonds
        ],
        "circles": [[13, 4, 5, 6, 7, 12]],
        "dashed": False,
    }


def test_a_drawing_by_smilesdrawer_is_labelled():
    answer = by_smilesdrawer()
    assert Chem.MolToSmiles(Chem.MolFromMolBlock(smilesdrawer.block(SULFONAMIDE, answer))) == Chem.CanonSmiles(
        SULFONAMIDE
    )
    points, marks, bonds = smilesdrawer.labelled(SULFONAMIDE, answer)
    assert marks == ["C", "C", "H", "NH2", "C", "C", "C", "C", "SO2NH2", "C", "C"]
    assert points[8].tolist() == [105.0, 26.0]
    assert [tuple(row) for row in bonds.tolist() if row[2] == labels.DASH] == [(1, 3, labels.DASH)]
    assert sum(bonds[:, 2] == labels.AROMATIC) == 6
    assert len(bonds) == 11


def test_what_smilesdrawer_draws_otherwise_is_found_out():
    other = Chem.MolFromMolBlock(smilesdrawer.block(SULFONAMIDE, by_smilesdrawer("up")))
    assert Chem.MolToSmiles(other) == Chem.CanonSmiles(SULFONAMIDE.replace("@", "@@"))
    assert smilesdrawer.labelled(SULFONAMIDE, by_smilesdrawer() | {"circles": []}) is None
    assert smilesdrawer.labelled(SULFONAMIDE, by_smilesdrawer() | {"dashed": True}) is None
    assert smilesdrawer.block(SULFONAMIDE, {"error": "SyntaxError"}) is None


def by_itself(smiles: str) -> tuple[bytes, str] | None:
    """A program that lays out and draws SMILES, and says what it drew."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule.GetNumAtoms() == 1:
        return None
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=True)
    drawer = rdMolDraw2D.MolDraw2DCairo(300, 300)
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    return drawer.GetDrawingText(), Chem.MolToMolBlock(molecule)


def test_what_a_program_draws_by_itself_is_labelled(monkeypatch):
    monkeypatch.setitem(foreign.programs.PLAIN, "other", lambda: by_itself)
    molecules = corpus.Corpus([(1.0, ["C[C@H](N)c1ccc(C#N)cc1"])], [])
    record = foreign.plain("other", molecules, labelled=True)(Random(0))
    kinds = [kind for *_, kind in record["bonds"]]
    assert record["atoms"] == ["C", "C", "NH2", "C", "C", "C", "C", "C", "N", "C", "C"]
    assert [kinds.count(kind) for kind in (labels.SINGLE, labels.DOUBLE, labels.TRIPLE)] == [6, 3, 1]
    assert kinds.count(labels.WEDGE) + kinds.count(labels.DASH) == 1
    lengths = [np.linalg.norm(np.subtract(record["points"][a], record["points"][b])) for a, b, _ in record["bonds"]]
    assert min(lengths) > 0.8 * max(lengths) > 10
    assert set(foreign.plain("other", molecules, labelled=False)(Random(0))) == {"png", "smiles"}
    assert foreign.plain("other", corpus.Corpus([(1.0, ["C", "c1cccc1"])], []), labelled=True)(Random(0)) is None


def test_scanned_drawings_are_told_by_what_their_mol_files_say(monkeypatch, tmp_path):
    monkeypatch.setattr(drawing_sets, "LOOKED_AT", 1)
    written = {"one": "CCO", "two": "*c1ccccc1", "three": "CCN", "four": "no mol file"}
    for folder in ("SET", "SET_mol_ref"):
        (tmp_path / folder).mkdir()
    for name, smiles in written.items():
        molecule = Chem.MolFromSmiles(smiles)
        (tmp_path / "SET" / f"{name}.png").write_bytes(name.encode())
        (tmp_path / "SET_mol_ref" / f"{name}.mol").write_text(Chem.MolToMolBlock(molecule) if molecule else "nothing")
    names = sorted(written)
    Random(0).shuffle(names)
    found = drawing_sets.scanned(tmp_path, 10)
    measured = [(written[name], name.encode()) for name in names[1:] if name != "four"]
    assert found.get(f"SET{drawing_sets.HELD_OUT}", []) == [one for one in measured if "*" not in one[0]]
    assert found.get(f"SET, with R or X{drawing_sets.HELD_OUT}", []) == [one for one in measured if "*" in one[0]]


def test_what_is_measured_is_drawn_once_each_also_after_a_stop(monkeypatch, tmp_path):
    monkeypatch.setitem(foreign.programs.PLAIN, "other", lambda: by_itself)

    def draw(path, count):
        molecules = foreign.InTurn([*MOLECULES[:2], "C", *MOLECULES[2:]]).after(path)  # No program draws methane here.
        foreign.make(path, count, foreign.plain("other", molecules, labelled=False), "1")

    for count in (1, 3, 100):
        draw(tmp_path / "stopped.jsonl", count)
    draw(tmp_path / "other.jsonl", 100)
    assert [json.loads(line)["smiles"] for line in (tmp_path / "other.jsonl").open()] == MOLECULES
    assert (tmp_path / "stopped.jsonl").read_text() == (tmp_path / "other.jsonl").read_text()


@pytest.mark.parametrize(
    "smiles, readable",
    [
        ("CCOC(=O)c1ccc(CNC)cc1", True),
        ("CC(C)COc1ccccc1", True),
        ("CCC(C)Oc1ccccc1", False),
        ("CCCC(C)c1ccccc1O", False),
        ("C[NH2+]Cc1ccccc1O", False),
    ],
)
def test_abbreviations_that_say_another_molecule_are_not_measured(smiles, readable):
    assert (drawing_sets.abbreviated(smiles, Random(0)) is not None) == readable


def test_molecules_that_rdkit_does_not_read_are_passed_over():
    mixed = data.Batches(
        corpus.Corpus([(1.0, [*MOLECULES, "c1cccc1", "not SMILES"])], []), data.Foreign(Path("nowhere")), 12, 1, uses=1
    )
    assert all(len(mixed.drawings(group)) == 12 for group in range(20))  # a piece is cut out of one in 17


def test_drawings_of_other_programs_are_mixed_in(tmp_path):
    png, drawn = drawing.picture(MOLECULES[0], Random(0), True)
    record = {
        "png": base64.b64encode(png).decode(),
        "points": drawn.points.tolist(),
        "atoms": drawn.atoms,
        "bonds": drawn.bonds.tolist(),
    }
    (tmp_path / "other.jsonl").write_text(json.dumps(record) + "\n" + json.dumps(record) + "\n")
    others = data.Foreign(tmp_path)
    assert others and len(others.places) == 2 and others.draw(Random(1)).atoms == drawn.atoms
    assert len(batches(tmp_path).drawings(0)) == 3


@pytest.mark.parametrize("blocks", [(1, 1), (3, 2)], ids=["as many blocks", "more blocks"])
def test_training_begins_where_the_served_networks_are(network, tmp_path, blocks):
    graphs.save(network, tmp_path)
    (tmp_path / "reader").mkdir()
    (tmp_path / "reader" / "labels.py").write_text(f"ATOM_LABELS = {labels.ATOM_LABELS!r}")
    batch = batches().batch(0)
    other = vision.Model(vision.Shape(**vision.PRESETS["tiny"] | {"blocks": blocks}))
    start.fill(other, tmp_path, batch)
    with torch.no_grad():
        for mine, wanted in zip(other.eval()(batch), network(batch), strict=True):
            torch.testing.assert_close(mine, wanted, atol=0.05, rtol=0.02)


def test_training_begins_with_more_classes_than_the_served_networks_have(tmp_path):
    torch.manual_seed(0)
    new = ["NH", "D", "CF3", "NTs"]
    had = [name for name in labels.ATOM_LABELS if name not in new]
    fewer = vision.Model(vision.Shape(**vision.PRESETS["tiny"], atoms=len(had)))
    fewer.atom_detector.atom[2].bias.data[:-2] -= 50  # Logits of any height mean the same.
    graphs.save(fewer.half().float().eval(), tmp_path)
    (tmp_path / "reader").mkdir()
    (tmp_path / "reader" / "labels.py").write_text(f"ATOM_LABELS = {had!r}")
    batch = batches().batch(0)
    model = vision.Model(vision.Shape(**vision.PRESETS["tiny"]))
    start.fill(model, tmp_path, batch)
    with torch.no_grad():
        atoms, wanted = model.eval()(batch)[0], fewer(batch)[0]
    at = [1 + labels.ATOM_LABELS.index(name) for name in new]
    same = [place for place in range(atoms.shape[1]) if place not in at]  # classes go by their names
    torch.testing.assert_close(atoms[:, same], wanted, atol=0.05, rtol=0.02)
    assert (atoms[:, at].amax(1) < wanted[:, :-2].amax(1)).all()


def test_weights_are_averaged_and_norms_taken_anew():
    one, other = (vision.Model(vision.Shape(**vision.PRESETS["tiny"])) for _ in range(2))
    wanted = 0.75 * one.atom_detector.stem.weight.detach() + 0.25 * other.atom_detector.stem.weight.detach()
    model = average.averaged(one, other, 0.25, [batches().batch(0), batches().batch(1)])
    assert torch.allclose(model.atom_detector.stem.weight, wanted, atol=1e-6) and not model.training
    norm = model.atom_detector.stem_norm
    assert int(norm.num_batches_tracked) == 2 and float(norm.running_mean.abs().max()) > 0
