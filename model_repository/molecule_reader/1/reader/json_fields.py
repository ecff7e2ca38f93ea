"""Finds the fact about a molecule that a JSON field stands for, by the field's name.

Case, punctuation and words such as "number of" are ignored: numRings, ring_count, number_of_rings and rings are one
field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from . import functional_groups
from .picture import picture_of
from .properties import COUNTS, ELEMENTS, MEASURES, element_counts, formula, inchi, is_determined
from .reading import Reading
from .wording import plural

Fact = Callable[[Reading], Any]
"""Returns a fact about a reading that has a molecule. May raise Indefinite."""


class Indefinite(Exception):
    """A fact has no value, since the molecule is not definite (placeholders.is_definite)."""


def _if_definite(fact: Fact) -> Fact:
    """Returns a fact that has a value only for a definite molecule."""

    def checked(reading: Reading) -> Any:
        if not reading.is_definite():
            raise Indefinite
        return fact(reading)

    return checked


COUNT_WORDS = re.compile(r"^(?:num(?:ber)?|n|no|total|count)_|_(?:count|number|total|num)$")
QUESTION_WORDS = re.compile(r"^(?:has|have|is|contains|with)_(?:an?_)?")


def snake_case(name: str) -> str:
    """Returns a field's name in snake case, without "of": num_h_bond_donors for numHBondDonors."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_").replace("_of_", "_")


def without_counting_words(name: str) -> str:
    """Returns the name in lower case without words for a number: rings for numRings, ring for ring_count."""
    name = snake_case(name)
    return COUNT_WORDS.sub("", COUNT_WORDS.sub("", name)).replace("_", "")


TEXTS: dict[str, Fact] = {
    "smiles": lambda r: r.smiles,
    "inchi": _if_definite(lambda r: inchi(r.molecule)[0]),
    "inchikey": _if_definite(lambda r: inchi(r.molecule)[1]),
    "formula": _if_definite(lambda r: formula(r.molecule)),
    "drawing": picture_of,
    "molfile": Reading.molfile,
}

LISTS: dict[str, Fact] = {
    "elements": _if_definite(lambda r: list(element_counts(r.molecule))),
    "functionalgroups": _if_definite(lambda r: [name for name, _ in functional_groups.summary(r.molecule)]),
    "placeholders": Reading.placeholders,
}

NUMBER_LISTS: dict[str, Fact] = {"box": lambda r: list(r.box)}
"""Left, top, right and bottom in pixels."""
WITHOUT_MOLECULE = {"box", "confidence"}
"""Facts of a drawing that could not be read."""


def _count_fact(family: str) -> Fact:
    def count(reading: Reading) -> int:
        if not is_determined(family, reading.molecule):
            raise Indefinite
        return COUNTS[family].compute(reading.molecule)

    return count


def _measure_fact(family: str) -> Fact:
    return _if_definite(lambda r: round(MEASURES[family].compute(r.molecule), 4))


NUMBERS: dict[str, Fact] = {
    **{family: _count_fact(family) for family in COUNTS},
    **{family: _measure_fact(family) for family in MEASURES},
    "confidence": lambda r: round(r.confidence, 4),
}

SPELLINGS = {
    "smiles": "canonicalsmiles smilesstring isomericsmiles moleculesmiles smilescode",
    "inchi": "inchistring",
    "molfile": "molblock molfilev3000 molblockv3000 v3000molfile v3000molblock mdlmol mdlmolfile mdlmolblock molv3000 "
    "v3000mol v3000 ctab ctfile connectiontable",
    "formula": "molecularformula chemicalformula sumformula molformula empiricalformula",
    "elements": "elementlist elementspresent chemicalelements",
    "functionalgroups": "groups functionalgroupnames",
    "box": "boundingbox bbox",
    "placeholders": "rgroups rgroup rgrouplabels",
    "count_heavy": "heavyatoms heavyatom nonhydrogenatoms atoms atom",
    "count_atoms": "allatoms atomswithhydrogens totalatoms",
    "count_bonds": "bonds bond",
    "count_rings": "rings ring",
    "count_aromatic": "aromaticrings aromaticring",
    "count_stereo": "stereocenters stereocentres stereocenter stereocentre chiralcenters chiralcentres chiralcenter",
    "count_donors": "hbonddonors hydrogenbonddonors hydrogenbonddonor hbd donors hbonddonor",
    "count_acceptors": "hbondacceptors hydrogenbondacceptors hydrogenbondacceptor hba acceptors hbondacceptor",
    "count_rotatable": "rotatablebonds rotatablebond",
    "mass": "molecularweight molecularmass molweight mw weight molarmass averagemass",
    "exact_mass": "exactmass monoisotopicmass exactmolecularweight",
    "logp": "clogp crippenlogp",
    "tpsa": "polarsurfacearea topologicalpolarsurfacearea psa",
    "charge": "netcharge formalcharge totalcharge",
    "confidence": "certainty probability",
}

FLAGS: dict[str, str] = {
    "aromatic": "count_aromatic",
    "chiral": "count_stereo",
    "charged": "charge",
    "cyclic": "count_rings",
    "ring": "count_rings",
    "rings": "count_rings",
    "aromaticring": "count_aromatic",
    "aromaticrings": "count_aromatic",
    "stereocenters": "count_stereo",
    "stereocentres": "count_stereo",
}
"""By boolean field: the number that is not 0 if the field is true."""

KNOWN = {name.replace("_", ""): name for name in (*TEXTS, *LISTS, *NUMBER_LISTS, *NUMBERS)}
KNOWN |= {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings.split()}
"""Names of facts by spelling."""


def _known(name: str) -> str:
    """Returns the name of the fact that a field stands for, "" for none."""
    return KNOWN.get(snake_case(name).replace("_", "")) or KNOWN.get(without_counting_words(name), "")


def text_field(name: str) -> Fact | None:
    return TEXTS.get(_known(name))


def list_field(name: str) -> Fact | None:
    return LISTS.get(_known(name))


def number_list_field(name: str) -> Fact | None:
    return NUMBER_LISTS.get(_known(name))


def needs_molecule(name: str) -> bool:
    return _known(name) not in WITHOUT_MOLECULE


def number_field(name: str) -> Fact | None:
    """Finds a count or a measure, or the count of an element or a functional group."""
    return NUMBERS.get(_known(name)) or _count_of(without_counting_words(name))


def boolean_field(name: str) -> Fact | None:
    """Finds a fact for a yes-or-no field such as is_aromatic or hasEster."""
    subject = QUESTION_WORDS.sub("", snake_case(name)).replace("_", "")
    if subject in ("molecule", "drawing", "moleculedrawing"):
        return lambda r: True
    count = NUMBERS.get(FLAGS.get(subject, "")) or _count_of(subject)
    return (lambda r: bool(count(r))) if count else None


def _count_of(name: str) -> Fact | None:
    """Finds the number of an element or a group: carbon, carbons, carbonatoms, esters."""
    name = re.sub(r"(?:atoms?|groups?)$", "", name)
    for symbol, element in ELEMENTS.items():
        if name in (element, element + "s"):
            return _if_definite(partial(_element_count, symbol))
    for group in functional_groups.NAMES:
        one = re.sub(r"[^a-z0-9]", "", group)
        if name in (one, re.sub(r"[^a-z0-9]", "", plural(group)), one + "s"):
            return _if_definite(partial(_group_count, group))
    return None


def _element_count(symbol: str, reading: Reading) -> int:
    return element_counts(reading.molecule)[symbol]


def _group_count(group: str, reading: Reading) -> int:
    return functional_groups.count(reading.molecule, group)
