"""What a member of a JSON schema stands for: from its name to a fact about a molecule.

Names are compared without case and signs, and without the words that only say that something is counted or asked:
`numRings`, `ring_count`, `number_of_rings` and `rings` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import facts
import groups
from wording import plural

Fact = Callable[[object], object]
"""From a reading (reader.py) to a value, None where it has none."""

COUNTING = re.compile(r"^(?:num(?:ber)?|n|no|total|count)_|_(?:count|number|total|num)$")
ASKING = re.compile(r"^(?:has|have|is|contains|with)_(?:an?_)?")


def words(name: str) -> str:
    """A member's name in one spelling: `numHBondDonors` is `num_h_bond_donors`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_").replace("_of_", "_")


def bare(name: str) -> str:
    """The name without the words that only say that it is a number."""
    name = words(name)
    return COUNTING.sub("", COUNTING.sub("", name)).replace("_", "")


TEXTS: dict[str, Fact] = {
    "smiles": lambda r: r.smiles,
    "inchi": lambda r: facts.inchi(r.molecule)[0],
    "inchikey": lambda r: facts.inchi(r.molecule)[1],
    "formula": lambda r: facts.formula(r.molecule),
}

LISTS: dict[str, Fact] = {
    "elements": lambda r: list(facts.elements(r.molecule)),
    "functionalgroups": lambda r: [name for name, _ in groups.listed(r.molecule)],
}

NUMBERS: dict[str, Fact] = {
    **{name: lambda r, count=count: count(r.molecule) for name, (count, *_) in facts.COUNTS.items()},
    **{
        name: lambda r, measure=measure: round(measure(r.molecule), 4) for name, (measure, *_) in facts.MEASURES.items()
    },
    "confidence": lambda r: round(r.confidence, 4),
}

SPELLINGS = {
    "smiles": "canonicalsmiles smilesstring isomericsmiles moleculesmiles smilescode",
    "inchi": "inchistring",
    "formula": "molecularformula chemicalformula sumformula molformula empiricalformula",
    "elements": "elementlist elementspresent chemicalelements",
    "functionalgroups": "groups functionalgroupnames",
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
"""What a yes or no is about: yes where the number is not 0."""

KNOWN = {name.replace("_", ""): name for name in (*TEXTS, *LISTS, *NUMBERS)}
KNOWN |= {spelling: name for name, spellings in SPELLINGS.items() for spelling in spellings.split()}


def named(name: str) -> str:
    """The fact that a member's name means, "" for none."""
    return KNOWN.get(words(name).replace("_", "")) or KNOWN.get(bare(name), "")


def text(name: str) -> Fact | None:
    return TEXTS.get(named(name))


def listed(name: str) -> Fact | None:
    return LISTS.get(named(name))


def number(name: str) -> Fact | None:
    """A count or a measure; also of an element or a functional group by its name."""
    return NUMBERS.get(named(name)) or contained(bare(name))


def flag(name: str) -> Fact | None:
    """Whether something is there."""
    asked = ASKING.sub("", words(name)).replace("_", "")
    if asked in ("molecule", "drawing", "moleculedrawing"):
        return lambda r: True
    count = NUMBERS.get(FLAGS.get(asked, "")) or contained(asked)
    return (lambda r: bool(count(r))) if count else None


def contained(name: str) -> Fact | None:
    """How many of an element or a group there are: carbon, carbons, carbonAtoms, esters."""
    name = re.sub(r"(?:atoms?|groups?)$", "", name)
    for symbol, element in facts.NAMES.items():
        if name in (element, element + "s"):
            return lambda r: facts.elements(r.molecule)[symbol]
    for group in groups.NAMES:
        one = re.sub(r"[^a-z0-9]", "", group)
        if name in (one, re.sub(r"[^a-z0-9]", "", plural(group)), one + "s"):
            return lambda r: groups.count(r.molecule, group)
    return None
