"""Mol files of molecules that were read: RDKit reads them back, with the coordinates of the drawing and the labels of
placeholders."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdmolops

from scripts.served_reader import molecule_builder, molfile
from scripts.served_reader.wording import Molfile, tokens
from scripts.tests.reader_detections import MOLECULES, perfect_detections
from scripts.train.vision import drawing, marks


def read(smiles: str, style: str | int = "default", **labels: str) -> tuple[drawing.Drawing, Chem.Mol]:
    """Returns a drawing, and the molecule that perfect networks would read from it.

    labels: what atoms are drawn as, by atom (a3="OMe").
    """

    def put_labels(molecule: Chem.Mol, _: Random) -> Chem.Mol:
        labelled = Chem.RWMol(molecule)
        for atom, label in labels.items():
            marks.put_label(labelled, int(atom[1:]), label, label, label)
        return labelled

    _, drawn = drawing.picture(smiles, Random(style), style == "default", put_labels if labels else None)
    built = molecule_builder.build(perfect_detections(drawn))
    assert built is not None and built.faults == 0
    return drawn, built.molecule


def positions(molecule: Chem.Mol) -> np.ndarray:
    return molecule.GetConformer().GetPositions()[:, :2]


@pytest.mark.parametrize("smiles", MOLECULES)
@pytest.mark.parametrize("style", ["default", 1, 2, 3])
def test_a_mol_file_is_the_molecule_as_drawn(smiles: str, style: str | int) -> None:
    drawn, molecule = read(smiles, style)
    again = Chem.MolFromMolBlock(molfile.molfile_of(molecule))
    assert Chem.MolToSmiles(again) == Chem.CanonSmiles(smiles) and not again.GetConformer().Is3D()
    lengths = [
        np.linalg.norm(np.subtract(*positions(again)[[bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()]]))
        for bond in again.GetBonds()
    ]
    assert np.median(lengths) == pytest.approx(molfile.BOND_LENGTH, abs=0.01)
    if again.GetNumAtoms() == len(drawn.points):  # Neither groups nor hydrogens are drawn.
        points = drawn.points * (1, -1)  # In the file, y is up.
        scale = np.ptp(points, axis=0).max() / np.ptp(positions(again), axis=0).max()
        assert positions(again) * scale == pytest.approx(points - points.mean(0), abs=0.02 * scale)


def test_atoms_of_a_group_have_places_of_their_own() -> None:
    smiles = "CC(=O)c1ccc(*)cc1"
    drawn, molecule = read(smiles, a7="OTs")
    again = Chem.MolFromMolBlock(molfile.molfile_of(molecule))
    assert Chem.MolToSmiles(again) == Chem.CanonSmiles("CC(=O)c1ccc(OS(=O)(=O)c2ccc(C)cc2)cc1")
    places = positions(again)
    distances = np.linalg.norm(places[:, None] - places, axis=-1)[~np.eye(len(places), dtype=bool)]
    assert distances.min() > 0.5 * molfile.BOND_LENGTH
    points = drawn.points * (1, -1)
    scale = np.linalg.norm(points[0] - points[4]) / np.linalg.norm(places[0] - places[4])
    assert places[: len(points)] * scale - points == pytest.approx(
        np.tile(places[0] * scale - points[0], (len(points), 1)), abs=0.02 * scale
    )


def labels_in(block: str) -> dict[int, str]:
    """Returns the labels of S-groups by atom."""
    groups = Chem.GetMolSubstanceGroups(Chem.MolFromMolBlock(block))
    assert all(group.GetProp("TYPE") == "SUP" for group in groups)
    return {atom: group.GetProp("LABEL") for group in groups for atom in group.GetAtoms()}


def without_labels(molecule: Chem.Mol) -> str:
    """Returns the SMILES with a bare star for each placeholder."""
    bare = Chem.Mol(molecule)
    for atom in bare.GetAtoms():
        atom.SetIsotope(0 if not atom.GetAtomicNum() else atom.GetIsotope())
    return Chem.MolToSmiles(bare)


def test_placeholders_keep_their_labels() -> None:
    _, molecule = read("CCNCCc1cc(C)cc(CC)c1C", a0="R1", a2="X", a4="(CH2)n", a8="R33", a11="Ra", a13="*")
    block = molfile.molfile_of(molecule)
    assert labels_in(block) == {2: "X", 4: "(CH2)n", 8: "R33", 11: "Ra"}
    assert re.findall(r"V30 (\d+) (R#|\*) [-.\d ]+(.*)\n", block) == [
        ("1", "R#", "RGROUPS=(1 1)"),
        *((str(1 + atom), "*", "") for atom in (2, 4, 8, 11, 13)),
    ]
    assert without_labels(Chem.MolFromMolBlock(block)) == without_labels(molecule)


def test_a_group_with_an_r_group() -> None:
    _, molecule = read("Cc1ccccc1", a0="CO2R1")
    again = Chem.MolFromMolBlock(molfile.molfile_of(molecule))
    assert [atom.GetUnsignedProp("_MolFileRLabel") for atom in again.GetAtoms() if not atom.GetAtomicNum()] == [1]
    assert without_labels(again) == Chem.CanonSmiles("*OC(=O)c1ccccc1")


def test_attachment_points() -> None:
    _, molecule = read("CCc1cc(C)ccc1OC(C)C", a0="AP", a5="AP")
    block = molfile.molfile_of(molecule)
    again = Chem.RWMol(Chem.MolFromMolBlock(block))
    assert block.count("ATTCHPT=1") == 2 and again.GetNumAtoms() == molecule.GetNumAtoms() - 2
    rdmolops.ExpandAttachmentPoints(again)
    assert without_labels(again) == without_labels(molecule)


@pytest.mark.parametrize("label", ["X", "Ar", "(CH2)n"])
def test_an_attachment_point_on_a_placeholder(label: str) -> None:
    _, molecule = read("CCc1ccccc1", a0="AP", a1=label)
    again = Chem.MolFromMolBlock(molfile.molfile_of(molecule))
    (star,) = (atom for atom in again.GetAtoms() if not atom.GetAtomicNum())
    assert star.HasProp("molAttchpt") and again.GetNumAtoms() == 7


@pytest.mark.parametrize("smiles", ["F[C@@](C)(Cl)Br", "F[C@](C)(Cl)Br", "F/C(C)=C/Cl", "F/C(C)=C\\Cl"])
def test_an_attachment_point_stays_an_atom_where_stereochemistry_needs_it(smiles: str) -> None:
    _, molecule = read(smiles, a2="AP")
    block = molfile.molfile_of(molecule)
    assert "ATTCHPT" not in block and list(labels_in(block).values()) == ["AP1"]
    assert without_labels(Chem.MolFromMolBlock(block)) == without_labels(molecule)
    assert "@" in without_labels(molecule) or "/" in without_labels(molecule)


def test_the_first_line_is_not_empty_and_tokens_are_words() -> None:
    _, molecule = read("C" * 120)
    block = molfile.molfile_of(molecule)
    assert block == block.lstrip() and Chem.MolFromMolBlock(block.strip()) is not None
    found = tokens([Molfile(block)])
    assert "".join(found) == block and len(found) < 2400
