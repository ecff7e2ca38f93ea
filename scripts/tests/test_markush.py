"""Variable attachments and repeat units: what the reader makes of a drawing, in CXSMILES, mol files and answers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from rdkit import Chem
from test_reader_answers import ask

from scripts.served_reader import markush, molecule_builder, molfile, named_molecules, picture, placeholders, properties
from scripts.served_reader.labels import ATTACHMENT_POINT, CROSSED, DOUBLE, SINGLE, WAVY, WEDGE
from scripts.served_reader.reading import Reading
from scripts.served_reader.repeat_counts import find_counts
from scripts.tests.reader_detections import perfect_detections
from scripts.train.vision.drawing import Drawing

BOND = 24.0
"""Length of a bond in pixels."""
SIDES = [(i, (i + 1) % 6, DOUBLE if i % 2 else SINGLE) for i in range(6)]
"""The bonds of a benzene ring."""


def corner(number: float, radius: float = 1.0) -> tuple[float, float]:
    """Returns a corner of a hexagon, or a point on its side (a half number) at a distance from its middle."""
    angle = np.pi / 3 * number
    return 100 + BOND * radius * np.cos(angle), 100 + BOND * radius * np.sin(angle)


def read(points: list[tuple[float, float]], atoms: list[str], bonds: list[tuple[int, int, int]]):
    """Returns what perfect networks would read from a drawing, and its reading as it is served."""
    drawn = Drawing(np.zeros((0, 0), np.uint8), np.array(points, np.float32), atoms, np.array(bonds, np.int64))
    built = molecule_builder.build(perfect_detections(drawn))
    assert built is not None
    served = Chem.MolFromSmiles(built.smiles)
    return built, Reading(built.smiles, served, 0.99, 1.0, (200, 200), drawn=built.molecule)


def benzene(inner: float, outer: float, substituent: str = "R1", kind: int = SINGLE):
    """Reads a benzene ring and a bond across the middle of its first side, between two distances from its middle."""
    points = [corner(i) for i in range(6)] + [corner(0.5, inner), corner(0.5, outer)]
    return read(points, ["C"] * 7 + [substituent], [*SIDES, (6, 7, kind)])


def chain(count: str, atoms: str = "CCOCCOCC", bracketed: tuple[int, ...] = (1, 4), beside: float = 4.8):
    """Reads a zigzag chain with brackets across some of its bonds, and a count. beside: x of the count, in bonds."""
    points = [(BOND * i, 100 + BOND / 2 * (i % 2)) for i in range(len(atoms))]
    bonds = [(i, i + 1, CROSSED if i in bracketed else SINGLE) for i in range(len(atoms) - 1)]
    return read([*points, (BOND * beside, 100 + BOND)], [*atoms, count], bonds)


@pytest.mark.parametrize("inner", [0.2, 0.45, 0.66])
def test_a_bond_that_ends_inside_a_ring_is_a_variable_attachment(inner):
    built, reading = benzene(inner, 1.6)
    assert built.smiles == "**.c1ccccc1 |$;_R1;;;;;;$,m:0:2.3.4.5.6.7|"
    assert built.faults == 0 and built.pieces == 1
    assert [atoms for _, atoms in markush.attachments(reading.molecule)] == [[2, 3, 4, 5, 6, 7]]
    assert properties.canonical_smiles(reading.molecule) == built.smiles
    assert reading.placeholders() == ["R1"]


def test_only_atoms_with_a_hydrogen_are_places():
    points = [corner(i) for i in range(6)] + [corner(0.5, 0.4), corner(0.5, 1.6), corner(3, 2), corner(4, 2)]
    built, _ = read(points, ["C"] * 7 + ["Cl", "OH", "F"], [*SIDES, (6, 7, SINGLE), (3, 8, SINGLE), (4, 9, SINGLE)])
    assert built.smiles == "*Cl.Oc1ccccc1F |m:0:4.5.6.7|" and built.faults == 0


def test_a_methyl_group_of_the_same_piece_is_no_attachment():
    points = [corner(i) for i in range(6)] + [corner(0.5, 0.4)]
    built, _ = read(points, ["C"] * 7, [(a, b, SINGLE) for a, b, _ in SIDES] + [(2, 6, SINGLE)])
    assert built.smiles == "CC1CCCCC1"


def test_a_methyl_group_outside_the_ring_is_no_attachment():
    built, _ = benzene(1.2, 2.1)
    assert "m:" not in built.smiles


@pytest.mark.parametrize("count", ["n", "m", "2-4"])
def test_a_repeat_unit_keeps_its_count(count):
    built, reading = chain(count)
    assert built.smiles == f"CCOCCOCC |Sg:n:3,4,5:{count}:ht|" and built.faults == 0
    assert list(markush.repeat_units(reading.molecule)) == [(count, [3, 4, 5])]
    assert reading.placeholders() == [count]
    assert properties.canonical_smiles(reading.molecule) == built.smiles


@pytest.mark.parametrize(("count", "smiles"), [("1", "CCOCCOCC"), ("3", "CCOCCOCCOCCOCC")])
def test_a_unit_with_a_number_is_written_out(count, smiles):
    built, reading = chain(count)
    assert built.smiles == smiles and built.faults == 0 and reading.is_definite()
    again = Chem.MolFromMolBlock(molfile.molfile_of(built.molecule))
    assert Chem.MolToSmiles(again) == smiles


def test_a_unit_that_would_be_too_large_is_not_written_out():
    built, _ = chain("30", "CC" + "C" * 20 + "CO", (1, 21), 21.8)
    assert built.smiles.endswith(":30:ht|")


def test_the_ends_of_a_polymer_are_open():
    built, reading = chain("n", "COCC", (0, 2), 2.8)
    assert built.smiles == "*CO* |Sg:n:1,2:n:ht|" and built.faults == 0
    assert reading.placeholders() == ["*", "n"]


def test_two_units_have_the_counts_beside_them():
    atoms = "NCCOCCSF"
    points = [(BOND * i, 100 + BOND / 2 * (i % 2)) for i in range(len(atoms))]
    bonds = [(i, i + 1, CROSSED if i in (0, 2, 3, 5) else SINGLE) for i in range(len(atoms) - 1)]
    counts = [(BOND * 2.8, 100 + BOND), (BOND * 5.8, 100 + BOND)]
    labels = [*("NH2" if atom == "N" else atom for atom in atoms), "n", "m"]
    built, _ = read([*points, *counts], labels, bonds)
    assert built.faults == 0
    assert dict(markush.repeat_units(built.molecule)) == {"n": [1, 2], "m": [4, 5]}


def test_nested_units_have_the_counts_beside_them():
    atoms = "NCOCSF"
    points = [(BOND * i, 100 + BOND / 2 * (i % 2)) for i in range(len(atoms))]
    bonds = [(i, i + 1, CROSSED if i in (0, 1, 2, 3) else SINGLE) for i in range(len(atoms) - 1)]
    counts = [(BOND * 2.8, 100 + BOND), (BOND * 3.8, 100 + BOND)]
    labels = [*("NH2" if atom == "N" else atom for atom in atoms), "m", "n"]
    built, _ = read([*points, *counts], labels, bonds)
    assert built.faults == 0
    assert dict(markush.repeat_units(built.molecule)) == {"m": [2], "n": [1, 2, 3]}


def test_a_number_far_from_brackets_is_no_count():
    built, _ = chain("12", beside=12.0)
    assert built.smiles == "CCOCCOCC" and built.faults > 0


def test_a_unit_with_stereochemistry_is_not_expanded():
    points = [(BOND * i, 100 + BOND / 2 * (i % 2)) for i in range(6)] + [
        (BOND * 2, 100 - BOND),
        (BOND * 3.8, 100 + BOND),
    ]
    bonds = [(0, 1, SINGLE), (1, 2, CROSSED), (2, 3, SINGLE), (3, 4, CROSSED), (4, 5, SINGLE), (2, 6, WEDGE)]
    built, reading = read(points, ["OH", "C", "C", "O", "C", "C", "Cl", "3"], bonds)
    assert "@" in built.smiles and list(markush.repeat_units(reading.molecule))[0][0] == "3" and built.faults == 0


def test_the_substituent_may_have_a_lower_number_than_the_inner_end():
    points = [corner(0.5, 1.6), *(corner(i) for i in range(6)), corner(0.5, 0.4)]
    bonds = [(a + 1, b + 1, kind) for a, b, kind in SIDES] + [(0, 7, SINGLE)]
    built, reading = read(points, ["R1", *"CCCCCCC"], bonds)
    assert placeholders.names(built.molecule) == ["R1"] and built.smiles == benzene(0.4, 1.6)[0].smiles
    assert properties.canonical_smiles(reading.molecule) == built.smiles


def test_a_bond_that_ends_inside_two_rings_is_a_fault():
    other = [(300 - x, y) for x, y in (corner(i) for i in range(6))]
    points = [*(corner(i) for i in range(6)), *other, (112.0, 103.0), (188.0, 103.0)]
    bonds = [*SIDES, *((a + 6, b + 6, kind) for a, b, kind in SIDES), (12, 13, SINGLE)]
    assert read(points, ["C"] * 14, bonds)[0].faults > 0


@pytest.mark.parametrize("bracketed", [(1,), (1, 4, 5)])
def test_a_bracket_without_a_second_one_is_a_fault(bracketed):
    assert chain("n", bracketed=bracketed)[0].faults > 0


def test_brackets_without_a_count_are_a_fault():
    built, _ = chain("C")  # A carbon without a bond is a speck.
    assert built.faults > 0 and "Sg" not in built.smiles


def test_a_count_without_brackets_is_no_atom():
    built, _ = chain("n", bracketed=())
    assert built.smiles == "CCOCCOCC" and built.faults == 0


def test_the_same_drawing_has_the_same_text_whichever_chain_has_the_unit():
    ether = Chem.MolFromSmiles("COCC(F)COC")
    texts = set()
    for atoms, bonds in (((1, 2), (0, 2)), ((5, 6), (4, 6))):
        molecule = Chem.RWMol(ether)
        group = Chem.CreateMolSubstanceGroup(molecule, "SRU")
        group.SetAtoms(atoms)
        group.SetBonds(bonds)
        group.SetProp("LABEL", "n")
        texts.add(properties.canonical_smiles(molecule))
    assert len(texts) == 1 and texts.pop().startswith("COCC(F)COC |Sg:n:")


@pytest.mark.parametrize("smiles", ["*Cl.c1cn[nH]c1", "*F.c1ccccc1", "*Cl.c1ccc(-c2ccccc2)cc1"])
def test_the_same_attachment_has_the_same_text(smiles):
    molecule = Chem.RWMol(Chem.MolFromSmiles(smiles))
    ring = next(ring for ring in molecule.GetRingInfo().AtomRings())
    markush.set_endpoints(molecule.GetBondWithIdx(0), [a for a in ring if molecule.GetAtomWithIdx(a).GetTotalNumHs()])
    text = properties.canonical_smiles(molecule)
    again = Chem.MolFromSmiles(text)
    assert properties.canonical_smiles(again) == text
    ((_, atoms),) = markush.attachments(again)
    assert all(again.GetAtomWithIdx(atom).GetTotalNumHs() for atom in atoms)


def test_pieces_and_isomers_with_an_attachment_or_a_unit():
    (_, attached), (_, repeated) = benzene(0.4, 1.6), chain("n")
    assert attached.is_connected() and not attached.is_definite()
    plain = Reading("CCOCCOCC", Chem.MolFromSmiles("CCOCCOCC"), 0.99, 1.0, (3, 4))
    assert "isomers" not in ask("same", plain, repeated)


def test_a_mol_file_has_the_attachment_and_the_brackets():
    built, _ = benzene(0.4, 1.6)
    text = molfile.molfile_of(built.molecule)
    assert re.search(r"ENDPTS=\(6 1 2 3 4 5 6\) ATTACH=ANY", text) and "RGROUPS=(1 1)" in text
    ends = [atoms for _, atoms in markush.attachments(Chem.MolFromMolBlock(text))]
    assert ends == [[0, 1, 2, 3, 4, 5]]
    built, _ = chain("n")
    text = molfile.molfile_of(built.molecule)
    group = Chem.GetMolSubstanceGroups(Chem.MolFromMolBlock(text))[0]
    assert (group.GetProp("TYPE"), group.GetProp("LABEL"), list(group.GetAtoms())) == ("SRU", "n", [2, 3, 4])
    assert len(group.GetBrackets()) == 2


def test_an_attachment_point_with_a_variable_attachment():
    points = [corner(i) for i in range(6)] + [corner(0.5, 1.6), corner(0.5, 0.4)]  # The inner end is the last atom.
    built, reading = read(points, ["C"] * 6 + [ATTACHMENT_POINT, "C"], [*SIDES, (6, 7, WAVY)])
    assert built.smiles == "**.c1ccccc1 |$;_AP1;;;;;;$,m:0:2.3.4.5.6.7|"
    (ends,) = [atoms for _, atoms in markush.attachments(Chem.MolFromMolBlock(molfile.molfile_of(built.molecule)))]
    assert len(ends) == 6
    drawn = picture.picture_of(reading)
    assert drawn is not None and drawn != picture.picture_of(benzene(0.4, 1.6)[1])


def test_answers_say_what_the_drawing_does_not():
    (_, attached), (_, repeated) = benzene(0.4, 1.6), chain("n")
    says = "what R1 stands for and where on its ring a substituent is."
    assert ask("smiles", attached) == f"The SMILES is {attached.smiles}. The drawing does not say {says}"
    assert ask("formula", attached) == f"I cannot tell: that depends on {says}"
    assert ask("mass", repeated) == "I cannot tell: that depends on how often the unit in brackets repeats (n)."
    assert ask("count_rings", attached) == "It has 1 ring."
    plain = Reading("CCO", Chem.MolFromSmiles("CCO"), 0.99, 1.0, (3, 4))
    assert ask("smiles", plain) == "The SMILES is CCO."
    assert ask("same", attached, attached, brief=True) == "Yes"
    assert ask("same", attached, benzene(0.4, 1.6, "R2")[1], brief=True) == "No"


def test_different_readings_have_different_pictures():
    plain = Reading("CCOCCOCC", Chem.MolFromSmiles("CCOCCOCC"), 0.99, 1.0, (3, 4))
    (_, attached), (_, other), (_, repeated) = benzene(0.4, 1.6), benzene(0.4, 1.6, "R2"), chain("n")
    drawn = [picture.picture_of(one) for one in (plain, attached, other, repeated)]
    assert len(set(drawn)) == 4 and None not in drawn


def test_a_question_can_contain_cxsmiles():
    text = "Is that **.c1ccccc1 |$;_R1;;;;;;$,m:0:2.3.4.5.6.7| or CCOCCOCC |Sg:n:3,4,5:n:ht|?"
    hidden, found = named_molecules.hide_molecules(text)
    assert hidden == "Is that the other drawing or the other drawing?"
    assert [placeholders.names(one.molecule) for one in found] == [["R1"], ["n"]]
    assert not any(placeholders.is_definite(one.molecule) for one in found)
    assert named_molecules.parse_cxsmiles("CC.c1ccccc1 |m:1:2.3|") is None


def letters(picture: Image.Image, at: tuple[float, float], text: str, size: int) -> None:
    font = ImageFont.load_default(size)
    ImageDraw.Draw(picture).text(at, text, fill=255, font=font, anchor="mm")


@pytest.mark.parametrize(("text", "size"), [("n", 12), ("m", 8), ("2-4", 12), ("12", 10)])
def test_letters_beside_a_bracket_are_found(text, size):
    drawing = Image.new("L", (200, 100))
    pen = ImageDraw.Draw(drawing)
    bonds = np.array([[(20.0 * i, 50.0 + 10 * (i % 2)), (20.0 * i + 20, 60.0 - 10 * (i % 2))] for i in range(1, 8)])
    for begin, end in bonds:
        pen.line([*begin, *end], fill=255, width=2)
    for x, serif in ((50, 4), (130, -4)):
        pen.line([(x + serif, 38), (x, 38), (x, 72), (x + serif, 72)], fill=255)
    letters(drawing, (143, 74), text, size)
    letters(drawing, (8, 8), "7", 12)  # A number far from the brackets.
    found = find_counts(np.asarray(drawing), bonds[[1, 5]], bonds, 22.4)
    assert len(found) == 1 and found[0] == pytest.approx((143, 74), abs=3)


def test_letters_of_atoms_and_bonds_between_letters_are_no_counts():
    drawing = Image.new("L", (200, 100))
    pen = ImageDraw.Draw(drawing)
    bonds = np.array([[(20.0 * i, 50.0), (20.0 * i + 20, 50.0)] for i in range(1, 7)])
    for number, (begin, end) in enumerate(bonds):
        pen.line([begin[0] + 6, begin[1], end[0] - 6, end[1]], fill=255, width=2)
        letters(drawing, tuple(begin), "NOSP"[number % 4], 12)
    assert not len(find_counts(np.asarray(drawing), bonds[[1, 4]], bonds, 20.0))
    assert not len(find_counts(np.zeros((100, 200), np.uint8), bonds[[1, 4]], bonds, 20.0))


def test_no_counts_are_looked_for_in_noise():
    noise = np.zeros((1600, 1600), np.uint8)
    noise[::4, ::4] = 255
    bonds = np.array([[(100.0, 100.0), (120.0, 100.0)], [(1500.0, 1500.0), (1520.0, 1500.0)]])
    assert not len(find_counts(noise, bonds, bonds, 20.0))


def test_many_brackets_and_counts_take_little_work(monkeypatch):
    tried = 0
    fits = markush._Unit.fits

    def counted(one: markush._Unit, other: markush._Unit) -> bool:
        nonlocal tried
        tried += 1
        return fits(one, other)

    monkeypatch.setattr(markush._Unit, "fits", counted)
    for crossed in range(2, 12):
        points = [(BOND * i, 100.0) for i in range(14)] + [(BOND * (i + 0.8), 110.0) for i in range(12)]
        bonds = [(i, i + 1, CROSSED if i < crossed else SINGLE) for i in range(13)]
        read(points, ["C"] * 14 + ["n"] * 12, bonds)
        read(points[:18], ["C"] * 14 + ["n"] * 4, bonds)
    assert tried < 500_000
