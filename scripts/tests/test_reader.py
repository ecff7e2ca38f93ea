"""The served molecule reader without Triton: detections to molecules, cropping, and readings of the shipped
networks."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
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
    placeholders,
    properties,
    sparse_cells,
    views,
)
from scripts.tests.reader_detections import MOLECULES, perfect_detections
from scripts.train.vision import augmentation, drawing, marks

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


@pytest.mark.parametrize(
    ("drawn", "read_as"),
    [
        ("*c1ccccc1 |$R1;;;;;;$|", ""),
        ("*c1cc(*)ccn1 |$R4;;;;R5;;;$|", ""),
        ("*C(=O)Nc1ccccc1 |$X;;;;;;;;;$|", ""),
        ("*C1CCN(C(=O)c2ccc(*)cc2)CC1 |$Ar;;;;;;;;;;;R2;;;;$|", ""),
        ("*C1CCC(CC1)C(N)=O |$OR1;;;;;;;;;$|", "*OC1CCC(CC1)C(N)=O |$R1;;;;;;;;;;$|"),
    ],
    ids=["R1", "R4 and R5", "X", "Ar and R2", "OR1"],
)
def test_placeholders_are_read(read, drawn, read_as):
    """read_as: the molecule, if it is another one than RDKit's with that label."""
    smiles = read(drawing_sets.with_labels(drawn, Random(1)))["smiles"]
    assert smiles == drawing_sets.labelled(read_as or drawn)


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
        marks.put_label(molecule, at, name, name, name)
        _, drawn = drawing.picture(Chem.MolToSmiles(molecule), Random(1), True, lambda *_, drawn=molecule: drawn)
        built = molecule_builder.build(perfect_detections(drawn))
        truth = drawing_sets.spelled_at(Chem.MolFromSmiles(ring), at, (labels.GROUPS | labels.LINKS)[name])
        assert built.smiles == truth and built.faults == 0


def test_two_bonds_at_a_group_with_one_are_a_fault():
    molecule = Chem.RWMol(Chem.MolFromSmiles("C1CCCCC1"))
    marks.put_label(molecule, 0, "CHO", "CHO", "OHC")
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


def test_labels_are_regular():
    names = labels.ATOM_LABELS
    assert len(set(names)) == len(names) and max(map(len, names)) <= 10 and labels.DETECTED_LABELS[-1] == "?"
    wanted = "R R39 R' R''' Rd Rx R1a R9C R3' A X1 Y' Z9 L1 Ar4 Hal (CH2)z * AP OR39 NHSO2Rd NR1R1 CONR7R8 SO2NRaRb"
    assert {*wanted.split()} < {*names} and {*names}.isdisjoint(["B1", "D1", "R40", "R10a", "NR1R3"])


@pytest.mark.parametrize("name", ["OR1", "NHR", *list(labels.GENERIC_GROUPS)[::17]])
def test_groups_with_r_groups_are_expanded(name):
    classes, points = np.array([labels.CLASSES["C"], labels.CLASSES[name]]), np.array([[0.0, 0], [20, 0]])
    molecule, _ = molecule_builder.assemble(points, classes, np.array([[0, 1]]), np.array([labels.SINGLE]), set())
    Chem.SanitizeMol(molecule)
    group, *ends = re.split("(?=R)", name)
    assert sorted(placeholders.placeholders(molecule).values()) == sorted(f"_{end}" for end in ends)
    assert sum(atom.GetTotalNumHs() for atom in molecule.GetAtoms()) == 3 + group.count("H")
    letters = "".join(atom.GetSymbol() for atom in molecule.GetAtoms() if atom.GetAtomicNum())
    assert sorted(letters) == sorted(re.sub("[()H]", "", "C" + group).replace("O2", "OO"))
    assert letters[1] == name[0]


def test_molecules_with_placeholders_have_canonical_cxsmiles():
    molecule = Chem.MolFromSmiles("*OCC(N)* |$_R1;;;;;X$|")
    placeholders.set_isotopes(molecule)
    orders = [Random(seed).sample(range(6), 6) for seed in range(20)]
    texts = {placeholders.smiles_of(Chem.RenumberAtoms(molecule, order)) for order in orders}
    assert texts == {"*C(N)CO* |$X;;;;;_R1$|"}
    plain = Chem.MolFromSmiles("CCO")
    placeholders.set_isotopes(plain)
    assert placeholders.smiles_of(plain) == "CCO"


def test_cxsmiles_of_every_placeholder_is_read_back():
    for name in labels.PLACEHOLDERS:
        molecule = Chem.MolFromSmiles("*OCC(N)*")
        if label := placeholders.label_of(name):
            molecule.GetAtomWithIdx(0).SetProp(placeholders.LABEL, label)
        text = properties.canonical_smiles(molecule)
        again = Chem.MolFromSmiles(text)
        assert placeholders.names(again) == placeholders.names(molecule) and properties.canonical_smiles(again) == text


def test_a_centre_with_two_placeholders_keeps_its_stereochemistry():
    points = np.array([[0.0, 0], [20, 0], [30, 17], [30, -17]])
    classes = np.array([labels.CLASSES[label] for label in ("R1", "C", "R2", "OH")])
    pairs, kinds = np.array([[1, 0], [1, 2], [1, 3]]), np.array([labels.SINGLE, labels.WEDGE, labels.SINGLE])
    atoms, bonds = np.eye(len(labels.ATOM_LABELS))[classes], np.eye(len(labels.REVERSED_KIND))[kinds]
    built = molecule_builder.build(detection.Detections(points, np.ones(4), atoms, pairs, bonds))
    assert built.smiles.count("@") and built.smiles.endswith("|$_R1;;_R2;$|"), built.smiles
    assert not built.faults and not any(atom.GetIsotope() for atom in built.molecule.GetAtoms())


def test_rings_with_circles_are_kekulised():
    _, drawn = drawing.picture("Cc1ccc2[nH]ccc2c1", Random(0), True)
    ring = Chem.MolFromSmiles("Cc1ccc2[nH]ccc2c1")
    drawn.bonds[[b.GetIdx() for b in ring.GetBonds() if b.GetIsAromatic()], 2] = labels.AROMATIC
    assert molecule_builder.build(perfect_detections(drawn)).smiles == "Cc1ccc2[nH]ccc2c1"


def test_a_frame_is_removed():
    image = Image.open(io.BytesIO(drawing.picture(MOLECULES[0], Random(0), True)[0])).convert("RGB")
    framed = augmentation.add_frame(image, Random(1))
    assert ink.box_of(ink.remove_frame(ink.ink_of(framed))) == ink.box_of(ink.ink_of(image))


PAGE = [
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "O=C(O)c1ccccc1OC(C)=O",
    "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "c1ccc2c(c1)[nH]cc2CCN",
    "COc1ccc2cc(C(C)C(=O)O)ccc2c1",
    "OCc1ccncc1",
]


def page_of(
    smiles: list[str], columns: int = 3, cell: tuple[int, int] = (420, 330), captions: bool = True
) -> Image.Image:
    """Drawings of 300 x 225 pixels in rows, each with a number below."""
    page = Image.new("RGB", (columns * cell[0], -(-len(smiles) // columns) * cell[1]), "white")
    for n, one in enumerate(smiles):
        x, y = n % columns * cell[0] + 40, n // columns * cell[1] + 30
        page.paste(draw(one, 300, 225), (x, y))
        if captions:
            ImageDraw.Draw(page).text((x + 140, y + 235), f"({n + 1}a)", "black", ImageFont.load_default(size=22))
    return page


def test_a_page_is_read_in_reading_order(read):
    found = read(page_of(PAGE))["page"]
    assert [smiles for smiles, _, _ in found] == [Chem.CanonSmiles(s) for s in PAGE]
    for n, (_, (left, top, right, bottom), readable) in enumerate(found):
        x, y = n % 3 * 420 + 40, n // 3 * 330 + 30
        assert readable and x <= left < right <= x + 300 and y <= top < bottom <= y + 225
        assert right - left > 150 or bottom - top > 150


def test_a_large_page_is_read_in_detail(read):
    size = (2480, 1298)
    page = page_of(PAGE).resize(size, Image.Resampling.LANCZOS)
    found = read(page)["page"]
    assert [smiles for smiles, _, _ in found] == [Chem.CanonSmiles(s) for s in PAGE]
    assert max(box[2] for _, box, _ in found) > 0.8 * size[0]


def test_a_reaction_scheme_has_its_molecules(read):
    page = page_of(PAGE[:2], 2, (620, 330), captions=False)
    pen = ImageDraw.Draw(page)
    pen.line([(380, 150), (560, 150)], "black", 2)
    pen.polygon([(560, 150), (540, 143), (540, 157)], "black")
    pen.text((430, 115), "NaH, THF", "black", ImageFont.load_default(size=20))
    pen.text((600, 140), "+", "black", ImageFont.load_default(size=30))
    assert [smiles for smiles, _, _ in read(page)["page"]] == [Chem.CanonSmiles(s) for s in PAGE[:2]]


def test_lines_of_a_table_are_no_molecules(read):
    page = page_of(PAGE, captions=False)
    pen = ImageDraw.Draw(page)
    for x in (5, 425, 845, 1255):
        pen.line([(x, 5), (x, 655)], "black", 3)
    for y in (5, 335, 655):
        pen.line([(5, y), (1255, y)], "black", 3)
    assert [smiles for smiles, _, _ in read(page)["page"]] == [Chem.CanonSmiles(s) for s in PAGE]


def test_boxes_may_overlap(read):
    """A molecule in the corner of another one's box."""
    large, small = "CCCCCCCCc1ccccc1CCCCCCCCCC(=O)O", "OCc1ccccc1"
    page = Image.new("RGB", (900, 700), "white")
    page.paste(draw(large, 700, 600), (20, 20))
    inked = np.asarray(page.convert("L")) < 200
    small_drawing = draw(small, 160, 120)
    free = [
        (x, y)
        for y in range(60, 420, 10)
        for x in range(60, 560, 10)
        if not inked[y - 40 : y + 160, x - 40 : x + 200].any()
    ]
    page.paste(small_drawing, free[len(free) // 2])
    found = {smiles: box for smiles, box, _ in read(page)["page"]}
    assert set(found) == {Chem.CanonSmiles(large), Chem.CanonSmiles(small)}
    one, other = found.values()
    assert max(one[0], other[0]) < min(one[2], other[2]) and max(one[1], other[1]) < min(one[3], other[3])


@pytest.mark.parametrize(
    "name",
    [
        "methyltriphenylphosphonium iodide",
        "fluoxetine hydrochloride",
        "naproxen sodium",
        "sumatriptan succinate",
        "imatinib mesylate",
    ],
)
def test_a_salt_is_one_drawing(read, name):
    smiles = drawing_sets.SALTS[name]
    assert [found for found, _, _ in read(draw(smiles))["page"]] == [Chem.CanonSmiles(smiles)]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_a_single_drawing_is_read_as_before(read, smiles):
    for image in (draw(smiles), draw(smiles, 1200, 900), blotted(smiles)):
        reading = read(image)
        assert [found for found, _, _ in reading["page"]] == [reading["smiles"]]


def test_an_unreadable_drawing_of_a_page_is_listed(read):
    page = page_of(["C1CCC(CC1)[Pt]C1CCCCC1", *PAGE[:2]])
    (first, box, readable), *others = read(page)["page"]
    assert first is None and not readable and box[2] > box[0]
    assert [smiles for smiles, _, _ in others] == [Chem.CanonSmiles(s) for s in PAGE[:2]]


def text_page(image: Image.Image, top: int) -> None:
    font = ImageFont.load_default(size=22)
    for n in range(20):
        line = "The mixture was stirred at 25 C for 12 h, then washed with brine (3 x 20 mL) and dried over Na2SO4"
        ImageDraw.Draw(image).text((40, top + 32 * n), line[n:], "black", font)


def test_a_page_of_text_has_no_molecules(read):
    page = Image.new("RGB", (1200, 800), "white")
    text_page(page, 40)
    ((_, _, readable),) = read(page)["page"]
    assert not readable


def test_a_page_of_text_with_one_drawing(read):
    page = Image.new("RGB", (1200, 1100), "white")
    text_page(page, 400)
    page.paste(draw(PAGE[0]), (300, 40))
    ((smiles, box, _),) = read(page)["page"]
    assert smiles == Chem.CanonSmiles(PAGE[0]) and box[3] < 360


@pytest.mark.parametrize("picture", ["noise", "chessboard", "specks", "grid", "letters"])
def test_hostile_pictures_take_bounded_time(picture):
    """A page takes at most a few times as long as one drawing, and no drawing is found."""
    random = np.random.default_rng(0)
    pixels = np.full((2400, 2400), 255, np.uint8)
    if picture == "noise":
        pixels = random.integers(0, 256, pixels.shape).astype(np.uint8)
    elif picture == "chessboard":
        pixels[np.add.outer(np.arange(2400) // 8, np.arange(2400) // 8) % 2 == 0] = 0
    elif picture == "specks":
        pixels.ravel()[random.integers(0, pixels.size, 20_000)] = 0
    elif picture == "grid":
        pixels[::12], pixels[:, ::12] = 0, 0
    image = Image.fromarray(pixels).convert("RGB")
    if picture == "letters":
        for _ in range(6000):
            x, y, letter = random.integers(0, [2400, 2400, 26]).tolist()
            ImageDraw.Draw(image).text((x, y), chr(65 + letter), "black", ImageFont.load_default(size=16))
    networks = CountingNetworks()
    reader = drawing_reader.DrawingReader(Path(), networks=networks, calibration=views.UNFITTED)
    reader.read(image)
    alone, networks.cells = networks.cells, 0
    assert len(reader.read_page(image)) == 1
    assert networks.cells <= 4 * alone + 200_000


class CountingNetworks:
    """Finds no atoms, and counts the cells that it sees."""

    cells = 0

    def detect_atoms(self, cells):
        n = len(cells.levels[1])
        self.cells += n
        logits = np.zeros((n, len(labels.DETECTED_LABELS) + 3))
        logits[:, 0] = 20
        return np.zeros((n, 1)), logits, np.full(1, -5.0)

    def classify_bonds(self, features, places, shapes):
        raise AssertionError("there are no atoms")
