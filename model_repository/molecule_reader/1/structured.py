"""Answers in the form that a JSON schema asks for.

The members of the schema that mean something here (members.py) are filled from the molecule that was read; of the
others, those that may be null are null, those that may be left out are left out, and one that must be there refuses the
request: nothing is made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import references

import facts
import groups
import members
from readings import Refused

DEEPEST = 16
"""Levels of a schema that are followed."""
MOST_TRIES = 64
"""Braces in a prompt at which a schema is looked for."""
MOST_MEMBERS = 256
"""Members filled in one answer."""
SPOKEN = {
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
"""Members that hold what would have been said in words."""
GENERAL = (
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
"""What is told where no schema says what is wanted."""


class Unknown(Exception):
    """Nothing here fits a schema; its text is the path of the member."""


def general(reading) -> dict:
    """All that is known, for a request that asks for JSON and gives no schema."""
    out = {name: (members.text(name) or members.number(name))(reading) for name in GENERAL}
    return out | {
        "name": references.called(reading.molecule)[0] or None,
        "elements": dict(facts.elements(reading.molecule)),
        "functional_groups": dict(groups.listed(reading.molecule)),
    }


def written_out(texts: Sequence[str]) -> dict | None:
    """A schema that stands in the words of a prompt: clients write it there where they ask for any JSON object."""
    decoder, tries = json.JSONDecoder(), 0
    for text in texts:
        at = text.find("{")
        while at >= 0 and tries < MOST_TRIES:
            tries += 1
            try:
                found, _ = decoder.raw_decode(text, at)
            except (json.JSONDecodeError, RecursionError):
                found = None
            if isinstance(found, dict) and isinstance(found.get("properties"), dict):
                return found
            at = text.find("{", at + 1)
    return None


ASKED = re.compile(
    r"(?:\b(?:as|in|into|with|using|via|return|give me|output|respond|reply|answer)\s+)?"
    r"(?:\b(?:in|as|with|an?|valid|pure|plain|one|single|only|just)\s+)*\bjson\b(?:[ -](?:object|format|form|document|please|only))*",
    re.IGNORECASE,
)
EVERYTHING = re.compile(r"\b(?:everything|all|anything|describe)\b", re.IGNORECASE)
"""Words that ask for JSON."""
OF_FAMILY = {
    "smiles": ("smiles",),
    "name": ("name",),
    "inchi": ("inchi", "inchikey"),
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
"""Members that answer a question; other questions are answered by all of them."""


def in_words(families: Sequence[str], readings: Sequence) -> str:
    """The JSON text for a request that asks for JSON in words alone."""
    wanted = [OF_FAMILY.get(family, ()) for family in families]
    some = list(dict.fromkeys(name for names in wanted for name in names)) if all(wanted) else []
    values = [{name: value for name, value in general(r).items() if not some or name in some} for r in readings]
    return json.dumps(values[0] if len(values) == 1 else {"molecules": values}, ensure_ascii=False)


def filled(wanted: dict, readings: Sequence, spoken: Callable[[], str]) -> str:
    """The JSON text for structured_outputs of the vLLM contract: {"json": schema} or {"json_object": true}.

    readings are those of the drawings that the question is about; spoken gives the answer in words.
    """
    schema = read(wanted.get("json"))
    if schema is None and not wanted.get("json_object"):
        raise Refused("of structured_outputs only json and json_object are known to this model")
    if not readings:
        raise Refused("A drawing of a molecule is needed to fill the schema: send one as a picture, please.")
    if not schema:
        value = general(readings[0]) if len(readings) == 1 else {"molecules": [general(r) for r in readings]}
    else:
        try:
            value = Filler(schema, readings, spoken).fill(schema, "", readings[0], 0)
        except Unknown as error:
            raise Refused(
                f"The schema asks for {error}, which this model cannot say of a molecule; let it be null or leave it out."
            ) from error
        except (AttributeError, TypeError, ValueError) as error:  # such as properties that are no object
            raise Refused(f"The JSON schema cannot be followed: {error}") from error
    return json.dumps(value, ensure_ascii=False)


def read(schema: object) -> dict | None:
    """A schema given as an object or as its text."""
    try:
        schema = json.loads(schema) if isinstance(schema, str) else schema
    except json.JSONDecodeError:
        pass
    if not isinstance(schema, dict | None):
        raise Refused("structured_outputs.json must be a JSON schema")
    return schema


class Filler:
    """Fills one schema."""

    def __init__(self, root: dict, readings: Sequence, spoken: Callable[[], str]) -> None:
        self.root, self.readings, self.spoken, self.left = root, readings, spoken, MOST_MEMBERS

    def fill(self, schema: object, name: str, reading, depth: int) -> object:
        """The value for a member; Unknown where there is none."""
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            raise Refused("The schema is too large or too deep for this model.")
        if not isinstance(schema, dict):
            schema = {}
        if "$ref" in schema:
            return self.fill(self.referred(schema["$ref"]), name, reading, depth + 1)
        for several in ("anyOf", "oneOf", "allOf"):
            if isinstance(schema.get(several), list) and schema[several]:
                return self.first(schema[several], name, reading, depth)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self.first([{**schema, "type": kind} for kind in kinds], name, reading, depth)
        if kinds == "null":
            return None
        if "const" in schema:
            return schema["const"]
        value = self.value(schema, kinds or implied(schema), name, reading, depth)
        if "enum" in schema and value not in schema["enum"]:
            raise Unknown(name or "a value")
        return value

    def first(self, options: list, name: str, reading, depth: int) -> object:
        """The first option that can be filled, null last."""
        problem: Unknown | None = None
        for option in sorted(options, key=lambda o: isinstance(o, dict) and o.get("type") == "null"):
            try:
                return self.fill(option, name, reading, depth + 1)
            except Unknown as error:
                problem = error
        raise problem or Unknown(name)

    def referred(self, ref: object) -> object:
        """What "#/$defs/Molecule" refers to."""
        place: object = self.root
        for step in str(ref).removeprefix("#").strip("/").split("/"):
            place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) and step else place
        if place is None:
            raise Refused(f"The schema has no {ref}.")
        return place

    def value(self, schema: dict, kind: str, name: str, reading, depth: int) -> object:
        if kind == "object":
            return self.object(schema, reading, depth)
        if kind == "array":
            return self.array(schema, name, reading, depth)
        if kind == "string":
            return self.text(name, reading)
        fact = {"integer": members.number, "number": members.number, "boolean": members.flag}.get(kind, lambda _: None)(
            name
        )
        if fact is None:
            raise Unknown(name or "a value")
        value = fact(reading)
        return int(round(value)) if kind == "integer" else value

    def text(self, name: str, reading) -> str:
        if members.words(name) in SPOKEN:
            return self.spoken()
        fact = members.text(name)
        if fact is not None:
            return fact(reading)
        number, several = members.number(name), members.listed(name)
        if number is not None:
            return str(number(reading))
        if several is not None:
            return ", ".join(several(reading))
        raise Unknown(name or "a text")

    def object(self, schema: dict, reading, depth: int) -> dict:
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        if not properties:
            return general(reading)
        out = {}
        for name, one in properties.items():
            try:
                out[name] = self.fill(one, name, reading, depth + 1)
            except Unknown as error:
                if name in required:
                    raise Unknown(str(error) if str(error).startswith(name) else f"{name}.{error}") from error
        return out

    def array(self, schema: dict, name: str, reading, depth: int) -> list:
        """Names of elements or groups, or else one item for each drawing."""
        fact = members.listed(name)
        items = schema.get("items") or {}
        if fact is not None and (not isinstance(items, dict) or items.get("type", "string") == "string"):
            return fact(reading)
        return [self.fill(items, name.rstrip("s"), one, depth + 1) for one in self.readings]


def implied(schema: dict) -> str:
    """The type of a schema that does not say it."""
    return next((kind for member, kind in (("properties", "object"), ("items", "array")) if member in schema), "string")
