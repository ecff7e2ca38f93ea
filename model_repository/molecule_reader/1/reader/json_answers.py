"""Writes answers as JSON, in the form of a JSON schema if there is one.

Fields with a known meaning (json_fields.py) are filled from the molecule. An unknown field is null if it is nullable,
left out if it is optional, and otherwise makes the request invalid: no value is invented.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from . import functional_groups, json_fields
from .named_molecules import common_name
from .properties import element_counts
from .reading import Reading
from .request import InvalidRequest

MAX_DEPTH = 16
"""The most levels of a schema."""
MAX_BRACES = 64
"""The most opening braces in a prompt that are tried as the start of a schema."""
MAX_FIELDS = 256
"""The most fields of an answer."""
PROSE_FIELDS = {
    "answer",
    "description",
    "explanation",
    "summary",
    "reply",
    "response",
    "text",
    "content",
    "comment",
    "reasoning",
}
"""Fields that get the answer in words, in snake case."""
ALL_FACTS = (
    "smiles",
    "formula",
    "inchi",
    "inchikey",
    "molecular_weight",
    "exact_mass",
    "logp",
    "tpsa",
    "charge",
    "heavy_atoms",
    "all_atoms",
    "bonds",
    "rings",
    "aromatic_rings",
    "stereocentres",
    "hydrogen_bond_donors",
    "hydrogen_bond_acceptors",
    "rotatable_bonds",
    "confidence",
)
"""Fields of an answer without a schema, beside name, elements, functional_groups and placeholders. What depends on
placeholders is null. The mol file is too long for it: it is in the answer to a question for it."""
ASKS_FOR_JSON = re.compile(
    r"(?:\b(?:as|in|into|with|using|via|return|give me|output|respond|reply|answer)\s+)?"
    r"(?:\b(?:in|as|with|an?|valid|pure|plain|one|single|only|just)\s+){0,6}\bjson\b"
    r"(?:[ -](?:object|format|form|document|please|only))*",
    re.IGNORECASE,
)
ASKS_FOR_EVERYTHING = re.compile(r"\b(?:everything|all|anything|describe)\b", re.IGNORECASE)
FIELDS_BY_FAMILY = {
    "smiles": ("smiles",),
    "name": ("name",),
    "inchi": ("inchi", "inchikey"),
    "molfile": ("molfile",),
    "formula": ("formula",),
    "mass": ("molecular_weight",),
    "exact_mass": ("exact_mass",),
    "count_heavy": ("heavy_atoms",),
    "count_atoms": ("all_atoms",),
    "count_bonds": ("bonds",),
    "count_rings": ("rings",),
    "has_ring": ("rings",),
    "count_aromatic": ("aromatic_rings",),
    "is_aromatic": ("aromatic_rings",),
    "count_stereo": ("stereocentres",),
    "is_chiral": ("stereocentres",),
    "charge": ("charge",),
    "is_charged": ("charge",),
    "count_donors": ("hydrogen_bond_donors",),
    "count_acceptors": ("hydrogen_bond_acceptors",),
    "count_rotatable": ("rotatable_bonds",),
    "logp": ("logp",),
    "tpsa": ("tpsa",),
    "elements": ("elements",),
    "count_element": ("elements",),
    "has_element": ("elements",),
    "groups": ("functional_groups",),
    "count_group": ("functional_groups",),
    "has_group": ("functional_groups",),
    "sure": ("confidence",),
}
"""Fields that answer a question. Questions of other families are answered by all fields."""

FIELDS_BY_TYPE = {
    "integer": json_fields.number_field,
    "number": json_fields.number_field,
    "boolean": json_fields.boolean_field,
}
LIST_FIELDS = (json_fields.list_field, json_fields.number_list_field)
FACTS_BY_TYPE = {
    "string": (json_fields.text_field, json_fields.number_field, *LIST_FIELDS),
    "array": LIST_FIELDS,
    **{kind: (find,) for kind, find in FIELDS_BY_TYPE.items()},
}
"""By type of a schema: the functions that return the fact of a field from its name, None for an unknown name."""
TYPE_OF_CONSTANT = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class NoValue(Exception):
    """A field of a schema has no known value; the text is the path of the field."""

    def __init__(self, path: str, is_indefinite: bool = False) -> None:
        super().__init__(path)
        self.is_indefinite = is_indefinite


def box_of(reading: Reading) -> dict[str, Any]:
    """Returns the box of a drawing that is one of several in its picture."""
    return {"box": list(reading.box)} if reading.drawings > 1 else {}


def all_facts(reading: Reading) -> dict[str, Any]:
    """Returns all that is known of a molecule, for a request without a schema."""
    if not reading.is_readable():
        return {"smiles": None} | box_of(reading)
    facts: dict[str, Any] = {}
    for name in ALL_FACTS:
        fact = json_fields.text_field(name) or json_fields.number_field(name)
        if fact is not None:
            try:
                facts[name] = fact(reading)
            except json_fields.Indefinite:
                facts[name] = None
    is_definite = reading.is_definite()
    return (
        facts
        | box_of(reading)
        | {
            "name": common_name(reading.molecule)[0] or None,
            "elements": dict(element_counts(reading.molecule)) if is_definite else None,
            "functional_groups": dict(functional_groups.summary(reading.molecule)) if is_definite else None,
            "placeholders": reading.placeholders(),
        }
    )


def schema_in_prompt(texts: Sequence[str]) -> dict[str, Any] | None:
    """Returns the first schema in the texts of a prompt. Some clients put it there and request any JSON object."""
    decoder = json.JSONDecoder()
    tries = 0
    for text in texts:
        at = text.find("{")
        while at >= 0 and tries < MAX_BRACES:
            tries += 1
            try:
                found, _ = decoder.raw_decode(text, at)
            except (json.JSONDecodeError, RecursionError):
                found = None
            if isinstance(found, dict) and isinstance(found.get("properties"), dict):
                return found
            at = text.find("{", at + 1)
    return None


def answers_as_json(families: Sequence[str], readings: Sequence[Reading], everything: bool = False) -> str:
    """Returns the JSON text with the fields that answer questions of these families, or with all fields: if one of the
    families has none, or for `everything`. The mol file is only there if it was asked for."""
    wanted = [FIELDS_BY_FAMILY.get(family, ()) for family in families]
    names = {name for fields in wanted for name in fields} if all(wanted) and not everything else set()
    always = names | {"box"} if all(r.is_readable() for r in readings) else names | {"box", "smiles"}
    values = [{name: v for name, v in all_facts(r).items() if not names or name in always} for r in readings]
    if "molfile" in families:
        values = [v | {"molfile": r.molfile()} if r.is_readable() else v for v, r in zip(values, readings, strict=True)]
    return json.dumps(values[0] if len(values) == 1 else molecules(values, readings), ensure_ascii=False)


def molecules(values: list[dict[str, Any]], readings: Sequence[Reading]) -> dict[str, Any]:
    """Returns the object for several molecules."""
    more = {"more_drawings": True} if any(r.more_drawings for r in readings) else {}
    return {"molecules": values} | more


def fill_form(form: dict[str, Any], readings: Sequence[Reading], prose: Callable[[], str]) -> str:
    """Returns the JSON text for structured_outputs as in vLLM: {"json": schema} or {"json_object": true}.

    readings: one for each drawing, at least one of them with a molecule. prose: returns the answer in words.
    """
    schema = parse_schema(form.get("json"))
    if schema is None and not form.get("json_object"):
        raise InvalidRequest("structured_outputs: this model supports only json and json_object")
    if not readings:
        raise InvalidRequest("A drawing of a molecule is needed to fill the schema: send one as a picture, please.")
    value: object
    if not schema:
        facts = [all_facts(r) for r in readings]
        value = facts[0] if len(facts) == 1 else molecules(facts, readings)
    elif any(r.more_drawings for r in readings):
        raise InvalidRequest(
            f"The picture has more than {readings[0].drawings} drawings, the most for a schema: send a part of it."
        )
    else:
        first = next(r for r in readings if r.is_readable())
        try:
            value = SchemaFiller(schema, readings, prose).fill(schema, "", first, 0)
        except NoValue as error:
            what = (
                "a drawing with placeholders, a variable attachment or a repeat unit"
                if error.is_indefinite
                else "a molecule"
            )
            raise InvalidRequest(
                f"The schema asks for {error}, which this model does not know of {what}; "
                "make it nullable or leave it out."
            ) from error
        except (AttributeError, TypeError, ValueError) as error:  # Such as properties that are not an object.
            raise InvalidRequest(f"The JSON schema is invalid: {error}") from error
    return json.dumps(value, ensure_ascii=False)


def parse_schema(schema: object) -> dict[str, Any] | None:
    """Returns a schema, which the request has as an object or as its JSON text."""
    try:
        schema = json.loads(schema) if isinstance(schema, str) else schema
    except json.JSONDecodeError:
        pass
    if schema is not None and not isinstance(schema, dict):
        raise InvalidRequest("structured_outputs.json must be a JSON schema")
    return schema


class SchemaFiller:
    """Fills a schema with facts from readings."""

    def __init__(self, root: dict[str, Any], readings: Sequence[Reading], prose: Callable[[], str]) -> None:
        self.root = root
        self.readings = readings
        self.prose = prose
        self.fields_left = MAX_FIELDS * max(1, len(readings) // 4)

    def count_field(self, depth: int) -> None:
        """Counts a field. Raises InvalidRequest if the schema is too large or too deep."""
        self.fields_left -= 1
        if depth > MAX_DEPTH or self.fields_left < 0:
            raise InvalidRequest("The schema is too large or too deep for this model.")

    def merged(self, schema: object, depth: int) -> dict[str, Any]:
        """Returns the schema without $ref and allOf: with what they refer to."""
        if not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            parts = [self.resolve(schema["$ref"])]
        elif isinstance(schema.get("allOf"), list):
            parts = [{key: value for key, value in schema.items() if key != "allOf"}, *schema["allOf"]]
        else:
            return schema
        self.count_field(depth)
        return functools.reduce(merge, [self.merged(part, depth + 1) for part in parts])

    def fill(self, schema: Any, name: str, reading: Reading, depth: int, is_choice: bool = False) -> object:
        """Returns the value of a field. Raises NoValue if it is unknown.

        is_choice: whether the schema is one of several for the field, so that its constant is no fact by itself.
        """
        self.count_field(depth)
        schema = self.merged(schema, depth)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list) and schema[keyword]:
                rest = {key: value for key, value in schema.items() if key != keyword}
                options = [merge(rest, self.merged(option, depth + 1)) for option in schema[keyword]]
                return self.fill_first(options, name, reading, depth, is_choice or len(options) > 1)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            options = [{**schema, "type": kind} for kind in kinds]
            return self.fill_first(options, name, reading, depth, is_choice)
        if kinds is None and None in schema.get("enum", ()):
            values = [value for value in schema["enum"] if value is not None]
            return self.fill_first([{**schema, "enum": values}, {"type": "null"}], name, reading, depth, is_choice)
        if is_null(schema):
            return None
        kind = kinds or implied_type(schema)
        if "const" in schema:
            if not is_choice and not is_known(kind, name):  # Such as the tag of a variant.
                return schema["const"]
            schema = {**schema, "enum": [schema["const"]]}
        value = self.fill_value(schema, kind, name, reading, depth)
        if "enum" in schema and value not in schema["enum"]:
            raise NoValue(name or "a value")
        return value

    def fill_first(
        self, options: list[dict[str, Any]], name: str, reading: Reading, depth: int, is_choice: bool
    ) -> object:
        """Returns the value of the first option that can be filled, null last."""
        problem: NoValue | None = None
        for option in sorted(options, key=is_null):
            try:
                return self.fill(option, name, reading, depth + 1, is_choice)
            except NoValue as error:
                problem = error
        raise problem or NoValue(name)

    def resolve(self, reference: object) -> object:
        """Returns the schema at a reference such as "#/$defs/Molecule"."""
        place: object = self.root
        for step in str(reference).removeprefix("#").strip("/").split("/"):
            if isinstance(place, dict) and step:
                place = place.get(step.replace("~1", "/").replace("~0", "~"))
        if place is None:
            raise InvalidRequest(f"The schema has no {reference}.")
        return place

    def fill_value(self, schema: dict[str, Any], kind: str, name: str, reading: Reading, depth: int) -> object:
        """Returns the value of a field with a type."""
        if kind == "object":
            return self.fill_object(schema, reading, depth)
        if kind == "array":
            return self.fill_array(schema, name, reading, depth)
        if kind == "string":
            return self.fill_text(name, reading)
        self.check_readable(name, reading)
        find = FIELDS_BY_TYPE.get(kind)
        fact = find(name) if find else None
        if fact is None:
            raise NoValue(name or "a value")
        value = value_of(fact, name, reading)
        return int(round(value)) if kind == "integer" else value

    def check_readable(self, name: str, reading: Reading) -> None:
        """Raises NoValue for a fact about a molecule of a drawing that could not be read."""
        if json_fields.needs_molecule(name) and not reading.is_readable():
            raise NoValue(name or "a value")

    def fill_text(self, name: str, reading: Reading) -> str:
        if json_fields.snake_case(name) in PROSE_FIELDS:
            return self.prose()
        self.check_readable(name, reading)
        text = json_fields.text_field(name)
        if text is not None:
            return value_of(text, name, reading)
        number = json_fields.number_field(name)
        if number is not None:
            return str(value_of(number, name, reading))
        items = json_fields.list_field(name) or json_fields.number_list_field(name)
        if items is not None:
            return ", ".join(map(str, value_of(items, name, reading)))
        raise NoValue(name or "a text")

    def fill_object(self, schema: dict[str, Any], reading: Reading, depth: int) -> dict[str, Any]:
        properties = schema.get("properties") or {}
        required = schema.get("required") or []
        if not properties:
            return all_facts(reading)
        out = {}
        for name, field in properties.items():
            try:
                out[name] = self.fill(field, name, reading, depth + 1)
            except NoValue as error:
                if name in required:
                    path = str(error)
                    path = path if path.startswith(name) else f"{name}.{path}"
                    raise NoValue(path, error.is_indefinite) from error
        return out

    def fill_array(self, schema: dict[str, Any], name: str, reading: Reading, depth: int) -> list[Any]:
        """Returns the names of elements or groups or the numbers of a box for such a field, else an item for each
        drawing. An unreadable drawing is left out if its item cannot be filled."""
        items = schema.get("items") or {}
        kinds = items.get("type") if isinstance(items, dict) else None
        for fact, fitting in (
            (json_fields.list_field(name), (None, "string")),
            (json_fields.number_list_field(name), (None, "integer", "number")),
        ):
            if fact is not None and kinds in fitting:
                self.check_readable(name, reading)
                return value_of(fact, name, reading)
        out = []
        for each in self.readings:
            try:
                out.append(self.fill(items, name.rstrip("s"), each, depth + 1))
            except NoValue:
                if each.is_readable():
                    raise
        return out


def value_of(fact: json_fields.Fact, name: str, reading: Reading) -> Any:
    """Returns a fact for a field. Raises NoValue if the molecule is not definite and the fact needs that."""
    try:
        return fact(reading)
    except json_fields.Indefinite as error:
        raise NoValue(name, is_indefinite=True) from error


def implied_type(schema: dict[str, Any]) -> str:
    """Returns the type of a schema that does not state it."""
    if "properties" in schema or "items" in schema:
        return "object" if "properties" in schema else "array"
    return TYPE_OF_CONSTANT.get(type([schema.get("const"), *schema.get("enum", ())][-1]), "string")


def is_null(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "null" or schema.get("const", "") is None


def is_known(kind: str, name: str) -> bool:
    """Reports whether a field of a type stands for a fact."""
    return any(find(name) for find in FACTS_BY_TYPE.get(kind, ()))


def merge(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema with the keywords of two. Properties and `required` are joined; b wins for other keywords."""
    out = a | b
    if "properties" in a and "properties" in b:
        shared = a["properties"].keys() & b["properties"].keys()
        both = {name: {"allOf": [a["properties"][name], b["properties"][name]]} for name in shared}
        out["properties"] = a["properties"] | b["properties"] | both
    if "required" in a and "required" in b:
        out["required"] = [*a["required"], *b["required"]]
    return out
