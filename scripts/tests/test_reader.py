"""The served molecule reader without Triton: detections to molecules, cropping, and readings of the shipped
networks."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D
from servers import ROOT

from scripts.eval import drawing_sets
from scripts.served_reader import (
    cropping,
    detection,
    drawing_reader,
    ink,
    labels,
    molecule_builder,
    sparse_cells,
    views,
)
from scripts.tests.reader_detections import MOLECULES, perfect_detections
from scripts.train.vision import abbreviations, augmentation, drawing

TRITON_PYTHON = ROOT / ".venv-triton/bin/python3"
UNUSED_NETWORKS: Any = object()


@pytest.fixture(scope="module")
def read():
    """read(image) returns what the shipped reader reads: smiles, drawing, unsure, size. Triton's Python runs it."""
    assert TRITON_PYTHON.exists(), "scripts/triton/serve.py --prepare makes Triton's environment"
    command = [TRITON_PYTHON, "-m", "scripts.tests.pythons.read"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def ask(image: Image.Image) -> dict:
            png = io.BytesIO()
            image.save(png, "PNG")
            process.stdin.write(base64.b64encode(png.getvalue()).decode() + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def draw(smiles: str, width: int = 400, height: int = 300) -> Image.Image:
    """RDKit's default drawing."""
    drawer = rdMolDraw2D.MolDraw2DCairo(width, height)
    drawer.drawOptions().includeMetadata = False
    rdMolDraw2D.PrepareAndDrawMolecule(drawer, Chem.MolFromSmiles(smiles))
    drawer.FinishDrawing()
    return Image.open(io.BytesIO(drawer.GetDrawingText()))


@pytest.mark.parametrize("smiles", MOLECULES)
@pytest.mark.parametrize("style", ["default", 1, 2, 3])
def test_perfect_detections_build_the_molecule(smiles, style):
    _, drawn = drawing.picture(smiles, Random(str(style)), style == "default")
    built = molecule_builder.build(perfect_detections(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == built.replacements == 0


@pytest.mark.parametrize("flaw", ["lost charge", "extra bond", "lost hydrogen"])
def test_a_fault_is_resolved_by_the_next_best_choice(flaw):
    _, drawn = drawing.picture("C[N+](C)(C)CC(=O)[O-]", Random(0), True)
    detections = perfect_detections(drawn)
    detections.label_probabilities, detections.kind_probabilities = (
        detections.label_probabilities * 0.98 + 1e-3,
        detections.kind_probabilities * 0.98 + 1e-3,
    )
    names = labels.ATOM_LABELS
    if flaw == "extra bond":  # Five bonds at N+.
        detections.pairs, detections.kind_probabilities = (
            np.concatenate([detections.pairs, [[1, 5]]]),
            np.concatenate([detections.kind_probabilities, [[0.4, 0.6, *np.zeros(len(labels.REVERSED_KIND) - 2)]]]),
        )
        built = molecule_builder.build(detections)
        assert built.smiles == "C[N+](C)(C)CC(=O)[O-]" and built.replacements == 1 and built.faults == 0
        return
    wrong, right = ("N", "N+") if flaw == "lost charge" else ("O", "O-")
    atom = drawn.atoms.index(right)
    detections.label_probabilities[atom] = 1e-3
    detections.label_probabilities[atom, [names.index(wrong), names.index(right)]] = 0.6, 0.38
    built = molecule_builder.build(detections)
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
def test_unrelated_pieces_are_a_fault(smiles, faults):
    _, drawn = drawing.picture(smiles, Random(0), True)
    built = molecule_builder.build(perfect_detections(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == faults and built.pieces == 1 + smiles.count(".")


def test_balanced_charges_decide_between_two_labels():
    _, drawn = drawing.picture("[Br-].CCCC[N+](C)(C)C", Random(0), True)
    detections = perfect_detections(drawn)
    detections.label_probabilities = detections.label_probabilities * 0.98 + 1e-4
    names = labels.ATOM_LABELS
    detections.label_probabilities[drawn.atoms.index("Br-"), [names.index("BrH"), names.index("Br-")]] = 0.6, 0.38
    built = molecule_builder.build(detections)
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
def test_pieces_that_belong_together_are_kept(smiles, faults, confidence, together):
    built = molecule_builder.Candidate(
        Chem.MolFromSmiles(smiles), smiles, 0.0, 0, faults, 0, pieces=1 + smiles.count(".")
    )
    surest = views.View(built, np.array([np.log(confidence / (1 - confidence))]), 20.0, np.zeros(2), np.ones(2))
    other = views.View(
        molecule_builder.Candidate(Chem.MolFromSmiles("C"), "C", 0.0, 0, 0, 0),
        np.array([-5.0]),
        20.0,
        np.zeros(2),
        np.ones(2),
    )
    reader = drawing_reader.DrawingReader(
        Path(), networks=UNUSED_NETWORKS, calibration=views.Calibration([0.0, 1.0], [0.0, 1.0])
    )
    assert reader._belong_together([other, surest]) == together


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
def test_salts_are_read(read, name):
    smiles = drawing_sets.SALTS[name]
    reading = read(draw(smiles))
    assert reading["smiles"] == Chem.CanonSmiles(smiles) and not reading["unsure"]


@pytest.mark.parametrize(
    "smiles, beside, sure",
    [
        ("CCCC[N+](C)(C)Cc1ccccc1", "Pt", False),
        ("CCCC[N+](C)(C)Cc1ccccc1", "", True),
        ("CCCCN(C)Cc1ccccc1", "Pt", True),
    ],
    ids=["an ion beside unread ink", "an ion alone", "no ion"],
)
def test_an_ion_beside_unread_ink_is_unsure(read, smiles, beside, sure):
    page = Image.new("RGB", (640, 300), "white")
    page.paste(draw(smiles))
    ImageDraw.Draw(page).text((560, 130), beside, "black", ImageFont.load_default(size=20))
    reading = read(page)
    assert reading["smiles"] == Chem.CanonSmiles(smiles) and reading["unsure"] != sure


def test_cells_of_two_levels_refer_to_each_other():
    found = sparse_cells.sparse_cells([drawing.draw(s, Random(1), False).ink for s in MOLECULES[:3]])
    for number, (fine, coarse) in enumerate(zip(found.levels, found.levels[1:])):
        assert (coarse.children.ravel()[fine.place] == np.arange(len(fine))).all()
        assert (found.drawing_of_cells(number + 1)[fine.place // 4] == found.drawing_of_cells(number)).all()
    assert (found.levels[0].at(found.levels[0].centres()) == np.arange(len(found.levels[0]))).all()


@pytest.mark.parametrize("picture", ["blank", "one pixel", "black", "noise", "clear", "large"])
def test_pictures_without_a_drawing(read, picture):
    random = np.random.default_rng(0)
    image = {
        "blank": lambda: Image.new("RGB", (300, 200), "white"),
        "one pixel": lambda: Image.new("RGB", (1, 1), "red"),
        "black": lambda: Image.new("L", (300, 200), 0),
        "clear": lambda: Image.new("RGBA", (50, 50), (0, 0, 0, 0)),
        "noise": lambda: Image.fromarray(random.integers(0, 255, (90, 90, 3)).astype(np.uint8)),
        "large": lambda: Image.new("1", (5000, 9000), 1),
    }[picture]()
    reading = read(image)
    assert reading["smiles"] is None and reading["drawing"] < 0.5 and reading["size"] == list(image.size)


def test_ink_is_the_same_on_any_paper():
    png, _ = drawing.picture(MOLECULES[0], Random(0), True)
    image = Image.open(io.BytesIO(png)).convert("L").convert("RGB")
    inverted = Image.fromarray(255 - np.asarray(image))
    alpha = Image.fromarray(255 - np.asarray(image.convert("L")))
    transparent = Image.merge("RGBA", (*Image.new("RGB", image.size, 0).split(), alpha))
    expected = ink.ink_of(image)
    assert (expected == ink.ink_of(inverted)).all()
    assert abs(expected.astype(int) - ink.ink_of(transparent)).max() <= 1


def test_the_conformer_is_in_pixels_of_the_picture(monkeypatch):
    png, drawn = drawing.picture(MOLECULES[2], Random(0), True)
    image = Image.open(io.BytesIO(png))
    box = cropping.drawing_box(ink.ink_of(image))

    def perfect(_, small):
        factor = (np.array(small.shape[::-1]) - 2 * ink.MARGIN) / [box[2] - box[0], box[3] - box[1]]
        return dataclasses.replace(
            perfect_detections(drawn), points=(drawn.points - box[:2]) * factor + ink.MARGIN
        ), 5.0

    monkeypatch.setattr(drawing_reader, "detect", perfect)
    reading = drawing_reader.DrawingReader(Path(), networks=UNUSED_NETWORKS, calibration=views.UNFITTED).read(image)
    assert reading.smiles == Chem.CanonSmiles(MOLECULES[2])
    found = reading.molecule.GetConformer().GetPositions()[:, :2]
    heavy = drawn.points[[a != "H" for a in drawn.atoms]] * [1, -1]
    assert np.abs(found[:, None] - heavy[None]).sum(2).min(1).max() < 0.01


def blotted(smiles: str) -> Image.Image:
    """A small drawing that is crossed out."""
    image = draw(smiles, 200, 150).convert("RGB")
    for line in ([(40, 20), (160, 130)], [(40, 130), (160, 20)]):
        ImageDraw.Draw(image).line(line, "black", 3)
    return image


@pytest.mark.parametrize("smiles", ["CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "O=C(O)c1ccccc1OC(C)=O"])
def test_a_blotted_drawing_is_unsure(read, smiles):
    assert not read(draw(smiles))["unsure"]
    assert read(blotted(smiles))["unsure"]


def test_ink_far_from_the_molecule_is_blanked():
    page = np.zeros((200, 200), np.uint8)
    page[40:44, 20:60], page[160:180, 20:100] = 255, 255
    molecule = Chem.RWMol(Chem.MolFromSmiles("CC"))
    molecule.AddConformer(Chem.Conformer(2))
    drawing_reader.with_positions(molecule, np.array([[20.0, 42.0], [60.0, 42.0]]))
    built = molecule_builder.Candidate(molecule, "CC", 0.0, 0, 1, 1)
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
def test_a_page_is_split_at_its_widest_gap(others, gap):
    molecule = (100, 100, 200, 200)
    page = page_with(molecule, *others)
    assert cropping.split_at_widest_gap(page, ink.box_of(page)) == (gap, molecule)


@pytest.mark.parametrize(
    "smiles", ["CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "O=C(O)c1ccccc1OC(C)=O", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O"]
)
@pytest.mark.parametrize(
    "places", [[(1400, 150)], [(20, 300), (1390, 20)], [(150, 310)]], ids=["to the right", "two", "below"]
)
def test_captions_are_ignored(read, smiles, places):
    page = Image.new("RGB", (1600, 340), "white")
    page.paste(draw(smiles, 200, 150), (100, 60))
    for place in places:
        ImageDraw.Draw(page).text(place, "GENERAL FORMULA (12a)", "black", ImageFont.load_default(size=20))
    assert read(page)["smiles"] == Chem.CanonSmiles(smiles)


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
def test_retry_scales_depend_on_bond_length_and_size(atoms, bond, factors):
    built = molecule_builder.Candidate(Chem.MolFromSmiles("C" * atoms), "C" * atoms, 0.0, 0, 0, 0) if atoms else None
    view = views.View(built, np.zeros(5), bond, np.zeros(2), np.ones(2))
    assert view.retry_scales()[: len(factors)] == pytest.approx(factors)


@pytest.mark.parametrize("name", [*labels.LINKS, "NMe"])
def test_groups_with_two_bonds_are_expanded(name):
    for ring in ("C1CCCC*1", "c1ccccc1*C1CC1"):
        molecule = Chem.RWMol(Chem.MolFromSmiles(ring))
        at = next(a.GetIdx() for a in molecule.GetAtoms() if not a.GetAtomicNum())
        abbreviations.put_label(molecule, at, name, name, name)
        _, drawn = drawing.picture(Chem.MolToSmiles(molecule), Random(1), True, lambda *_, drawn=molecule: drawn)
        built = molecule_builder.build(perfect_detections(drawn))
        truth = drawing_sets.spelled_at(Chem.MolFromSmiles(ring), at, (labels.GROUPS | labels.LINKS)[name])
        assert built.smiles == truth and built.faults == 0


def test_two_bonds_at_a_group_with_one_are_a_fault():
    molecule = Chem.RWMol(Chem.MolFromSmiles("C1CCCCC1"))
    abbreviations.put_label(molecule, 0, "CHO", "CHO", "OHC")
    _, drawn = drawing.picture("C1CCCCC1", Random(1), True, lambda *_: molecule)
    built = molecule_builder.build(perfect_detections(drawn))
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
    assert molecule_builder.build(perfect_detections(drawn)).smiles == Chem.CanonSmiles(smiles)


def test_bonds_without_ink_are_removed():
    page = np.zeros((80, 80), np.uint8)
    page[20, 10:41] = 200  # The first pair has a line,
    page[60, 10:24] = 200  # the second two ends,
    page[60, 28:41:4] = 20  # of which one is only dust.
    points = np.array([[10.0, 20], [40, 20], [10, 60], [40, 60]])
    pairs = np.array([[0, 1], [2, 3], [0, 2], [1, 3]])
    carbon, nitro = np.eye(len(labels.ATOM_LABELS))[[detection.CARBON, labels.ATOM_LABELS.index("NO2")]]
    single, none = np.eye(len(labels.REVERSED_KIND))[[labels.SINGLE, labels.NONE]]

    def blank_bonds(pairs, atoms, kinds):
        return detection._blank_bonds(page, points, pairs, np.array(atoms), np.array(kinds)).tolist()

    assert blank_bonds(pairs, 4 * [carbon], [*3 * [single], none]) == [2]  # The middle of the second pair has ink.
    page[60, 15:] = 20
    assert blank_bonds(pairs, 4 * [carbon], 4 * [single]) == [1, 2, 3]
    assert blank_bonds(pairs, [carbon, carbon, nitro, nitro], 4 * [single]) == [2, 3]
    assert blank_bonds(pairs[:0], 4 * [carbon], np.zeros((0, len(labels.REVERSED_KIND)))) == []


def test_unknown_labels_are_counted():
    _, drawn = drawing.picture("[Pt]c1ccccc1", Random(0), True)
    assert "?" in drawn.atoms and molecule_builder.build(perfect_detections(drawn)).unknown_labels == 1


def test_rings_with_circles_are_kekulised():
    _, drawn = drawing.picture("Cc1ccc2[nH]ccc2c1", Random(0), True)
    ring = Chem.MolFromSmiles("Cc1ccc2[nH]ccc2c1")
    drawn.bonds[[b.GetIdx() for b in ring.GetBonds() if b.GetIsAromatic()], 2] = labels.AROMATIC
    assert molecule_builder.build(perfect_detections(drawn)).smiles == "Cc1ccc2[nH]ccc2c1"


def test_a_frame_is_removed():
    image = Image.open(io.BytesIO(drawing.picture(MOLECULES[0], Random(0), True)[0])).convert("RGB")
    framed = augmentation.add_frame(image, Random(1))
    assert ink.box_of(ink.remove_frame(ink.ink_of(framed))) == ink.box_of(ink.ink_of(image))
