"""The molecule reader fills JSON schemas (json_answers.py and json_fields.py), without Triton. test_openai_clients.py
tests this with a real Triton and real clients."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import rdDepictor

from scripts.served_reader import json_answers
from scripts.served_reader.reading import Reading
from scripts.served_reader.request import InvalidRequest

ASPIRIN, CAFFEINE = "CC(=O)Oc1ccccc1C(=O)O", "Cn1c(=O)c2c(ncn2C)n(C)c1=O"
TEXT, WHOLE, NUMBER, FLAG, NULL = ({"type": kind} for kind in ("string", "integer", "number", "boolean", "null"))


def fill(form: dict, *molecules: str) -> Any:
    """Returns the answer for molecules, or the refusal as a text."""
    readings = [Reading(smiles, Chem.MolFromSmiles(smiles), 0.98, 1.0, (1, 1)) for smiles in molecules]
    try:
        return json.loads(json_answers.fill_form(form, readings, lambda: "in words"))
    except InvalidRequest as error:
        return str(error)


def page_of(*molecules: str, more: bool = False) -> list[Reading]:
    """Readings of a page with drawings beside each other; "" is an unreadable one."""
    return [
        Reading(
            smiles or None,
            Chem.MolFromSmiles(smiles) if smiles else None,
            0.98 if smiles else 0.0,
            1.0,
            (300, 200),
            box=(100 * n, 0, 100 * n + 90, 200),
            drawings=len(molecules),
            more_drawings=more,
        )
        for n, smiles in enumerate(molecules)
    ]


def fill_page(schema: dict | None, readings: list[Reading]) -> Any:
    wanted = {"json": schema} if schema else {"json_object": True}
    return json.loads(json_answers.fill_form(wanted, readings, lambda: "in words"))


BOX = {"type": "array", "items": WHOLE}


@pytest.mark.parametrize("name", ["box", "bounding_box", "bbox", "boundingBox"])
def test_a_page_fills_an_array_with_boxes(name: str) -> None:
    item = {"type": "object", "properties": {"smiles": TEXT, name: BOX}, "required": ["smiles", name]}
    expected = [{"smiles": ASPIRIN, name: [0, 0, 90, 200]}, {"smiles": CAFFEINE, name: [100, 0, 190, 200]}]
    readings = page_of(ASPIRIN, CAFFEINE)
    assert fill_page({"type": "array", "items": item}, readings) == expected
    molecules = {"type": "object", "properties": {"molecules": {"type": "array", "items": item}}}
    assert fill_page(molecules, readings) == {"molecules": expected}


def test_an_unreadable_drawing_of_a_page_is_null_or_left_out() -> None:
    readings = page_of(ASPIRIN, "", CAFFEINE)
    item = {
        "type": "object",
        "properties": {"smiles": {"type": ["string", "null"]}, "box": BOX},
        "required": ["smiles"],
    }
    found = fill_page({"type": "array", "items": item}, readings)
    assert [each["smiles"] for each in found] == [ASPIRIN, None, CAFFEINE] and found[1]["box"] == [100, 0, 190, 200]
    item = {"type": "object", "properties": {"smiles": TEXT, "rings": WHOLE}, "required": ["smiles"]}
    assert [each["smiles"] for each in fill_page({"type": "array", "items": item}, readings)] == [ASPIRIN, CAFFEINE]
    found = fill_page(None, readings)["molecules"]
    assert found[1] == {"smiles": None, "box": [100, 0, 190, 200]} and found[2]["box"] == [200, 0, 290, 200]


def test_a_page_with_more_drawings_than_are_read() -> None:
    readings = page_of(ASPIRIN, CAFFEINE, more=True)
    assert fill_page(None, readings)["more_drawings"] is True
    with pytest.raises(InvalidRequest, match="more than 2 drawings"):
        fill_page({"type": "array", "items": {"type": "object", "properties": {"smiles": TEXT}}}, readings)


def test_a_page_of_64_drawings_fills_a_schema() -> None:
    item = {
        "type": "object",
        "properties": {"smiles": TEXT, "formula": TEXT, "mass": NUMBER, "rings": WHOLE, "box": BOX},
    }
    assert len(fill_page({"type": "array", "items": item}, page_of(*64 * [ASPIRIN]))) == 64


def test_a_single_drawing_has_a_box_only_in_a_schema() -> None:
    readings = page_of(ASPIRIN)
    assert "box" not in fill_page(None, readings)
    assert fill_page({"type": "object", "properties": {"box": BOX}}, readings) == {"box": [0, 0, 90, 200]}


def form(properties: dict, required: list[str] | None = None) -> dict:
    return {
        "json": {
            "type": "object",
            "properties": properties,
            "required": list(properties) if required is None else required,
        }
    }


def test_fields_are_filled_by_their_meaning() -> None:
    wanted = {
        "SMILES": (TEXT, ASPIRIN),
        "molecularFormula": (TEXT, "C9H8O4"),
        "InChIKey": (TEXT, "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"),
        "ring_count": (WHOLE, 1),
        "numRings": (WHOLE, 1),
        "number_of_rings": (WHOLE, 1),
        "num_aromatic_rings": (WHOLE, 1),
        "numHBondDonors": (WHOLE, 1),
        "hbd": (WHOLE, 1),
        "heavy_atom_count": (WHOLE, 13),
        "carbons": (WHOLE, 9),
        "oxygen_atoms": (WHOLE, 4),
        "num_esters": (WHOLE, 1),
        "molecular_weight": (NUMBER, 180.159),
        "LogP": (NUMBER, 1.3101),
        "TPSA": (NUMBER, 63.6),
        "charge": (WHOLE, 0),
        "confidence": (NUMBER, 0.98),
        "is_aromatic": (FLAG, True),
        "hasEster": (FLAG, True),
        "contains_nitrogen": (FLAG, False),
        "is_chiral": (FLAG, False),
        "elements": ({"type": "array", "items": TEXT}, ["C", "H", "O"]),
        "description": (TEXT, "in words"),
        "functional_groups": ({"type": "array", "items": TEXT}, ["carboxylic acid", "ester", "benzene ring"]),
        "kind": ({"const": "drug"}, "drug"),
        "name": ({"anyOf": [TEXT, NULL]}, None),
        "cas": ({"type": ["string", "null"]}, None),
    }
    assert fill(form({name: schema for name, (schema, _) in wanted.items()}), ASPIRIN) == {
        name: value for name, (_, value) in wanted.items()
    }


def test_optional_fields_without_a_value_are_left_out() -> None:
    assert fill(form({"smiles": TEXT, "name": TEXT, "melting_point": NUMBER}, ["smiles"]), ASPIRIN) == {
        "smiles": ASPIRIN
    }


def test_one_item_for_each_drawing() -> None:
    molecule = {"type": "object", "properties": {"smiles": TEXT, "rings": WHOLE}, "required": ["smiles", "rings"]}
    several = form({"molecules": {"type": "array", "items": {"$ref": "#/$defs/Molecule"}}})
    several["json"]["$defs"] = {"Molecule": molecule}
    assert fill(several, ASPIRIN, CAFFEINE) == {
        "molecules": [{"smiles": ASPIRIN, "rings": 1}, {"smiles": CAFFEINE, "rings": 2}]
    }


def test_the_tool_that_can_be_filled_is_chosen() -> None:
    def tool(name: str, properties: dict) -> dict:
        return {
            "type": "object",
            "properties": {"name": {"const": name}, "parameters": form(properties)["json"]},
            "required": ["name", "parameters"],
        }

    chosen = fill({"json": {"anyOf": [tool("weather", {"city": TEXT}), tool("keep", {"smiles": TEXT})]}}, ASPIRIN)
    assert chosen == {"name": "keep", "parameters": {"smiles": ASPIRIN}}


def with_coordinates(smiles: str) -> Reading:
    molecule = Chem.MolFromSmiles(smiles)
    rdDepictor.Compute2DCoords(molecule)
    return Reading(smiles, molecule, 0.98, 1.0, (1, 1))


@pytest.mark.parametrize("name", ["molfile", "molBlock", "mol_block", "MDL_mol", "molV3000", "molfile_v3000", "CTAB"])
def test_a_schema_may_have_the_mol_file(name: str) -> None:
    filled = json_answers.fill_form(form({name: TEXT}), [with_coordinates(ASPIRIN)], lambda: "in words")
    block = json.loads(filled)[name]
    assert "V3000" in block and Chem.MolToSmiles(Chem.MolFromMolBlock(block)) == ASPIRIN


def test_json_without_a_schema_has_the_mol_file_only_if_it_is_asked_for() -> None:
    readings = [with_coordinates(ASPIRIN), with_coordinates(CAFFEINE)]
    assert "molfile" not in json.loads(json_answers.answers_as_json([], readings[:1]))
    everything = json.loads(json_answers.answers_as_json(["molfile"], readings[:1], everything=True))
    assert {"molfile", "smiles", "formula"} <= {*everything}
    asked = json.loads(json_answers.answers_as_json(["molfile", "formula"], readings))["molecules"]
    assert [set(each) for each in asked] == [{"molfile", "formula"}] * 2
    assert Chem.MolToSmiles(Chem.MolFromMolBlock(asked[1]["molfile"])) == CAFFEINE


def test_any_json() -> None:
    one = fill({"json_object": True}, ASPIRIN)
    assert (one["smiles"], one["formula"], one["rings"], one["elements"]) == (
        ASPIRIN,
        "C9H8O4",
        1,
        {"C": 9, "H": 8, "O": 4},
    )
    assert [m["smiles"] for m in fill({"json_object": True}, ASPIRIN, CAFFEINE)["molecules"]] == [ASPIRIN, CAFFEINE]


def test_what_depends_on_r_groups_is_null() -> None:
    drawn = "*c1ccccc1* |$_R1;;;;;;;X$|"
    facts = fill({"json_object": True}, drawn)
    known = {name: fact for name, fact in facts.items() if fact is not None}
    assert known == {
        "smiles": drawn,
        "rings": 1,
        "aromatic_rings": 1,
        "confidence": 0.98,
        "placeholders": ["R1", "X"],
    }
    assert {"formula", "inchi", "logp", "molecular_weight", "elements", "functional_groups", "name"} <= set(facts)
    groups = {"type": "array", "items": TEXT}
    wanted = {"rGroups": groups, "carbons": {"anyOf": [WHOLE, NULL]}, "is_chiral": FLAG, "has_ring": FLAG}
    assert fill(form(wanted, ["rGroups", "carbons"]), drawn) == {
        "rGroups": ["R1", "X"],
        "carbons": None,
        "has_ring": True,
    }
    assert "asks for mw, which this model does not know of a drawing with" in fill(form({"mw": NUMBER}), drawn)
    assert "asks for toxicity, which this model does not know of a molecule;" in fill(form({"toxicity": NUMBER}), drawn)
    assert fill(form({"placeholders": groups}), ASPIRIN) == {"placeholders": []}


def test_a_drawing_with_r_groups_on_a_page() -> None:
    readings = page_of(ASPIRIN, "*CCO |$_R1;;;$|", "")
    mass = {"type": "object", "properties": {"mass": {"type": ["number", "null"]}}, "required": ["mass"]}
    assert [each["mass"] for each in fill_page({"type": "array", "items": mass}, readings)] == [180.1590, None, None]
    assert [each.get("placeholders") for each in fill_page(None, readings)["molecules"]] == [[], ["R1"], None]
    mass["properties"] = {"mass": NUMBER}
    with pytest.raises(InvalidRequest, match="asks for mass, which this model does not know of a drawing with placeh"):
        fill_page({"type": "array", "items": mass}, readings)


def test_a_schema_in_a_prompt() -> None:
    schema = json.dumps(form({"smiles": TEXT, "name": {"anyOf": [TEXT, NULL]}})["json"])
    found = json_answers.schema_in_prompt([f"Use {{braces}}. JSON schema: {schema} You must answer so."])
    assert fill({"json": found}, ASPIRIN) == {
        "smiles": ASPIRIN,
        "name": None,
    }


@pytest.mark.parametrize(
    ("asked", "molecules", "says"),
    [
        (form({"smiles": TEXT, "name": TEXT}), [ASPIRIN], "asks for name"),
        (
            form({"it": {"type": "object", "properties": {"city": TEXT}, "required": ["city"]}}),
            [ASPIRIN],
            "asks for it.city",
        ),
        (form({"smiles": {"type": "string", "enum": ["C"]}}), [ASPIRIN], "asks for smiles"),
        (form({"smiles": TEXT}), [], "A drawing of a molecule is needed"),
        (form({"a": {"$ref": "#"}}), [ASPIRIN], "too large or too deep"),
        (form({f"a{i}": NULL for i in range(300)}), [ASPIRIN], "too large or too deep"),
        (form({"a": {"$ref": "#/$defs/Missing"}}), [ASPIRIN], "has no #/$defs/Missing"),
        ({"json": "not an object"}, [ASPIRIN], "JSON schema"),
        ({"json": {"type": "object", "properties": 5}}, [ASPIRIN], "schema is invalid"),
        ({"regex": "a+"}, [ASPIRIN], "only json and json_object"),
    ],
)
def test_a_schema_that_cannot_be_filled_is_refused(asked: dict, molecules: list[str], says: str) -> None:
    got = fill(asked, *molecules)
    assert isinstance(got, str) and says in got


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("answer_id", {"anyOf": [{"const": "yes"}, {"const": "no"}]}, None),
        ("answer_id", {"anyOf": [{"const": "yes"}, NULL]}, {"answer_id": None}),
        ("answer_id", {"oneOf": [{"const": "yes"}, {"const": None}]}, {"answer_id": None}),
        ("answer_id", {"enum": ["yes", None]}, {"answer_id": None}),
        ("answer_id", {"enum": ["yes", "no"]}, None),
        ("rings", {"enum": [0, 1, 2, None]}, {"rings": 1}),
        ("is_aromatic", {"type": "boolean", "const": False}, None),
        ("is_aromatic", {"type": "boolean", "const": True}, {"is_aromatic": True}),
        ("is_aromatic", {"oneOf": [{"const": False}, {"const": True}]}, {"is_aromatic": True}),
        ("rings", {"const": 3}, None),
        ("rings", {"enum": [0, 1, 2]}, {"rings": 1}),
        ("kind", {"type": "string", "const": "drug"}, {"kind": "drug"}),
    ],
)
def test_a_constant_is_checked_against_what_is_known(name: str, schema: dict, value: Any) -> None:
    answer = fill(form({name: schema}), ASPIRIN)
    assert answer == value if value else answer.startswith(f"The schema asks for {name}")


def test_all_parts_of_a_schema_are_filled() -> None:
    parts = [
        form({"smiles": TEXT})["json"],
        form({"formula": TEXT})["json"],
        {"properties": {"smiles": {"title": "S"}}},
    ]
    assert fill({"json": {"allOf": parts}}, ASPIRIN) == {"smiles": ASPIRIN, "formula": "C9H8O4"}
    whole = {**form({"smiles": TEXT, "name": TEXT, "rings": WHOLE})["json"], "required": ["smiles"]}
    choice = {**whole, "anyOf": [{"required": ["name"]}, {"required": ["rings"]}]}
    assert fill({"json": choice}, ASPIRIN) == {"smiles": ASPIRIN, "rings": 1}
    cyclic = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert fill({"json": cyclic}, ASPIRIN) == "The schema is too large or too deep for this model."
