"""Drawings to train and to measure the molecule reader on, and their labels. Run by `make test-train`."""

import io
import json
import re
from random import Random

import numpy as np
import pytest
from PIL import Image
from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from scripts.eval import drawing_sets
from scripts.served_reader import ink, labels, molecule_builder, properties
from scripts.served_reader import markush as reader_markush
from scripts.served_reader import placeholders as reader_placeholders
from scripts.tests.reader_detections import MOLECULES, perfect_detections
from scripts.train.vision import (
    abbreviations,
    alignment,
    augmentation,
    batches,
    corpus,
    drawing,
    evaluation,
    marks,
    markush,
    negatives,
    other_programs,
    placeholders,
    styles,
    uneven_layout,
)
from scripts.train.vision.programs import smilesdrawer


def test_points_lie_on_ink():
    for seed, smiles in enumerate(MOLECULES):
        drawn = drawing.draw(smiles, Random(seed), False)
        for x, y in drawn.points:
            assert drawn.ink[max(0, int(y) - 8) : int(y) + 9, max(0, int(x) - 8) : int(x) + 9].max() > 60


def test_negatives_are_seeded_and_not_blank():
    one, other = (negatives.picture(np.random.default_rng(5)) for _ in range(2))
    assert (one == other).all() and one.max() > 0


ABBREVIATED = {
    "CCOC(=O)c1ccc(N)cc1": "CO2Et",
    "COc1ccc(C#N)cc1": "OMe",
    "CC(C)(C)OC(=O)NC1CCCC1": "NHBoc",
    "O=[N+]([O-])c1ccc(Cl)cc1": "NO2",
    "CC(=O)Oc1ccccc1C(=O)O": "COOH",
}


@pytest.mark.parametrize("smiles", ABBREVIATED)
def test_abbreviations_stand_for_their_groups(smiles):
    for seed in range(200):
        random = Random(seed)
        short = abbreviations.abbreviate_sometimes(Chem.MolFromSmiles(smiles), random)
        marks = [drawing.atom_label(a) for a in short.GetAtoms()]
        if ABBREVIATED[smiles] in marks:
            break
    else:
        raise AssertionError("never abbreviated")
    _, drawn = drawing.picture(smiles, Random(seed), False)
    built = molecule_builder.build(perfect_detections(drawn))
    assert built.smiles == Chem.CanonSmiles(smiles) and built.faults == 0


@pytest.mark.parametrize("default", [True, False])
def test_training_drawings_have_unknown_labels_in_every_style(default):
    marks = [mark for seed in range(60) for mark in drawing.draw("CC(=O)Nc1ccc(OCC)cc1", Random(seed), default).atoms]
    assert "?" in marks


def test_pictures_have_unknown_labels_only_on_request():
    shown = [
        evaluation.pictures(MOLECULES, 3, True, 1, alter)
        for alter in (None, abbreviations.add_unknown, abbreviations.abbreviate)
    ]
    for drawings in shown:
        assert len(drawings) == 3 and {png[:4] for _, png in drawings} == {b"\x89PNG"}
    assert shown[0] != shown[1] != shown[2] != shown[0]


def test_notes_beside_atoms_leave_the_labels():
    molecule = "C[C@H](N)C(=O)N1CCC[C@@H]1C(=O)O"
    marks = [drawing.atom_label(a) for a in Chem.MolFromSmiles(molecule).GetAtoms()]
    noted = 0
    for seed in range(60):
        given = Chem.MolFromSmiles(molecule)
        styles.annotate(rdMolDraw2D.MolDraw2DCairo(200, 200).drawOptions(), given, Random(seed))
        notes = [atom.GetProp("atomNote") for atom in given.GetAtoms() if atom.HasProp("atomNote")]
        noted += bool(notes)
        assert len(notes) in (0, 2) and [drawing.atom_label(a) for a in given.GetAtoms()] == marks
    assert 0 < noted < 20


def test_unknown_atoms_for_programs_without_labels():
    """Programs without labels get metals and isotopes, which are unknown atoms."""
    random = Random(1)
    altered = [abbreviations.add_unknown_atom(Chem.MolFromSmiles("CCOC(=O)CBr"), random) for _ in range(200)]
    unknown = [m for m in altered if any(drawing.atom_label(a) == "?" for a in m.GetAtoms())]
    assert 10 < len(unknown) < 60
    assert all(a.GetAtomicNum() for m in altered for a in m.GetAtoms())
    assert {a.GetSymbol() for m in unknown for a in m.GetAtoms()} & set(abbreviations.METALS)
    assert any(a.GetIsotope() for m in unknown for a in m.GetAtoms())


@pytest.mark.parametrize("smiles", [*MOLECULES, "O=C(Cn1cccc1)N[C@@H](C)c1c[nH]nc1"])
def test_fragments_have_hydrogens_at_cut_bonds(smiles):
    whole = Chem.MolFromSmiles(smiles)
    for seed in range(10):
        parts = abbreviations.fragments(whole, 2, Random(seed))
        assert sum(p.GetNumAtoms() for p in parts) == whole.GetNumAtoms()
        for part in parts:
            again = Chem.MolFromSmiles(Chem.MolToSmiles(part))
            assert again.GetNumAtoms() == part.GetNumAtoms()
            assert not any(a.GetNumRadicalElectrons() for a in again.GetAtoms())


def test_small_molecules_have_unknown_labels_too():
    random = Random(3)
    altered = [
        abbreviations.add_unknown(Chem.MolFromSmiles("O=C(COc1ccccc1)N1CCN(Cc2ccc(Br)cc2)CC1"), random)
        for _ in range(300)
    ]
    strange = {labels.UNKNOWN_LABEL, *labels.PLACEHOLDERS}  # Among them W, for tungsten too.
    unknown = [[a for a in m.GetAtoms() if drawing.atom_label(a) in strange] for m in altered]
    assert sum(map(bool, unknown)) > 270 and any(len(some) == 2 for some in unknown)
    assert sum(m.GetNumAtoms() < 12 for m in altered) > 60
    metals = [a for some in unknown for a in some if a.GetSymbol() in abbreviations.METALS]
    assert {a.GetDegree() for a in metals} >= {1, 2, 3, 4}
    assert all(drawing.picture(Chem.MolToSmiles(m), random, True)[0] for m in altered[:20])


def test_reagents_replace_an_end_of_a_molecule():
    random = Random(1)
    found = {corpus.with_reagent("CCc1ccc(OC)cc1", random) for _ in range(900)}
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
    unknown = {a.GetSymbol() for m in molecules for a in m.GetAtoms() if drawing.atom_label(a) == labels.UNKNOWN_LABEL}
    assert unknown == {"Hg", "Mg", "Li", "Zn"}
    assert corpus.with_reagent("C1CC1", random) == "C1CC1"  # no end


@pytest.mark.parametrize(
    "handle",
    [
        lambda i, p, r: augmentation.rotate_quarters(i, p, 1),
        lambda i, p, r: augmentation.rotate_quarters(i, p, 3),
        augmentation.tilt,
        augmentation.photograph,
    ],
)
@pytest.mark.parametrize("scale", [1, 7])
def test_augmentation_moves_the_points_with_the_picture(handle, scale):
    """The point of a black dot on white paper stays on the dot."""
    image = Image.new("RGB", (200 * scale, 160 * scale), "white")
    image.paste("black", (146 * scale, 36 * scale, 155 * scale, 45 * scale))
    out, points = handle(image, np.array([[150.5 * scale, 40.5 * scale]], np.float32), Random(3))
    dark = np.argwhere(ink.ink_of(out) > 128)
    assert np.abs(dark.mean(0)[::-1] - points[0]).max() < 2.5


def test_a_photograph_of_a_large_picture_is_reduced():
    out, _ = augmentation.photograph(Image.new("RGB", (1400, 900), "white"), np.zeros((0, 2), np.float32), Random(3))
    assert 600 < max(out.size) < 1.3 * augmentation.MAX_PHOTO


@pytest.mark.parametrize("smiles", MOLECULES)
def test_uneven_layouts_show_the_same_molecule(smiles):
    ratios = []
    for seed in range(12):
        _, drawn = drawing.picture(smiles, Random(seed), False, uneven=1.0)
        first, second = drawn.points[drawn.bonds[:, 0]], drawn.points[drawn.bonds[:, 1]]
        lengths = np.linalg.norm(first - second, axis=1)
        ratios.append(lengths.max() / lengths.min())
        assert molecule_builder.build(perfect_detections(drawn)).smiles == Chem.CanonSmiles(smiles)
    assert np.median(ratios) > 1.2


def test_uneven_layouts_are_not_more_crowded():
    for seed in range(40):
        molecule = Chem.MolFromSmiles("CC1CCCCC1C(C)(C)C(C)(C)CC")
        styles.lay_out(molecule, Random(seed))
        bonds = drawing.bonds_of(molecule)[:, :2]
        before = molecule.GetConformer().GetPositions()[:, :2]
        bond = np.median(np.linalg.norm(before[bonds[:, 0]] - before[bonds[:, 1]], axis=1))
        uneven_layout.distort(molecule, Random(seed))
        after = molecule.GetConformer().GetPositions()[:, :2]
        assert uneven_layout._count_crowded(after, bonds, bond) <= uneven_layout._count_crowded(before, bonds, bond)


def test_coordinates_are_aligned_with_a_picture():
    """With RDKit's drawing instead of another program's, the points found are those that RDKit reports."""
    random = Random(5)
    molecule = Chem.MolFromSmiles("CC(C)Cc1ccc(cc1)C(C)C(=O)O")
    png, drawn = drawing.picture(Chem.MolToSmiles(molecule), random, True)
    points = drawn.points.astype(float)
    coordinates = np.stack([points[:, 0], -points[:, 1]], 1) / 23.0 + 7.0
    single = drawn.bonds[drawn.bonds[:, 2] != labels.DOUBLE]
    found = alignment.align(ink.ink_of(Image.open(io.BytesIO(png))), coordinates, single)
    assert found is not None and np.abs(found - points).max() < 3


def test_every_spelling_of_a_group_is_drawn():
    written = set()
    for number in range(60):
        molecule = Chem.RWMol(Chem.MolFromSmiles("CCCC"))
        abbreviations._abbreviate_at(molecule, 0, "NMe", Random(number))
        written.add(
            (molecule.GetAtomWithIdx(0).GetProp("_displayLabel"), molecule.GetAtomWithIdx(0).GetProp("_displayLabelW"))
        )
    assert written == {("NHMe", "MeHN"), ("NMe", "MeN"), ("NHCH<sub>3</sub>", "H<sub>3</sub>CHN")}


def test_carbons_are_spelled_out():
    molecule = Chem.MolFromSmiles("CC(C)=C[C@H](N)c1ccccc1")
    written = [
        {
            a.GetProp("_displayLabel")
            for a in abbreviations.spell_out_carbons(molecule, Random(seed)).GetAtoms()
            if a.HasProp("_displayLabel")
        }
        for seed in range(30)
    ]
    assert {"CH<sub>3</sub>", "CH", "C"} in written and len({frozenset(some) for some in written}) > 3
    spelled = abbreviations.spell_out_carbons(molecule, Random(0))
    assert [drawing.atom_label(a) for a in spelled.GetAtoms()] == [drawing.atom_label(a) for a in molecule.GetAtoms()]


@pytest.mark.parametrize("smiles", MOLECULES)
def test_drawn_hydrogens_become_implicit(smiles):
    drawn = [drawing.picture(smiles, Random(seed), True, abbreviations.show_hydrogens)[1] for seed in range(8)]
    assert any("H" in d.atoms for d in drawn)
    built = [molecule_builder.build(perfect_detections(d)) for d in drawn]
    assert {(candidate.smiles, candidate.faults) for candidate in built} == {(Chem.CanonSmiles(smiles), 0)}


def test_a_layout_by_another_program():
    molecule = Chem.MolFromSmiles("C[C@H](O)/C=C/Cl")
    styles.lay_out(molecule, Random(1))
    before = molecule.GetConformer().GetPositions()
    other_programs.change_layout(molecule, lambda text: [(2 * y, 2 * -x) for x, y in before[:, :2]])
    assert np.allclose(molecule.GetConformer().GetPositions()[:, :2], 2 * before[:, :2] @ [[0, -1], [1, 0]])
    with pytest.raises(other_programs.OtherMolecule):  # E becomes Z.
        other_programs.change_layout(
            molecule,
            lambda text: [
                *molecule.GetConformer().GetPositions()[:-1, :2],
                molecule.GetConformer().GetPositions()[1, :2] * 0.9,
            ],
        )
    text, _, _ = other_programs.mol_file(
        Chem.MolFromSmiles("C[C@H](O)/C=C/Cl"), Random(1), None, lambda text: before[:, :2].tolist()
    )
    assert Chem.MolToSmiles(Chem.MolFromMolBlock(text)) == Chem.CanonSmiles("C[C@H](O)/C=C/Cl")


SULFONAMIDE = "C[C@H](N)c1ccc(S(N)(=O)=O)cc1"


def smilesdrawer_answer(wedge: str = "down") -> dict:
    """Returns the answer of SmilesDrawer 2.4.1 for SULFONAMIDE."""
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
    answer = smilesdrawer_answer()
    assert Chem.MolToSmiles(Chem.MolFromMolBlock(smilesdrawer.mol_file(SULFONAMIDE, answer))) == Chem.CanonSmiles(
        SULFONAMIDE
    )
    points, marks, bonds = smilesdrawer.labels_of(SULFONAMIDE, answer)
    assert marks == ["C", "C", "H", "NH2", "C", "C", "C", "C", "SO2NH2", "C", "C"]
    assert points[8].tolist() == [105.0, 26.0]
    assert [tuple(row) for row in bonds.tolist() if row[2] == labels.DASH] == [(1, 3, labels.DASH)]
    assert sum(bonds[:, 2] == labels.AROMATIC) == 6
    assert len(bonds) == 11


def test_wrong_drawings_by_smilesdrawer_are_detected():
    other = Chem.MolFromMolBlock(smilesdrawer.mol_file(SULFONAMIDE, smilesdrawer_answer("up")))
    assert Chem.MolToSmiles(other) == Chem.CanonSmiles(SULFONAMIDE.replace("@", "@@"))
    assert smilesdrawer.labels_of(SULFONAMIDE, smilesdrawer_answer() | {"circles": []}) is None
    assert smilesdrawer.labels_of(SULFONAMIDE, smilesdrawer_answer() | {"dashed": True}) is None
    assert smilesdrawer.mol_file(SULFONAMIDE, {"error": "SyntaxError"}) is None


def draw_by_itself(smiles: str) -> tuple[bytes, str] | None:
    """A fake of a program that lays out and draws SMILES, and reports its drawing."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule.GetNumAtoms() == 1:
        return None
    molecule = rdMolDraw2D.PrepareMolForDrawing(molecule, kekulize=True)
    drawer = rdMolDraw2D.MolDraw2DCairo(300, 300)
    drawer.DrawMolecule(molecule)
    drawer.FinishDrawing()
    return drawer.GetDrawingText(), Chem.MolToMolBlock(molecule)


def test_plain_drawings_are_labelled(monkeypatch):
    monkeypatch.setitem(other_programs.programs.PLAIN, "other", lambda: draw_by_itself)
    molecules = corpus.Corpus([(1.0, ["C[C@H](N)c1ccc(C#N)cc1"])], [])
    record = other_programs.plain_records("other", molecules, labelled=True)(Random(0))
    kinds = [kind for *_, kind in record["bonds"]]
    assert record["atoms"] == ["C", "C", "NH2", "C", "C", "C", "C", "C", "N", "C", "C"]
    assert [kinds.count(kind) for kind in (labels.SINGLE, labels.DOUBLE, labels.TRIPLE)] == [6, 3, 1]
    assert kinds.count(labels.WEDGE) + kinds.count(labels.DASH) == 1
    lengths = [np.linalg.norm(np.subtract(record["points"][a], record["points"][b])) for a, b, _ in record["bonds"]]
    assert min(lengths) > 0.8 * max(lengths) > 10
    assert set(other_programs.plain_records("other", molecules, labelled=False)(Random(0))) == {"png", "smiles"}
    assert (
        other_programs.plain_records("other", corpus.Corpus([(1.0, ["C", "c1cccc1"])], []), labelled=True)(Random(0))
        is None
    )


def test_an_interrupted_file_is_continued(monkeypatch, tmp_path):
    monkeypatch.setitem(other_programs.programs.PLAIN, "other", lambda: draw_by_itself)

    def extend(path, count):
        molecules = other_programs.InOrder([*MOLECULES[:2], "C", *MOLECULES[2:]]).after(
            path
        )  # draw_by_itself fails for methane.
        other_programs.extend_file(path, count, other_programs.plain_records("other", molecules, labelled=False), "1")

    for count in (1, 3, 100):
        extend(tmp_path / "stopped.jsonl", count)
    extend(tmp_path / "other.jsonl", 100)
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
def test_wrong_abbreviations_are_not_measured(smiles, readable):
    assert (drawing_sets.abbreviated(smiles, Random(0)) is not None) == readable


def test_placeholders_are_drawn_and_read_back():
    seen: set[str] = set()
    for seed in range(80):
        smiles = MOLECULES[seed % len(MOLECULES)]
        _, drawn = drawing.picture(
            smiles, Random(seed), seed % 4 == 0, placeholders.add_placeholders, patents=seed % 3 / 2
        )
        generic = [name for name in drawn.atoms if labels.CLASSES[name] > labels.UNKNOWN_CLASS]
        built = molecule_builder.build(perfect_detections(drawn))
        assert built.faults == built.unknown_labels == 0 and built.smiles == evaluation.molecule_of(drawn)
        ends = [re.split("(?=R)", name)[1:] if name in labels.GENERIC_GROUPS else [name] for name in generic]
        shown = {labels.ATTACHMENT_POINT: "open bond"}
        assert set(reader_placeholders.names(built.molecule)) == {shown.get(end, end) for some in ends for end in some}
        assert len(reader_placeholders.placeholders(built.molecule)) == sum(map(len, ends))
        seen |= {*generic}
    assert len(seen) > 60 and {"R", "R1", labels.ATTACHMENT_POINT, "X"} <= seen and seen & {*labels.GENERIC_GROUPS}


SHARES = {
    styles: ("WAVY_SHARE", "HIGHLIGHTED_SHARE", "MAPPED_SHARE"),
    markush: ("ATTACHED_SHARE", "REPEATED_SHARE"),
}
"""What training drawings have a share of."""


def draw_only(monkeypatch: pytest.MonkeyPatch, share: str) -> None:
    """Lets all training drawings have one of the SHARES, and none of the others."""
    for module, names in SHARES.items():
        for name in names:
            monkeypatch.setattr(module, name, float(name == share))


@pytest.mark.parametrize("default", [True, False])
def test_wavy_bonds_are_drawn_and_read_back(monkeypatch, default):
    draw_only(monkeypatch, "WAVY_SHARE")
    smiles = "C[C@H](N)C(=O)OCc1ccccc1"
    seen = set()
    for seed in range(20):
        _, drawn = drawing.picture(smiles, Random(seed), default, lambda molecule, _: molecule, marked=True)
        assert labels.WAVY in drawn.bonds[:, 2]
        seen.add(molecule_builder.build(perfect_detections(drawn)).smiles)
    assert seen == {smiles, "CC(N)C(=O)OCc1ccccc1"}


@pytest.mark.parametrize("share", ["HIGHLIGHTED_SHARE", "MAPPED_SHARE"])
def test_highlights_and_atom_map_numbers_change_the_picture_and_not_the_labels(monkeypatch, share):
    smiles = "C[C@H](N)C(=O)OCc1ccccc1"
    draw_only(monkeypatch, share)
    monkeypatch.setattr(styles, "default", lambda _: styles.options(rdMolDraw2D.MolDraw2DCairo(300, 300))[0])
    for seed in range(12):
        marked, drawn = drawing.picture(smiles, Random(seed), True, marked=True)
        assert molecule_builder.build(perfect_detections(drawn)).smiles == smiles
        plain, _ = drawing.picture(smiles, Random(seed), True)
        assert marked != plain


def test_variable_attachments_are_drawn_and_read_back(monkeypatch):
    draw_only(monkeypatch, "ATTACHED_SHARE")
    smiles = ["Cc1ccc(CCN)cc1", "c1ccc(cc1)C1CCNC1", "O=C(O)c1ccccc1Cl"]
    seen = set()
    for seed in range(60):
        given = smiles[seed % 3]
        _, drawn = drawing.picture(given, Random(seed), seed % 4 == 0, lambda molecule, _: molecule, marked=True)
        built = molecule_builder.build(perfect_detections(drawn))
        found = list(reader_markush.attachments(built.molecule))
        assert built.faults == 0 and built.pieces == 1 and len(found) == 1 and " |" in built.smiles
        moved = "*C.NCCc1ccccc1 |m:0:" in built.smiles
        seen.add("moved" if moved else "added" if built.molecule.GetNumHeavyAtoms() > 10 else "other")
    assert {"moved", "added"} <= seen


def test_a_molecule_without_rings_has_no_variable_attachment(monkeypatch):
    draw_only(monkeypatch, "ATTACHED_SHARE")
    _, drawn = drawing.picture("CCOC(=O)CN", Random(1), True, marked=True)
    assert molecule_builder.build(perfect_detections(drawn)).smiles == "CCOC(=O)CN"


def test_repeat_units_are_drawn_and_read_back(monkeypatch):
    draw_only(monkeypatch, "REPEATED_SHARE")
    smiles = "OCCOCCCCNc1ccccc1"
    counts, plain = set(), 0
    for seed in range(80):
        random = Random(seed)
        png, drawn = drawing.picture(smiles, random, seed % 4 == 0, lambda molecule, _: molecule, marked=True)
        built = molecule_builder.build(perfect_detections(drawn))
        crossed = np.flatnonzero(drawn.bonds[:, 2] == labels.CROSSED)
        assert built.faults == 0 and len(crossed) in (0, 2) and len(drawn.points) == len(drawn.atoms)
        if not len(crossed):  # There was no room.
            assert built.smiles == smiles
            plain += 1
            continue
        counts.add(drawn.atoms[-1])
        units = list(reader_markush.repeat_units(built.molecule))
        assert drawn.atoms[-1].isdigit() or [count for count, _ in units] == [drawn.atoms[-1]]
        grey = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
        x, y = drawn.points[-1].round().astype(int)
        around = grey[max(0, y - 12) : y + 12, max(0, x - 12) : x + 12]
        assert around.min() < np.median(grey) - 60
    assert "n" in counts and len(counts) > 5 and plain < 40


def test_the_atom_detector_does_not_learn_repeat_counts():
    bonds = np.array([[0, 2, labels.CROSSED], [2, 3, labels.SINGLE]])
    points = np.array([[5, 5], [40, 20], [25, 5], [45, 5]], np.float32)
    drawn = drawing.Drawing(np.full((50, 50), 255, np.uint8), points, ["O", "n", "C", "N"], bonds)
    kept = batches.without_counts(drawn)
    assert kept.atoms == ["O", "C", "N"] and kept.points.tolist() == points[[0, 2, 3]].tolist()
    assert kept.bonds.tolist() == [[0, 1, labels.CROSSED], [1, 2, labels.SINGLE]]
    assert batches.without_counts(kept) is kept
    sample = batches.sample(drawn, np.random.default_rng(1))
    assert len(sample.classes) == len(sample.points) == 3


def test_molecules_with_variable_attachments_and_repeat_units():
    smiles = ["Cc1ccc(CCN)cc1", "CCO", "OCCOCCCCNc1ccccc1"]
    attached = drawing_sets.with_feature(smiles, "attachments")
    assert len(attached) == 2 and all("|m:" in one or ",m:" in one for one in attached)
    units = drawing_sets.with_feature(smiles, "units")
    assert len(units) == 2 and all("Sg:n:" in one for one in units)
    for one in (*attached, *units):
        assert drawing_sets.canonical(one) == properties.canonical_smiles(Chem.MolFromSmiles(one)) == one


def test_a_double_bond_beside_a_wavy_one_is_neither_e_nor_z():
    _, drawn = drawing.picture("C/C=C/c1ccccc1", Random(0), True)
    assert molecule_builder.build(perfect_detections(drawn)).smiles == "C/C=C/c1ccccc1"
    ends = drawn.bonds[:, :2].min(1) == 0
    drawn.bonds[ends, 2] = labels.WAVY
    assert molecule_builder.build(perfect_detections(drawn)).smiles == "CC=Cc1ccccc1"


def test_a_wavy_bond_leaves_a_stereocentre_undefined():
    pictures = drawing_sets.wavy_bonds(["C[C@H](N)C(=O)OCc1ccccc1", "CCO", "C[C@H](F)C[C@@H](Cl)CO"], 1)
    assert [truth for truth, _ in pictures][0] == "CC(N)C(=O)OCc1ccccc1"
    assert [truth.count("@") > 0 for truth, _ in pictures] == [False, True]


def test_letters_that_are_placeholders_are_labelled_so():
    random, seen = Random(2), set()
    for _ in range(400):
        molecule = abbreviations.add_unknown(Chem.MolFromSmiles("CCOC(=O)c1ccc(N)cc1"), random)
        for atom in molecule.GetAtoms():
            if atom.HasProp("_displayLabel"):
                text, label = atom.GetProp("_displayLabel"), drawing.atom_label(atom)
                assert label == (text if text in labels.PLACEHOLDERS and text != "Rh" else labels.UNKNOWN_LABEL)
                seen.add(label)
    assert {"R", "*", "?"} < seen


def test_a_share_of_the_training_drawings_has_placeholders():
    def count(**shares):
        drawings = [drawing.draw(MOLECULES[seed % 8], Random(seed), seed % 2 == 0, **shares) for seed in range(60)]
        return sum(
            any(name in labels.GENERIC_GROUPS or name == labels.ATTACHMENT_POINT for name in d.atoms) for d in drawings
        )

    assert count() == 0 and count(placeholders=1.0, patents=0.5, scans=0.5) > 15


def test_a_wavy_end_has_ink_at_its_atom():
    molecule = Chem.RWMol(Chem.MolFromSmiles("CCc1ccccc1"))
    end = Chem.Atom(0)
    end.SetProp(marks.DRAWN_LABEL, labels.ATTACHMENT_POINT)
    molecule.ReplaceAtom(0, end)
    png, drawn = drawing.picture("CCc1ccccc1", Random(0), True, lambda *_: molecule.GetMol())
    assert drawn.atoms[0] == labels.ATTACHMENT_POINT
    page = ink.ink_of(Image.open(io.BytesIO(png)).convert("RGB"))
    x, y = drawn.points[0].round().astype(int)
    x1, y1 = drawn.points[1]
    across = np.array([-(y1 - y), x1 - x]) / np.hypot(x1 - x, y1 - y)  # The wavy line is perpendicular to the bond.
    for side in (-8, 8):
        column, row = (np.array([x, y]) + side * across).round().astype(int)
        assert page[row - 3 : row + 4, column - 3 : column + 4].max() > 60


@pytest.mark.parametrize(
    ("name", "style", "expected"),
    [
        ("R12", "sup", [("R<sup>12</sup>", "R<sup>12</sup>")]),
        ("R1a", "sup", [("R<sup>1a</sup>", "R<sup>1a</sup>")]),
        ("R'", "sub", [("R'", "R'")]),
        ("Rh", "", [("R<sup>h</sup>", "R<sup>h</sup>")]),
        ("Ar1", "sub", [("Ar<sub>1</sub>", "Ar<sub>1</sub>")]),
        ("alkyl", "sub", [("alkyl", "alkyl")]),
        ("OR1", "", [("OR1", "R1O")]),
        ("NHR2", "sup", [("NHR<sup>2</sup>", "R<sup>2</sup>HN"), ("NHR<sup>2</sup>", "R<sup>2</sup>NH")]),
        ("NR1R2", "", [("NR1R2", "R1R2N"), ("NR1R2", "R2R1N")]),
        ("NRR", "", [("NRR", "RRN"), ("NR<sub>2</sub>", "R<sub>2</sub>N")]),
    ],
)
def test_spellings_of_placeholders(name, style, expected):
    assert placeholders.spellings(name, style) == expected


def test_spellings_have_the_letters_of_the_name():
    for name in (*labels.PLACEHOLDERS[2:], *labels.GENERIC_GROUPS):
        ends = re.split("(?=R)", name)[1:] if name in labels.GENERIC_GROUPS else [name[0]]
        for right, left in [pair for style in ("sup", "sub", "") for pair in placeholders.spellings(name, style)]:
            assert right[0] != "<" and left[0] != "<"  # RDKit crashes at a leading <sub>.
            texts = [re.sub("<.*?>", "", text) for text in (right, left)]
            assert all(end in text for end in ends for text in texts)
            counts = [{c: text.replace("O2", "OO").count(c) for c in "CNOSH"} for text in texts]
            assert counts[0] == counts[1], texts


def test_scans_are_black_and_white_with_their_points_on_ink():
    png, drawn = drawing.picture("CC(=O)Nc1ccc(OCC)cc1", Random(0), True)
    for seed in range(10):
        image, points = augmentation.scan(Image.open(io.BytesIO(png)).convert("RGB"), drawn.points, Random(seed))
        page = np.asarray(image.convert("L"))
        assert set(np.unique(page)) == {0, 255}
        for x, y in points:
            assert page[max(0, int(y) - 10) : int(y) + 11, max(0, int(x) - 10) : int(x) + 11].min() == 0


def test_drawings_with_placeholders_to_measure_on():
    drawn = evaluation.with_placeholders(MOLECULES, 5, 1)
    assert len(drawn) == 5 and drawn == evaluation.with_placeholders(MOLECULES, 5, 1)
    molecules = [Chem.MolFromSmiles(smiles) for smiles, _ in drawn]
    assert all(any(not atom.GetAtomicNum() for atom in molecule.GetAtoms()) for molecule in molecules)
